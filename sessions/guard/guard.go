package guard

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"autopilot/probe/proctree"
	"autopilot/sessions/reap"
)

const (
	// Var is the variable that tells the supervisor that it is guarded. Its value
	// is the run's token and the pid of the guard, so that a process further down
	// does not take it for its own.
	Var = "AUTOPILOT_GUARD"

	pipeFD = 3 // where the supervisor finds its end of the pipe
	grace  = 5 * time.Second
	within = 10 * time.Second
)

// Command is the supervisor to start.
type Command struct {
	Self    string // path of this program
	Args    []string
	Dir     string // empty is this process's own
	Environ []string
	Token   string // of the run
	Marker  string // variable that all processes of the run carry, with the token as its value
	// Grace is what is left of the run has to end in order once it was interrupted; 0 is
	// what one session needs.
	Grace time.Duration
}

// End is how the supervisor ended and what was left of its run.
type End struct {
	Code   int            // exit status; 128 and the signal when it was killed
	Signal syscall.Signal // that killed it; 0 when it ended by itself
	Ended  int            // processes of the run that were still there and were ended
	Left   []int          // those that could not be ended
}

// Run starts the supervisor with this process's standard files and guards it. It
// returns when the supervisor and everything it started are gone.
func Run(c Command) (End, error) {
	sweeper := reap.NewSweeper()
	ours, theirs, err := pipe()
	if err != nil {
		return End{}, err
	}
	defer func() { _ = ours.Close() }()
	cmd := exec.Command(c.Self, c.Args...)
	cmd.Env = append(without(c.Environ, Var), Var+"="+c.Token+":"+strconv.Itoa(os.Getpid()))
	cmd.Dir = c.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	incoming := listen()
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return End{}, fmt.Errorf("start supervisor: %w", err)
	}
	stop := forward(incoming, cmd.Process)
	_ = cmd.Wait()
	stop()
	end := End{Code: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		end.Signal = ws.Signal()
		end.Code = 128 + int(end.Signal)
	}
	end.Ended, end.Left = sweeper.EndAll(reap.Marker{Name: c.Marker, Value: c.Token}, max(c.Grace, grace), within)
	return end, nil
}

// pipe makes the pipe that the supervisor reads the end of.
func pipe() (ours, theirs *os.File, err error) {
	theirs, ours, err = os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make pipe to supervisor: %w", err)
	}
	return ours, theirs, nil
}

func without(environ []string, name string) []string {
	var out []string
	for _, kv := range environ {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return out
}

// listen begins to collect the signals that mean something to a run. They wait
// in the channel until there is a supervisor to hand them to.
func listen() chan os.Signal {
	incoming := make(chan os.Signal, 16)
	wanted := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGTSTP, syscall.SIGCONT}
	if !signal.Ignored(syscall.SIGHUP) {
		wanted = append(wanted, syscall.SIGHUP)
	}
	signal.Notify(incoming, wanted...)
	return incoming
}

// forward hands the signals on to the supervisor until it is told to stop. The
// guard itself stays deaf to them until it exits.
func forward(incoming <-chan os.Signal, supervisor *os.Process) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			case sig := <-incoming:
				if sig != syscall.SIGTSTP {
					_ = supervisor.Signal(sig)
					continue
				}
				// A run that is suspended at the terminal is suspended as a whole.
				_ = supervisor.Signal(syscall.SIGSTOP)
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			}
		}
	})
	return func() {
		close(quit)
		wg.Wait()
	}
}

// Clean takes the guard's variable out of an environment.
func Clean(environ []string) []string { return without(environ, Var) }

// Lost reports whether a supervisor of this machine has lost its guard, which
// means that it is about to end.
func Lost(pid int) bool {
	p, err := proctree.Read(proctree.Root, pid)
	if err != nil {
		return false
	}
	parent, err := proctree.Read(proctree.Root, p.PPID)
	return err != nil || parent.Comm != p.Comm
}

// Join is called by the supervisor. It returns the token of its run and a channel
// that is closed when the guard is gone, which it may be already. It reports false
// in a process that was not started by a guard, which then has to start itself
// again under one.
func Join(getenv func(string) string) (token string, gone <-chan struct{}, ok bool) {
	token, pid, ok := strings.Cut(getenv(Var), ":")
	if !ok {
		return "", nil, false
	}
	if pid != strconv.Itoa(os.Getppid()) {
		orphaned := make(chan struct{})
		close(orphaned) // the guard died before its supervisor was up
		return token, orphaned, true
	}
	syscall.CloseOnExec(pipeFD)
	end := os.NewFile(pipeFD, "guard")
	closed := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, end)
	})
	return token, closed, true
}
