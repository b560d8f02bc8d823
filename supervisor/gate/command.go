package gate

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"autopilot/probe/proctree"
	"autopilot/sessions/reap"
)

const (
	maxDetail = 500              // runes
	maxLook   = 30 * time.Second // between two looks at the clock
	killWait  = 5 * time.Second  // for a process to be gone after SIGKILL
	sweepTime = 5 * time.Second
	drainTime = time.Second // for what is left in the pipe
	readSize  = 32 << 10
)

// stop says why we ended a command.
type stop string

const (
	byItself stop = "" // we did not
	overtime stop = "overtime"
	canceled stop = "cancelled"
)

// ending is how a command came to its end.
type ending struct {
	stop  stop
	cause error // of a cancellation
	gone  bool  // it has exited; else it could not be ended
	code  int
	sig   syscall.Signal // that killed it; 0 for none
	took  time.Duration
	limit time.Duration
	left  []int // processes that could not be ended
}

// command runs a check's command to its end. The thread is kept until then, because
// the kernel sends the death signal when the thread that forked ends.
func (r Runner) command(ctx context.Context, c Check) Result {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	res := Result{Check: c, Exit: -1}
	begun := time.Now()
	env, marker := r.environ()
	p, err := r.start(c.Command, env)
	if err != nil {
		res.Took, res.Detail = time.Since(begun), oneLine(fmt.Sprintf("cannot be started: %v", err), maxDetail)
		return res
	}
	e := ending{limit: r.timeout()}
	if e.stop = p.watch(ctx, begun, e.limit); e.stop == canceled {
		e.cause = context.Cause(ctx)
	}
	if e.stop != byItself {
		p.end(r.grace())
	}
	e.gone = p.exited()
	steady, wall := elapsed(begun, time.Now())
	e.took = max(steady, wall)
	e.left = r.sweep(p.pid, marker)
	p.drain(drainTime)
	if e.gone {
		p.wg.Wait()
		e.code, e.sig = p.status()
	}
	var last string
	res.Output, last = shown(p.out.text())
	res.OK, res.Took, res.TimedOut = e.holds(), e.took, e.stop == overtime
	if e.stop == byItself && e.gone && e.sig == 0 {
		res.Exit = e.code
	}
	res.Detail = oneLine(e.words(last), maxDetail)
	return res
}

// holds reports whether the command has succeeded: it was not ended by us, and said
// so itself.
func (e ending) holds() bool {
	return e.stop == byItself && e.gone && e.sig == 0 && e.code == 0
}

func (e ending) words(last string) string {
	var s string
	switch took := short(e.took); {
	case e.stop == overtime:
		s = fmt.Sprintf("not done within the time limit of %v", e.limit)
	case e.stop == canceled:
		s = fmt.Sprintf("cancelled after %v (%v)", took, e.cause)
	case e.sig != 0:
		s = fmt.Sprintf("killed by %s after %v", unix.SignalName(e.sig), took)
	default:
		s = fmt.Sprintf("exit status %d after %v", e.code, took)
	}
	if len(e.left) > 0 {
		s += fmt.Sprintf(", processes %v could not be ended", e.left)
	}
	if last != "" {
		s += ": " + last
	}
	return s
}

// short rounds a duration to what people want to know of it.
func short(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// sweep ends what a command left behind and returns what could not be ended.
func (r Runner) sweep(sid int, m reap.Marker) []int {
	endSession(sid)
	s := r.Sweeper
	if s == nil {
		s = &reap.Sweeper{}
	}
	_, left := s.Sweep(m, sweepTime)
	return left
}

// endSession kills what is still in the session of a shell. The kernel gives the
// id away only when nothing is in the session any more; then its new owner is in
// the table.
func endSession(sid int) {
	table, err := proctree.Take(proctree.Root)
	if err != nil {
		return
	}
	if _, taken := table.Get(sid); taken {
		return
	}
	for _, p := range table.Sessions(sid) {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
}

// process is a command at work.
type process struct {
	pid  int
	cmd  *exec.Cmd
	pipe *os.File
	out  *ring
	tee  io.Writer // may be nil
	wg   sync.WaitGroup
	done chan struct{} // closed when it has exited
	read chan struct{} // closed when nothing more is read from the pipe
}

// start starts the command. An error means that nothing was started. The caller
// owes a call of drain.
func (r Runner) start(command string, env []string) (*process, error) {
	shell := r.Shell
	if shell == "" {
		shell = defaultShell
	}
	if _, err := os.Stat(r.Dir); err != nil { // the error of a start would name the shell
		return nil, err
	}
	pipe, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	// Without the two dashes a command that begins with one would be an option.
	cmd := exec.Command(shell, "-c", "--", command)
	cmd.Dir, cmd.Env = r.Dir, env
	cmd.Stdout, cmd.Stderr = w, w
	cmd.SysProcAttr = sysProcAttr()
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = pipe.Close()
		return nil, err
	}
	p := &process{
		pid: cmd.Process.Pid, cmd: cmd, pipe: pipe, out: newRing(keptBytes), tee: r.Tee,
		done: make(chan struct{}), read: make(chan struct{}),
	}
	p.wg.Go(func() {
		_ = cmd.Wait() // the state says it all
		close(p.done)
	})
	p.wg.Go(p.copy)
	return p, nil
}

func (p *process) copy() {
	defer close(p.read)
	buf := make([]byte, readSize)
	for {
		n, err := p.pipe.Read(buf)
		_, _ = p.out.Write(buf[:n])
		if p.tee != nil && n > 0 {
			_, _ = p.tee.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// watch waits for the exit, the time limit or the end of ctx, and says which it was.
// An exit is seen first, so that a command that is done in time is never late.
func (p *process) watch(ctx context.Context, begun time.Time, limit time.Duration) stop {
	for {
		steady, wall := elapsed(begun, time.Now())
		wait, over := look(limit, steady, wall)
		timer := time.NewTimer(wait)
		select {
		case <-p.done:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		switch {
		case p.exited():
			return byItself
		case ctx.Err() != nil:
			return canceled
		case over:
			return overtime
		}
	}
}

// elapsed returns the time since begun by the clock that stands still while the
// machine sleeps, and by the one on the wall, which can be set.
func elapsed(begun, now time.Time) (steady, wall time.Duration) {
	return now.Sub(begun), now.Round(0).Sub(begun.Round(0))
}

// look returns how long to wait until the next look at the clock, and whether the
// limit is reached by either of the two clocks.
func look(limit, steady, wall time.Duration) (wait time.Duration, over bool) {
	left := limit - max(steady, wall)
	return max(0, min(left, maxLook)), left <= 0
}

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// end terminates the process group and kills it when it has not exited in time. It
// gives up on a process that the kernel does not let go.
func (p *process) end(grace time.Duration) {
	for _, step := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, killWait}} {
		if p.exited() { // the id may belong to another by now
			return
		}
		_ = syscall.Kill(-p.pid, step.sig)
		timer := time.NewTimer(step.wait)
		select {
		case <-p.done:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// drain reads what is left in the pipe, for at most d, and closes it. Something
// that was not ended may still hold the other end.
func (p *process) drain(d time.Duration) {
	_ = p.pipe.SetReadDeadline(time.Now().Add(d))
	<-p.read
	_ = p.pipe.Close()
}

// status returns how the process ended. It may be called once it has exited.
func (p *process) status() (code int, sig syscall.Signal) {
	s := p.cmd.ProcessState
	if s == nil { // it could not be waited for
		return -1, 0
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return -1, ws.Signal()
	}
	return s.ExitCode(), 0
}
