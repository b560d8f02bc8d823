package fleet_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/story"
)

// Variables that make a copy of the test binary play a part.
const (
	partVar   = "FLEET_TEST_PART"
	folderVar = "FLEET_TEST_FOLDER"
	stateVar  = "FLEET_TEST_STATE"
)

// patience bounds every wait for another process.
const patience = time.Minute

func TestMain(m *testing.M) {
	part := os.Getenv(partVar)
	if part == "" {
		os.Exit(m.Run())
	}
	if err := play(part); err != nil {
		fmt.Fprintln(os.Stderr, part, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(part string) error {
	switch part {
	case "supervisor":
		return beSupervisor()
	case "guard": // starts what its arguments say, and waits
		cmd := exec.Command(os.Args[1], os.Args[2:]...)
		cmd.Env = append(os.Environ(), partVar+"="+os.Getenv(partVar+"_NEXT"))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		return cmd.Run()
	case "session":
		fmt.Println(os.Getpid())
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "list":
		return beStranger()
	}
	return fmt.Errorf("no such part")
}

// beSupervisor writes a state with its own pid, and every signal that it gets, until it is
// told to end or the test is over.
func beSupervisor() error {
	folder := os.Getenv(folderVar)
	got := make(chan os.Signal, 8)
	signal.Notify(got, syscall.SIGUSR1, syscall.SIGTERM)
	if text := os.Getenv(stateVar); text != "" {
		var s supervisor.State
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return err
		}
		s.PID = os.Getpid()
		s.Start, _ = proctree.StartOf(s.PID)
		if err := statedir.ReplaceJSON(filepath.Join(folder, "state.json"), s); err != nil {
			return err
		}
	}
	fmt.Println(os.Getpid())
	over := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	for {
		select {
		case <-over:
			return nil
		case sig := <-got:
			f, err := os.OpenFile(filepath.Join(folder, "signals"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			fmt.Fprintln(f, sig)
			if err := f.Close(); err != nil || sig == syscall.SIGTERM {
				return err
			}
		}
	}
}

// actor is a process of the test's.
type actor struct {
	pid   int
	start uint64
	stdin io.Closer
	wait  func() error
}

// begin starts a copy of the test binary under a name and waits for its pid.
func begin(t *testing.T, name, part string, env ...string) actor {
	t.Helper()
	return beginArgs(t, named(t, name), nil, append(env, partVar+"="+part)...)
}

func beginArgs(t *testing.T, path string, args []string, env ...string) actor {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0"), env...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := actor{stdin: stdin, wait: cmd.Wait}
	t.Cleanup(func() {
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if _, err := fmt.Sscan(line, &a.pid); err != nil {
		t.Fatal(err)
	}
	a.start, _ = proctree.StartOf(a.pid)
	return a
}

// named is a link to the test binary, for a process that is called name.
func named(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if os.Link(self, path) == nil {
		return path
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// now is the time of all tests; times of files are real.
func now() time.Time { return time.Now().Round(time.Second) }

// world is a state root with repositories.
type world struct {
	*testing.T
	dir string
	at  time.Time
}

func newWorld(t *testing.T) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return world{T: t, dir: dir, at: now()}
}

func (w world) options() fleet.Options { return fleet.Options{Root: w.dir + "/state", Now: w.at} }

func (w world) project(name string) statedir.Project {
	w.Helper()
	p, err := statedir.OpenProject(w.dir+"/state", filepath.Join(w.dir, name))
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// register makes a run on a branch that began some time ago, without a state.
func (w world) register(p statedir.Project, branch string) (id, folder string) {
	w.Helper()
	id, folder, err := supervisor.Register(p, branch, time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC))
	if err != nil {
		w.Fatal(err)
	}
	return id, folder
}

// state is one of a run that began an hour ago.
func (w world) state(id string, change func(*supervisor.State)) supervisor.State {
	s := supervisor.State{Version: supervisor.StateVersion, UpdatedAt: w.at, Token: "token-of-" + id}
	s.Record = ledger.Run{AutopilotRunID: id, StartedAt: ledger.Stamp(w.at.Add(-time.Hour)), MaxSessions: 10}
	if change != nil {
		change(&s)
	}
	return s
}

// run makes a run whose supervisor is this process.
func (w world) run(p statedir.Project, branch string, change func(*supervisor.State)) (id, folder string) {
	w.Helper()
	id, folder = w.register(p, branch)
	s := w.state(id, func(s *supervisor.State) {
		s.PID = os.Getpid()
		s.Start, _ = proctree.StartOf(s.PID)
	})
	if change != nil {
		change(&s)
	}
	w.write(filepath.Join(folder, "state.json"), s)
	return id, folder
}

// supervised makes a run with a process of its own.
func (w world) supervised(p statedir.Project, branch string, change func(*supervisor.State)) (id, folder string, a actor) {
	w.Helper()
	id, folder = w.register(p, branch)
	text, err := json.Marshal(w.state(id, change))
	if err != nil {
		w.Fatal(err)
	}
	return id, folder, begin(w.T, "autopilot", "supervisor", folderVar+"="+folder, stateVar+"="+string(text))
}

func (w world) write(path string, v any) {
	w.Helper()
	if err := statedir.ReplaceJSON(path, v); err != nil {
		w.Fatal(err)
	}
}

func (w world) text(path, text string) {
	w.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// cohort puts stories into the folder of a run.
func (w world) cohort(folder string, members ...story.Member) {
	w.Helper()
	w.write(filepath.Join(folder, story.File), story.Cohort{
		Version: story.Version, StartedAt: w.at.Add(-2 * time.Hour), Isolation: story.Worktree, Max: 3, Tier: "warn", Cap: 4, Members: members,
	})
}

func member(id string, s story.Status, change func(*story.Member)) story.Member {
	m := story.Member{Story: story.Story{ID: id, Kind: story.Goal}, Status: s}
	if change != nil {
		change(&m)
	}
	return m
}

// signals waits until a supervisor has got some, and returns them.
func (w world) signals(folder string) string {
	w.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) {
		data, err := os.ReadFile(filepath.Join(folder, "signals"))
		if err == nil && strings.HasSuffix(string(data), "\n") {
			return strings.TrimSpace(string(data))
		}
		if time.Now().After(deadline) {
			w.Fatalf("no signal came to %s: %v", folder, err)
		}
	}
}

// untouched wants that nobody has asked or signalled a run whose process still runs. A
// signal that was sent before comes before the one that this sends.
func (w world) untouched(folder string, a actor) {
	w.Helper()
	if why := supervisor.StopRequested(folder); why != "" {
		w.Errorf("%s: %s", folder, why)
	}
	if err := syscall.Kill(a.pid, syscall.SIGTERM); err != nil {
		w.Fatal(err)
	}
	if got := w.signals(folder); got != "terminated" {
		w.Errorf("%s got %q before the test ended it", folder, got)
	}
}

func tokenOf(id string) string { return launch.TokenVar + "=token-of-" + id }

func ptr[T any](v T) *T { return &v }
