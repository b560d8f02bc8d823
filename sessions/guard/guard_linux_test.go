package guard_test

import (
	"bufio"
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

	"autopilot/probe/proctree"
	"autopilot/sessions/guard"
	"autopilot/sessions/reap"
)

const (
	markVar  = "GUARD_TEST_MARK"
	partVar  = "GUARD_TEST_PART"
	patience = 30 * time.Second
)

// TestMain lets copies of the test binary be a guard, a supervisor, and the main
// process of a session.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "guard" {
		guard.Main(os.Stdin, reap.Marker{Name: markVar, Value: os.Args[2]})
		os.Exit(0)
	}
	switch part, arg, _ := strings.Cut(os.Getenv(partVar), " "); part {
	case "":
		os.Exit(m.Run())
	case "supervise":
		os.Exit(supervise())
	case "claude":
		os.Exit(claude(arg))
	}
	os.Exit(99)
}

// supervise starts a guard and then three processes of a session, and says their
// ids. Then it does what it is told: "well" and "exit" are words on stdin.
func supervise() int {
	self, err := os.Executable()
	if err != nil {
		return 1
	}
	mark := os.Getenv(markVar)
	g, err := guard.Start(self, "guard", mark)
	if err != nil {
		return 1
	}
	fmt.Println(g.PID())
	note := os.Getenv("GUARD_TEST_NOTE")
	for _, script := range []string{
		partVar + `="claude ` + note + `" exec ` + filepath.Join(filepath.Dir(note), "claude"),
		`trap "" INT TERM HUP; echo $$; while :; do sleep 1; done`,
		`echo $$; exec env -u AUTOPILOT sleep 300`,
	} {
		cmd := exec.Command("sh", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Env = append(os.Environ(), partVar+"=")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil || cmd.Start() != nil {
			return 1
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			return 1
		}
		fmt.Println(cmd.Process.Pid)
	}
	fmt.Println("ready")
	word, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return 1
	}
	if word == "well\n" {
		fmt.Println("closed:", g.Close())
	}
	return 0
}

// claude is a main process that needs a moment to end its own tools.
func claude(note string) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("ready")
	sig := <-signals
	<-time.After(200 * time.Millisecond)
	if err := os.WriteFile(note, []byte(sig.String()), 0o600); err != nil {
		return 1
	}
	return 0
}

// supervisor is a running supervisor with its session.
type supervisor struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
	note  string
	guard int
	pids  []int // of the session
	other int   // a process of another run
}

func start(t *testing.T) *supervisor {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link(t, self, filepath.Join(dir, "claude"))
	mark := t.Name()
	s := &supervisor{t: t, cmd: exec.Command(self), note: filepath.Join(dir, "note")}
	s.cmd.Env = append(os.Environ(), partVar+"=supervise", markVar+"="+mark, "GUARD_TEST_NOTE="+s.note)
	s.cmd.Stderr = os.Stderr
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.cleanUp)
	for {
		line := s.line()
		if line == "ready" {
			break
		}
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatalf("the supervisor says %q", line)
		}
		s.pids = append(s.pids, pid)
	}
	if len(s.pids) != 4 {
		t.Fatalf("the supervisor names %v, want a guard and three processes", s.pids)
	}
	s.guard, s.pids = s.pids[0], s.pids[1:]
	other := exec.Command("sleep", "300")
	other.Env = []string{"PATH=" + os.Getenv("PATH"), markVar + "=" + mark + "-other"}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	s.other = other.Process.Pid
	// Until then a signal would end it like any process that has just begun.
	poll(t, func() bool { return ignores(s.guard, syscall.SIGINT) })
	return s
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if os.Link(from, to) == nil {
		return
	}
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o700); err != nil {
		t.Fatal(err)
	}
}

func (s *supervisor) line() string {
	s.t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (s *supervisor) cleanUp() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	for _, pid := range s.pids {
		if proctree.HasEnv(pid, markVar, s.t.Name()) {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}
}

func (s *supervisor) say(word string) {
	s.t.Helper()
	if _, err := io.WriteString(s.stdin, word+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the end of everything of the run, the guard too.
func (s *supervisor) ends() {
	s.t.Helper()
	poll(s.t, func() bool {
		for _, pid := range append(s.pids, s.guard) {
			if !gone(pid) {
				return false
			}
		}
		return true
	})
	if got, err := os.ReadFile(s.note); string(got) != "interrupt" {
		s.t.Errorf("the main process noted %q (%v), want an interrupt and time to end", got, err)
	}
	if gone(s.other) {
		s.t.Error("a process of another run was ended")
	}
}

func poll(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen within %v", patience)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func gone(pid int) bool {
	p, err := proctree.Read(proctree.Root, pid)
	return err != nil || p.Dead()
}

// ignores reports whether a process ignores a signal.
func ignores(pid int, sig syscall.Signal) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), "\nSigIgn:\t")
	mask, err := strconv.ParseUint(strings.Fields(rest)[0], 16, 64)
	return err == nil && mask&(1<<(uint(sig)-1)) != 0
}

func TestSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	s := start(t)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	s.ends()
}

// TestSupervisorForgets is one that exits without a word, as after a panic.
func TestSupervisorForgets(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.say("exit")
	_ = s.cmd.Wait()
	s.ends()
}

func TestAllIsWell(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.say("well")
	if got := s.line(); got != "closed: <nil>" {
		t.Errorf("the supervisor says %q", got)
	}
	_ = s.cmd.Wait()
	poll(t, func() bool { return gone(s.guard) })
	for _, pid := range s.pids {
		if gone(pid) {
			t.Errorf("process %d was ended although all is well", pid)
		}
	}
}

// TestSignals are those that a terminal sends to everybody.
func TestSignals(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if err := syscall.Kill(s.guard, sig); err != nil {
			t.Fatal(err)
		}
	}
	s.say("well")
	if got := s.line(); got != "closed: <nil>" {
		t.Errorf("the supervisor says %q, want a guard that was not hit", got)
	}
}

// TestApart is what keeps a guard from being ended with what it guards.
func TestApart(t *testing.T) {
	t.Parallel()
	s := start(t)
	if proctree.HasEnv(s.guard, markVar, t.Name()) {
		t.Error("the guard carries the marker itself")
	}
	p, err := proctree.Read(proctree.Root, s.guard)
	if err != nil {
		t.Fatal(err)
	}
	if p.SID != s.guard || p.PGID != s.guard {
		t.Errorf("session %d and group %d, want its own", p.SID, p.PGID)
	}
	if dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", s.guard)); err != nil || dir != "/" {
		t.Errorf("folder %s (%v), want /, which nobody unmounts", dir, err)
	}
}

func TestStartOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	g, err := guard.Start("/nowhere/autopilot", "guard", "x")
	if err == nil || !strings.HasPrefix(err.Error(), "start guard: ") {
		t.Errorf("got %v, %v; want an error", g, err)
	}
}

// TestWords is what the supervisor's end of the pipe can have said before it
// closed.
func TestWords(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for words, well := range map[string]bool{"done\n": true, "": false, "done": false, "don": false} {
		mark := t.Name() + strconv.Itoa(len(words))
		cmd := exec.Command("sleep", "300")
		cmd.Env = append(os.Environ(), markVar+"="+mark)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		guardian := exec.Command(self, "guard", mark)
		guardian.Stdin = strings.NewReader(words)
		if err := guardian.Run(); err != nil {
			t.Fatal(err)
		}
		if got := !gone(cmd.Process.Pid); got != well {
			t.Errorf("after %q the session lives: %v, want %v", words, got, well)
		}
	}
}
