package mode

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func noon() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

// ids are the session ids a..b as the loader should return them.
func ids(from, to int) []string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf("s%d", i))
	}
	return out
}

func line(i int) string {
	return fmt.Sprintf(`{"schema_version":2,"session_id":"s%d","session_type":"deep","status":"completed"}`, i)
}

func stub(i int) string {
	return fmt.Sprintf(`{"session_id":"stub%d","session_type":"feature","status":"abandoned","effectiveness":{"carryover":null}}`, i)
}

func lines(from, to int, form func(int) string) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		b.WriteString(form(i) + "\n")
	}
	return b.String()
}

func idsOf(s *Signals) []string {
	if s == nil {
		return nil
	}
	var out []string
	for _, r := range s.RecentSessions {
		out = append(out, r.ID)
	}
	return out
}

func TestLoadNothing(t *testing.T) {
	t.Parallel()
	for _, repo := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
		if got, warnings := Load(repo, noon()); got != nil || warnings != nil {
			t.Errorf("got %v %v, want nothing", got, warnings)
		}
	}
}

func TestLoadEverything(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	put(t, repo, stateFile, "---\nstatus: completed\nrecommended-mode: feature\ntop-priorities: []\ncarryover-ratio: 0.1\ncompletion-rate: 0.9\nrationale: fine\n---\n")
	put(t, repo, sessionsFile, `{"session_id":"a","mode":"feature","effectiveness":{"planned_issues":4,"carryover":0,"completion_rate":1}}`+"\n")
	put(t, repo, lockFile, "# bootstrap.lock\nversion: 1\ntier: standard\n\nat: 2026-01-01T00:00:00Z\nno colon\n: no key\n#tier: deep\n")
	put(t, repo, learningsFile, `{"type":"effective-sizing","subject":"feature","confidence":0.8,"created_at":"2026-08-01T00:00:00Z","id":"x"}`+"\n")
	got, warnings := Load(repo, noon())
	if warnings != nil {
		t.Errorf("warnings: %v", warnings)
	}
	want := &Signals{
		RecommendedMode: Feature, TopPriorities: []int64{}, CarryoverRatio: num(0.1), CompletionRate: num(0.9), PreviousRationale: "fine",
		RecentSessions: []Session{{ID: "a", Type: Feature, Effectiveness: &Effectiveness{num(4), num(0), num(1)}}},
		BootstrapLock:  map[string]string{"version": "1", "tier": "standard", "at": "2026-01-01T00:00:00Z"},
		Learnings:      []Learning{{Type: "effective-sizing", Subject: "feature", Confidence: 0.8, CreatedAt: "2026-08-01T00:00:00Z"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
	if rec := Select(got); rec.Mode != Feature || rec.Confidence != 0.7 {
		t.Errorf("got %s %v, want feature 0.7", rec.Mode, rec.Confidence)
	}
}

// TestDefaultThresholdIsReached takes records as session-orchestrator writes them and asks for 0.85.
func TestDefaultThresholdIsReached(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	put(t, repo, stateFile, "---\nstatus: completed\nrecommended-mode: feature\ntop-priorities: [12]\ncarryover-ratio: 0\ncompletion-rate: 1\n---\n")
	put(t, repo, sessionsFile, lines(1, 3, func(i int) string {
		return fmt.Sprintf(`{"schema_version":2,"session_id":"s%d","session_type":"feature","effectiveness":{"planned_issues":5,"completed":5,"carryover":0,"emergent":1,"completion_rate":1}}`, i)
	})+stub(1)+"\n")
	put(t, repo, lockFile, "tier: standard\n")
	put(t, repo, learningsFile, strings.Repeat(`{"type":"effective-sizing","subject":"feature-sessions","confidence":0.9}`+"\n", 2))
	got, warnings := Load(repo, noon())
	if rec := Select(got); rec.Confidence != 0.9 || warnings != nil {
		t.Errorf("got %v %v, want confidence 0.9", rec, warnings)
	}
}

func TestLoadSessions(t *testing.T) {
	t.Parallel()
	long := func(i int) string {
		return fmt.Sprintf(`{"session_id":"s%d","notes":"%s"}`, i, strings.Repeat("x", 10<<20))
	}
	torn := "{bad\n" + lines(1, 1, line) + "[1]\nnull\n" + lines(2, 2, line)
	tests := []struct {
		name, in string
		want     []string
		warnings []Warning
	}{
		{"empty", "", nil, nil},
		{"blank lines", "\n\n  \n\t\r\n", nil, nil},
		{"the last ten in order", lines(1, 12, line), ids(3, 12), nil},
		{"fewer than ten", lines(1, 4, line), ids(1, 4), nil},
		{"no newline at the end", lines(1, 2, line) + line(3), ids(1, 3), nil},
		{"stubs are dropped before counting", lines(1, 12, line) + lines(1, 30, stub), ids(3, 12), nil},
		{"stubs in between", lines(1, 5, line) + lines(1, 3, stub) + lines(6, 7, line), ids(1, 7), nil},
		{"only stubs", lines(1, 2000, stub), nil, nil},
		{"windows line ends", strings.ReplaceAll(lines(1, 3, line), "\n", "\r\n"), ids(1, 3), nil},
		{"byte-order mark", "\ufeff" + lines(1, 3, line), ids(1, 3), nil},
		{
			"broken lines", torn + `{"session_id":"s3","ses`, ids(1, 2),
			[]Warning{{sessionsFile, fmt.Sprintf("lines without a JSON object: 4, the last of them at byte %d", len(torn))}},
		},
		{"broken lines out of sight", "{bad\n" + lines(1, 10, line), ids(1, 10), nil},
		{"wrong types count as absent", `{"session_id":"s1","session_type":7,"status":[],"completion_rate":"1","effectiveness":[]}` + "\n", ids(1, 1), nil},
		{"a very long record", lines(1, 8, line) + lines(9, 9, long) + lines(10, 12, line), ids(3, 12), nil},
		{
			"a very long broken line", lines(1, 2, line) + strings.Repeat("x", 10<<20) + "\n" + lines(3, 4, line), ids(1, 4),
			[]Warning{{sessionsFile, fmt.Sprintf("lines without a JSON object: 1, the last of them at byte %d", len(lines(1, 2, line)))}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := t.TempDir()
			put(t, repo, sessionsFile, tt.in)
			got, warnings := Load(repo, noon())
			if got == nil {
				t.Fatal("no signals although the file is there")
			}
			if diff := cmp.Diff(tt.want, idsOf(got)); diff != "" {
				t.Errorf("sessions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLoadReadsOnlyTheTail puts the records behind a hole that nobody could read through.
func TestLoadReadsOnlyTheTail(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	put(t, repo, sessionsFile, "")
	file, err := os.OpenFile(filepath.Join(repo, sessionsFile), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const hole = 1 << 40
	if _, err := file.WriteAt([]byte("\n"+lines(1, 50_000, line)), hole); err != nil {
		t.Skipf("the file system has no sparse files of this size: %v", err)
	}
	got, warnings := Load(repo, noon())
	if diff := cmp.Diff(ids(49_991, 50_000), idsOf(got)); diff != "" || warnings != nil {
		t.Errorf("sessions (-want +got):\n%s\nwarnings %v", diff, warnings)
	}

	if err := file.Truncate(hole); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte("\n"+lines(1, 3, line)), hole); err != nil {
		t.Fatal(err)
	}
	got, warnings = Load(repo, noon())
	want := []Warning{{sessionsFile, "only the last 33554432 bytes were read"}}
	if diff := cmp.Diff(ids(1, 3), idsOf(got)); diff != "" {
		t.Errorf("sessions behind an endless line (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestTailAgreesWithReadingEverything compares with the obvious way on files whose lines straddle the blocks.
func TestTailAgreesWithReadingEverything(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "ledger")
	rapid.Check(t, func(t *rapid.T) {
		var all []string
		var text strings.Builder
		count := rapid.IntRange(0, 14).Draw(t, "lines")
		for i := range count {
			pad := strings.Repeat("x", rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(0, 9), rapid.IntRange(0, 20_000), rapid.IntRange(65_300, 65_600)).Draw(t, "pad"))
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				fmt.Fprintf(&text, `{"status":"abandoned","pad":%q}`, pad)
			case 1:
				text.WriteString("{" + pad)
			default:
				fmt.Fprintf(&text, `{"session_id":"%d","pad":%q}`, i, pad)
				all = append(all, fmt.Sprint(i))
			}
			if i < count-1 || rapid.Bool().Draw(t, "ended") {
				text.WriteString("\n")
			}
		}
		if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		want := rapid.IntRange(1, 6).Draw(t, "want")
		got, err := tail(name, want, func(f *fields) (string, bool) { return f.text("session_id"), f.text("status") == "" })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append([]string{}, last(all, want)...), append([]string{}, got.records...)); diff != "" || got.cut {
			t.Fatalf("records (-want +got), cut %t:\n%s", got.cut, diff)
		}
	})
}

func TestLoadBrokenSources(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	put(t, repo, stateFile, "---\n  indented: true\n---\n")
	put(t, repo, lockFile, "\ufefftier: gigantic\r\n")
	if err := os.MkdirAll(filepath.Join(repo, learningsFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(repo, sessionsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	got, warnings := Load(repo, noon())
	if diff := cmp.Diff(&Signals{BootstrapLock: tier("gigantic")}, got); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
	want := []Warning{
		{stateFile, "load state: .claude/STATE.md: line 2 of the frontmatter is indented"},
		{sessionsFile, "open " + filepath.Join(repo, sessionsFile) + ": it is not a regular file"},
		{lockFile, `tier is "gigantic", want fast, standard or deep`},
		{learningsFile, "open " + filepath.Join(repo, learningsFile) + ": it is not a regular file"},
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestLoadOddState(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	put(t, repo, stateFile, "\ufeff---\nrecommended-mode: 7\ntop-priorities: [1, x]\ncarryover-ratio: 25\ncompletion-rate: most\nrationale: [1]\nstatus: ~\n---\n")
	got, warnings := Load(repo, noon())
	if diff := cmp.Diff(&Signals{CarryoverRatio: num(25)}, got); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
	want := []Warning{
		{stateFile, "begins with a byte-order mark, which hides the frontmatter from session-orchestrator"},
		{stateFile, `recommended-mode is "7", want text`},
		{stateFile, `top-priorities is "[1 x]", want a list of integers`},
		{stateFile, `carryover-ratio is "25", want 0 to 1`},
		{stateFile, `completion-rate is "most", want a number`},
		{stateFile, `rationale is "[1]", want text`},
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestLoadOneSourceAlone(t *testing.T) {
	t.Parallel()
	for _, source := range []string{stateFile, sessionsFile, lockFile, learningsFile} {
		repo := t.TempDir()
		put(t, repo, source, "")
		if got, _ := Load(repo, noon()); got == nil {
			t.Errorf("%s alone gives no signals", source)
		}
	}
}

func TestSurface(t *testing.T) {
	t.Parallel()
	at := func(days int) string { return noon().AddDate(0, 0, -days).Format(time.RFC3339) }
	named := func(name string, confidence float64, created string) Learning {
		return Learning{Subject: name, Confidence: confidence, CreatedAt: created}
	}
	tests := []struct {
		name string
		in   []Learning
		want string
	}{
		{"the floor is not enough", []Learning{named("a", 0.3, ""), named("b", 0.31, ""), named("c", 0, "")}, "b"},
		{"more confidence first", []Learning{named("a", 0.5, ""), named("b", 0.9, ""), named("c", 0.7, "")}, "b c a"},
		{"age halves", []Learning{named("a", 0.9, at(90)), named("b", 0.5, at(0)), named("c", 0.4, at(0))}, "b a c"},
		{"age has a floor", []Learning{named("a", 1, at(9000)), named("b", 0.9, at(9000)), named("c", 0.31, at(160))}, "a c b"},
		{"no time does not age", []Learning{named("a", 0.5, at(10)), named("b", 0.5, ""), named("c", 0.5, "nonsense")}, "b c a"},
		{"the future is new", []Learning{named("a", 0.5, at(-400)), named("b", 0.6, at(0))}, "b a"},
		{"equal scores: the later created first", []Learning{
			{Subject: "a", Confidence: 0.5, CreatedAt: at(20), UpdatedAt: at(1)}, {Subject: "b", Confidence: 0.5, CreatedAt: at(10), UpdatedAt: at(1)},
		}, "b a"},
		{"a confirmation counts before the creation", []Learning{
			{Subject: "a", Confidence: 0.5, CreatedAt: at(1), LastReinforced: at(100)},
			{Subject: "b", Confidence: 0.5, CreatedAt: at(100), LastAccessed: at(1)},
			{Subject: "c", Confidence: 0.5, CreatedAt: at(100), LastReinforced: "nonsense", UpdatedAt: at(0)},
		}, "c b a"},
		{"expiry", []Learning{
			{Subject: "a", Confidence: 0.5, ExpiresAt: at(0)},
			{Subject: "b", Confidence: 0.5, ExpiresAt: at(-1)},
			{Subject: "c", Confidence: 0.5, ExpiresAt: "never"},
			{Subject: "d", Confidence: 0.5, ExpiresAt: "2026-09-01"},
			{Subject: "e", Confidence: 0.5, ExpiresAt: "2026-09-01T12:00:01"},
		}, "b c e"},
		{"fifteen at most", times(20, named("a", 0.5, "")), strings.TrimSpace(strings.Repeat("a ", 15))},
	}
	for _, tt := range tests {
		var got []string
		for _, l := range surface(tt.in, noon(), learningWindow, DefaultDecay()) {
			got = append(got, l.Subject)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, got, tt.want)
		}
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	now := noon().In(time.FixedZone("east", 2*60*60))
	day := func(hour, minute, second, milli int) time.Time {
		return time.Date(2026, 8, 31, hour, minute, second, milli*1e6, time.UTC)
	}
	tests := []struct {
		in   string
		want time.Time
	}{
		{"2026-08-31", day(0, 0, 0, 0)},
		{"2026-08-31T10:11:12Z", day(10, 11, 12, 0)},
		{"2026-08-31T10:11:12.345Z", day(10, 11, 12, 345)},
		{"2026-08-31T10:11:12+01:00", day(9, 11, 12, 0)},
		{"2026-08-31T10:11Z", day(10, 11, 0, 0)},
		{"2026-08-31T10:11:12", day(8, 11, 12, 0)},
		{"2026-08-31T10:11", day(8, 11, 0, 0)},
		{"2026-08-31 10:11:12", day(8, 11, 12, 0)},
		{"", time.Time{}},
		{"yesterday", time.Time{}},
		{"2026-13-01", time.Time{}},
	}
	for _, tt := range tests {
		if got, ok := parseTime(tt.in, now); !got.Equal(tt.want) || ok == tt.want.IsZero() {
			t.Errorf("%q: got %v %t, want %v", tt.in, got, ok, tt.want)
		}
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	for age, want := range map[int]float64{0: 0.8, 90: 0.4, 180: 0.2, 270: 0.1, 360: 0.08, 3600: 0.08} {
		l := Learning{Confidence: 0.8, CreatedAt: noon().AddDate(0, 0, -age).Format(time.RFC3339)}
		if got := trust(l, noon(), DefaultDecay()); math.Abs(got-want) > 1e-12 {
			t.Errorf("after %d days: got %v, want %v", age, got, want)
		}
	}
}

func TestLoadLearnings(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	put(t, repo, learningsFile, lines(1, 40, func(i int) string {
		return fmt.Sprintf(`{"subject":"l%d","confidence":%v}`, i, 0.5+float64(i%20)/100)
	})+"{bad\n"+`{"subject":"text","confidence":"0.9"}`+"\n")
	got, warnings := Load(repo, noon())
	if len(got.Learnings) != 15 || got.Learnings[0].Subject != "l19" || got.Learnings[1].Subject != "l39" {
		t.Errorf("got %v, want 15 with l19 and l39 in front", got.Learnings)
	}
	if len(warnings) != 1 || warnings[0].Source != learningsFile {
		t.Errorf("got warnings %v, want one about the learnings", warnings)
	}
}

func BenchmarkLoadLongLedger(b *testing.B) {
	repo := b.TempDir()
	name := filepath.Join(repo, sessionsFile)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(lines(1, 50_000, line)), 0o600); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if got, _ := Load(repo, noon()); len(got.RecentSessions) != sessionWindow {
			b.Fatal("sessions are missing")
		}
	}
}
