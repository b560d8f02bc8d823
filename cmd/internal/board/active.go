package board

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"autopilot/cmd/internal/board/lines"
	"autopilot/metrics/report/wording"
	"autopilot/metrics/statedir"
	"autopilot/probe/peer"
	"autopilot/probe/proctree"
	"autopilot/sessions"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/story"
)

// peersEvery is how long a list of peers is good: they are found among all processes of the
// machine, which takes longer than all the rest.
const peersEvery = 5 * time.Second

// starting is how long a run without a state may count as starting.
const starting = 2 * time.Minute

// rowsMemo are the rows of the fleet with what they were made from.
type rowsMemo struct {
	print    []byte // of all files and processes that they depend on; nil for none
	peers    bool   // they are among the rows
	at       time.Time
	found    []peer.Session // at that moment
	rows     []fleet.Row
	problems []string
}

// cohortMemo is the file of a cohort.
type cohortMemo struct {
	seen   lines.Seen
	cohort story.Cohort
	there  bool
}

func (m *cohortMemo) read(folder string) {
	name := filepath.Join(folder, story.File)
	if !m.seen.Changed(name) {
		return
	}
	m.cohort = story.Cohort{}
	err := statedir.LoadJSON(name, &m.cohort)
	m.there = !errors.Is(err, fs.ErrNotExist)
	if err != nil || m.cohort.Version != story.Version {
		m.cohort = story.Cohort{}
	}
}

// active are the rows of what is on.
func (c *Cache) active(ctx context.Context, o Options) ([]Row, []string) {
	on, print, sure := c.print()
	m := &c.rows
	fresh := m.print != nil && sure && bytes.Equal(m.print, print)
	if o.Peers != nil && (!m.peers || time.Since(m.at) >= peersEvery) {
		fresh = false
	}
	switch {
	case fresh:
	case !on && o.Peers == nil:
		*m = rowsMemo{print: print}
	default:
		c.take(ctx, o)
		if sure && ctx.Err() == nil {
			m.print = print
		}
	}
	out := make([]Row, 0, len(m.rows))
	var above *digest
	for _, r := range m.rows {
		if r.Kind == fleet.KindPeer && o.Peers == nil {
			continue
		}
		r.AgeSeconds = age(r.Started, o.Now)
		row := Row{Row: cleanRow(r)}
		d := c.find(&row, above)
		if r.Kind == fleet.KindCohort {
			above = d
		}
		if d != nil {
			row.Goal, row.Source = d.row.Goal, d.row.Source
		}
		out = append(out, row)
	}
	return out, m.problems
}

// take looks at the fleet.
func (c *Cache) take(ctx context.Context, o Options) {
	m := &c.rows
	*m = rowsMemo{peers: o.Peers != nil, at: m.at, found: m.found}
	at := fleet.Options{Root: o.Root, Now: o.Now}
	if o.Peers != nil {
		at.Peers = func(ctx context.Context) ([]peer.Session, error) {
			if time.Since(m.at) < peersEvery {
				return m.found, nil
			}
			found, err := o.Peers(ctx)
			m.found, m.at = found, time.Now()
			return found, err
		}
	}
	rows, problems := fleet.List(ctx, at)
	m.rows = rows
	for _, p := range problems {
		m.problems = append(m.problems, words(p)...)
	}
}

// print is what the rows of the fleet depend on. It is not sure when something may have
// changed in the same instant, or changes as time goes by.
func (c *Cache) print() (on bool, print []byte, sure bool) {
	print, sure = []byte{0}, true
	add := func(path string) {
		at := time.Now()
		s := lines.StampOf(path)
		sure = sure && s.Settled(at)
		print = s.Bytes(print)
	}
	for _, p := range c.projects {
		for _, id := range p.open {
			on = true
			print = append(append(append(print, p.slug...), '/'), id...)
			d := p.runs[id]
			if d == nil || d.none {
				folder := p.RunDir(id)
				add(folder)
				sure = sure && lines.StampOf(folder).Age(time.Now()) > starting
				continue
			}
			for _, name := range []string{"state.json", "stop.json", story.File} {
				add(filepath.Join(d.folder, name))
			}
			print = append(print, flag(!d.finished && proctree.Alive(d.pid, d.start)))
			if d.session != "" {
				add(sessions.ProgressPath(supervisor.SessionFolder(d.folder, sessions.ID(d.session))))
			}
			d.cohort.read(d.folder)
			for _, m := range d.cohort.cohort.Members {
				print = append(print, flag(m.PID > 0 && proctree.Alive(m.PID, m.Start)))
			}
		}
	}
	return on, print, sure
}

func flag(b bool) byte {
	if b {
		return '1'
	}
	return '0'
}

// find gives a row its reference and returns its run, or nil.
func (c *Cache) find(row *Row, cohort *digest) *digest {
	if row.RunID == "" {
		return nil
	}
	paths := []string{row.Repo}
	if row.Kind == fleet.KindStory {
		paths = nil
		if cohort != nil {
			i := slices.IndexFunc(cohort.cohort.cohort.Members, func(m story.Member) bool { return m.ID == row.Story })
			if i >= 0 {
				m := cohort.cohort.cohort.Members[i]
				paths = []string{m.Folder, m.Worktree} // the first is a project where all stories share a tree
			}
		}
		paths = append(paths, row.Worktree)
	}
	for _, path := range paths {
		p := c.at(path)
		if p == nil {
			continue
		}
		if d := p.runs[row.RunID]; d != nil {
			row.Ref = Ref{Project: p.slug, Run: row.RunID}
			return d
		}
	}
	return nil
}

// at is the project of a path, or nil.
func (c *Cache) at(path string) *project {
	if path == "" {
		return nil
	}
	if p := c.byPath[filepath.Clean(path)]; p != nil {
		return p
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return c.byPath[real]
	}
	return nil
}

// cleanRow is a row whose texts may be shown.
func cleanRow(r fleet.Row) fleet.Row {
	for _, s := range []*string{&r.Branch, &r.Note, &r.Tier, &r.Story, &r.Parent} {
		*s = wording.Line(*s, lineRunes)
	}
	return r
}
