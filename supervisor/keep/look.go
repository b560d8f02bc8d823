package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/sessions/approval"
	"autopilot/supervisor"
	"autopilot/supervisor/publish/outbox"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/story"
	"autopilot/supervisor/tdd/runs"
)

const (
	workers   = 4 // runs that are read at the same time, at most
	sourceTDD = "tdd"

	projectsDir = "projects" // in the state root
)

// Look gathers what is known of all projects below a state root, which is absolute. It
// changes nothing and takes no lock. A project that cannot be read is named in problems and
// left out.
func Look(ctx context.Context, root string, now time.Time) (projects []Project, problems []error) {
	if !filepath.IsAbs(root) {
		return nil, []error{fmt.Errorf("look at what is kept: the state root %q is not absolute", root)}
	}
	list, err := statedir.Projects(root)
	if err != nil {
		problems = append(problems, err)
	}
	if left := remnants(root); len(left) > 0 {
		projects = append(projects, Project{Dir: filepath.Join(root, projectsDir), Left: left})
	}
	for _, p := range list {
		if ctx.Err() != nil {
			return projects, append(problems, context.Cause(ctx))
		}
		if strings.HasPrefix(filepath.Base(p.Dir), goneMark) {
			continue // on its way out
		}
		l := &looker{root: root, project: p, now: now, refs: map[string][]string{}}
		projects = append(projects, l.look(ctx))
	}
	return projects, problems
}

// remnants are the folders of projects whose removal was killed.
func remnants(root string) (left []string) {
	dir := filepath.Join(root, projectsDir)
	entries, _ := os.ReadDir(dir) // without projects there are none
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), goneMark) {
			left = append(left, filepath.Join(dir, e.Name()))
		}
	}
	return left
}

// looker gathers what is known of one project.
type looker struct {
	root    string
	project statedir.Project
	now     time.Time
	refs    map[string][]string // by run
	tdd     string              // the open workflow, in words; empty for none
	last    []string            // runs that count as the last one
	open    []string
	facts   Project
}

func (l *looker) look(ctx context.Context) Project {
	l.facts = Project{Path: l.project.Path, Dir: l.project.Dir, Missing: missing(l.root, l.project.Path)}
	l.current()
	l.gates()
	l.queue()
	l.updates()
	l.workflow()
	l.runs(ctx)
	l.folder()
	return l.facts
}

func (l *looker) doubt(what string, err error) {
	if err != nil && l.facts.Doubt == "" {
		l.facts.Doubt = fmt.Sprintf("%s: %v", what, err)
	}
}

func (l *looker) refer(run, what string) {
	if run != "" {
		l.refs[run] = append(l.refs[run], what)
	}
}

// missing says how a work tree is missing. An empty folder above it is what the place of a
// disk that is not mounted looks like.
func missing(root, tree string) Missing {
	_, err := os.Lstat(tree)
	switch {
	case err == nil:
		return ""
	case !errors.Is(err, fs.ErrNotExist):
		return Unseen
	case strings.HasPrefix(tree, root+string(filepath.Separator)):
		return Gone // the root is there
	}
	above, err := os.ReadDir(filepath.Dir(tree))
	if err != nil || len(above) == 0 {
		return Unseen
	}
	return Gone
}

// current finds the runs that have not lost their mark, and the last one.
func (l *looker) current() {
	var err error
	l.open, err = supervisor.OpenRuns(l.project)
	l.doubt("which runs are open", err)
	for _, find := range []func(statedir.Project) (string, error){supervisor.LastRun, supervisor.LastWritten} {
		id, err := find(l.project)
		l.doubt("which run is the last one", err)
		if id != "" {
			l.last = append(l.last, id)
		}
	}
}

func (l *looker) gates() {
	d := approval.Desk{Dir: filepath.Join(l.project.Dir, "gates"), Key: filepath.Join(l.root, "gates.key")}
	list, err := d.List(l.now)
	l.doubt("gates", err)
	for _, g := range list {
		if g.Open() {
			l.refer(g.RunID, "gate "+g.ID)
			l.facts.Holds = append(l.facts.Holds, "gate "+g.ID+" is open")
		}
	}
}

func (l *looker) queue() {
	q, err := queue.Store{Path: filepath.Join(l.project.Dir, "queue.json")}.Load()
	l.doubt("queue", err)
	for _, it := range q.Items {
		if it.Status.Over() && it.Status != queue.NeedsHuman {
			continue
		}
		if it.Status != queue.Waiting {
			l.refer(it.RunID, "item "+it.ID+" of the queue")
		}
		l.facts.Holds = append(l.facts.Holds, fmt.Sprintf("item %s of its queue is %s", it.ID, it.Status))
	}
}

func (l *looker) updates() {
	st, err := outbox.Outbox{Dir: l.project.Dir}.Status(l.now)
	l.doubt("outbox", err)
	if st.Broken > 0 {
		l.doubt("outbox", fmt.Errorf("%s cannot be read", st.BrokenFiles[0]))
	}
	for _, e := range slices.Concat(st.Pending, st.Refused) {
		l.refer(e.Update.RunID, "an update that was not delivered")
		l.facts.Holds = append(l.facts.Holds, "an update was not delivered to "+e.Target.String())
	}
}

func (l *looker) workflow() {
	st, err := runs.Store{Dir: filepath.Join(l.project.Dir, "tdd")}.Peek()
	switch {
	case errors.Is(err, runs.ErrNoRun):
		return
	case err != nil:
		l.tdd = "a test-driven workflow that cannot be read"
	case !st.Status.Over():
		l.tdd = "test-driven workflow " + st.RunID
	default:
		return
	}
	l.facts.Holds = append(l.facts.Holds, l.tdd+" is not over")
}

// runs reads all runs.
func (l *looker) runs(ctx context.Context) {
	dir := l.project.RunsDir()
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		if err == nil {
			l.facts.Strange = append(l.facts.Strange, "runs")
		} else if !errors.Is(err, fs.ErrNotExist) {
			l.doubt("runs", err)
		}
		return
	}
	entries, err := os.ReadDir(dir)
	l.doubt("runs", err)
	var ids []string
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), goneMark):
			l.facts.Left = append(l.facts.Left, filepath.Join(dir, e.Name()))
		case e.IsDir():
			ids = append(ids, e.Name())
		default:
			l.facts.Strange = append(l.facts.Strange, "runs/"+e.Name())
		}
	}
	l.facts.Runs = make([]Run, len(ids))
	found := make([]inventory, len(ids))
	step := min(workers, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for first := range step {
		wg.Go(func() {
			for i := first; i < len(ids); i += step {
				if ctx.Err() != nil {
					l.facts.Runs[i] = Run{ID: ids[i], Broken: "it was not looked at"}
					continue
				}
				l.facts.Runs[i], found[i] = l.run(ids[i])
			}
		})
	}
	wg.Wait()
	l.settle(found)
}

// settle finds the last run where nobody says which it is, and what was left in the folders
// of runs that are not on.
func (l *looker) settle(found []inventory) {
	all := l.facts.Runs
	if len(l.last) == 0 && len(all) > 0 {
		latest := 0
		for i := range all {
			if all[i].Ended.After(all[latest].Ended) {
				latest = i
			}
		}
		all[latest].Last = true
	}
	for i, inv := range found {
		if all[i].Alive || all[i].Broken != "" {
			continue
		}
		for _, name := range inv.temp {
			l.facts.Temp = append(l.facts.Temp, filepath.Join(l.project.RunDir(all[i].ID), name))
		}
		l.facts.TempLen += inv.tempLen
		for _, name := range inv.left {
			l.facts.Left = append(l.facts.Left, filepath.Join(l.project.RunDir(all[i].ID), name))
		}
	}
}

// run reads one run. What is no regular file is not opened.
func (l *looker) run(id string) (Run, inventory) {
	folder := l.project.RunDir(id)
	inv := takeInventory(folder, l.now)
	r := Run{
		ID: id, Open: slices.Contains(l.open, id), Last: slices.Contains(l.last, id), Wanted: l.refs[id], Strange: inv.strange, Bytes: inv.bytes, Loose: inv.loose, Ended: inv.touched,
	}
	if r.Ended.IsZero() {
		if info, err := os.Lstat(folder); err == nil {
			r.Ended = info.ModTime()
		}
	}
	switch {
	case inv.err != nil:
		r.Broken = inv.err.Error()
		return r, inv
	case inv.odd["state.json"] || inv.odd[story.File]:
		r.Broken = "state.json or " + story.File + " is no regular file"
		return r, inv
	}
	s, err := supervisor.LoadState(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return r, inv
	}
	if err != nil {
		r.Broken = err.Error()
		return r, inv
	}
	r.state(s)
	if s.Record.Source == sourceTDD && l.tdd != "" {
		r.Wanted = append(slices.Clone(r.Wanted), l.tdd)
	}
	l.cohort(&r, s, folder)
	return r, inv
}

// state takes over what the state of a run says.
func (r *Run) state(s supervisor.State) {
	r.Begun, r.Alive, r.Settled = true, s.Alive(), s.Finished
	r.Resumable = supervisor.NotResumable(s) == ""
	r.Ended = s.UpdatedAt
	r.Before, r.After = s.Record.ResumedFrom, s.ResumedBy
	r.Asks = s.ResumedBy == "" && s.Pursuit.Asked() != nil
	if p := s.Record.ParentRunID; p != nil {
		r.Parent = *p
	}
}

// cohort reads the stories of a run that coordinates some.
func (l *looker) cohort(r *Run, s supervisor.State, folder string) {
	name := filepath.Join(folder, story.File)
	var c story.Cohort
	err := statedir.LoadJSON(name, &c)
	if errors.Is(err, fs.ErrNotExist) {
		r.Cohort = s.Record.Coordinates()
		return
	}
	r.Cohort = true
	if err == nil && c.Version != story.Version {
		err = fmt.Errorf("read %s: version %d is not known, want %d", name, c.Version, story.Version)
	}
	if err != nil {
		r.Broken = err.Error()
		return
	}
	for _, m := range c.Members {
		r.Children = append(r.Children, m.Runs...)
		r.Asks = r.Asks || m.Status == story.Person && s.ResumedBy == ""
		r.Places = append(r.Places, m.Folder)
		if m.Worktree == "" || filepath.Clean(m.Worktree) == l.project.Path {
			continue
		}
		r.Places = append(r.Places, m.Worktree)
		if exists(m.Worktree) {
			r.Trees = append(r.Trees, m.Worktree)
		}
	}
}

// folder looks at what lies beside the runs. The whole of it counts where the work tree is
// missing.
func (l *looker) folder() {
	for _, dir := range []string{l.project.Dir, filepath.Join(l.project.Dir, "gates")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // it has none
		}
		for _, e := range entries {
			if dir == l.project.Dir && !l.ours(e) {
				l.facts.Strange = append(l.facts.Strange, e.Name())
			}
			info, err := e.Info()
			if err == nil && info.Mode().IsRegular() && isTemp(e.Name()) && l.now.Sub(info.ModTime()) > tempAge {
				l.facts.Temp = append(l.facts.Temp, filepath.Join(dir, e.Name()))
				l.facts.TempLen += info.Size()
			}
		}
	}
	if l.facts.Missing == "" {
		return
	}
	_ = filepath.WalkDir(l.project.Dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			l.doubt("folder", err)
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			l.facts.Bytes += info.Size()
			if info.ModTime().After(l.facts.Touched) {
				l.facts.Touched = info.ModTime()
			}
		}
		return nil
	})
}

// ours reports whether an entry of the project's folder is one that this program makes.
func (l *looker) ours(e fs.DirEntry) bool {
	name := e.Name()
	return e.Type()&fs.ModeSymlink == 0 && (isTemp(name) || slices.Contains(ofProject(), strings.TrimSuffix(strings.TrimSuffix(name, ".lock"), ".tmp")))
}
