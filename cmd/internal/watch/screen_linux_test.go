package watch_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"autopilot/cmd/internal/cli"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/sessions/standin"
	"autopilot/supervisor"
)

const (
	partVar  = "WATCH_TEST_PART"
	patience = 2 * time.Minute
)

// TestMain lets the test binary be the program, and the stand-in for claude.
func TestMain(m *testing.M) {
	switch os.Getenv(partVar) {
	case "program":
		os.Exit(cli.Main(os.Args[1:], outside.System()))
	case "claude":
		os.Exit(standin.Main(standin.Process{Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	os.Exit(m.Run())
}

// place is a repository with a home of its own.
type place struct {
	*testing.T
	dir, repo, self string
	env             []string
}

func newPlace(t *testing.T, script string) place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	p := place{T: t, dir: dir, repo: filepath.Join(dir, "repo")}
	p.check(err)
	p.self, err = os.Executable()
	p.check(err)
	p.check(os.MkdirAll(filepath.Join(dir, "bin"), 0o700))
	p.check(os.MkdirAll(p.repo, 0o700))
	for name, text := range map[string]string{
		"script": script, ".gitconfig": "[user]\n\tname = a\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n",
		"green.json": `{"ram_available_gb": 16, "swap_used_gb": 0, "peers": 0, "memory_pressure_pct_free": null}`,
		"bin/claude": "#!/bin/sh\nexport " + partVar + "=claude\nexec '" + p.self + "' \"$@\"\n",
	} {
		p.check(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
	}
	p.env = []string{
		"HOME=" + dir, "PATH=" + dir + "/bin:" + os.Getenv("PATH"), partVar + "=program", "STANDIN_SCRIPT=" + dir + "/script", "TERM=xterm-256color", "LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "GORACE=atexit_sleep_ms=0", "TZ=UTC",
	}
	for _, args := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = p.repo, p.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return p
}

func (p place) check(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// run starts a run and returns a function that waits for its end.
func (p place) run() (wait func()) {
	cmd := exec.Command(p.self, "run", "make the parser work", "--yes", "--allow-nested", "--max-sessions", "3", "--snapshot", p.dir+"/green.json")
	cmd.Dir, cmd.Env = p.repo, p.env
	p.check(cmd.Start())
	var once sync.Once
	wait = func() { once.Do(func() { _ = cmd.Wait() }) } // how it ends is its own
	p.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		wait()
	})
	return wait
}

// last is the state of the run that was started last.
func (p place) last() (supervisor.State, bool) {
	project, found, err := statedir.FindProject(filepath.Join(p.dir, ".local/state/autopilot"), p.repo)
	if err != nil || !found {
		return supervisor.State{}, false
	}
	id, err := supervisor.LastRun(project)
	if err != nil || id == "" {
		return supervisor.State{}, false
	}
	s, err := supervisor.LoadState(project.RunDir(id))
	return s, err == nil
}

// until waits for a fact.
func (p place) until(what string, is func() bool) {
	p.Helper()
	for deadline := time.Now().Add(patience); !is(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.Fatalf("it did not come to that: %s", what)
		}
	}
}

// terminal is a real one with the program on it.
type terminal struct {
	place
	cmd    *exec.Cmd
	master *os.File
	done   chan error
	read   chan struct{} // closed when all that was printed has been read
	mu     sync.Mutex
	out    bytes.Buffer
	mark   int // of the output, behind what was waited for last
}

// terminal starts the program on a terminal of its own.
func (p place) terminal(args ...string) *terminal {
	p.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	p.check(err)
	p.check(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	p.check(err)
	t := &terminal{place: p, master: os.NewFile(uintptr(fd), "ptmx"), done: make(chan error, 1), read: make(chan struct{})}
	t.size(100, 30)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	p.check(err)
	t.cmd = exec.Command(p.self, args...)
	t.cmd.Dir, t.cmd.Env, t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = p.repo, p.env, slave, slave, slave
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.check(t.cmd.Start())
	p.check(slave.Close())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(t.read)
		for buf := make([]byte, 4096); ; {
			n, err := t.master.Read(buf)
			t.mu.Lock()
			t.out.Write(buf[:n])
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	wg.Go(func() { t.done <- t.cmd.Wait() })
	p.Cleanup(func() {
		_ = t.cmd.Process.Kill()
		wg.Wait()
		_ = t.master.Close()
	})
	return t
}

func (t *terminal) size(w, h uint16) {
	raw, err := t.master.SyscallConn()
	t.check(err)
	t.check(raw.Control(func(fd uintptr) {
		t.check(unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: w, Row: h}))
	}))
}

// text is what was printed since the mark.
func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.String()[t.mark:]
}

// sees waits until a text was printed.
func (t *terminal) sees(text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(10 * time.Millisecond) {
		got := t.text()
		if i := strings.Index(got, text); i >= 0 {
			t.mark += i + len(text)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q was not printed, but %q", text, got)
		}
	}
}

func (t *terminal) types(keys string) {
	t.Helper()
	_, err := t.master.WriteString(keys)
	t.check(err)
}

// leaves waits for the end of the program, and returns what it printed after the view.
func (t *terminal) leaves(code int) string {
	t.Helper()
	select {
	case <-t.done:
	case <-time.After(patience):
		_ = t.cmd.Process.Signal(syscall.SIGQUIT) // says where it hangs
		<-t.done
		t.Fatalf("it does not end: %s", t.text())
	}
	<-t.read
	if got := t.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit status %d, want %d, after %q", got, code, t.text())
	}
	const leave = "\x1b[?1049l"
	t.until("the view is left", func() bool { return strings.Contains(t.text(), leave) })
	_, after, _ := strings.Cut(t.text(), leave)
	return after
}

const slowly = `say looking at the parser
mark ../first
bash while [ ! -e ../go ]; do sleep 0.02; done
report {"planned":["x"],"completed":["x"],"carried_over":[],"summary":"Did \u001b]0;evil\u0007 it.","next_steps":["y"],"needs_person":""}
result
`

func TestOnATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, slowly)
	wait := p.run()
	p.until("a session runs", func() bool { s, ok := p.last(); return ok && s.Current != nil })
	id := ""
	if s, ok := p.last(); ok {
		id = s.Record.AutopilotRunID
	}
	alive := func() {
		t.Helper()
		if s, ok := p.last(); !ok || !s.Alive() {
			t.Error("leaving the view has ended the run")
		}
	}

	w := p.terminal("watch")
	w.sees(id)
	w.types("\x03") // Ctrl-C
	if after := w.leaves(0); !strings.Contains(after, "run "+id+" is on") {
		t.Errorf("printed at the end: %q", after)
	}
	alive()

	w = p.terminal("watch")
	w.sees(id)
	p.check(w.cmd.Process.Signal(syscall.SIGTERM))
	if after := w.leaves(0); strings.Contains(after, id) {
		t.Errorf("printed after a signal: %q", after)
	}
	alive()

	w = p.terminal("watch")
	w.sees("running")
	w.types("3")
	w.sees("session started")
	w.size(60, 15)
	w.sees(id)
	w.types("s")
	w.sees("after its session?")
	w.types("y")
	w.sees("stop was requested")
	p.check(os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600))
	wait()
	w.sees("interrupted")
	w.types("1q")
	after := w.leaves(0)
	if !strings.Contains(after, "the last was "+id) || !strings.Contains(after, "user-abort") {
		t.Errorf("printed at the end: %q", after)
	}
	if all := w.out.String(); strings.Contains(all, "\x1b]0;evil") || strings.Contains(all, "\x1b]2;") {
		t.Errorf("an agent's text reaches the terminal: %q", all)
	}
}

const asking = `report {"planned":["x"],"completed":[],"carried_over":["x"],"summary":"asks","next_steps":[],"needs_person":"which colour?"}
result
---
mark ../second
bash while [ ! -e ../go ]; do sleep 0.02; done
report {"planned":["x"],"completed":["x"],"carried_over":[],"summary":"done","next_steps":[],"needs_person":""}
result
`

// TestAnswerOnATerminal answers a question and leaves; the run goes on without the viewer.
func TestAnswerOnATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, asking)
	p.run()()
	s, ok := p.last()
	if !ok || s.Pursuit.Asked() == nil {
		t.Fatalf("the run asks nothing: %+v", s.Record.Termination)
	}
	first := s.Record.AutopilotRunID
	p.env = append(p.env, "PATH="+p.dir+"/bin:"+os.Getenv("PATH"))

	w := p.terminal("watch")
	w.sees("asks")
	w.types("t")
	w.sees("go on with the run")
	w.types("the \"red\" one; rm -rf $HOME\r")
	w.sees("goes on with it")
	w.types("q")
	w.leaves(0)
	p.check(w.master.Close()) // the terminal is gone
	s, ok = p.last()
	if !ok || s.Record.ResumedFrom != first || !s.Alive() {
		t.Fatalf("the run does not go on: %t %q %+v", ok, s.Record.ResumedFrom, s.Record.Termination)
	}
	p.check(os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600))
	p.until("it has ended by itself", func() bool { s, ok = p.last(); return ok && s.Finished })
	if s.Record.IterationsCompleted == 0 {
		t.Errorf("it ended with %s", s.Record.ExitCause)
	}
}

// TestDumbTerminal: without the means of a screen there is a line for each change.
func TestDumbTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	p.env = append(p.env, "TERM=dumb")
	w := p.terminal("watch")
	w.sees("no run yet in ")
	select {
	case <-w.done:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	<-w.read
	if all := w.out.String(); strings.Contains(all, "\x1b") {
		t.Errorf("printed: %q", all)
	}
}
