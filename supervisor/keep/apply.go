package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor"
	"autopilot/supervisor/story"
)

const (
	lockName  = "gc.lock"
	lockWait  = time.Minute // for another gc
	treeWait  = time.Second // for who looks at a work tree; a run starts only after that
	claimWait = 10 * time.Second
	holder    = "gc" // how the lock of a work tree names us
)

// Options say what Apply may do.
type Options struct {
	Root   string // state root, absolute, without symlinks
	Policy Policy
	// Lock names the lock that a supervisor holds which works in a work tree; "" when none
	// can work there.
	Lock func(ctx context.Context, tree string) (string, error)

	busy map[string]string // locks that a run has, and what there is to say about it
}

// Done is what was done about an item, or why nothing was.
type Done struct {
	Item
	Freed   int64  // bytes
	Skipped string // why it was left after all, in words
	Err     error  // why it could not be done
}

// Apply does what was decided about the items, as far as a look under the lock comes to the
// same decision. Only one Apply is at work on a state root: it waits a minute for another and
// is a *statedir.HeldError then. It goes on behind what cannot be done, and stops between
// two items when ctx ends. Killed at any moment it leaves each run whole or gone, and
// remnants that the next one removes, whatever that was asked for.
func Apply(ctx context.Context, o Options, items []Item, now time.Time) ([]Done, error) {
	if !exists(o.Root) {
		return nil, nil // and it is not made for that
	}
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	lock, err := statedir.Acquire(wait, filepath.Join(o.Root, lockName), statedir.Holder{RunID: holder})
	if err != nil {
		return nil, err
	}
	o.busy = map[string]string{}
	done, err := o.locked(ctx, items, now)
	return done, errors.Join(err, lock.Release())
}

func (o Options) locked(ctx context.Context, items []Item, now time.Time) ([]Done, error) {
	projects, _ := Look(ctx, o.Root, now) // what cannot be read is not among them
	fresh := Decide(projects, o.Policy, now)
	var done []Done
	for _, it := range fresh { // remnants stand in the way of nothing, and are always in ours
		if it.Kind == KindLeft {
			done = append(done, o.sweep(it))
		}
	}
	for _, it := range items {
		if it.Action == Retain || it.Kind == KindLeft {
			continue
		}
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
		i := slices.IndexFunc(fresh, it.same)
		if i < 0 {
			done = append(done, Done{Item: it, Skipped: "it is gone, or needed now"})
			continue
		}
		done = append(done, o.do(ctx, fresh[i], projects, now))
	}
	return done, nil
}

func (o Options) do(ctx context.Context, it Item, projects []Project, now time.Time) Done {
	d := Done{Item: it}
	i := slices.IndexFunc(projects, func(p Project) bool { return p.Dir == it.Dir })
	switch {
	case it.Kind == KindTemp:
		d.Freed, d.Err = cleanTemp(it.Files, it.Bytes, now)
	case i < 0:
		d.Err = fmt.Errorf("internal error: project %s was not looked at", it.Dir)
	case it.Kind == KindProject:
		d.Skipped, d.Err = o.removeProject(ctx, projects[i])
	case it.Action == Compress:
		folder := filepath.Join(it.Dir, "runs", it.RunID)
		for _, name := range it.Files {
			saved, err := compress(folder, name)
			d.Freed += saved
			d.Err = errors.Join(d.Err, err)
		}
		return d
	case it.Action == Remove:
		j := slices.IndexFunc(projects[i].Runs, func(r Run) bool { return r.ID == it.RunID })
		if j < 0 {
			d.Err = fmt.Errorf("internal error: run %s was not looked at", it.RunID)
			return d
		}
		d.Skipped, d.Err = o.removeRun(ctx, projects[i], projects[i].Runs[j])
	}
	if d.Skipped == "" && d.Err == nil {
		d.Freed = it.Bytes
	}
	return d
}

// sweep finishes what a killed Apply had begun.
func (o Options) sweep(it Item) Done {
	d := Done{Item: it}
	for _, name := range it.Files {
		d.Err = errors.Join(d.Err, o.empty(name))
	}
	return d
}

// empty removes what lies below a name in the state root, without leaving that. First go the
// files by which a reader could take the folder for a run or a project.
func (o Options) empty(name string) error {
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	rel, err := filepath.Rel(o.Root, name)
	if err != nil {
		return err
	}
	if info, err := root.Lstat(rel); err == nil && info.IsDir() {
		for _, mark := range []string{story.File, "state.json", "project.json"} {
			_ = root.Remove(filepath.Join(rel, mark)) // it goes with the rest otherwise
		}
	}
	return root.RemoveAll(rel)
}

// removeRun renames the folder of a run while no run can start in its work tree, and empties
// it after that.
func (o Options) removeRun(ctx context.Context, p Project, r Run) (skipped string, err error) {
	// Nobody goes on with a run that has ended for good, also while another is on.
	release, busy, err := o.hold(ctx, p.Path, r.Begun && !r.Resumable)
	if busy != "" || err != nil {
		return busy, err
	}
	gone := filepath.Join(p.Dir, "runs", goneMark+r.ID)
	why, err := changed(statedir.Project{Path: p.Path, Dir: p.Dir}, r)
	if why == "" && err == nil {
		err = o.rename(filepath.Join(p.Dir, "runs", r.ID), gone)
	}
	if rerr := release(); err == nil {
		err = rerr
	}
	if why != "" || err != nil {
		return why, err
	}
	if err := statedir.SyncDir(filepath.Dir(gone)); err != nil {
		return "", err
	}
	return "", o.empty(gone)
}

// hold takes the lock of a work tree. Busy says that a run has it, which is none where the
// lock need not be had.
func (o Options) hold(ctx context.Context, tree string, needless bool) (release func() error, busy string, err error) {
	nothing := func() error { return nil }
	name, err := o.Lock(ctx, tree)
	if err != nil || name == "" {
		return nothing, "", err
	}
	if _, held, err := statedir.Peek(name); err == nil && held { // one wait is enough
		if needless {
			return nothing, "", nil
		}
		if why := o.busy[name]; why != "" {
			return nothing, why, nil
		}
	}
	short, cancel := context.WithTimeout(ctx, treeWait)
	defer cancel()
	lock, err := statedir.Acquire(short, name, statedir.Holder{RunID: holder})
	if held, ok := errors.AsType[*statedir.HeldError](err); ok {
		if needless {
			return nothing, "", nil
		}
		o.busy[name] = "a run starts or is on in the work tree: " + held.Holder.String()
		return nothing, o.busy[name], nil
	}
	if err != nil {
		return nothing, "", err
	}
	return lock.Release, "", nil
}

// changed says what has happened to a run since it was looked at, or nothing.
func changed(p statedir.Project, r Run) (string, error) {
	open, err := supervisor.OpenRuns(p)
	if err != nil {
		return "", err
	}
	last, err1 := supervisor.LastRun(p)
	written, err2 := supervisor.LastWritten(p)
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	switch {
	case slices.Contains(open, r.ID):
		return "it was begun just now", nil
	case last == r.ID || written == r.ID:
		return "it is the last one now", nil
	}
	s, err := supervisor.LoadState(p.RunDir(r.ID))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !r.Begun:
		return "", nil
	case err != nil:
		return "", err
	case !r.Begun || s.Alive() || s.Finished != r.Settled || s.ResumedBy != r.After:
		return "it is another one than a moment ago", nil
	}
	return "", nil
}

// rename makes a folder gone for every reader. A remnant under the new name goes first.
func (o Options) rename(from, to string) error {
	if info, err := os.Lstat(from); err != nil || !info.IsDir() {
		return errors.Join(fmt.Errorf("%s is no folder", from), err)
	}
	if err := o.empty(to); err != nil {
		return err
	}
	root, err := os.OpenRoot(o.Root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	a, err1 := filepath.Rel(o.Root, from)
	b, err2 := filepath.Rel(o.Root, to)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return root.Rename(a, b)
}

// removeProject removes the folder of a project whose work tree is gone, while nobody can
// claim a folder.
func (o Options) removeProject(ctx context.Context, p Project) (skipped string, err error) {
	above := filepath.Dir(p.Dir)
	gone := filepath.Join(above, goneMark+filepath.Base(p.Dir))
	wait, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	lock, err := statedir.Acquire(wait, filepath.Join(above, ".lock"), statedir.Holder{RunID: holder})
	if err != nil {
		return "", err
	}
	if missing(o.Root, p.Path) != Gone {
		return "its work tree is there again", lock.Release()
	}
	err = o.rename(p.Dir, gone)
	if err == nil && exists(p.Path) && !exists(p.Dir) { // it came back in this very moment
		return "its work tree is there again", errors.Join(o.rename(gone, p.Dir), lock.Release())
	}
	if err := errors.Join(err, lock.Release()); err != nil {
		return "", err
	}
	if err := statedir.SyncDir(above); err != nil {
		return "", err
	}
	return "", o.empty(gone)
}

// cleanTemp removes temporary files that killed processes left.
func cleanTemp(files []string, bytes int64, now time.Time) (int64, error) {
	var dirs []string
	for _, f := range files {
		if dir := filepath.Dir(f); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if err := statedir.CleanTemp(dir, now); err != nil {
			return 0, err
		}
	}
	return bytes, nil
}
