package nightly

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/sessions/repo"
	"autopilot/supervisor"
)

// waitEnd says why a wait ended: 0 when what was in the way is gone, closed when the window
// is, else the exit code of a process that was stopped.
type waitEnd int

const closed waitEnd = -1

// await waits until something is free. It asks the clock on the wall, which goes on while
// the machine sleeps.
func (x *execution) await(free func() bool, why string) waitEnd {
	x.say("waits: %s", why)
	x.manager.Status("waits: " + why)
	stops := make(chan os.Signal, 1)
	// A signal means what it says only while nothing runs: a run has its own way to end.
	signal.Notify(stops, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(stops)
	defer x.alive()()
	every := x.Again
	if every == 0 {
		every = lookAgain
	}
	for {
		if !x.until.IsZero() && !time.Now().Round(0).Before(x.until) {
			return closed
		}
		wait := every
		if !x.until.IsZero() {
			wait = min(wait, max(time.Until(x.until.Round(0)), time.Millisecond))
		}
		select {
		case s := <-stops:
			if n, ok := s.(syscall.Signal); ok {
				return waitEnd(128 + int(n))
			}
		case <-time.After(wait):
		}
		if free() {
			return 0
		}
	}
}

// alive gives the service manager signs of life until it is told to stop.
func (x *execution) alive() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { x.manager.Watch(ctx, func() bool { return true }) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// treeIsFree looks at the lock of the work tree, which costs less than to start a run.
func (x *execution) treeIsFree(ctx context.Context) func() bool {
	return func() bool {
		r, err := repo.Open(ctx, x.entry.Dir)
		if err != nil {
			return true // the run says it better
		}
		_, held, err := statedir.Peek(filepath.Join(r.GitDir, statedir.RunLock))
		return err != nil || !held
	}
}

// runs are the last runs of all work trees, by the path of the tree.
func runs(root string) map[string]string {
	all := map[string]string{}
	projects, _ := statedir.Projects(root) // those that can be read
	for _, p := range projects {
		if id, err := supervisor.LastRun(p); err == nil {
			all[p.Path] = id
		}
	}
	return all
}

// newRun is the id of the run that has begun in a work tree, or in another one of the same
// repository, or "".
func newRun(ctx context.Context, root, dir string, before map[string]string) string {
	r, err := repo.Open(ctx, dir)
	if err != nil {
		return ""
	}
	after := runs(root)
	if id := after[r.Top]; id != before[r.Top] {
		return id
	}
	var others []string
	for path, id := range after {
		if id == before[path] {
			continue
		}
		if o, err := repo.Open(ctx, path); err == nil && shared(o.GitDir) == shared(r.GitDir) {
			others = append(others, id)
		}
	}
	slices.Sort(others)
	return append(others, "")[0]
}

// shared is the folder that all work trees of a repository have in common.
func shared(gitDir string) string {
	if up := filepath.Dir(gitDir); filepath.Base(up) == "worktrees" {
		return filepath.Dir(up)
	}
	return gitDir
}
