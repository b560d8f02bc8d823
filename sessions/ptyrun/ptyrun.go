package ptyrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

const (
	readSize  = 64 << 10
	rows      = 50
	columns   = 200
	stdinWait = 2 * time.Second // for a prompt that nobody reads
)

// Command says what to start.
type Command struct {
	Path   string
	Args   []string // without the name of the program
	Dir    string
	Env    []string
	Stdin  string // written to a pipe, then end-of-file
	Stderr *os.File
}

// Exit is how a process ended.
type Exit struct {
	Code   int    // exit status; -1 when it was killed by a signal
	Signal string // name of the signal that killed it, or empty
	Err    error  // why it could not be waited for; nil for every ordinary exit
}

// Ladder is how long a process is given after each signal before the next.
type Ladder struct {
	Interrupt time.Duration // after SIGINT
	Terminate time.Duration // after SIGTERM; then SIGKILL
}

// Process is a started child.
type Process struct {
	pid     int
	master  *os.File
	done    chan struct{}
	drained chan struct{}
	exit    Exit
	atEnd   bool // set before drained is closed
}

// Start starts the command and copies what it prints to out, in one goroutine
// and in the order it was printed. An error means that nothing was started.
// The caller owes a call of Drain once Done is closed.
func Start(c Command, out io.Writer) (*Process, error) {
	master, tty, err := openRaw()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Dir, c.Env
	cmd.Stdin = strings.NewReader(c.Stdin)
	cmd.Stdout, cmd.Stderr = tty, c.Stderr
	cmd.SysProcAttr = sysProcAttr()
	cmd.WaitDelay = stdinWait

	p := &Process{master: master, done: make(chan struct{}), drained: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(cmd, started)
	err = <-started
	if cerr := tty.Close(); err == nil && cerr != nil {
		err = cerr
	}
	if err != nil {
		_ = master.Close()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	go p.copy(out)
	return p, nil
}

// run starts and waits for the command on one locked thread: the kernel sends
// the death signal when the thread that forked ends, not when the process does.
func (p *Process) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	p.exit = exitOf(cmd, cmd.Wait())
	close(p.done)
}

func exitOf(cmd *exec.Cmd, err error) Exit {
	if cmd.ProcessState == nil {
		return Exit{Code: -1, Err: err}
	}
	e := Exit{Code: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = unix.SignalName(ws.Signal())
	}
	return e
}

func (p *Process) copy(out io.Writer) {
	defer close(p.drained)
	buf := make([]byte, readSize)
	for {
		n, err := p.master.Read(buf)
		if n > 0 {
			_, _ = out.Write(buf[:n])
		}
		if err != nil {
			p.atEnd = !errors.Is(err, os.ErrDeadlineExceeded) // EIO is the ordinary end of a pty
			return
		}
	}
}

// PID is the process id, which is also the id of its process group and session.
func (p *Process) PID() int { return p.pid }

// Done is closed when the process has exited.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is how the process ended. It may be called once Done is closed.
func (p *Process) Exit() Exit { return p.exit }

// Signal sends a signal to the process and its group. A process that has
// exited is left alone, because its id may belong to another by now.
func (p *Process) Signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.pid, sig)
	}
}

// Stop ends the process: interrupt, terminate, kill, each with its time. When
// ctx ends it goes straight to kill. It returns once the process has exited and
// names the last signal that was needed.
func (p *Process) Stop(ctx context.Context, l Ladder) syscall.Signal {
	for _, step := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGINT, l.Interrupt}, {syscall.SIGTERM, l.Terminate}} {
		if ctx.Err() != nil {
			break
		}
		p.Signal(step.sig)
		if p.wait(ctx, step.wait) {
			return step.sig
		}
	}
	p.Signal(syscall.SIGKILL)
	<-p.done
	return syscall.SIGKILL
}

func (p *Process) wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Drain waits until everything that was printed has been handed to the writer,
// at most for d, and closes the pty. It reports whether the end was reached; it
// is not when something still holds the pty open.
func (p *Process) Drain(d time.Duration) bool {
	_ = p.master.SetReadDeadline(time.Now().Add(d))
	<-p.drained
	_ = p.master.Close()
	return p.atEnd
}

// openRaw opens a pty in raw mode. The master is replaced by a duplicate in
// non-blocking mode, because only that one honours deadlines.
func openRaw() (master, tty *os.File, err error) {
	ptmx, tty, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open pty: %w", err)
	}
	defer func() { _ = ptmx.Close() }()
	if err := pty.Setsize(ptmx, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		_ = tty.Close()
		return nil, nil, fmt.Errorf("set size of pty: %w", err)
	}
	if _, err := term.MakeRaw(int(tty.Fd())); err != nil {
		_ = tty.Close()
		return nil, nil, fmt.Errorf("set pty to raw mode: %w", err)
	}
	fd, err := unix.FcntlInt(ptmx.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		_ = tty.Close()
		return nil, nil, fmt.Errorf("duplicate pty: %w", err)
	}
	return os.NewFile(uintptr(fd), ptmx.Name()), tty, nil
}
