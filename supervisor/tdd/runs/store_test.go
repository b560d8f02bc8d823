package runs

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"autopilot/supervisor/tdd"
)

var rewrite = flag.Bool("update", false, "write the golden files")

// small is a run in the middle of its second subtask.
func small() (before, st tdd.State) {
	minute := func(m, s int) time.Time { return time.Date(2025, 10, 7, 14, m, s, 0, time.UTC) }
	st = tdd.State{
		RunID: ID("first-steps", "1", minute(30, 0)), TaskID: "1", TaskTitle: "Preflight & flags", Tag: "first-steps",
		Branch: "first-steps-1", BaseBranch: "main", BaseCommit: strings.Repeat("0f", 20), ProjectRoot: "/home/me/app",
		TasksFile: ".taskmaster/tasks/tasks.json", Status: tdd.InProgress, CurrentPhase: tdd.Red, CurrentSubtask: "1.1", AttemptNumber: 1,
		MaxAttempts: 3, Attempts: map[string]int{"1.1": 2, "1.2": 1},
		Subtasks:          []tdd.Subtask{{ID: "1.1", Title: "Skeleton"}, {ID: "1.2", Title: "Detect"}, {ID: "1.3", Title: "Wire", After: []string{"1.2"}}, {ID: "1.4", Title: "Docs"}},
		CompletedSubtasks: []string{}, PendingSubtasks: []string{"1.1", "1.2", "1.3", "1.4"}, CanResume: true, Commits: []tdd.Made{},
		NextAction: tdd.Action{Type: "generate", Subtask: "1.1", Phase: tdd.Red}, StartTime: minute(30, 0), SubtaskTime: minute(30, 25), LastUpdated: minute(30, 25),
		Baseline: &tdd.Run{At: minute(30, 10), Measured: &tdd.Measured{Results: tdd.Results{Passed: 12, Total: 12}, Counted: true, OK: true, Command: "npm test", Detail: "exit 0"}},
	}
	log := func(at time.Time, a tdd.Activity) {
		st.Seq++
		a.TS, a.Seq, a.RunID = at, st.Seq, st.RunID
		st.Outbox = append(st.Outbox, a)
	}
	log(minute(30, 0), tdd.Activity{Event: tdd.EventPhaseStart, Phase: "preflight", Status: "ok"})
	log(minute(30, 15), tdd.Activity{Event: tdd.EventPhaseComplete, Phase: "preflight", Checks: map[string]bool{"git": true, "test": true, "tools": true}})
	log(minute(30, 20), tdd.Activity{Event: tdd.EventBranchCreated, Branch: st.Branch})
	log(minute(30, 22), tdd.Activity{Event: tdd.EventTagSwitched, From: "master", To: st.Tag})
	log(minute(30, 25), tdd.Activity{Event: tdd.EventSubtaskStart, SubtaskID: "1.1", Phase: "red"})
	before = st
	before.Outbox = slices.Clone(st.Outbox)

	st.Outbox = nil
	st.CurrentPhase, st.CurrentSubtask, st.LastUpdated, st.SubtaskTime = tdd.Green, "1.2", minute(35, 30), minute(33, 20)
	st.CompletedSubtasks, st.PendingSubtasks = []string{"1.1"}, []string{"1.2", "1.3", "1.4"}
	st.Commits = []tdd.Made{{Subtask: "1.1", SHA: strings.Repeat("a1b2c3d4e5", 4), Subject: "feat(cli): lay out the commands (task 1.1)", At: minute(33, 15)}}
	st.Head = st.Commits[0].SHA
	st.Red = &tdd.Run{At: minute(35, 0), Reported: &tdd.Results{Failed: 2, Passed: 3, Total: 5}, Files: []string{"src/__tests__/commands.test.ts"}}
	st.NextAction = tdd.Action{Type: "implement", Subtask: "1.2", Phase: tdd.Green, Context: tdd.Hints{
		TestFile:     "src/__tests__/commands.test.ts",
		TestFiles:    []string{"src/__tests__/commands.test.ts"},
		FailingTests: []string{"names every command", "refuses an unknown one"}, ImplementationFiles: []string{"src/commands/table.ts"},
	}}
	log(minute(31, 0), tdd.Activity{Event: tdd.EventTestRun, SubtaskID: "1.1", Phase: "red", Attempt: 1, Passed: new(3), Failed: new(0), Status: "unexpected", Error: "no test fails,\nand one has to"})
	log(minute(31, 10), tdd.Activity{Event: tdd.EventTestGenerated, SubtaskID: "1.1", Files: []string{"src/__tests__/autopilot.test.ts"}, TestCount: new(3)})
	log(minute(31, 15), tdd.Activity{Event: tdd.EventTestRun, SubtaskID: "1.1", Phase: "red", Attempt: 2, Passed: new(0), Failed: new(3), Status: "expected"})
	log(minute(31, 20), tdd.Activity{Event: tdd.EventTransition, From: "red", To: "green"})
	log(minute(32, 45), tdd.Activity{Event: tdd.EventCodeModified, Files: []string{"src/commands/autopilot.ts"}, LinesChanged: "+58,-0"})
	log(minute(33, 0), tdd.Activity{Event: tdd.EventTestRun, SubtaskID: "1.1", Phase: "green", Attempt: 1, Passed: new(3), Failed: new(0), Status: "success"})
	log(minute(33, 15), tdd.Activity{Event: tdd.EventCommitCreated, SubtaskID: "1.1", SHA: st.Head, Message: st.Commits[0].Subject})
	log(minute(33, 20), tdd.Activity{Event: tdd.EventSubtaskComplete, SubtaskID: "1.1", Duration: "180s"})
	return before, st
}

// saved is a store with the small run in it.
func saved(t testing.TB) (Store, tdd.State) {
	t.Helper()
	s := Store{Dir: t.TempDir()}
	before, st := small()
	if err := s.Create(before); err != nil {
		t.Fatal(err)
	}
	results := map[string]any{
		"baseline":        before.Baseline,
		"subtask-1.1-red": stored{Run: tdd.Run{Measured: &tdd.Measured{Results: tdd.Results{Failed: 3, Total: 3}, Broken: 1, Counted: true, Command: "npm test", Output: "<3 & more>"}}, Valid: new(true)},
		"subtask-1.1-green": stored{Run: tdd.Run{
			Reported: &tdd.Results{Passed: 15, Skipped: 1, Total: 16}, Coverage: tdd.Coverage{Lines: new(91.27), Branches: new(80.0)},
		}, Valid: new(true)},
		"subtask-1.2-green": stored{Run: tdd.Run{Reported: &tdd.Results{Failed: 1, Total: 1}}, Valid: new(false)},
	}
	for name, v := range results {
		if err := s.PutResults(st.RunID, name, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Save(st); err != nil {
		t.Fatal(err)
	}
	return s, st
}

// All files of a run, as other programs find them.
func TestGolden(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	report, err := s.Report(st.RunID)
	if err != nil {
		t.Fatal(err)
	}
	data, err := encode(report)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.Dir, "report.json"), string(data))
	write(t, filepath.Join(s.Dir, "report.txt"), report.Text())
	var got txtar.Archive
	err = filepath.WalkDir(s.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(s.Dir, name)
		got.Files = append(got.Files, txtar.File{Name: rel, Data: []byte(read(t, name))})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "small.txtar")
	if *rewrite {
		write(t, golden, string(txtar.Format(&got)))
	}
	if d := cmp.Diff(read(t, golden), string(txtar.Format(&got))); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	for name, load := range map[string]func() (tdd.State, error){
		"Peek": s.Peek, "Load": s.Load,
		"PeekRun": func() (tdd.State, error) { return s.PeekRun(st.RunID) },
		"LoadRun": func() (tdd.State, error) { return s.LoadRun(st.RunID) },
	} {
		got, err := load()
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(st, got); d != "" {
			t.Errorf("%s (-saved +loaded):\n%s", name, d)
		}
	}
}

func TestID(t *testing.T) {
	t.Parallel()
	when := time.Date(2025, 10, 7, 16, 30, 0, 7_999_999, time.FixedZone("", 2*3600))
	const stamp = "__2025-10-07T14-30-00-007Z"
	tests := []struct{ tag, task, want string }{
		{"first-steps", "1", "first-steps__task-1" + stamp},
		{"v1.2_x", "TAS-42.1", "v1.2_x__task-TAS-42.1" + stamp},
		{"feature/x", "1", "feature-x-217d2bf5__task-1" + stamp},
		{"..", "../../etc", "--HASH__task-HASH" + stamp},
		{"", "", "HASH"},
		{".hidden", "\x00\n", "HASH"},
		{"größe", "日本", "HASH"},
		{strings.Repeat("a", 500), strings.Repeat("/", 500), "HASH"},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		got := ID(tt.tag, tt.task, when)
		if !strings.Contains(tt.want, "HASH") && got != tt.want {
			t.Errorf("ID(%q, %q) = %s, want %s", tt.tag, tt.task, got, tt.want)
		}
		if _, ok := began(got); !ok || !strings.HasSuffix(got, stamp) || filepath.Base(got) != got || strings.HasPrefix(got, ".") {
			t.Errorf("ID(%q, %q) = %s, which is no name of a run", tt.tag, tt.task, got)
		}
		if seen[got] {
			t.Errorf("%s occurs twice", got)
		}
		seen[got] = true
	}
	long := strings.Repeat("a", 100)
	if ID(long+"1", "1", when) == ID(long+"2", "1", when) || ID("a/b", "1", when) == ID("a-b", "1", when) {
		t.Error("two tags have one name")
	}
}

func TestOddNames(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	victim := filepath.Join(s.Dir, "runs2", "x")
	write(t, victim, "keep")
	write(t, filepath.Join(s.Dir, "runs", "notes.txt"), "a person's")
	names := []string{
		"", ".", "..", "/", "../runs2", "x", st.RunID + "/", st.RunID + "/..", "../runs/" + st.RunID, s.Folder(st.RunID), "notes.txt",
		"..__task-1__2025-10-07T14-30-00-000Z", "a/../b__task-1__2025-10-07T14-30-00-000Z", "a__task-1__2025-13-07T14-30-00-000Z",
		"a__task-1__2025-10-07T14-30-00.000Z", "a__task-1__2024-10-07T14-30-00-000Z", strings.Repeat("a", 300) + "__2025-10-07T14-30-00-000Z",
	}
	before := snapshot(t, s.Dir)
	for _, name := range names {
		if err := s.Remove(name); !errors.Is(err, ErrNoRun) {
			t.Errorf("Remove(%q) = %v", name, err)
		}
		if _, err := s.PeekRun(name); !errors.Is(err, ErrNoRun) {
			t.Errorf("PeekRun(%q) = %v", name, err)
		}
		if _, err := s.Report(name); !errors.Is(err, ErrNoRun) {
			t.Errorf("Report(%q) = %v", name, err)
		}
		if err := s.PutResults(name, "x", 1); !errors.Is(err, ErrNoRun) {
			t.Errorf("PutResults(%q) = %v", name, err)
		}
		if err := s.Follow(t.Context(), name, 1, nil); !errors.Is(err, ErrNoRun) {
			t.Errorf("Follow(%q) = %v", name, err)
		}
	}
	if d := cmp.Diff(before, snapshot(t, s.Dir)); d != "" {
		t.Errorf("files changed:\n%s", d)
	}
}

func TestNewID(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	now := time.Date(2025, 10, 7, 14, 30, 0, 999e6, time.UTC)
	a := first(s.NewID("dev", "1", now), now)
	if err := s.Create(a); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Abort(now); err != nil {
		t.Fatal(err)
	}
	b := first(s.NewID("dev", "1", now), now)
	if want := "dev__task-1__2025-10-07T14-30-01-000Z"; b.RunID != want {
		t.Errorf("second run is %s, want %s", b.RunID, want)
	}
	if err := s.Create(first(a.RunID, now)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create in a folder that is there = %v", err)
	}
	if err := s.Create(b); err != nil {
		t.Error(err)
	}
	pointed(t, s, b)
}

func TestCreateIsRefusedBesideARun(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	other := first(ID("dev", "2", st.StartTime.Add(time.Hour)), st.StartTime)
	if err := s.Create(other); err == nil || !strings.Contains(err.Error(), st.RunID) {
		t.Errorf("Create = %v", err)
	}
	write(t, s.file(st.RunID, stateName), "{}")
	if err := s.Create(other); !errors.As(err, new(*BrokenError)) {
		t.Errorf("Create beside a broken run = %v", err)
	}
	if _, err := os.Stat(s.Folder(other.RunID)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a folder: %v", err)
	}
}

// What could not be loaded is not saved, and neither is what would lose an event.
func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	s, saved := saved(t)
	before := snapshot(t, s.Dir)
	tests := map[string]func(*tdd.State){
		"no task":               func(st *tdd.State) { st.TaskID = "" },
		"status":                func(st *tdd.State) { st.Status = "running" },
		"phase":                 func(st *tdd.State) { st.CurrentPhase = "blue" },
		"no start":              func(st *tdd.State) { st.StartTime = time.Time{} },
		"lost subtask":          func(st *tdd.State) { st.PendingSubtasks = st.PendingSubtasks[:2] },
		"unknown subtask":       func(st *tdd.State) { st.CompletedSubtasks = []string{"1.1", "9"} },
		"subtask in two lists":  func(st *tdd.State) { st.CompletedSubtasks = []string{"1.1", "1.2"} },
		"no current subtask":    func(st *tdd.State) { st.CurrentSubtask = "" },
		"current one is done":   func(st *tdd.State) { st.CurrentSubtask = "1.1" },
		"subtask outside loop":  func(st *tdd.State) { st.CurrentPhase = tdd.Finalize },
		"gap in the outbox":     func(st *tdd.State) { st.Outbox = append(st.Outbox[:1:1], st.Outbox[2:]...) },
		"event without number":  func(st *tdd.State) { st.Seq++ },
		"event in no outbox":    func(st *tdd.State) { st.Seq++; st.Outbox = nil },
		"older than disk":       func(st *tdd.State) { st.Seq, st.Outbox = st.Seq-1, st.Outbox[:len(st.Outbox)-1] },
		"another run's event":   func(st *tdd.State) { st.Outbox[0].RunID = "x" },
		"a run that is not":     func(st *tdd.State) { st.RunID = ID("x", "1", st.StartTime); st.Outbox = nil },
		"not a run":             func(st *tdd.State) { st.RunID = "../x" },
		"no JSON form":          func(st *tdd.State) { nan := 0.0; nan /= nan; st.Red.Coverage.Lines = &nan },
		"two subtasks, one id":  func(st *tdd.State) { st.Subtasks = append(st.Subtasks[:4:4], st.Subtasks[0]) },
		"negative attempt":      func(st *tdd.State) { st.AttemptNumber = -1 },
		"negative event number": func(st *tdd.State) { st.Seq, st.Outbox = -1, nil },
	}
	for name, change := range tests {
		st := saved
		st.Outbox = slices.Clone(saved.Outbox)
		red := *saved.Red
		st.Red = &red
		change(&st)
		if err := s.Save(st); err == nil || errors.As(err, new(*UnsettledError)) {
			t.Errorf("%s: Save = %v, want a refusal", name, err)
		}
	}
	if d := cmp.Diff(before, snapshot(t, s.Dir)); d != "" {
		t.Errorf("files changed:\n%s", d)
	}
}

// The state is saved, one of the other files cannot be.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	file := s.file(st.RunID, manifestName)
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil {
		t.Fatal(err)
	}
	st.Outbox = nil
	st.Status = tdd.OnHold
	happen(&st, st.LastUpdated, tdd.Activity{Event: tdd.EventPaused})
	err := s.Save(st)
	if u, ok := errors.AsType[*UnsettledError](err); !ok || u.RunID != st.RunID || !strings.Contains(err.Error(), file) || u.Hint() == "" {
		t.Errorf("Save = %v", err)
	}
	got, err := s.Load()
	if !errors.As(err, new(*UnsettledError)) {
		t.Errorf("Load = %v", err)
	}
	if d := cmp.Diff(st, got); d != "" {
		t.Errorf("state (-saved +loaded):\n%s", d)
	}
	pointed(t, s, st) // what comes behind the file is written all the same
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(); err != nil {
		t.Error(err)
	}
	m, err := s.brief(st.RunID)
	if err != nil || !slices.Equal(m.SubtasksFailed, []string{"1.2"}) {
		t.Errorf("manifest = %+v, %v", m, err)
	}
}

func TestPeekTouchesNothing(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), "none")}
	if _, err := s.Peek(); !errors.Is(err, ErrNoRun) {
		t.Errorf("Peek = %v", err)
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made: %v", err)
	}
	s, st := saved(t)
	for _, file := range []string{s.file(st.RunID, manifestName), s.pointerFile(), s.file(st.RunID, activityName)} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }()
	before := snapshot(t, s.Dir)
	if got, err := s.Peek(); err != nil || got.RunID != st.RunID {
		t.Errorf("Peek = %s, %v", got.RunID, err)
	}
	if list, err := s.List(); err != nil || len(list) != 1 {
		t.Errorf("List = %v, %v", list, err)
	}
	if d := cmp.Diff(before, snapshot(t, s.Dir)); d != "" {
		t.Errorf("files changed:\n%s", d)
	}
}

func TestTemporaryFilesGo(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	temp := s.file(st.RunID, "."+stateName+"1234567890123456")
	write(t, temp, "half")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(temp, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestScratch(t *testing.T) {
	t.Parallel()
	s := Store{Dir: filepath.Join(t.TempDir(), "a", "b")}
	dir, err := s.Scratch()
	if info, serr := os.Stat(dir); err != nil || serr != nil || !info.IsDir() || filepath.Dir(dir) != s.Dir {
		t.Errorf("Scratch = %s, %v, %v", dir, err, serr)
	}
}

func BenchmarkPeek(b *testing.B) {
	b.Run("small", func(b *testing.B) {
		s, _ := saved(b)
		peek(b, s)
	})
	b.Run("large", func(b *testing.B) { // 60 subtasks and commits, results with much output
		s, st := saved(b)
		st.Outbox = nil
		for i := range 60 {
			id := "2." + strings.Repeat("1", i+1)
			st.Subtasks = append(st.Subtasks, tdd.Subtask{ID: id, Title: "One more part of the task"})
			st.CompletedSubtasks = append(st.CompletedSubtasks, id)
			st.Commits = append(st.Commits, tdd.Made{Subtask: id, SHA: st.Head, Subject: "feat: one more part of the task", At: st.StartTime})
		}
		m := tdd.Measured{Output: strings.Repeat("a line of output \"quoted\"\n", 300), Failing: slices.Repeat([]string{"TestSomething/of/some/length"}, 100)}
		st.Red, st.Green, st.Baseline = &tdd.Run{Measured: &m}, &tdd.Run{Measured: &m}, &tdd.Run{Measured: &m}
		if err := s.Save(st); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(s.file(st.RunID, stateName))
		if err != nil {
			b.Fatal(err)
		}
		peek(b, s)
		b.ReportMetric(float64(info.Size()), "stateBytes")
	})
	b.Run("100 runs, no pointer", func(b *testing.B) {
		s := Store{Dir: b.TempDir()}
		for range 100 {
			at(b, s, 0)
			if _, err := s.Abort(time.Now()); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.Remove(s.pointerFile()); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := s.Peek(); !errors.Is(err, ErrNoRun) {
				b.Fatal(err)
			}
		}
	})
}

func peek(b *testing.B, s Store) {
	for b.Loop() {
		if _, err := s.Peek(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSave(b *testing.B) {
	s, st := saved(b)
	for b.Loop() {
		st.Outbox = nil
		happen(&st, st.LastUpdated, tdd.Activity{Event: tdd.EventTestRun})
		happen(&st, st.LastUpdated, tdd.Activity{Event: tdd.EventTransition})
		if err := s.Save(st); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	s, _ := saved(b)
	for b.Loop() {
		if _, err := s.Load(); err != nil {
			b.Fatal(err)
		}
	}
}
