package ending

import (
	"os"
	"syscall"
	"time"

	"autopilot/probe/proctree"
)

const lookEvery = 20 * time.Millisecond

// Session is a program that leads a session, with all that it has started. The zero
// value is ready. It is used by one goroutine at a time.
type Session struct {
	seen map[int]uint64 // start stamps of the processes
}

// Ask asks all to end (SIGTERM), the leader first, so that it does not take the end of
// the others for an answer.
func (s *Session) Ask(leader int) {
	left, ok := s.left(leader)
	_ = syscall.Kill(-leader, syscall.SIGTERM)
	for _, p := range left {
		if ok && p.PGID != leader {
			_ = syscall.Kill(p.PID, syscall.SIGTERM)
		}
	}
}

// End waits until all that was asked has ended, and what was started since. After grace
// it kills what is left, for as long again at most. The leader may have been reaped.
func (s *Session) End(leader int, grace time.Duration) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for begin := time.Now(); time.Since(begin) < 2*grace; <-tick.C {
		left, ok := s.left(leader)
		switch {
		case !ok:
			_ = syscall.Kill(-leader, syscall.SIGKILL)
			return
		case len(left) == 0:
			return
		case time.Since(begin) > grace:
			for _, p := range left {
				_ = syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
	}
}

// left looks at what still runs, and remembers it: a process whose parent has ended is
// not found below it any more.
func (s *Session) left(leader int) ([]proctree.Process, bool) {
	table, err := proctree.Take(proctree.Root)
	if err != nil {
		return nil, false
	}
	all := map[int]proctree.Process{}
	add := func(ps ...proctree.Process) {
		for _, p := range ps {
			if !p.Dead() && p.PID != os.Getpid() {
				all[p.PID] = p
			}
		}
	}
	add(table.Sessions(leader)...)
	for pid, start := range s.seen {
		if p, ok := table.Get(pid); ok && p.Start == start {
			add(p)
			add(table.Descendants(pid)...)
		}
	}
	if p, ok := table.Get(leader); ok && p.SID == leader {
		add(table.Descendants(leader)...)
	}
	if s.seen == nil {
		s.seen = map[int]uint64{}
	}
	var out []proctree.Process
	for pid, p := range all {
		s.seen[pid] = p.Start
		out = append(out, p)
	}
	return out, true
}
