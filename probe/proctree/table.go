package proctree

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"time"
)

// Root is where Linux keeps its process table.
const Root = "/proc"

// Process is one row of the process table, as it was when it was read.
type Process struct {
	// PID, PPID, PGID and SID are the ids of the process, its parent, its process
	// group and its session. An id outside our pid namespace is 0, and the group and
	// session of a process that is just being removed are -1.
	PID, PPID, PGID, SID int
	// Comm is the short name, cut by the kernel to 15 bytes on Linux and 16 on macOS.
	Comm string
	// State is the kernel's letter: R, S, D, T, Z and so on.
	State byte
	// CPU is the processor time used in user and system mode by the process
	// itself, in steps of 10 ms; children that it has reaped do not count.
	CPU time.Duration
	// Reaped is the processor time of the children that it has waited for, and of
	// theirs, in steps of 10 ms.
	Reaped time.Duration
	// Start is a stamp of the start, of no meaning but equality.
	Start uint64
}

// Worked is the processor time that went by in a tree of processes between two
// looks at it. What a process used whose parent waited for it counts with the
// parent, so short-lived processes are seen as well; a child that began before the
// first look then counts whole.
func Worked(before, after []Process) time.Duration {
	known := make(map[int]Process, len(before))
	for _, p := range before {
		known[p.PID] = p
	}
	var sum time.Duration
	for _, p := range after {
		used := p.CPU + p.Reaped
		if old, ok := known[p.PID]; ok && old.Start == p.Start {
			used -= old.CPU + old.Reaped
		}
		sum += max(used, 0)
	}
	return sum
}

// Dead reports whether the process has ended and only waits to be reaped or
// removed.
func (p Process) Dead() bool {
	return p.State == 'Z' || p.State == 'X' || p.State == 'x'
}

// Table is one look at all processes. The zero value is an empty table. It may
// be read from several goroutines.
type Table struct {
	procs    []Process // ordered by pid
	byParent []int     // indices into procs, ordered by parent, then pid
}

func newTable(procs []Process) Table {
	slices.SortFunc(procs, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	t := Table{procs: procs, byParent: make([]int, len(procs))}
	for i := range t.byParent {
		t.byParent[i] = i
	}
	slices.SortFunc(t.byParent, func(a, b int) int {
		return cmp.Or(cmp.Compare(procs[a].PPID, procs[b].PPID), cmp.Compare(a, b))
	})
	return t
}

// All yields every process, ordered by pid.
func (t Table) All() iter.Seq[Process] {
	return slices.Values(t.procs)
}

// Get returns the process with that pid and whether there is one.
func (t Table) Get(pid int) (Process, bool) {
	i, ok := t.index(pid)
	if !ok {
		return Process{}, false
	}
	return t.procs[i], true
}

// Children returns the processes whose parent is pid, zombies included,
// ordered by pid.
func (t Table) Children(pid int) []Process {
	var kids []Process
	for _, i := range t.kids(pid) {
		kids = append(kids, t.procs[i])
	}
	return kids
}

// Descendants returns the children of pid, their children and so on, zombies
// included, nearer generations first. The process itself is not among them. A
// process whose parent has ended hangs below whoever inherited it.
func (t Table) Descendants(pid int) []Process {
	var found []Process
	// Rows of different instants can form a ring when a pid was reused in between.
	seen := make([]bool, len(t.procs))
	if i, ok := t.index(pid); ok {
		seen[i] = true
	}
	add := func(parent int) {
		for _, i := range t.kids(parent) {
			if !seen[i] {
				seen[i] = true
				found = append(found, t.procs[i])
			}
		}
	}
	add(pid)
	for next := 0; next < len(found); next++ {
		add(found[next].PID)
	}
	return found
}

// Sessions returns the processes of session sid, zombies included, ordered by
// pid.
func (t Table) Sessions(sid int) []Process {
	var members []Process
	for _, p := range t.procs {
		if p.SID == sid {
			members = append(members, p)
		}
	}
	return members
}

// CPU is the sum of the processor times of the given processes. Those that are
// not in the table add nothing.
func (t Table) CPU(pids ...int) time.Duration {
	var sum time.Duration
	for _, pid := range pids {
		p, _ := t.Get(pid)
		sum += p.CPU
	}
	return sum
}

func (t Table) index(pid int) (int, bool) {
	return slices.BinarySearchFunc(t.procs, pid, func(p Process, pid int) int { return cmp.Compare(p.PID, pid) })
}

func (t Table) kids(pid int) []int {
	from := sort.Search(len(t.byParent), func(i int) bool { return t.procs[t.byParent[i]].PPID >= pid })
	to := from
	for to < len(t.byParent) && t.procs[t.byParent[to]].PPID == pid {
		to++
	}
	return t.byParent[from:to]
}
