//go:build e2e

package e2e

import (
	"syscall"
	"testing"
	"time"

	"autopilot/probe/proctree"
)

func TestZZ(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, working(bash("(setsid sleep 301 &); "+longCommand)))
		s := l.inBash()
		sup := l.supervisor()
		t.Logf("front %d sup %d", s.cmd.Process.Pid, sup)
		t0 := time.Now()
		err := s.cmd.Process.Signal(syscall.SIGKILL)
		t.Log(err)
		for range 10 {
			p, err := proctree.Read("/proc", s.cmd.Process.Pid)
			t.Logf("%v %v %v %v", time.Since(t0), p, err, l.processes())
			time.Sleep(300 * time.Millisecond)
		}
		l.finish(s)
		t.Log(l.activity())
	})
}
