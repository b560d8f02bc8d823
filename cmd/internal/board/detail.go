package board

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"autopilot/cmd/internal/board/lines"
	"autopilot/metrics/ledger"
	"autopilot/metrics/report/wording"
	"autopilot/metrics/samples"
	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/prompt"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/story"
)

// detail is what is kept of a run that was looked at in full.
type detail struct {
	ref    Ref
	folder string

	stateSeen lines.Seen
	known     *supervisor.State
	stateErr  error

	dirSeen lines.Seen
	results map[string]*result // by id of the session
	names   []string

	log   lines.File
	modes map[string]string // of the sessions

	looks  lines.File
	points []Point

	samplesSeen lines.Seen
	samples     []samples.Sample
}

// result is what a session has left in its folder.
type result struct {
	seen    lines.Seen
	there   bool
	session Session
	caps    []Cap
}

// detail is what is known of a run, in the cache from now on.
func (c *Cache) detail(ref Ref, d *digest) *detail {
	i := slices.IndexFunc(c.details, func(x *detail) bool { return x.ref == ref && x.folder == d.folder })
	x := &detail{ref: ref, folder: d.folder, results: map[string]*result{}, modes: map[string]string{}}
	if i >= 0 {
		x = c.details[i]
		c.details = slices.Delete(c.details, i, i+1)
	}
	c.details = append(c.details, x)
	if n := len(c.details); n > keptDetails {
		c.details = slices.Delete(c.details, 0, n-keptDetails)
	}
	return x
}

// state is the state of the run, which is not to be changed.
func (x *detail) state() (*supervisor.State, error) {
	if x.stateSeen.Changed(filepath.Join(x.folder, "state.json")) {
		s, err := supervisor.LoadState(x.folder)
		x.known, x.stateErr = &s, err
	}
	return x.known, x.stateErr
}

// scan reads what is new in the folders of the run's sessions.
func (x *detail) scan() {
	dir := filepath.Join(x.folder, "sessions")
	if x.dirSeen.Changed(dir) {
		entries, _ := os.ReadDir(dir) // without it there is nothing in it
		x.names = nil
		for _, e := range entries {
			if uuid.Validate(e.Name()) == nil {
				x.names = append(x.names, e.Name())
			}
		}
	}
	for _, id := range x.names {
		r := x.results[id]
		if r == nil {
			r = &result{}
			x.results[id] = r
		}
		if r.seen.Changed(sessions.ResultPath(supervisor.SessionFolder(x.folder, sessions.ID(id)))) {
			r.read(sessions.ResultPath(supervisor.SessionFolder(x.folder, sessions.ID(id))))
		}
	}
	again := func() { clear(x.modes) }
	_ = x.log.More(filepath.Join(x.folder, logName), again, func(_ int64, line []byte) { // modes are all that is lost
		if len(line) > 4096 || len(x.modes) >= 2*mostSessions {
			return
		}
		var rec struct {
			Message string `json:"msg"`
			Session string `json:"session_id"`
			Mode    string `json:"mode"`
		}
		if json.Unmarshal(line, &rec) == nil && rec.Message == "session started" && rec.Session != "" {
			x.modes[rec.Session] = wording.Line(rec.Mode, lineRunes)
		}
	})
}

func (r *result) read(path string) {
	var res sessions.Result
	r.there = statedir.LoadJSON(path, &res) == nil
	if !r.there {
		return
	}
	r.session = sessionOf(res)
	r.caps = capsOf(res)
}

// sessionOf is a session as its result tells it.
func sessionOf(res sessions.Result) Session {
	s := Session{
		ID: string(res.ID), Model: wording.Line(res.Model, lineRunes), Started: res.StartedAt, Ended: res.EndedAt,
		Ending: wording.Line(string(res.Ending), lineRunes), Cause: wording.Text(res.Cause, textRunes),
		Tokens: res.Usage.Input + res.Usage.Output + res.Usage.CacheCreation, CostUSD: res.Usage.CostUSD,
		Files: len(res.Files), Commits: len(res.Commits),
	}
	if res.Continued != "" {
		s.Talk = string(res.Continued)
	}
	if res.Caps.Tier != "" {
		n := res.Caps.Cap
		s.Tier, s.Cap = wording.Line(res.Caps.Tier, lineRunes), &n
	}
	if rep, err := prompt.ParseReport(res.Report); err == nil {
		s.Summary = wording.Text(rep.Summary, textRunes)
	}
	return s
}

func capsOf(res sessions.Result) []Cap {
	var out []Cap
	for _, k := range res.Caps.Changes {
		out = append(out, Cap{At: k.At, Tier: wording.Line(k.Tier, lineRunes), Cap: k.Cap, Signal: wording.Line(k.Signal, lineRunes)})
	}
	return out
}

// wantsLedger reports whether the folders of the sessions leave something to be told by the
// ledger.
func (x *detail) wantsLedger(s *supervisor.State) bool {
	x.scan()
	return slices.ContainsFunc(s.Record.Endings, func(e ledger.Ending) bool {
		r := x.results[e.SessionID]
		return r == nil || !r.there
	})
}

// sessions completes the sessions of a run with what their folders tell, and adds the one
// that runs.
func (x *detail) sessions(r *Run, s *supervisor.State) {
	used := map[string]bool{}
	for i := range r.Sessions {
		have := &r.Sessions[i]
		res := x.results[have.ID]
		if res == nil || !res.there {
			res = x.like(*have, used)
		}
		if res == nil {
			continue
		}
		used[res.session.ID] = true
		have.merge(res.session)
		have.Mode = x.modes[res.session.ID]
	}
	cur := s.Current
	if cur == nil || s.Finished {
		return
	}
	now := Session{
		Number: s.Carried.Iterations + s.Iteration, ID: cur.SessionID, Talk: cur.Conversation, Mode: wording.Line(cur.Mode, lineRunes),
		Work: wording.Line(cur.Work, lineRunes), Started: cur.StartedAt,
	}
	var res sessions.Result
	id := sessions.ID(cur.SessionID)
	if statedir.LoadJSON(sessions.ProgressPath(supervisor.SessionFolder(x.folder, id)), &res) == nil && res.ID == id {
		so := sessionOf(res)
		so.Ending, so.Cause, so.Ended = "", "", time.Time{}
		now.merge(so)
		r.Caps = append(r.Caps, capsOf(res)...)
		r.Caps = r.Caps[max(0, len(r.Caps)-mostPoints):]
	}
	r.Current = &now
}

// like finds the session behind a record that a plugin wrote under a name of its own: what
// was counted of it is the same.
func (x *detail) like(have Session, used map[string]bool) *result {
	var best *result
	for _, id := range x.names {
		res := x.results[id]
		if !res.there || used[id] || res.session.Tokens != have.Tokens || res.session.Ending != have.Ending {
			continue
		}
		if best == nil || res.session.Started.Before(best.session.Started) {
			best = res
		}
	}
	return best
}

// merge takes over what another source says of the same session.
func (s *Session) merge(t Session) {
	s.Talk, s.Model = cmp.Or(s.Talk, t.Talk), cmp.Or(t.Model, s.Model)
	if t.Talk == "" && t.ID != s.ID {
		s.Talk = t.ID
	}
	if !t.Started.IsZero() {
		s.Started = t.Started
	}
	if !t.Ended.IsZero() {
		s.Ended = t.Ended
	}
	s.Ending, s.Cause = cmp.Or(s.Ending, t.Ending), cmp.Or(s.Cause, t.Cause)
	s.Tokens, s.CostUSD = max(s.Tokens, t.Tokens), max(s.CostUSD, t.CostUSD)
	s.Files, s.Commits = max(s.Files, t.Files), max(s.Commits, t.Commits)
	s.Summary = cmp.Or(t.Summary, s.Summary)
	if t.Cap != nil {
		s.Tier, s.Cap = t.Tier, t.Cap
	}
}

// progress is how far the goals or tasks of a run are.
func (x *detail) progress(r *Run, s *supervisor.State) {
	p := s.Pursuit.Progress()
	out := &r.Progress
	out.Velocity, out.PerHour, out.Sessions, out.Left = p.Velocity, p.PerHour, p.Sessions, p.Left
	out.Last = wording.Text(p.Last, textRunes)
	for _, m := range p.Milestones {
		out.Milestones = append(out.Milestones, Milestone{Text: wording.Line(m.Text, lineRunes), Done: m.Done})
	}
	if p.Known {
		percent := p.Percent
		out.Percent = &percent
	}
	r.Goals = nil
	for _, g := range s.Pursuit.Records() {
		r.Goals = append(r.Goals, Goal{Text: wording.Text(g.Text, textRunes), Status: wording.Line(g.Status, lineRunes), Percent: g.Percent})
	}
	if t := s.Tasks; t != nil {
		for _, st := range t.Steps {
			out.Points = append(out.Points, Point{At: st.At, Session: st.Iteration, Percent: 100 * st.Progress})
		}
		out.paced(s)
		return
	}
	x.lookBack()
	out.Points = spread(x.points, mostPoints)
}

// paced says how fast tasks are done, over the last three sessions.
func (p *Progress) paced(s *supervisor.State) {
	const over = 3
	n := len(p.Points)
	if n == 0 {
		return
	}
	last := p.Points[n-1]
	if p.Percent == nil {
		p.Percent = &last.Percent
	}
	from := Point{At: time.Time(s.Record.StartedAt)}
	if n > over {
		from = p.Points[n-1-over]
	}
	gain, by := last.Percent-from.Percent, last.Session-from.Session
	if gain <= 0 || by <= 0 {
		return
	}
	p.Velocity = gain / float64(by)
	p.Sessions = int((100 - last.Percent + p.Velocity - 1e-9) / p.Velocity)
	if d := last.At.Sub(from.At); d > 0 && !from.At.IsZero() {
		p.PerHour = gain / d.Hours()
		p.Left = time.Duration(float64(d) * (100 - last.Percent) / gain)
	}
}

// lookBack reads what is new of the reflections of the run.
func (x *detail) lookBack() {
	again := func() { x.points = nil }
	_ = x.looks.More(filepath.Join(x.folder, "reflections.jsonl"), again, func(_ int64, line []byte) { // a plot is all that is lost
		var rec struct {
			At         time.Time `json:"at"`
			Iteration  int       `json:"iteration"`
			Assessment *struct {
				Percent float64 `json:"percentComplete"`
			} `json:"assessment"`
		}
		if json.Unmarshal(line, &rec) == nil && rec.Assessment != nil {
			x.points = append(x.points, Point{At: rec.At, Session: rec.Iteration, Percent: rec.Assessment.Percent})
			x.points = x.points[max(0, len(x.points)-2*mostPoints):]
		}
	})
}

// stories are the rows of the stories of a cohort.
func (c *Cache) stories(r *Run, d *digest, now time.Time) {
	if !d.finished {
		for _, row := range c.rows.rows {
			if row.Parent == r.RunID && row.Repo == r.Repo {
				st := Row{Row: cleanRow(row)}
				c.find(&st, d)
				st.AgeSeconds = age(st.Started, now)
				r.Stories = append(r.Stories, st)
			}
		}
		return
	}
	d.cohort.read(d.folder)
	for _, m := range d.cohort.cohort.Members {
		st := Row{Row: cleanRow(fleet.Row{
			Kind: fleet.KindStory, Story: m.ID, Parent: r.RunID, Repo: r.Repo, Branch: m.Branch, State: storyState(m.Status), Note: m.Why,
			Iteration: m.Sessions, Tokens: m.Spent.Tokens, CostUSD: m.Spent.CostUSD, Started: m.StartedAt,
		}), Goal: wording.Line(cmp.Or(m.Goal, m.Title), lineRunes), Cause: wording.Line(m.Cause, lineRunes), ExitCode: m.ExitCode, Ended: m.EndedAt}
		if m.Worktree != r.Repo {
			st.Worktree = m.Worktree
		}
		if n := len(m.Runs); n > 0 {
			st.RunID = m.Runs[n-1]
		}
		c.find(&st, d)
		r.Stories = append(r.Stories, st)
	}
}

// storyState is how a story stands whose cohort has ended.
func storyState(s story.Status) fleet.State {
	switch s {
	case story.Done:
		return fleet.StateDone
	case story.Failed:
		return fleet.StateFailed
	case story.Person:
		return fleet.StatePerson
	case story.Shut:
		return fleet.StateShut
	case story.Waiting:
		return fleet.StateQueued
	}
	return fleet.StateStopped
}

// needsOf is what a run, or a story of it, waits for.
func (c *Cache) needsOf(r *Run, p *project, d *digest, o Options) {
	for _, n := range p.needs(c.root, o.Now) {
		if n.Ref.Run == r.RunID {
			r.Needs = append(r.Needs, n)
		}
	}
	if p.last != r.RunID {
		r.Needs = append(r.Needs, d.needs...)
	}
	ours := map[string]bool{r.RunID: true}
	for _, st := range r.Stories {
		ours[st.RunID] = true
	}
	main := c.above(p, d)
	for _, g := range main.gates.read(c.root, main, o.Now) { // calls of stories are held where the repository is
		if ours[g.RunID] && (main != p || g.RunID != r.RunID) {
			r.Needs = append(r.Needs, gateNeed(main, g))
		}
	}
}

// above is the project of the cohort that a run belongs to, or its own.
func (c *Cache) above(p *project, d *digest) *project {
	if d.parent == "" {
		return p
	}
	for _, q := range c.projects {
		if up := q.runs[d.parent]; up != nil && up != d && q != p {
			return q
		}
	}
	return p
}
