package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor"
	"autopilot/supervisor/story"
)

const (
	recent  = 24 * time.Hour
	startup = time.Minute // within which a run that has written no state is taken as starting
	workers = 4           // projects that are read at the same time, at most
)

// run is one run as it was found on disk.
type run struct {
	project  statedir.Project
	id       string
	folder   string
	made     time.Time // of the folder, when it has no state
	state    supervisor.State
	err      error // why the state cannot be read; fs.ErrNotExist when it has none
	alive    bool
	isCohort bool
	cohort   story.Cohort
	torn     error // why the cohort cannot be read
}

// parent is the run of the cohort that the run says it belongs to, or nothing.
func (r *run) parent() string {
	if p := r.state.Record.ParentRunID; p != nil {
		return *p
	}
	return ""
}

// read reports whether the state of the run could be read.
func (r *run) read() bool { return r.err == nil }

// picture is all that was found. Lost is what may hide a run.
type picture struct {
	runs     []*run
	problems []error
	lost     []error
}

func (p *picture) add(q picture) {
	p.runs, p.problems, p.lost = append(p.runs, q.runs...), append(p.problems, q.problems...), append(p.lost, q.lost...)
}

// take looks at all projects. The runs are in the order of their projects.
func take(ctx context.Context, o Options) picture {
	if !filepath.IsAbs(o.Root) {
		return picture{lost: []error{fmt.Errorf("look at the fleet: the state root %q is not absolute", o.Root)}}
	}
	projects, err := statedir.Projects(o.Root)
	parts := make([]picture, len(projects))
	var wg sync.WaitGroup
	step := min(workers, runtime.GOMAXPROCS(0))
	for first := range step {
		wg.Go(func() {
			for i := first; i < len(projects) && ctx.Err() == nil; i += step {
				parts[i] = ofProject(projects[i], o)
			}
		})
	}
	wg.Wait()
	all := picture{lost: split(err)}
	for _, p := range parts {
		all.add(p)
	}
	if ctx.Err() != nil {
		all.lost = append(all.lost, fmt.Errorf("look at the fleet: %w", context.Cause(ctx)))
	}
	return all
}

// split takes joined errors apart.
func split(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// ofProject reads the runs of one project.
func ofProject(p statedir.Project, o Options) picture {
	var found picture
	open, err := supervisor.OpenRuns(p)
	if err != nil {
		found.lost = append(found.lost, err)
	}
	ids := slices.Clone(open)
	if o.All {
		late, err := recentRuns(p, o.Now)
		if err != nil {
			found.problems = append(found.problems, err)
		}
		for _, id := range late {
			if !slices.Contains(open, id) {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range ids {
		r := load(p, id)
		if !r.read() && !errors.Is(r.err, fs.ErrNotExist) {
			found.problems = append(found.problems, r.err)
		}
		if !o.wants(r, slices.Contains(open, id)) {
			continue
		}
		r.readCohort()
		if r.torn != nil {
			found.problems = append(found.problems, r.torn)
		}
		found.runs = append(found.runs, r)
	}
	return found
}

// wants reports whether a run is shown. One that has ended and not lost its mark yet has
// ended.
func (o Options) wants(r *run, open bool) bool {
	if open && (!r.read() || !r.state.Finished) {
		return true
	}
	return o.All && r.read() && r.state.Finished && o.Now.Sub(r.state.UpdatedAt) < recent
}

// recentRuns are the runs in whose folder something was written within the last day: each
// save of a state replaces a file there.
func recentRuns(p statedir.Project, now time.Time) ([]string, error) {
	entries, err := os.ReadDir(p.RunsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.IsDir() && now.Sub(info.ModTime()) < recent {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

func load(p statedir.Project, id string) *run {
	r := &run{project: p, id: id, folder: p.RunDir(id)}
	if r.state, r.err = supervisor.LoadState(r.folder); r.err == nil {
		r.alive = r.state.Alive()
		return r
	}
	r.state = supervisor.State{} // half of one is none
	if info, err := os.Stat(r.folder); err == nil {
		r.made = info.ModTime()
	}
	return r
}

// readCohort reads the cohort's file where there is one.
func (r *run) readCohort() {
	name := filepath.Join(r.folder, story.File)
	err := statedir.LoadJSON(name, &r.cohort)
	if errors.Is(err, fs.ErrNotExist) {
		r.isCohort = r.state.Record.Coordinates()
		return
	}
	r.isCohort = true
	if err == nil && r.cohort.Version != story.Version {
		err = fmt.Errorf("read %s: version %d is not known, want %d", name, r.cohort.Version, story.Version)
	}
	if err != nil {
		r.cohort, r.torn = story.Cohort{}, err
	}
}
