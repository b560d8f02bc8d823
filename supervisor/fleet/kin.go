package fleet

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"autopilot/metrics/statedir"
	"autopilot/probe/peer"
	"autopilot/probe/proctree"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
)

// generations bounds how far up processes are looked at.
const generations = 1000

// kin are the processes that hold a run up, by pid: supervisors that live, their guards,
// and the guards of stories. Each was checked by its start stamp.
func kin(runs []*run) map[int]*run {
	found := map[int]*run{}
	for _, r := range runs {
		if r.alive {
			found[r.state.PID] = r
			if g := guardOf(r.state.PID); g > 0 {
				found[g] = r
			}
		}
		for _, m := range r.cohort.Members {
			if m.PID > 0 && proctree.Alive(m.PID, m.Start) {
				found[m.PID] = r
			}
		}
	}
	return found
}

// guardOf is the parent of a supervisor that is the same program, or 0: the shell of a
// person holds up much that is not ours.
func guardOf(pid int) int {
	p, err := proctree.Read(proctree.Root, pid)
	if err != nil || p.PPID <= 1 {
		return 0
	}
	up, err := proctree.Read(proctree.Root, p.PPID)
	if err != nil || up.Comm != p.Comm {
		return 0
	}
	return up.PID
}

// lineage is a process and those above it, nearest first. A climb that breaks off because
// one of them ended is repeated: what was below it has another parent then.
func lineage(pid int) []int {
	var pids []int
	for range 3 {
		pids = pids[:0]
		for at := pid; ; {
			if pids = append(pids, at); len(pids) > generations {
				return pids
			}
			p, err := proctree.Read(proctree.Root, at)
			if err != nil {
				break
			}
			if at = p.PPID; at <= 1 {
				return pids
			}
		}
	}
	return pids
}

// carries reports whether a process was started with the token of a run, which tells also
// what was orphaned.
func carries(pid int, r *run) bool {
	return r.state.Token != "" && proctree.HasEnv(pid, launch.TokenVar, r.state.Token)
}

// strangers are the sessions that no run of ours holds up.
func strangers(found []peer.Session, runs []*run) []Row {
	if len(found) == 0 {
		return nil
	}
	ours := kin(runs)
	var rows []Row
	for _, s := range found {
		if holder(lineage(s.PID), ours) != nil || marked(s.PID, runs) != nil {
			continue
		}
		rows = append(rows, Row{Kind: KindPeer, Repo: s.CWD, PID: s.PID, State: StateRunning, Note: s.Cmdline})
	}
	return rows
}

func holder(pids []int, ours map[int]*run) *run {
	for _, pid := range pids {
		if r := ours[pid]; r != nil {
			return r
		}
	}
	return nil
}

func marked(pid int, runs []*run) *run {
	for _, r := range runs {
		if carries(pid, r) {
			return r
		}
	}
	return nil
}

// Inside returns the id of the open run that a process belongs to, or nothing: because it
// was started below the run's supervisor or guard, or because it or one above it carries
// the run's token. Unlike a variable, neither is easily taken away. It looks at every
// repository, so it does not matter in which folder the process is.
func Inside(ctx context.Context, o Options, pid int) string {
	runs := living(ctx, o)
	pids := lineage(pid)
	if r := holder(pids, kin(runs)); r != nil {
		return r.id
	}
	for _, pid := range pids {
		if r := marked(pid, runs); r != nil {
			return r.id
		}
	}
	return ""
}

// living are the open runs and, of each project, the last one where it is alive: its mark can
// be moved away by who may write there.
func living(ctx context.Context, o Options) []*run {
	o.All = false
	runs := take(ctx, o).runs
	projects, _ := statedir.Projects(o.Root) // what cannot be read was missing before
	for _, p := range projects {
		id, err := supervisor.LastRun(p)
		if err != nil || id == "" || slices.ContainsFunc(runs, func(r *run) bool { return r.id == id && r.project.Dir == p.Dir }) {
			continue
		}
		if r := load(p, id); r.alive {
			r.readCohort()
			runs = append(runs, r)
		}
	}
	return runs
}

// Hidden reports whether a process below a run that is alive keeps from others which files
// it has open, so that it cannot be told whether it is at the other end of a connection.
func Hidden(ctx context.Context, o Options) bool {
	table, err := proctree.Take(proctree.Root)
	if err != nil {
		return true
	}
	for pid := range kin(living(ctx, o)) {
		for _, d := range table.Descendants(pid) {
			if _, err := os.ReadDir(filepath.Join(proctree.Root, strconv.Itoa(d.PID), "fd")); errors.Is(err, fs.ErrPermission) {
				return true
			}
		}
	}
	return false
}
