package board

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"autopilot/cmd/internal/board/lines"
	"autopilot/metrics/report/wording"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
)

// project is a project and what is known of it.
type project struct {
	statedir.Project
	slug string

	openSeen, runsSeen, currentSeen lines.Seen

	version  int      // of what follows, counted up with each change
	open     []string // ids of runs that are marked as not finished, sorted
	runs     map[string]*digest
	last     string   // the run that was started last
	ledgers  []string // folders of its ledgers
	problems []string

	gates   gates
	queue   pile
	rewards rewards
}

// digest is a run in short.
type digest struct {
	seen   lines.Seen
	folder string
	none   bool // it has no state
	failed string

	finished bool
	pid      int
	start    uint64
	session  string // that runs
	parent   string
	metrics  string // folder of its ledgers, when it is not the usual one
	row      Row    // of one that has ended
	needs    []Need // likewise, when it is the last one of its project

	cohort cohortMemo
}

// refresh looks for what has changed in all projects.
func (c *Cache) refresh(ctx context.Context, o Options) []string {
	if !filepath.IsAbs(o.Root) {
		return []string{fmt.Sprintf("the state root %q is not absolute", o.Root)}
	}
	problems := slices.Clone(c.list())
	c.version = 0
	for _, p := range c.projects {
		if ctx.Err() != nil {
			return append(problems, "the look was broken off: "+context.Cause(ctx).Error())
		}
		p.scan()
		problems = append(problems, p.problems...)
		c.version += p.version
	}
	return problems
}

// list brings the list of projects up to date and says what could not be read of it.
func (c *Cache) list() []string {
	dir := filepath.Join(c.root, "projects")
	// A folder becomes a project without a change of the one above it.
	if !c.seen.Changed(dir) && c.waiting == 0 && len(c.lost) == 0 {
		return nil
	}
	found, err := statedir.Projects(c.root)
	c.lost = words(err)
	entries, _ := os.ReadDir(dir) // what is wrong with it is said above
	c.waiting = max(0, countDirs(entries)-len(found))
	old := c.bySlug
	c.past.rows = nil
	c.projects, c.bySlug, c.byPath = nil, map[string]*project{}, map[string]*project{}
	for _, f := range found {
		slug := filepath.Base(f.Dir)
		p := old[slug]
		if p == nil || p.Project != f {
			p = &project{Project: f, slug: slug, runs: map[string]*digest{}, ledgers: []string{filepath.Join(f.Path, usualDir)}}
		}
		c.projects = append(c.projects, p)
		c.bySlug[slug] = p
		c.byPath[f.Path] = p
	}
	return c.lost
}

func countDirs(entries []os.DirEntry) int {
	n := 0
	for _, e := range entries {
		if e.IsDir() {
			n++
		}
	}
	return n
}

// words are joined errors, each in clean words.
func words(err error) []string {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []string
		for _, e := range joined.Unwrap() {
			out = append(out, words(e)...)
		}
		return out
	}
	return []string{wording.Line(err.Error(), lineRunes)}
}

// scan reads what has changed among the runs of a project.
func (p *project) scan() {
	opens, runs := p.openSeen.Changed(filepath.Join(p.Dir, "open")), p.runsSeen.Changed(p.RunsDir())
	if !opens && !runs && len(p.open) == 0 {
		return
	}
	p.problems = nil
	changed := opens || runs
	var err error
	if p.open, err = supervisor.OpenRuns(p.Project); err != nil {
		p.problems = append(p.problems, words(err)...)
	}
	slices.Sort(p.open)
	if p.currentSeen.Changed(filepath.Join(p.Dir, "current-run.json")) || runs {
		if p.last, err = supervisor.LastWritten(p.Project); err != nil {
			p.problems = append(p.problems, words(err)...)
		}
	}
	entries, err := os.ReadDir(p.RunsDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.problems = append(p.problems, words(err)...)
		return
	}
	there := make(map[string]*digest, len(entries))
	for _, e := range entries {
		id := e.Name()
		if strings.HasPrefix(id, ".") {
			continue // it is on its way out
		}
		d := p.runs[id]
		if d == nil {
			d = &digest{folder: filepath.Join(p.RunsDir(), id)}
		}
		if d.seen.Changed(filepath.Join(d.folder, "state.json")) {
			d.read(p, id)
			changed = true
		}
		if d.failed != "" && !slices.Contains(p.open, id) { // else the fleet says so
			p.problems = append(p.problems, d.failed)
		}
		there[id] = d
	}
	p.runs = there
	if changed {
		p.version++
		p.ledgers = p.ledgerDirs()
	}
}

// read takes what is needed for a list out of the state of a run.
func (d *digest) read(p *project, id string) {
	*d = digest{seen: d.seen, folder: d.folder, cohort: d.cohort}
	s, err := supervisor.LoadState(d.folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.none = true
		return
	case err != nil:
		d.none, d.failed = true, wording.Line(err.Error(), lineRunes)
		return
	}
	d.finished, d.pid, d.start = s.Finished, s.PID, s.Start
	if s.Current != nil {
		d.session = s.Current.SessionID
	}
	if up := s.Record.ParentRunID; up != nil {
		d.parent = *up
	}
	d.metrics = metricsOf(d.folder)
	d.row = endedRow(p.Path, s.Record)
	d.row.Ref, d.row.RunID = Ref{Project: p.slug, Run: id}, id
	d.row.Iteration = s.Carried.Iterations + s.Iteration
	if progress := s.Pursuit.Progress(); progress.Known {
		d.row.Percent = &progress.Percent
	} else if t := s.Tasks; t != nil && len(t.Steps) > 0 {
		v := 100 * t.Steps[len(t.Steps)-1].Progress
		d.row.Percent = &v
	}
	if d.finished {
		d.needs = endedNeeds(d.row, s, d.folder)
	}
}

// byEnd orders ended runs, the latest first.
func byEnd(a, b *Row) int {
	return cmp.Or(b.Ended.Compare(a.Ended), b.Started.Compare(a.Started), cmp.Compare(a.Ref.Project, b.Ref.Project), cmp.Compare(a.RunID, b.RunID))
}

func age(started, now time.Time) int64 {
	if started.IsZero() {
		return 0
	}
	return max(0, int64(now.Sub(started).Seconds()))
}
