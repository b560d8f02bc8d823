package reap

import (
	"os"
	"slices"
	"syscall"
	"time"

	"autopilot/probe/proctree"
)

// Marker is the environment variable that a session's processes carry.
type Marker struct {
	Name  string
	Value string
}

const (
	firstWait = time.Millisecond
	maxWait   = 50 * time.Millisecond
)

// Sweeper ends what sessions of this process leave behind.
type Sweeper struct {
	keep      map[int]bool // children of ours that are no session's
	subreaper bool
}

// NewSweeper makes this process adopt the orphans of its descendants where the
// system can, and returns a Sweeper that leaves the given children alone.
func NewSweeper(keep ...int) *Sweeper {
	s := &Sweeper{keep: map[int]bool{}, subreaper: becomeSubreaper() == nil}
	for _, pid := range keep {
		s.keep[pid] = true
	}
	return s
}

// Sweep ends every process of the session with the marker whose main process
// has already exited. It returns how many there were and which of them were
// still alive when the time was over.
func (s *Sweeper) Sweep(m Marker, within time.Duration) (ended int, left []int) {
	return sweep(func() []int { return s.find(m) }, s.subreaper, within)
}

// find returns what belongs to the session. Adopted children are recognised
// without their environment: what leads or belongs to a session of its own was
// never started by us directly.
func (s *Sweeper) find(m Marker) []int {
	if !s.subreaper {
		return withDescendants(marked(m))
	}
	kids, err := proctree.ChildrenOf(os.Getpid())
	if err != nil {
		return withDescendants(marked(m))
	}
	own, err := proctree.Read(proctree.Root, os.Getpid())
	if err != nil {
		return withDescendants(marked(m))
	}
	var orphans []int
	for _, pid := range kids {
		p, err := proctree.Read(proctree.Root, pid)
		if err != nil || s.keep[pid] || p.SID == own.SID {
			continue
		}
		if p.Dead() {
			collect(pid)
			continue
		}
		orphans = append(orphans, pid)
	}
	return withDescendants(orphans)
}

// EndMarked ends every process with the marker and all their descendants: for a
// session whose supervisor is gone. They are interrupted first, and as long as one
// of them is the CLI it is given some time, because it ends its own tools and
// writes its transcript. A background process that ignores interrupts is not
// waited for.
func EndMarked(m Marker, grace, within time.Duration) (ended int, left []int) {
	return endAll(func() []int { return withDescendants(marked(m)) }, grace, within)
}

// endAll interrupts what find returns, gives the CLI among it some time, and kills
// what is left until nothing is found any more.
func endAll(find func() []int, grace, within time.Duration) (ended int, left []int) {
	first := map[int]uint64{}
	for _, pid := range find() {
		if start, ok := proctree.StartOf(pid); ok {
			first[pid] = start
			_ = syscall.Kill(pid, syscall.SIGINT)
		}
	}
	waitUntil(grace, func() bool { return !waitsForCLI(alive(first)) })
	n, left := sweep(func() []int { return withDescendants(append(find(), alive(first)...)) }, false, within)
	return max(n, len(first)-len(left)), left
}

// EndAll ends everything that this process has as children or below them, and
// whatever carries the marker: for a guard whose supervisor is gone. They are
// interrupted first, as by EndMarked.
func (s *Sweeper) EndAll(m Marker, grace, within time.Duration) (ended int, left []int) {
	return endAll(func() []int {
		all := marked(m)
		if kids, err := proctree.ChildrenOf(os.Getpid()); err == nil && s.subreaper {
			all = append(all, kids...)
		}
		return withDescendants(living(all))
	}, grace, within)
}

// living collects the dead among the processes and returns the others.
func living(pids []int) []int {
	return slices.DeleteFunc(pids, func(pid int) bool {
		collect(pid)
		p, err := proctree.Read(proctree.Root, pid)
		return err != nil || p.Dead()
	})
}

// waitsForCLI reports whether the CLI is among the processes, or something that
// may have started it.
func waitsForCLI(pids []int) bool {
	return slices.ContainsFunc(pids, func(pid int) bool {
		p, err := proctree.Read(proctree.Root, pid)
		return err == nil && slices.Contains([]string{"claude", "node", "MainThread", "bun", "autopilot"}, p.Comm)
	})
}

// Marked returns the processes that carry the marker.
func Marked(m Marker) []int { return marked(m) }

func marked(m Marker) []int {
	pids, err := proctree.WithEnv(m.Name, m.Value)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(pids, func(pid int) bool { return pid == os.Getpid() })
}

func withDescendants(pids []int) []int {
	if len(pids) == 0 {
		return nil
	}
	table, err := proctree.Take(proctree.Root)
	if err != nil {
		return pids
	}
	all := slices.Clone(pids)
	for _, pid := range pids {
		for _, d := range table.Descendants(pid) {
			all = append(all, d.PID)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(pid int) bool { return pid == os.Getpid() || pid <= 1 })
}

// emptyLooks is how often in a row nothing must be found before a tree counts as
// gone: a process between fork and exec has no environment for a moment, and a
// child may be on its way from one thread's list to another's.
const emptyLooks = 5

// sureLooks is that for looks that are sure to be complete, as long as nothing was found: a
// child may be on its way to us at the first.
const sureLooks = 2

// sweep kills what find returns until it returns nothing.
func sweep(find func() []int, sure bool, within time.Duration) (ended int, left []int) {
	seen := map[int]bool{}
	empty := 0
	done := waitUntil(within, func() bool {
		left = find()
		if len(left) == 0 {
			empty++
			return sure && len(seen) == 0 && empty >= sureLooks || empty >= emptyLooks
		}
		empty = 0
		for _, pid := range left {
			seen[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
			collect(pid)
		}
		return false
	})
	if done {
		left = nil
	}
	return len(seen) - len(left), left
}

// collect takes the exit status of an adopted child, so that it does not stay
// as a zombie. For a process that is not our child it does nothing.
func collect(pid int) {
	var ws syscall.WaitStatus
	_, _ = syscall.Wait4(pid, &ws, syscall.WNOHANG, nil)
}

// alive returns those of the processes that still run. The start stamps keep a
// reused id from being taken for the process that had it before.
func alive(procs map[int]uint64) []int {
	var out []int
	for pid, start := range procs {
		collect(pid)
		if proctree.Alive(pid, start) {
			out = append(out, pid)
		}
	}
	return out
}

// waitUntil looks at growing intervals until the condition holds or the time is
// over, and reports whether it held.
func waitUntil(within time.Duration, holds func() bool) bool {
	deadline := time.Now().Add(within)
	for pause := firstWait; ; pause = min(2*pause, maxWait) {
		if holds() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		<-time.After(pause)
	}
}
