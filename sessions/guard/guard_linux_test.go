package guard_test

import (
	"fmt"
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
)

const (
	roleVar   = "GUARD_TEST_ROLE"
	markerVar = "GUARD_TEST_MARKER"
)

// TestMain lets the test binary be a guard and, below it, its supervisor.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "guard":
		os.Exit(beGuard())
	case "supervisor":
		os.Exit(beSupervisor())
	}
	os.Exit(m.Run())
}

func beGuard() int {
	end, err := guard.Run(guard.Command{
		Self: os.Args[0], Args: os.Args[1:], Environ: append(os.Environ(), roleVar+"=supervisor"), Token: os.Getenv(markerVar), Marker: markerVar,
	})
	if err != nil {
		fmt.Println(err)
		return 99
	}
	fmt.Printf("code %d signal %d ended %v left %v\n", end.Code, int(end.Signal), end.Ended > 0, end.Left)
	return 0
}

// beSupervisor forks what a session may fork, notes the pids, and then waits for
// signals or the end of its guard.
func beSupervisor() int {
	token, gone, ok := guard.Join(os.Getenv)
	if !ok || token != os.Getenv(markerVar) {
		return 98
	}
	if _, orphaned, ok := guard.Join(func(string) string { return "token:1" }); !ok || !closed(orphaned) {
		return 97
	}
	if _, _, ok := guard.Join(func(string) string { return "" }); ok || closed(gone) {
		return 94
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	dir := os.Args[1]
	script := `trap '' INT TERM; sleep 600 & setsid sleep 601 & env -i /usr/bin/setsid /bin/sleep 602 & (setsid sh -c 'sleep 603 & sleep 604' &) ; wait`
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 96
	}
	if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return 95
	}
	select {
	case sig := <-signals:
		_ = os.WriteFile(filepath.Join(dir, "signal"), []byte(sig.String()), 0o600)
		return 7
	case <-gone:
		_ = os.WriteFile(filepath.Join(dir, "gone"), nil, 0o600)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return 8
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

type lab struct {
	t     *testing.T
	dir   string
	cmd   *exec.Cmd
	out   *strings.Builder
	super int
}

func start(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir(), out: &strings.Builder{}}
	l.cmd = exec.Command(os.Args[0], l.dir)
	l.cmd.Env = append(os.Environ(), roleVar+"=guard", markerVar+"="+l.dir)
	l.cmd.Stdout = l.out
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l.await("the supervisor", func() bool {
		data, err := os.ReadFile(filepath.Join(l.dir, "pid"))
		n, aerr := strconv.Atoi(string(data))
		l.super = n
		return err == nil && aerr == nil && len(l.below()) >= 7
	})
	return l
}

func (l *lab) await(what string, holds func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("did not come about: %s", what)
		}
	}
}

// below lists what lives below the guard.
func (l *lab) below() []int {
	table, err := proctree.Take(proctree.Root)
	if err != nil {
		l.t.Fatal(err)
	}
	var pids []int
	for _, p := range table.Descendants(l.cmd.Process.Pid) {
		if !p.Dead() {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

func (l *lab) wantGone(pids []int) {
	l.t.Helper()
	for _, pid := range pids {
		l.await(fmt.Sprintf("the end of process %d", pid), func() bool {
			p, err := proctree.Read(proctree.Root, pid)
			return err != nil || p.Dead()
		})
	}
}

func (l *lab) end(want string) {
	l.t.Helper()
	_ = l.cmd.Wait()
	if got := strings.TrimSpace(l.out.String()); got != want {
		l.t.Errorf("the guard says %q, want %q", got, want)
	}
}

func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	l := start(t)
	all := l.below()
	if guard.Lost(l.super) {
		t.Error("a guarded supervisor counts as lost")
	}
	if err := syscall.Kill(l.super, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.end("code 137 signal 9 ended true left []")
	l.wantGone(all)
}

func TestSignalsAreHandedOn(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminated": syscall.SIGTERM} {
		l := start(t)
		all := l.below()
		if err := l.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		l.end("code 7 signal 0 ended true left []")
		if got, err := os.ReadFile(filepath.Join(l.dir, "signal")); err != nil || string(got) != name {
			t.Errorf("the supervisor got %q, %v, want %s", got, err, name)
		}
		l.wantGone(all)
	}
}

func TestGuardKilled(t *testing.T) {
	t.Parallel()
	l := start(t)
	all := l.below()
	if err := l.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = l.cmd.Wait()
	l.await("the supervisor notices", func() bool { _, err := os.Stat(filepath.Join(l.dir, "gone")); return err == nil })
	l.wantGone([]int{l.super})
	for _, pid := range all { // nobody is left to end these but this test
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestSuspendedTogether(t *testing.T) {
	t.Parallel()
	l := start(t)
	all := l.below()
	state := func(pid int) byte {
		p, err := proctree.Read(proctree.Root, pid)
		if err != nil {
			t.Fatal(err)
		}
		return p.State
	}
	if err := l.cmd.Process.Signal(syscall.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	l.await("both stop", func() bool { return state(l.cmd.Process.Pid) == 'T' && state(l.super) == 'T' })
	if err := l.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	l.await("both go on", func() bool { return state(l.cmd.Process.Pid) != 'T' && state(l.super) != 'T' })
	if err := l.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	l.end("code 7 signal 0 ended true left []")
	l.wantGone(all)
}

func TestClean(t *testing.T) {
	t.Parallel()
	got := guard.Clean([]string{"A=1", guard.Var + "=x:1", guard.Var + "S=stay"})
	if want := []string{"A=1", guard.Var + "S=stay"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("Clean = %v, want %v", got, want)
	}
}
