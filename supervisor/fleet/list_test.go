package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/sessions"
	"autopilot/sessions/hook"
	"autopilot/sessions/outcome"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/story"
)

func (w world) list(change func(*fleet.Options)) []fleet.Row {
	w.Helper()
	o := w.options()
	if change != nil {
		change(&o)
	}
	rows, problems := fleet.List(w.Context(), o)
	if len(problems) > 0 {
		w.Errorf("problems: %v", problems)
	}
	return rows
}

func TestNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if rows := w.list(nil); len(rows) != 0 {
		t.Errorf("without a state root: %v", rows)
	}
	p := w.project("app")
	if rows := w.list(nil); len(rows) != 0 {
		t.Errorf("without a run: %v", rows)
	}
	_, folder := w.run(p, "main", func(s *supervisor.State) { s.Finished = true })
	if rows := w.list(nil); len(rows) != 0 {
		t.Errorf("a run that is finished and still marked: %v", rows)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if rows, problems := fleet.List(t.Context(), fleet.Options{Root: "state", Now: w.at}); len(rows) != 0 || len(problems) != 1 {
		t.Errorf("a root that is relative: %v, %v", rows, problems)
	}
}

func TestRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("app")
	id, folder := w.run(p, "main", func(s *supervisor.State) {
		s.Iteration, s.Carried.Iterations = 2, 3
		s.Current = &supervisor.Current{SessionID: "0b5e"}
		s.Record.TotalTokensUsed, s.Record.TotalCostUSD = 1000, 0.5
		s.Record.WorktreePath = ptr(p.Path)
		s.Record.Caps = []ledger.Cap{{Tier: "green", Cap: 6}, {Tier: "degraded", Cap: 2}}
		s.Pursuit.Goals = []pursuit.Goal{{Status: ledger.GoalAchieved}, {Status: ledger.GoalAchieved}}
	})
	progress := supervisor.SessionFolder(folder, "0b5e")
	if err := statedir.MakeDir(progress); err != nil {
		t.Fatal(err)
	}
	w.write(sessions.ProgressPath(progress), sessions.Result{ID: "0b5e", Usage: outcome.Usage{Input: 1, Output: 20, CacheCreation: 300, CacheRead: 4000, CostUSD: 0.25}, Caps: hook.CapState{Tier: "critical", Cap: 0}})
	want := []fleet.Row{{
		Kind: fleet.KindRun, RunID: id, Repo: p.Path, Worktree: p.Path, PID: os.Getpid(), State: fleet.StateRunning, Iteration: 5, MaxSessions: 10,
		Percent: ptr(100.0), Tier: "critical", Cap: ptr(0), Tokens: 1321, CostUSD: 0.75, Started: w.at.Add(-time.Hour), AgeSeconds: 3600,
	}}
	if diff := cmp.Diff(want, w.list(nil), cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	w.write(sessions.ProgressPath(progress), sessions.Result{ID: "another", Usage: outcome.Usage{Output: 20}})
	if got := w.list(nil); got[0].Tokens != 1000 || got[0].Tier != "degraded" || *got[0].Cap != 2 {
		t.Errorf("with the progress of another session: %+v", got[0])
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	asked := pursuit.Goal{Status: ledger.GoalPaused, Question: &pursuit.Question{Text: "which?", Reason: "question"}}
	goals := func(s *supervisor.State) {
		s.Iteration = 1
		s.Pursuit = pursuit.State{Interval: 3, Goals: []pursuit.Goal{{Status: ledger.GoalOpen}}}
	}
	session := &supervisor.Current{SessionID: "0b5e"}
	until := time.Date(2026, 3, 1, 14, 0, 0, 0, time.Local)
	tests := []struct {
		name   string
		change func(*supervisor.State)
		want   fleet.State
		note   string
	}{
		{"before the first session", func(*supervisor.State) {}, fleet.StateStarting, ""},
		{"in a session", func(s *supervisor.State) { goals(s); s.Current = session }, fleet.StateRunning, ""},
		{"between sessions towards a goal", goals, fleet.StateLooking, ""},
		{"between sessions, no looks back", func(s *supervisor.State) { goals(s); s.Pursuit.Interval = 0 }, fleet.StateRunning, "between two sessions"},
		{"between sessions without goals", func(s *supervisor.State) { s.Iteration, s.Pursuit.Interval = 1, 3 }, fleet.StateRunning, "between two sessions"},
		{"waiting, in a session", func(s *supervisor.State) {
			s.Current, s.Waiting = session, &supervisor.Waiting{Until: until, Why: "rate-limited: five hours"}
		}, fleet.StateWaiting, "until 2026-03-01 14:00:00: rate-limited: five hours"},
		{"calls are held", func(s *supervisor.State) { s.Current, s.HeldInRow = session, 1 }, fleet.StatePerson, "'autopilot gates'"},
		{"a question, nothing else to do", func(s *supervisor.State) { s.Pursuit.Goals = []pursuit.Goal{asked} }, fleet.StatePerson, "'autopilot status'"},
		{"a question, another goal is open", func(s *supervisor.State) {
			s.Pursuit.Goals, s.Current = []pursuit.Goal{asked, {Status: ledger.GoalOpen}}, session
		}, fleet.StateRunning, ""},
		{"its supervisor is gone", func(s *supervisor.State) { s.Current = session; s.Start++ }, fleet.StateOpen, "the next start"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, folder := w.run(w.project("app"), "main", tt.change)
			got := w.list(nil)
			if len(got) != 1 || got[0].State != tt.want || !strings.Contains(got[0].Note, tt.note) || tt.note == "" && got[0].Note != "" {
				t.Fatalf("got %+v, want %q with %q", got, tt.want, tt.note)
			}
			if (got[0].PID == 0) != (tt.want == fleet.StateOpen) {
				t.Errorf("pid %d in state %q", got[0].PID, tt.want)
			}
			if err := supervisor.RequestStop(folder, "somebody", w.at); err != nil {
				t.Fatal(err)
			}
			asked := fleet.StateStopping
			if tt.want == fleet.StateOpen {
				asked = fleet.StateOpen
			}
			if got := w.list(nil); got[0].State != asked {
				t.Errorf("when it was asked to stop: %q, want %q", got[0].State, asked)
			}
		})
	}
}

func TestEndedRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("app")
	end := func(branch, status string, ago time.Duration) string {
		id, _ := w.run(p, branch, func(s *supervisor.State) {
			s.Finished, s.UpdatedAt, s.Record.ExitCause = true, w.at.Add(-ago), "some-cause"
			s.Record.KillSwitchDetail = ptr("some detail")
			if status != "" {
				s.Record.Termination = &ledger.Termination{Status: status}
			}
		})
		if err := supervisor.Close(p, id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	want := map[string]fleet.State{
		end("a", ledger.Completed, time.Hour):          fleet.StateDone,
		end("b", ledger.Paused, time.Hour):             fleet.StatePerson,
		end("c", ledger.Stopped, time.Hour):            fleet.StateStopped,
		end("d", ledger.Interrupted, 23*time.Hour):     fleet.StateInterrupted,
		end("e", "", time.Hour):                        fleet.StateEnded,
		end("f", "another", time.Hour):                 fleet.StateEnded,
		end("marked-still", ledger.Stopped, 0):         fleet.StateStopped,
		end("too-old", ledger.Completed, 24*time.Hour): "",
	}
	old, folder := w.run(p, "not-looked-at", func(s *supervisor.State) { s.Finished = true })
	if err := supervisor.Close(p, old); err != nil {
		t.Fatal(err)
	}
	w.text(filepath.Join(folder, "state.json"), "{") // would be a problem
	long := w.at.Add(-25 * time.Hour)
	if err := os.Chtimes(folder, long, long); err != nil {
		t.Fatal(err)
	}
	if got := w.list(nil); len(got) != 0 {
		t.Errorf("without the ended ones: %v", got)
	}
	got := map[string]fleet.State{}
	for _, r := range w.list(func(o *fleet.Options) { o.All = true }) {
		got[r.RunID] = r.State
		if r.PID != 0 || !strings.HasSuffix(r.Note, ": some-cause (some detail)") {
			t.Errorf("an ended run has pid %d and note %q", r.PID, r.Note)
		}
	}
	for id, s := range want {
		if got[id] != s {
			t.Errorf("%s: got %q, want %q", id, got[id], s)
		}
	}
	if len(got) != len(want)-1 {
		t.Errorf("got %v", got)
	}
}

// TestBroken: what cannot be read is named, and everything else is shown.
func TestBroken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.project("app")
	goodID, good := w.run(p, "a-good", nil)
	w.text(filepath.Join(good, "stop.json"), "{") // somebody wanted it
	broken := map[string]string{}
	for branch, text := range map[string]string{
		"b-torn": `{"version": 1, "pid": 4`, "c-version": `{"version": 2, "iteration": 7, "record": {"parent_run_id": "` + goodID + `"}}`, "d-type": `{"version": "1"}`, "e-empty": "",
	} {
		_, folder := w.register(p, branch)
		broken[branch] = filepath.Join(folder, "state.json")
		w.text(broken[branch], text)
	}
	for branch, text := range map[string]string{"f-torn": `{"version": 1, "members": [{"id": "x"}, {`, "g-version": `{"version": 2, "members": [{"id": "x"}]}`} {
		_, folder := w.run(p, branch, nil)
		broken[branch] = filepath.Join(folder, story.File)
		w.text(broken[branch], text)
	}
	w.register(p, "h-just-begun")
	_, killed := w.register(p, "i-killed-early")
	long := w.at.Add(-2 * time.Minute)
	if err := os.Chtimes(killed, long, long); err != nil {
		t.Fatal(err)
	}
	_, cleared := w.register(p, "j-no-folder")
	if err := os.Remove(cleared); err != nil {
		t.Fatal(err)
	}
	broken["project"] = filepath.Join(w.project("another").Dir, "project.json")
	w.text(broken["project"], "{")
	folderless := w.project("folderless")
	w.text(filepath.Join(folderless.Dir, "open"), "a file")
	broken["open"] = filepath.Join(folderless.Dir, "open")

	rows, problems := fleet.List(t.Context(), w.options())
	got := map[string]string{}
	for _, r := range rows {
		name, _, _ := strings.Cut(r.RunID, "-2026-")
		got[name] = fmt.Sprintf("%s %s", r.Kind, r.State)
		if r.Parent != "" || r.Iteration != 0 { // what a format of another version says is not believed
			t.Errorf("%s: %+v", name, r)
		}
	}
	want := map[string]string{
		"a-good": "run stopping", "b-torn": "run unreadable", "c-version": "run unreadable", "d-type": "run unreadable", "e-empty": "run unreadable",
		"f-torn": "cohort starting", "g-version": "cohort starting", "h-just-begun": "run starting", "i-killed-early": "run ended-but-open", "j-no-folder": "run ended-but-open",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(problems) != len(broken) {
		t.Errorf("%d problems, want %d: %v", len(problems), len(broken), problems)
	}
	for name, path := range broken {
		if !slices.ContainsFunc(problems, func(err error) bool { return strings.Contains(err.Error(), path) }) {
			t.Errorf("%s: no problem names %s: %v", name, path, problems)
		}
	}
}

// beStranger lists the fleet as a user who may not read everything.
func beStranger() error {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	rows, problems := fleet.List(context.Background(), fleet.Options{Root: os.Getenv(folderVar), Now: time.Now()})
	words := []string{}
	for _, p := range problems {
		words = append(words, p.Error())
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"rows": rows, "problems": words})
}

func TestUnreadableProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.project("mine"), "main", nil)
	theirs := w.project("theirs")
	w.run(theirs, "main", nil)
	half := w.project("half")
	w.run(half, "main", nil)
	if err := filepath.WalkDir(w.dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(name, 0o755)
	}); err != nil {
		t.Fatal(err)
	}
	// testing makes the folder above for its owner alone.
	if err := os.Chmod(filepath.Dir(w.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{theirs.Dir, filepath.Join(half.Dir, "open")} {
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), partVar+"=list", folderVar+"="+w.dir+"/state")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Rows     []fleet.Row `json:"rows"`
		Problems []string    `json:"problems"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) == 0 && len(got.Problems) == 1 && strings.Contains(got.Problems[0], "list projects") {
		t.Skip("another user cannot reach the folder of this test")
	}
	if len(got.Rows) != 1 || filepath.Base(got.Rows[0].Repo) != "mine" || got.Rows[0].PID != os.Getpid() {
		t.Errorf("rows: %+v", got.Rows)
	}
	if len(got.Problems) != 2 || !strings.Contains(strings.Join(got.Problems, "\n"), theirs.Dir) || !strings.Contains(strings.Join(got.Problems, "\n"), half.Dir) {
		t.Errorf("problems: %q", got.Problems)
	}
}

func TestManyProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fill(t, w.dir+"/state", 300, true)
	rows := w.list(nil)
	if len(rows) != 900 {
		t.Fatalf("%d rows, want 900", len(rows))
	}
	if !slices.IsSortedFunc(rows, func(a, b fleet.Row) int { return strings.Compare(a.Repo+"\n"+a.RunID, b.Repo+"\n"+b.RunID) }) {
		t.Error("rows are not in order")
	}
}

// fill makes projects with three runs each, which are open or have ended.
func fill(tb testing.TB, root string, n int, open bool) {
	tb.Helper()
	start, _ := proctree.StartOf(os.Getpid())
	state := supervisor.State{Version: supervisor.StateVersion, PID: os.Getpid(), Start: start, Finished: !open, UpdatedAt: time.Now(), Token: "token"}
	state.Record.Endings = make([]ledger.Ending, 10)
	state.Pursuit.Goals = []pursuit.Goal{{Text: strings.Repeat("words of a goal ", 20), Status: ledger.GoalOpen}}
	data, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	put := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range n {
		dir := fmt.Sprintf("%s/projects/p%03d", root, i)
		put(dir+"/project.json", fmt.Sprintf(`{"path": "/srv/p%03d"}`, i))
		for k := range 3 {
			id := fmt.Sprintf("b%d-%03d", k, i)
			put(dir+"/runs/"+id+"/state.json", string(data))
			if open {
				put(dir+"/open/"+id, "")
			}
		}
	}
}

func BenchmarkList(b *testing.B) {
	for _, open := range []bool{false, true} {
		b.Run(fmt.Sprintf("open=%v", open), func(b *testing.B) {
			root := b.TempDir()
			fill(b, root, 300, open)
			o := fleet.Options{Root: root, Now: time.Now()}
			for b.Loop() {
				rows, problems := fleet.List(b.Context(), o)
				if len(problems) > 0 || (len(rows) == 900) != open {
					b.Fatalf("%d rows, %v", len(rows), problems)
				}
			}
		})
	}
}
