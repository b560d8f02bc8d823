package proctree

// StartOf returns the start stamp of the process that has this pid now, and
// whether there is one; a zombie still has its pid and its stamp.
func StartOf(pid int) (uint64, bool) {
	p, err := Read(Root, pid)
	return p.Start, err == nil
}

// Alive reports whether the process that had this pid and start stamp still
// runs. A zombie does not, and neither does another process that was given
// the pid since. A process that cannot be looked at counts as not alive.
func Alive(pid int, start uint64) bool {
	p, err := Read(Root, pid)
	return err == nil && p.Start == start && !p.Dead()
}

// ChildrenOf returns the pids of the direct children of pid, zombies included,
// ordered by pid. It reads only what the kernel lists for that process, and the
// whole table where the kernel keeps no such list. A child that starts or moves
// between threads during the call may be missed. The error wraps
// [io/fs.ErrNotExist] when there is no process pid.
func ChildrenOf(pid int) ([]int, error) {
	return childrenOf(Root, pid)
}

// childrenByTable is the long way: look at everything.
func childrenByTable(root string, pid int) ([]int, error) {
	t, err := Take(root)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, p := range t.Children(pid) {
		pids = append(pids, p.PID)
	}
	return pids, nil
}

// WithEnv returns the pids of the processes that were started with NAME=value
// in their environment, ordered by pid. The environment is the one at start: what
// a program sets for itself later does not show, and a program that overwrote that
// memory is not found. Processes of other users are skipped, zombies have no
// environment, and the calling process is among the results if it carries the
// mark itself. The call may wait for a process that is stuck in the kernel.
func WithEnv(name, value string) ([]int, error) {
	return withEnv(Root, name, value)
}

// HasEnv reports whether process pid was started with NAME=value in its
// environment; false also when that cannot be read. See [WithEnv].
func HasEnv(pid int, name, value string) bool {
	return hasEnv(Root, pid, name, value)
}
