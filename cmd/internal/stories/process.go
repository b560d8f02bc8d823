package stories

import (
	"os/exec"
	"sync"
	"syscall"
	"time"

	"autopilot/probe/proctree"
)

// process is the guard of a story's supervisor.
type process struct {
	cmd        *exec.Cmd
	supervisor func() int
	rescue     func() // ends and records what a guard that was killed has left
	after      func() // is called when it has ended
	kill       sync.Once
}

func (p *process) PID() int { return p.cmd.Process.Pid }

func (p *process) Wait() int {
	_ = p.cmd.Wait()
	code := p.cmd.ProcessState.ExitCode()
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		code = 128 + int(ws.Signal())
		p.rescue() // it was the guard: its supervisor may be at work still
	}
	p.after()
	return code
}

// End hands a termination to the supervisor, through its guard. One that is suspended is
// woken, so that it hears it.
func (p *process) End() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	if pid := p.child(); pid != 0 {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// Kill kills the supervisor, which its guard cleans up after, and the guard when that does
// not end either.
func (p *process) Kill() {
	p.kill.Do(func() {
		if pid := p.child(); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_ = p.cmd.Process.Signal(syscall.SIGCONT)
			time.AfterFunc(killTime, func() { _ = p.cmd.Process.Kill() })
			return
		}
		_ = p.cmd.Process.Kill()
	})
}

// child is the supervisor when it still is the guard's child.
func (p *process) child() int {
	pid := p.supervisor()
	row, err := proctree.Read(proctree.Root, pid)
	if pid <= 1 || err != nil || row.PPID != p.cmd.Process.Pid {
		return 0
	}
	return pid
}
