package board

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report/wording"
	"autopilot/metrics/samples"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/story/shared"
)

const (
	mostSessions = 1000
	mostPoints   = 1000
	keptDetails  = 16 // runs that are kept in full
)

// Find is one run in full. The error is fs.ErrNotExist for one that is not there.
func Find(ctx context.Context, o Options, ref Ref) (Run, error) {
	c := o.cache()
	c.lockFor(o.Root)
	defer c.mu.Unlock()
	problems := c.refresh(ctx, o)
	p := c.bySlug[ref.Project]
	if p == nil || ref.Run == "" {
		return Run{}, fmt.Errorf("find run %q of project %q: %w", ref.Run, ref.Project, fs.ErrNotExist)
	}
	d := p.runs[ref.Run]
	if d == nil {
		return c.recorded(p, ref)
	}
	x := c.detail(ref, d)
	s, err := x.state()
	r := Run{Row: d.row, Folder: d.folder, Dir: p.Path, Problems: []string{}}
	r.Ref, r.RunID, r.Repo = ref, ref.Run, p.Path
	switch {
	case err == nil:
		x.fill(c, p, &r, s)
	case errors.Is(err, fs.ErrNotExist):
		r.Kind = fleet.KindRun
	default:
		r.Kind, r.State = fleet.KindRun, fleet.StateUnreadable
		r.Problems = append(r.Problems, words(err)...)
	}
	if !d.finished {
		c.live(ctx, o, &r)
	}
	for _, text := range problems {
		if !slices.Contains(r.Problems, text) && len(problems) < 20 {
			r.Problems = append(r.Problems, text)
		}
	}
	r.AgeSeconds = age(r.Started, o.Now)
	p.rewards.read(p)
	r.Reward = p.rewards.of(ref.Run)
	c.stories(&r, d, o.Now)
	c.needsOf(&r, p, d, o)
	return whole(r), nil
}

// live takes over the row of a run that is on.
func (c *Cache) live(ctx context.Context, o Options, r *Run) {
	o.Peers = nil
	rows, _ := c.active(ctx, o)
	for _, row := range rows {
		if row.Ref == r.Ref {
			goal, source := r.Goal, r.Source
			r.Row = row
			r.Goal, r.Source = goal, source
		}
	}
}

// recorded is a run whose folder is gone.
func (c *Cache) recorded(p *project, ref Ref) (Run, error) {
	for _, dir := range p.ledgers {
		rec, ok := record(dir, ref.Run)
		if !ok {
			continue
		}
		r := Run{Row: endedRow(p.Path, rec), Dir: p.Path, Problems: []string{}}
		r.Ref = ref
		c.fromRecord(&r, rec, c.sessionLedger(dir).of(ref.Run))
		r.Resumable = "its folder is gone"
		p.rewards.read(p)
		r.Reward = p.rewards.of(ref.Run)
		return whole(r), nil
	}
	return Run{}, fmt.Errorf("find run %q of project %q: %w", ref.Run, ref.Project, fs.ErrNotExist)
}

// whole has a list where there is none, so that it is one in JSON as well.
func whole(r Run) Run {
	r.Goals, r.Sessions, r.Caps = list(r.Goals), list(r.Sessions), list(r.Caps)
	r.Samples, r.Needs, r.Problems = list(r.Samples), list(r.Needs), list(r.Problems)
	r.Progress.Milestones, r.Progress.Points = list(r.Progress.Milestones), list(r.Progress.Points)
	return r
}

func list[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// fromRecord is what the record of a run says of it.
func (c *Cache) fromRecord(r *Run, rec ledger.Run, known []ledger.Session) {
	r.Mode, r.MaxHours = wording.Line(rec.Mode, lineRunes), rec.MaxHours
	for _, g := range rec.Goals {
		r.Goals = append(r.Goals, Goal{Text: wording.Text(g.Text, textRunes), Status: wording.Line(g.Status, lineRunes), Percent: g.Percent})
	}
	for _, k := range rec.Caps[max(0, len(rec.Caps)-mostPoints):] {
		r.Caps = append(r.Caps, Cap{At: time.Time(k.At), Tier: wording.Line(k.Tier, lineRunes), Cap: k.Cap, Signal: wording.Line(k.Signal, lineRunes)})
	}
	if t := rec.Termination; t != nil {
		r.Summary = wording.Text(t.Summary, textRunes)
	}
	r.Progress.Percent = r.Percent
	first := max(0, len(rec.Endings)-mostSessions)
	for i, e := range rec.Endings[first:] {
		s := Session{
			Number: first + i + 1, ID: wording.Line(e.SessionID, lineRunes), Ending: wording.Line(e.Ending, lineRunes), Cause: wording.Text(e.Cause, textRunes),
			Tokens: e.Tokens, CostUSD: e.CostUSD,
		}
		if j := slices.IndexFunc(known, func(k ledger.Session) bool { return k.SessionID == e.SessionID }); j >= 0 {
			s.add(known[j])
		}
		for _, k := range rec.Caps {
			if k.SessionID == e.SessionID {
				n := k.Cap
				s.Tier, s.Cap = wording.Line(k.Tier, lineRunes), &n
			}
		}
		r.Sessions = append(r.Sessions, s)
	}
}

// add is what the ledger of sessions says beside the record of the run.
func (s *Session) add(k ledger.Session) {
	s.Started, s.Ended = time.Time(k.StartedAt), time.Time(k.CompletedAt)
	s.Model, s.Work = wording.Line(k.Model, lineRunes), wording.Line(k.SessionType, lineRunes)
	s.Files, s.Commits, s.Summary = k.TotalFilesChanged, len(k.Commits), wording.Text(k.Summary, textRunes)
}

// fill is what the folder of a run says of it.
func (x *detail) fill(c *Cache, p *project, r *Run, s *supervisor.State) {
	r.Dir = dirOf(p, s)
	r.Updated = s.UpdatedAt
	var known []ledger.Session
	if x.wantsLedger(s) {
		for _, dir := range c.above(p, p.runs[r.RunID]).ledgers { // stories have their records where their cohort has
			known = append(known, c.sessionLedger(dir).of(r.RunID)...)
		}
	}
	c.fromRecord(r, s.Record, known)
	r.Mode = wording.Line(s.Mode, lineRunes)
	x.sessions(r, s)
	x.progress(r, s)
	r.Samples = spread(x.machine(), mostPoints)
	switch {
	case !s.Finished:
		if w := s.Waiting; w != nil {
			r.Waiting = &Waiting{Until: w.Until, Why: wording.Line(w.Why, lineRunes)}
		}
		r.Stopping = wording.Line(supervisor.StopRequested(x.folder), lineRunes)
	default:
		r.Resumable = wording.Line(supervisor.NotResumable(*s), lineRunes)
	}
}

// dirOf is where the sessions of a run work.
func dirOf(p *project, s *supervisor.State) string {
	if s.Record.ParentRunID != nil {
		if t, err := shared.LoadTask(p.Path); err == nil { // several stories in one tree
			return t.Worktree
		}
	}
	return p.Path
}

// spread chooses n of a list evenly, the first and the last among them.
func spread[T any](l []T, n int) []T {
	if len(l) <= n {
		return slices.Clone(l)
	}
	out := make([]T, 0, n)
	for i := range n {
		out = append(out, l[i*(len(l)-1)/(n-1)])
	}
	return out
}

// machine are the samples of a run.
func (x *detail) machine() []samples.Sample {
	if x.samplesSeen.Changed(filepath.Join(x.folder, samples.Name)) {
		x.samples, _ = samples.Load(x.folder) // none is shown then
		for i := range x.samples {
			x.samples[i].Tier = wording.Line(x.samples[i].Tier, lineRunes)
		}
	}
	return x.samples
}
