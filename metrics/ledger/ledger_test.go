package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/journal"
)

func open(t *testing.T, dir string) *Ledgers {
	t.Helper()
	l, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func noon() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

func session(id string) Session {
	return Session{
		SchemaVersion: SessionSchema, SessionID: id, SessionType: "feature", Platform: "claude", StartedAt: Stamp(noon()), CompletedAt: Stamp(noon().Add(time.Minute)),
		Waves: []Wave{}, Status: StatusCompleted, AutopilotRunID: "run",
	}
}

// idsIn lists a key of every record of a ledger.
func idsIn(t *testing.T, path, key string) []string {
	t.Helper()
	var ids []string
	err := journal.Each(path, func(n int, line []byte) error {
		var rec map[string]any
		if err := json.Unmarshal(line, &rec); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		ids = append(ids, text(rec, key))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestAddSession(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "metrics")
	l := open(t, dir)
	want := filepath.Join(dir, SessionsFile)
	if l.SessionsPath() != want {
		t.Errorf("path %s, want %s", l.SessionsPath(), want)
	}
	other := session("other")
	other.Summary = `took over what "a" left, "session_id":"b"`
	for _, add := range []struct {
		rec   Session
		again bool
	}{{other, false}, {session("a"), true}, {session("a"), true}, {session("b"), true}, {session("b"), true}, {session("a"), true}, {session("c"), false}} {
		if err := l.AddSession(add.rec, add.again); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"other", "a", "b", "c"}, idsIn(t, want, "session_id")); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func TestAddSessionRefusesWhatIsNotValid(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	for _, change := range []func(*Session){
		func(s *Session) { s.SessionID = "" }, func(s *Session) { s.SessionType = "goal" }, func(s *Session) { s.Waves = nil },
		func(s *Session) { s.CompletedAt = Stamp(noon().Add(-time.Second)) }, func(s *Session) { s.StartedAt = Stamp{} },
		func(s *Session) { s.AgentSummary.Failed = -1 }, func(s *Session) { s.Status = "failed" }, func(s *Session) { s.SchemaVersion = 4 },
	} {
		rec := session("a")
		change(&rec)
		if err := l.AddSession(rec, false); err == nil || !strings.Contains(err.Error(), "internal error: session record is not valid") {
			t.Errorf("%+v: got %v, want a refusal", rec, err)
		}
	}
	if got := idsIn(t, l.SessionsPath(), "session_id"); got != nil {
		t.Errorf("refused records were written: %v", got)
	}
}

func run(id string) Run { r := fullRun(); r.AutopilotRunID = id; return r }

func TestAddRunOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	first := run("main-1-autopilot")
	first.Goal = `repeat "main-2-autopilot" with {"autopilot_run_id":"main-3-autopilot"}`
	first.Sessions = []string{"main-2-autopilot"}
	for range 2 {
		for _, r := range []Run{first, run("main-2-autopilot"), run("main-3-autopilot"), run("main-2-autopilot-2"), run("main-2")} {
			if err := l.AddRun(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{"main-1-autopilot", "main-2-autopilot", "main-3-autopilot", "main-2-autopilot-2", "main-2"}
	if diff := cmp.Diff(want, idsIn(t, filepath.Join(dir, RunsFile), "autopilot_run_id")); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// TestAddBySeveralAtOnce is a run that ends while its next start recovers it.
func TestAddBySeveralAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		l := open(t, dir)
		wg.Go(func() {
			if err := l.AddRun(run("r")); err != nil {
				t.Error(err)
			}
			if err := l.AddSession(session("s"), true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	runs, sessions := idsIn(t, filepath.Join(dir, RunsFile), "autopilot_run_id"), idsIn(t, filepath.Join(dir, SessionsFile), "session_id")
	if diff := cmp.Diff([][]string{{"r"}, {"s"}}, [][]string{runs, sessions}); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestAddPutsBack is a program that read the file, and renames its own version
// into place after we have appended.
func TestAddPutsBack(t *testing.T) {
	t.Parallel()
	l := open(t, t.TempDir())
	foreign := `{"session_id":"theirs", "note":"kept as it is"}` + "\n{broken\n"
	if err := os.WriteFile(l.SessionsPath(), []byte(foreign), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := l.AddSession(session("ours"), false); err != nil {
		t.Fatal(err)
	}
	tmp := l.SessionsPath() + ".tmp"
	if err := os.WriteFile(tmp, []byte(foreign+`{"session_id":"later"}`+"\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, l.SessionsPath()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.AddSession(session("ours"), true); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(l.SessionsPath())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte(foreign)) {
		t.Errorf("lines of others were changed: %s", data)
	}
	if got := bytes.Count(data, []byte(`"session_id":"ours"`)); got != 1 {
		t.Errorf("our record stands there %d times, want once", got)
	}
}

func TestHasID(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line string
		want bool
	}{
		{`{"session_id":"a-1"}`, true},
		{`{ "x":1 , "session_id" : "a-1" }`, true},
		{`{"session_id":"a-10"}`, false},
		{`{"session_id":"ba-1"}`, false},
		{`{"note":"a-1","session_id":"b"}`, false},
		{`{"in":{"session_id":"a-1"}}`, false},
		{`{"SESSION_ID":"a-1"}`, false},
		{`{"session_id":["a-1"]}`, false},
		{`{"session_id":"a-1"`, false},
		{`["session_id","a-1"]`, false},
		{`"a-1"`, false},
		{`a-1`, false},
		{`{"session_id":null,"x":"a-1"}`, false},
		{``, false},
	} {
		if got := hasID([]byte(tt.line), "session_id", "a-1"); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.line, got, tt.want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, SessionsFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(dir); err == nil || !strings.Contains(err.Error(), SessionsFile) {
		t.Errorf("a folder in the place of a ledger: got %v, %v, want an error that names it", l, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Open(filepath.Join(file, "metrics")); err == nil {
		t.Errorf("a file in the place of the folder: got %v, want an error", l)
	}
}

// want is the session that the tests look for.
func want() Want {
	return Want{ClaudeID: "uuid-1", RunID: "run-1", Since: noon(), Until: noon().Add(time.Hour), Used: map[string]bool{"used": true}}
}

// line is a record that fits by time alone, with the given changes.
func line(t *testing.T, changes ...any) string {
	t.Helper()
	rec := map[string]any{"session_id": "theirs", "started_at": "2026-09-01T12:10:00Z", "status": "completed"}
	for i := 0; i < len(changes); i += 2 {
		if changes[i+1] == "absent" {
			delete(rec, changes[i].(string))
			continue
		}
		rec[changes[i].(string)] = changes[i+1]
	}
	data, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFindSession(t *testing.T) {
	t.Parallel()
	byTime := line(t, "session_id", "by-time")
	byRun := line(t, "session_id", "by-run", "autopilot_run_id", "run-1", "started_at", "absent")
	byConversation := line(t, "session_id", "by-conversation", "claude_session_id", "uuid-1", "started_at", "2020-01-01T00:00:00Z")
	byID := line(t, "session_id", "uuid-1", "started_at", "absent")
	tests := []struct {
		name  string
		lines []string
		want  string // session id; empty for none
	}{
		{"nothing", nil, ""},
		{"by the id of the conversation", []string{byID}, "uuid-1"},
		{"by the id of the conversation beside another id", []string{byConversation}, "by-conversation"},
		{"by the run", []string{byRun}, "by-run"},
		{"by time", []string{byTime}, "by-time"},
		{"the surer one, whatever the order", []string{byTime, byRun, byConversation}, "by-conversation"},
		{"the surer one first", []string{byConversation, byRun, byTime}, "by-conversation"},
		{"the run before the time", []string{byRun, byTime}, "by-run"},
		{"the last line has no privilege", []string{byTime, line(t, "session_id", "late", "started_at", "2026-09-01T13:30:00Z")}, "by-time"},
		{"of equals the first", []string{byTime, line(t, "session_id", "other")}, "by-time"},
		{"abandoned by time", []string{line(t, "status", "abandoned")}, ""},
		{"abandoned by run", []string{line(t, "status", "abandoned", "autopilot_run_id", "run-1")}, ""},
		{"abandoned by id", []string{line(t, "status", "abandoned", "session_id", "uuid-1")}, ""},
		{"backfilled by time", []string{line(t, "_backfill_source", "session-start")}, ""},
		{"backfilled by id", []string{line(t, "_backfill_source", "session-end", "session_id", "uuid-1")}, ""},
		{"no source of a backfill", []string{line(t, "_backfill_source", nil)}, "theirs"},
		{"another run's", []string{line(t, "autopilot_run_id", "run-2")}, ""},
		{"another run's, with our conversation", []string{line(t, "autopilot_run_id", "run-2", "claude_session_id", "uuid-1")}, "theirs"},
		{"no run means by hand", []string{line(t, "autopilot_run_id", nil)}, "theirs"},
		{"an empty run means by hand", []string{line(t, "autopilot_run_id", "")}, "theirs"},
		{"used before, by time", []string{line(t, "session_id", "used")}, ""},
		{"used before, by run", []string{line(t, "session_id", "used", "autopilot_run_id", "run-1")}, ""},
		{"used before, by conversation", []string{line(t, "session_id", "used", "claude_session_id", "uuid-1")}, ""},
		{"no id", []string{line(t, "session_id", "absent", "autopilot_run_id", "run-1")}, ""},
		{"an id of another type", []string{line(t, "session_id", 5, "autopilot_run_id", "run-1")}, ""},
		{"started before", []string{line(t, "started_at", "2026-09-01T11:59:57.999Z")}, ""},
		{"started before, within the slack", []string{line(t, "started_at", "2026-09-01T11:59:58Z")}, "theirs"},
		{"started at the end, within the slack", []string{line(t, "started_at", "2026-09-01T13:00:02Z")}, "theirs"},
		{"started after", []string{line(t, "started_at", "2026-09-01T13:00:02.001Z")}, ""},
		{"no start", []string{line(t, "started_at", "absent")}, ""},
		{"a start that is no time", []string{line(t, "started_at", "noon")}, ""},
		{"a start of another type", []string{line(t, "started_at", 1788264600)}, ""},
		{"broken lines between", []string{"{broken", "[]", "5", "null", byTime, `{"session_id":"theirs","started_at":"2026-`}, "by-time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), SessionsFile)
			if err := os.WriteFile(path, []byte(strings.Join(append(tt.lines, ""), "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			got, ok, err := FindSession(path, 0, want())
			if err != nil {
				t.Fatal(err)
			}
			if got.SessionID != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", got.SessionID, ok, tt.want)
			}
		})
	}
}

func TestFindSessionWithoutIDs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), SessionsFile)
	text := line(t, "claude_session_id", "", "autopilot_run_id", "", "started_at", "absent") + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := FindSession(path, 0, Want{}); ok || err != nil {
		t.Errorf("empty ids match: got %+v, %v", got, err)
	}
}

func TestFindSessionFromOffset(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), SessionsFile)
	if got, ok, err := FindSession(path, 99, want()); ok || err != nil {
		t.Errorf("missing file: got %+v, %v", got, err)
	}
	before := line(t, "session_id", "before") + "\n"
	if err := os.WriteFile(path, []byte(before+line(t, "session_id", "after")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[int64]string{0: "before", int64(len(before)): "after", 1 << 40: "before"} {
		got, _, err := FindSession(path, offset, Want{Since: noon(), Until: noon().Add(time.Hour)})
		if err != nil || got.SessionID != want {
			t.Errorf("from %d: got %q, %v, want %q", offset, got.SessionID, err, want)
		}
	}
	if _, _, err := FindSession(t.TempDir(), 0, want()); err == nil {
		t.Error("a folder was read as a ledger")
	}
}

// TestFindSessionBehindMuch is a ledger that was replaced by a shorter one, so
// that all of it has to be read.
func TestFindSessionBehindMuch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), SessionsFile)
	var b bytes.Buffer
	filler := strings.Repeat("x", 1<<20) + "\n" // lines that do not parse are passed over
	for b.Len() < 36<<20 {
		b.WriteString(filler)
	}
	b.WriteString(line(t, "session_id", "uuid-1") + "\n")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := FindSession(path, 1<<40, want()); err != nil || got.SessionID != "uuid-1" {
		t.Errorf("got %q, %v, %v, want the record at the end", got.SessionID, ok, err)
	}
}

func TestFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, rest string
		want       Found
	}{
		{"nothing", ``, Found{}},
		{
			"all", `,"autopilot_run_id":"run-1","agent_summary":{"complete":3,"partial":0,"failed":1,"spiral":2},"effectiveness":{"planned_issues":6,"completed":5,"carryover":1},"total_agents":4,"total_files_changed":9`,
			Found{RunID: "run-1", Spiral: new(2), Failed: new(1), Planned: new(6), Completed: new(5), Carryover: new(1), TotalAgents: new(4), FilesChanged: new(9)},
		},
		{"null", `,"agent_summary":null,"effectiveness":{"carryover":null,"planned_issues":4},"total_agents":null`, Found{Planned: new(4)}},
		{"numbers as text", `,"agent_summary":{"spiral":"2","failed":" 1 "},"effectiveness":{"carryover":"many","planned_issues":""}`, Found{Spiral: new(2), Failed: new(1)}},
		{"wrong types", `,"agent_summary":[1],"effectiveness":"x","total_agents":true,"total_files_changed":{}`, Found{}},
		{"parts are rounded up", `,"agent_summary":{"spiral":0.2,"failed":0},"effectiveness":{"carryover":2.5}`, Found{Spiral: new(1), Failed: new(0), Carryover: new(3)}},
		{"too large for an int", `,"agent_summary":{"spiral":1e300,"failed":-1e300}`, Found{Spiral: new(maxCount), Failed: new(-maxCount)}},
		{"no numbers", `,"agent_summary":{"spiral":"NaN","failed":"Infinity"}`, Found{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), SessionsFile)
			if err := os.WriteFile(path, []byte(`{"session_id":"uuid-1"`+tt.rest+"}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			got, ok, err := FindSession(path, 0, want())
			if err != nil || !ok {
				t.Fatalf("not found, %v", err)
			}
			tt.want.SessionID = "uuid-1"
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}
