package act_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/act"
	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/sessions/approval"
	"autopilot/sessions/approval/rule"
	"autopilot/supervisor"
)

const (
	partVar  = "ACT_TEST_PART"
	dirVar   = "ACT_TEST_DIR"
	rootVar  = "ACT_TEST_ROOT"
	fromVar  = "ACT_TEST_FROM"
	patience = time.Minute
	every    = 10 * time.Millisecond
)

// TestMain lets the test binary be the program.
func TestMain(m *testing.M) {
	part := os.Getenv(partVar)
	if part == "" {
		os.Exit(m.Run())
	}
	os.Exit(play(part, os.Getenv(dirVar)))
}

func play(part, dir string) int {
	args, _ := json.Marshal(os.Args[1:])
	if err := os.WriteFile(filepath.Join(dir, "args"), args, 0o600); err != nil {
		return 1
	}
	switch part {
	case "says":
		fmt.Println("it is \x1b[31mdone\x1b[0m")
	case "refuses":
		fmt.Fprintln(os.Stderr, "a warning\nautopilot: it cannot be\x07\nhint: do it otherwise")
		return 3
	case "dies":
		return 5
	case "floods":
		for range 100_000 {
			fmt.Println("word word word word")
		}
		return 1
	case "hangs":
		for _, err := os.Stat(dir); err == nil; _, err = os.Stat(dir) {
			<-time.After(5 * time.Millisecond)
		}
	case "runs":
		return beRun(dir)
	}
	return 0
}

// beRun is a run until the file named end is there.
func beRun(dir string) int {
	all, err := statedir.Projects(os.Getenv(rootVar))
	if err != nil || len(all) == 0 {
		return 1
	}
	if err := write(all[0], "later", os.Getpid()); err != nil {
		return 1
	}
	sid, _ := getsid(0)
	fmt.Println("session", sid == os.Getpid())
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "end")); err == nil {
			return 0
		}
	}
	return 1
}

// write makes a run whose supervisor has a pid.
func write(p statedir.Project, branch string, pid int) error {
	id, folder, err := supervisor.Register(p, branch, time.Now())
	if err != nil {
		return err
	}
	s := supervisor.State{Version: supervisor.StateVersion, PID: pid}
	s.Start, _ = proctree.StartOf(pid)
	s.Record = ledger.Run{AutopilotRunID: id, ResumedFrom: os.Getenv(fromVar)}
	return statedir.ReplaceJSON(filepath.Join(folder, "state.json"), s)
}

// world is a state root with one project and one run in it, which is this process.
type world struct {
	*testing.T
	dir string
	p   statedir.Project
	ref board.Ref
}

func newWorld(t *testing.T) world {
	t.Helper()
	made, err := os.MkdirTemp("", "act")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(made)
	t.Cleanup(func() { // what was started for good may still write
		for deadline := time.Now().Add(patience); os.RemoveAll(made) != nil && time.Now().Before(deadline); {
			<-time.After(5 * time.Millisecond)
		}
	})
	w := world{T: t, dir: dir}
	w.check(err)
	w.p, err = statedir.OpenProject(dir+"/state [1]", dir+"/app [1]")
	w.check(err)
	w.check(write(w.p, "main", os.Getpid()))
	id, err := supervisor.LastRun(w.p)
	w.check(err)
	w.ref = board.Ref{Project: filepath.Base(w.p.Dir), Run: id}
	return w
}

func (w world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// actor is one whose program plays a part.
func (w world) actor(part string) act.Actor {
	self, err := os.Executable()
	w.check(err)
	env := append(os.Environ(), partVar+"="+part, dirVar+"="+w.dir, rootVar+"="+w.dir+"/state [1]", fromVar+"="+w.ref.Run, "GORACE=atexit_sleep_ms=0")
	return act.Actor{Self: self, Environ: env, Root: w.dir + "/state [1]"}
}

// args are those of the command that was run.
func (w world) args() []string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, "args"))
	w.check(err)
	var args []string
	w.check(json.Unmarshal(data, &args))
	return args
}

func (w world) lastRun() string {
	id, err := supervisor.LastRun(w.p)
	if err != nil {
		w.Error(err)
	}
	return id
}

func (w world) hold(p statedir.Project) string {
	desk := approval.Desk{Dir: filepath.Join(p.Dir, "gates")}
	v, err := desk.Hold(rule.Call{Tool: "Bash", Input: []byte(`{"command":"x"}`), Dir: p.Path}, []rule.Finding{{Rule: "r"}}, approval.Who{RunID: w.ref.Run}, time.Now(), approval.Look{})
	w.check(err)
	return v.Gate.ID
}

func TestCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tree, err := statedir.OpenProject(w.dir+"/state [1]", w.dir+"/tree")
	w.check(err)
	held := w.hold(w.p)
	story := board.Ref{Project: filepath.Base(tree.Dir), Run: "of-a-story"}
	pid := strconv.Itoa(os.Getpid())
	a := w.actor("says")
	tests := []struct {
		name string
		do   func(context.Context) (string, error)
		want []string
	}{
		{"stop", func(ctx context.Context) (string, error) { return a.Stop(ctx, w.ref, false) }, []string{"fleet", "stop", "--", pid}},
		{"stop now", func(ctx context.Context) (string, error) { return a.Stop(ctx, w.ref, true) }, []string{"fleet", "stop", "--now", "--", pid}},
		{"approve", func(ctx context.Context) (string, error) { return a.Approve(ctx, w.ref, held) }, []string{"-C", w.p.Path, "approve", "--", held}},
		{"approve for a story", func(ctx context.Context) (string, error) { return a.Approve(ctx, story, held) }, []string{"-C", w.p.Path, "approve", "--", held}},
		{"approve what is not there", func(ctx context.Context) (string, error) { return a.Approve(ctx, story, "g-*") }, []string{"-C", tree.Path, "approve", "--", "g-*"}},
		{"deny", func(ctx context.Context) (string, error) { return a.Deny(ctx, w.ref, held, " --not $(now)\n") }, []string{"-C", w.p.Path, "deny", "--because=--not $(now)", "--", held}},
		{"deny without a word", func(ctx context.Context) (string, error) { return a.Deny(ctx, w.ref, held, "") }, []string{"-C", w.p.Path, "deny", "--", held}},
	}
	for _, tt := range tests {
		said, err := tt.do(t.Context())
		if err != nil || said != "it is done" {
			t.Errorf("%s: %q, %v", tt.name, said, err)
		}
		if diff := cmp.Diff(tt.want, w.args()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.actor("refuses")
	_, err := a.Approve(t.Context(), w.ref, "g-abcdef")
	out, ok := errors.AsType[*outside.Error](err)
	if !ok || out.Error() != "it cannot be" || out.Hint() != "do it otherwise" || out.ExitCode() != 3 {
		t.Errorf("got %#v", err)
	}
	w.check(os.Remove(filepath.Join(w.dir, "args")))
	gone := w.ref
	gone.Run = "gone"
	over := w.ref
	folder := w.p.RunDir(w.ref.Run)
	for name, do := range map[string]func() (string, error){
		"no run":     func() (string, error) { return a.Stop(t.Context(), gone, false) },
		"no project": func() (string, error) { return a.Stop(t.Context(), board.Ref{Run: w.ref.Run}, false) },
		"a path": func() (string, error) {
			return a.Stop(t.Context(), board.Ref{Project: w.ref.Project, Run: "../x"}, false)
		},
		"an option":        func() (string, error) { return a.Approve(t.Context(), w.ref, "--help") },
		"an option, again": func() (string, error) { return a.Answer(t.Context(), w.ref, "--help", "x") },
		"no answer":        func() (string, error) { return a.Answer(t.Context(), w.ref, "", " \n") },
		"not the last run": func() (string, error) { return a.Answer(t.Context(), gone, "story", "x") },
		"not on any more": func() (string, error) {
			s, err := supervisor.LoadState(folder)
			w.check(err)
			s.Start++
			w.check(statedir.ReplaceJSON(filepath.Join(folder, "state.json"), s))
			return a.Stop(t.Context(), over, false)
		},
	} {
		if said, err := do(); err == nil || said != "" {
			t.Errorf("%s: %q, %v", name, said, err)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "args")); err == nil {
		t.Errorf("%v was run", w.args())
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.actor("floods").Approve(t.Context(), w.ref, "g-abcdef")
	if err == nil || len(err.Error()) > 8000 || !strings.HasSuffix(err.Error(), "…") {
		t.Errorf("got %.100v", err)
	}
}

func TestContextEndsTheCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := w.actor("hangs").Approve(ctx, w.ref, "g-abcdef"); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v", err)
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	said, err := w.actor("runs").Answer(t.Context(), w.ref, "", "--help; rm -rf $HOME\n")
	w.check(err)
	id, err := supervisor.LastRun(w.p)
	w.check(err)
	if id == w.ref.Run || said != "run "+id+" goes on with it" {
		t.Errorf("got %q, the last run is %s", said, id)
	}
	if diff := cmp.Diff([]string{"-C", w.p.Path, "answer", w.ref.Run, " --help; rm -rf $HOME"}, w.args()); diff != "" {
		t.Error(diff)
	}
	s, err := supervisor.LoadState(w.p.RunDir(id))
	w.check(err)
	if sid, _ := getsid(s.PID); sid != s.PID || !s.Alive() {
		t.Errorf("pid %d is in session %d, alive %t", s.PID, sid, s.Alive())
	}
	w.check(os.WriteFile(filepath.Join(w.dir, "end"), nil, 0o600))
	for deadline := time.Now().Add(patience); s.Alive() && time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
	}
	log, err := os.ReadFile(filepath.Join(w.p.Dir, "answer.log"))
	if err != nil || string(log) != "session true\n" || s.Alive() {
		t.Errorf("log %q, %v, alive %t", log, err, s.Alive())
	}
}

func TestAnswerThatIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := filepath.Join(w.p.Dir, "answer.log")
	w.check(os.WriteFile(log, []byte("autopilot: of an earlier one\n"), 0o600))
	_, err := w.actor("refuses").Answer(t.Context(), w.ref, "story", "yes")
	if err == nil || err.Error() != "it cannot be" {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"-C", w.p.Path, "answer", "story", " yes"}, w.args()); diff != "" {
		t.Error(diff)
	}
	if _, err := w.actor("dies").Answer(t.Context(), w.ref, "", "yes"); err == nil || err.Error() != "exit status 5" {
		t.Errorf("got %v", err)
	}
	other := w.actor("runs") // which continues another run
	other.Environ = append(other.Environ, fromVar+"=another")
	soon, cancelSoon := context.WithCancel(t.Context())
	started := w.lastRun()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for w.lastRun() == started {
			<-time.After(5 * time.Millisecond)
		}
		<-time.After(20 * every)
		cancelSoon()
	})
	if _, err := other.Answer(soon, w.ref, "", "yes"); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that continues another is taken for ours: %v", err)
	}
	w.check(os.WriteFile(filepath.Join(w.dir, "end"), nil, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := w.actor("hangs").Answer(ctx, w.ref, "", "yes"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	w.check(os.WriteFile(log, make([]byte, 2<<20), 0o600))
	if _, err := w.actor("says").Answer(t.Context(), w.ref, "", "yes"); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(log); err != nil || info.Size() > 100 {
		t.Errorf("a long log goes on: %v %v", info, err)
	}
}
