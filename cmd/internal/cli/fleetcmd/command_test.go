package fleetcmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/peer"
	"autopilot/probe/proctree"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/story"
)

const folderVar = "FLEETCMD_TEST_FOLDER"

// TestMain lets the test binary be a supervisor, which keeps its state and the signals that
// it gets in a folder.
func TestMain(m *testing.M) {
	folder := os.Getenv(folderVar)
	if folder == "" {
		os.Exit(m.Run())
	}
	if err := supervise(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func supervise(folder string) error {
	got := make(chan os.Signal, 8)
	signal.Notify(got, syscall.SIGUSR1, syscall.SIGTERM)
	if err := save(folder, os.Getpid(), 0); err != nil {
		return err
	}
	fmt.Println(os.Getpid())
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	select {
	case <-over:
		return nil
	case sig := <-got:
		return os.WriteFile(filepath.Join(folder, "signal"), []byte(sig.String()), 0o600)
	}
}

// save writes the state of a run whose supervisor has a pid. Off is by how much its start
// stamp is not that of the process.
func save(folder string, pid int, off uint64) error {
	start, _ := proctree.StartOf(pid)
	s := supervisor.State{Version: supervisor.StateVersion, PID: pid, Start: start + off, UpdatedAt: time.Now(), Token: "token of a run"}
	s.Record = ledger.Run{AutopilotRunID: filepath.Base(folder), StartedAt: ledger.Stamp(time.Now()), MaxSessions: 5}
	return statedir.ReplaceJSON(filepath.Join(folder, "state.json"), s)
}

// world is a home with runs in it.
type world struct {
	*testing.T
	home string
	env  []string
}

func newWorld(t *testing.T) world {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return world{T: t, home: home, env: []string{"HOME=" + home, "XDG_STATE_HOME=" + home + "/state"}}
}

func (w world) register(name, branch string) (id, folder string) {
	w.Helper()
	p, err := statedir.OpenProject(w.home+"/state/autopilot", filepath.Join(w.home, name))
	if err != nil {
		w.Fatal(err)
	}
	id, folder, err = supervisor.Register(p, branch, time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC))
	if err != nil {
		w.Fatal(err)
	}
	return id, folder
}

// run makes a run with a supervisor of its own.
func (w world) run(name, branch string) (id, folder string, pid int) {
	w.Helper()
	id, folder = w.register(name, branch)
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	// Under its own name this process would look like the guard of that one.
	path := filepath.Join(w.TempDir(), "autopilot")
	if err := os.Link(self, path); err != nil {
		data, err := os.ReadFile(self)
		if err != nil {
			w.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o700); err != nil {
			w.Fatal(err)
		}
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", folderVar+"="+folder)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		w.Fatal(err)
	}
	return id, folder, cmd.Process.Pid
}

// signalled waits for the signal that a supervisor gets.
func (w world) signalled(folder string) string {
	w.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(5 * time.Millisecond) {
		if data, err := os.ReadFile(filepath.Join(folder, "signal")); err == nil && len(data) > 0 {
			return string(data)
		}
		if time.Now().After(deadline) {
			w.Fatalf("no signal came to %s", folder)
		}
	}
}

// call runs the command and returns what it said and its exit code.
func (w world) call(clean Clean, args ...string) (out, errs string, code int) {
	w.Helper()
	var stdout, stderr bytes.Buffer
	std := outside.Stdio{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Environ: w.env, Dir: w.home, Width: 100}
	peers := func(context.Context) ([]peer.Session, error) { return nil, nil }
	c := command(std, clean, peers)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetOut(&stdout)
	c.SetErr(&stderr)
	code = outside.Report(std, c.ExecuteContext(w.Context()))
	return stdout.String(), stderr.String(), code
}

// want runs the command and compares all of it.
func (w world) want(code int, out string, args ...string) {
	w.Helper()
	gotOut, gotErr, gotCode := w.call(nil, args...)
	if gotCode != code || gotOut != out || (gotErr == "") != (code == 0) {
		w.Errorf("%q: exit %d, want %d\nout  %q\nwant %q\nerr  %q", args, gotCode, code, gotOut, out, gotErr)
	}
}

func TestNothingIsOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.want(0, "nothing runs on this machine\n")
	w.want(0, "{\n  \"problems\": [],\n  \"rows\": []\n}\n", "--json")
	w.want(0, "nothing is on\n", "stop", "--all")
	if entries, err := os.ReadDir(w.home); err != nil || len(entries) != 0 {
		t.Errorf("looking made %v, %v", entries, err)
	}
	w.env = nil
	if _, errs, code := w.call(nil); code != outside.ExitUsage || !strings.Contains(errs, "HOME is not set") {
		t.Errorf("without a home: exit %d, %q", code, errs)
	}
}

func TestFleet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, folder := w.register("app", "main")
	if err := save(folder, os.Getpid(), 0); err != nil {
		t.Fatal(err)
	}
	_, torn := w.register("app", "torn")
	if err := os.WriteFile(filepath.Join(torn, "state.json"), []byte("{\x1b"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, dead := w.register("app", "dead")
	if err := save(dead, os.Getpid(), 1); err != nil {
		t.Fatal(err)
	}
	out, errs, code := w.call(nil)
	for _, want := range []string{"main-2026-03-01-1230 ", "starting", "unreadable", "dead-2026-03-01-1230 ", "~/app", "3 runs, 0 peers; 0 tokens, $0.0000\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != 0 || !strings.HasPrefix(errs, "autopilot: load "+torn) || strings.Contains(errs+out, "\x1b") {
		t.Errorf("exit %d, %q", code, errs)
	}
	out, errs, code = w.call(nil, "--json")
	var got struct {
		Rows     []fleet.Row `json:"rows"`
		Problems []string    `json:"problems"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || errs != "" {
		t.Fatalf("%v, exit %d, %q", err, code, errs)
	}
	if len(got.Rows) != 3 || len(got.Problems) != 1 || got.Rows[0].State == "" || !strings.Contains(out, `"run_id": "`+id+`"`) {
		t.Errorf("got %+v", got)
	}
	if _, errs, code := w.call(nil, "app"); code != outside.ExitUsage || !strings.Contains(errs, `fleet takes no argument, got "app"`) {
		t.Errorf("with an argument: exit %d, %q", code, errs)
	}
}

func TestRecent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, folder := w.register("app", "main")
	s := supervisor.State{Version: supervisor.StateVersion, Finished: true, UpdatedAt: time.Now()}
	s.Record.ExitCause = "work-done"
	if err := statedir.ReplaceJSON(filepath.Join(folder, "state.json"), s); err != nil {
		t.Fatal(err)
	}
	w.want(0, "nothing runs on this machine\n")
	if out, _, _ := w.call(nil, "--recent"); !strings.Contains(out, strings.TrimSuffix(id, "-autopilot")) || !strings.Contains(out, "work-done") {
		t.Errorf("got\n%s", out)
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, folder, _ := w.run("app", "main")
	twin, twinFolder, twinPID := w.run("twin", "main")
	if id != twin {
		t.Fatalf("%s and %s", id, twin)
	}
	in := func(name string) string { return "run " + id + " in " + filepath.Join(w.home, name) }
	for _, args := range [][]string{{"stop", id}, {"stop", "main"}, {"stop", "nowhere"}, {"stop", strconv.Itoa(twinPID), "nowhere"}} {
		out, errs, code := w.call(nil, args...)
		if code != outside.ExitUsage || out != "" || !strings.Contains(errs, filepath.Join(w.home, "app")) || !strings.Contains(errs, "pid "+strconv.Itoa(twinPID)) || !strings.Contains(errs, "nothing was stopped") {
			t.Errorf("%q: exit %d, %q, %q", args, code, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(twinFolder, "signal")); !errors.Is(err, os.ErrNotExist) || supervisor.StopRequested(twinFolder) != "" {
		t.Errorf("a run was stopped although an id was refused: %v", err)
	}
	w.want(0, in("twin")+" stops after its current session\n", "stop", strconv.Itoa(twinPID))
	if got := w.signalled(twinFolder); got != "user defined signal 1" {
		t.Errorf("signal %q", got)
	}
	for deadline := time.Now().Add(time.Minute); alive(t, twinFolder) && time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
	}
	// Of the two that have the id one is gone now, and still open.
	w.want(0, in("app")+" ends now\n", "stop", "--all", "--now")
	if got := w.signalled(folder); got != "terminated" {
		t.Errorf("signal %q", got)
	}
}

func alive(t *testing.T, folder string) bool {
	t.Helper()
	s, err := supervisor.LoadState(folder)
	if err != nil {
		t.Fatal(err)
	}
	return s.Alive()
}

func TestStopSaysWhatItCould(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss, folder, _ := w.run("app", "main")
	members := []story.Member{{Story: story.Story{ID: "one"}, Status: story.Waiting}, {Story: story.Story{ID: "two"}, Status: story.Done}}
	if err := statedir.ReplaceJSON(filepath.Join(folder, story.File), story.Cohort{Version: story.Version, Members: members}); err != nil {
		t.Fatal(err)
	}
	_, dead := w.register("app", "dead")
	if err := save(dead, os.Getpid(), 1); err != nil {
		t.Fatal(err)
	}
	out, errs, code := w.call(nil, "stop", "main-2026…", "one", "two", "dead")
	app := filepath.Join(w.home, "app")
	want := "cohort " + boss + " in " + app + " stops after the current sessions of its stories\nstory two in " + app + " is not on\nrun dead-2026-03-01-1230-autopilot in " + app + " is not on\n"
	if diff := cmp.Diff(want, out); diff != "" || code != supervisor.ExitError || !strings.Contains(errs, "stop story one in "+app+": it has not been begun") {
		t.Errorf("exit %d, %q\n%s", code, errs, diff)
	}
	w.signalled(folder)
	if err := os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(folder)), "project.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := w.call(nil, "stop", "--all"); code != supervisor.ExitError || out != "" || !strings.Contains(errs, "what is on may be more: load ") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	for _, args := range [][]string{{"stop"}, {"stop", "--all", "x"}, {"stop", "--everything"}, {"clean", "x"}} {
		if _, errs, code := w.call(nil, args...); code == 0 || errs == "" {
			t.Errorf("%q: exit %d, %q", args, code, errs)
		}
	}
}

// TestSessionsStopNothing: what a run has started can look, and cannot stop or clear, in
// whatever folder and with whatever environment.
func TestSessionsStopNothing(t *testing.T) {
	t.Parallel()
	cleaned := 0
	clean := func(context.Context, bool) ([]Cleaned, error) { cleaned++; return nil, nil }
	w := newWorld(t)
	_, other, _ := w.run("app", "main")
	ours := w
	id, folder := w.register("elsewhere", "session")
	check := func(name string) {
		t.Helper()
		for _, args := range [][]string{{"stop", "--all", "--now"}, {"stop", "main"}, {"clean"}, {"clean", "--dry-run"}} {
			if out, errs, code := ours.call(clean, args...); code != outside.ExitUsage || out != "" || !strings.Contains(errs, "is not for a session of autopilot") {
				t.Errorf("%s, %q: exit %d, %q, %q", name, args, code, out, errs)
			}
		}
		if out, _, code := ours.call(clean); code != 0 || !strings.Contains(out, "main-2026-03-01-1230") {
			t.Errorf("%s: looking ends with %d, %q", name, code, out)
		}
	}
	for _, v := range []string{launch.RunVar, launch.SessionVar} {
		ours.env = append(w.env[:len(w.env):len(w.env)], v+"=x")
		check(v)
	}
	ours.env = w.env
	if err := save(folder, os.Getppid(), 0); err != nil { // the process above this one is the supervisor of a run
		t.Fatal(err)
	}
	check("below " + id)
	if _, err := os.Stat(filepath.Join(other, "signal")); !errors.Is(err, os.ErrNotExist) || supervisor.StopRequested(other) != "" || cleaned > 0 {
		t.Errorf("something was stopped or cleared all the same: %v, %d", err, cleaned)
	}
	if err := save(folder, os.Getppid(), 1); err != nil { // it has only the pid of one
		t.Fatal(err)
	}
	if _, errs, code := ours.call(clean, "clean"); code != 0 || cleaned != 1 {
		t.Errorf("a person: exit %d, %q", code, errs)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	done := []Cleaned{
		{Path: "/srv/trees/one", Branch: "autopilot/one", Removed: true, Why: "merged into main"},
		{Path: "/srv/trees/two", Branch: "autopilot/two", Why: "2 commits\nare not merged\x1b[2J"},
		{Path: "/srv/trees/three", Removed: true},
	}
	tests := []struct {
		name  string
		clean Clean
		args  []string
		code  int
		out   string
		errs  string
	}{
		{
			"done", func(_ context.Context, dry bool) ([]Cleaned, error) { return done, wrong(dry) },
			nil, 0, "removed /srv/trees/one (branch autopilot/one): merged into main\nkept /srv/trees/two (branch autopilot/two): 2 commits are not merged?[2J\nremoved /srv/trees/three\n", "",
		},
		{
			"dry", func(_ context.Context, dry bool) ([]Cleaned, error) { return done[:1], wrong(!dry) },
			[]string{"--dry-run"},
			0, "would remove /srv/trees/one (branch autopilot/one): merged into main\n", "",
		},
		{"nothing", func(context.Context, bool) ([]Cleaned, error) { return nil, nil }, nil, 0, "no ended cohort has left a work tree\n", ""},
		{
			"half", func(context.Context, bool) ([]Cleaned, error) { return done[2:], errors.New("no git") },
			nil, supervisor.ExitError, "removed /srv/trees/three\n", "autopilot: no git\n",
		},
		{"failed", func(context.Context, bool) ([]Cleaned, error) { return nil, errors.New("no git") }, nil, supervisor.ExitError, "", "autopilot: no git\n"},
	}
	for _, tt := range tests {
		out, errs, code := w.call(tt.clean, append([]string{"clean"}, tt.args...)...)
		if out != tt.out || errs != tt.errs || code != tt.code {
			t.Errorf("%s: exit %d, %q, %q", tt.name, code, out, errs)
		}
	}
}

func wrong(is bool) error {
	if is {
		return errors.New("the wrong kind of run")
	}
	return nil
}
