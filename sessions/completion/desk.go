package completion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/episode"
	"autopilot/sessions/task"
)

const (
	shownRemaining = 10
	folderMode     = 0o700
)

// Desk does what commands, MCP tools and hooks ask for. All of it may be called
// from several processes at once.
type Desk struct {
	Folder string     // with the states and the log
	Place  task.Place // where the tasks are
	// Session is the Claude Code session that is meant. Empty means the one that is
	// enabled, when it is the only one.
	Session  string
	Episodes string // folder of the episodes; empty for none
	// Cap is the number of episodes that are kept; 0 is the usual one.
	Cap      int
	Defaults Settings // for what nobody has set
	// Supervised is set when a supervisor runs the session and remembers the whole of
	// the work itself: what happens at the desk is no episode of its own then.
	Supervised bool
	// ReportFile takes the agent's own report; empty when nobody reads one.
	ReportFile string
}

// Status is the state as it is now. Without a session that is meant it is that of the
// one that was enabled last, also when it is over.
func (d Desk) Status(ctx context.Context, now time.Time) (Status, error) {
	s, err := d.shown(now)
	if err != nil {
		return Status{}, err
	}
	found, err := d.discover(ctx, s)
	if err != nil {
		return Status{}, err
	}
	return d.status(s, found, now)
}

func (d Desk) status(s State, found task.Found, now time.Time) (Status, error) {
	tasks := found.Tasks
	c := tally(tasks, s.Criteria)
	st := Status{
		Enabled: s.Enabled, SessionID: s.SessionID, Iterations: s.Iterations, MaxIterations: s.MaxIterations, TimeoutMinutes: s.TimeoutMinutes,
		Tasks: task.CountOf(tasks), TaskSources: s.TaskSources, Stalled: s.Stalled, Tokens: s.Tokens, Waiting: s.Enabled && s.SessionID == "",
		Remaining: values(c.open[:min(shownRemaining, len(c.open))]), Others: []string{}, Broken: faultsOf(found),
	}
	if s.Enabled {
		st.ElapsedMS = s.clock(now)
	}
	all, broken, err := d.all()
	st.Broken = append(st.Broken, broken...)
	for _, o := range enabled(all, now) {
		if o.SessionID != s.SessionID {
			st.Others = append(st.Others, o.SessionID)
		}
	}
	return st, err
}

func values(tasks []*task.Task) []task.Task {
	out := make([]task.Task, len(tasks))
	for i, t := range tasks {
		out[i] = *t
	}
	return out
}

// Enable starts a fresh count for the desk's session. Without one it is the only
// living session in the project; when none lives there, it is the first that stops
// there.
func (d Desk) Enable(ctx context.Context, now time.Time) (Status, error) {
	id, err := d.bind()
	if err != nil {
		return Status{}, err
	}
	s, found, warning, err := d.enable(ctx, id, now)
	if err != nil {
		return Status{}, err
	}
	if id != d.Session {
		// Who asked meant one session: the next one is not to be held as well.
		if _, _, err := d.disable("", now); err != nil {
			return Status{}, err
		}
	}
	st, err := d.status(s, found, now)
	st.Warning = warning
	return st, err
}

func (d Desk) enable(ctx context.Context, id string, now time.Time) (fresh State, found task.Found, warning string, err error) {
	project, err := d.project(now)
	if err != nil {
		return fresh, found, "", err
	}
	settings := d.settings(project.Chosen)
	if err := settings.Check(); err != nil {
		return fresh, found, "", err
	}
	if err := os.MkdirAll(d.Folder, folderMode); err != nil {
		return fresh, found, "", fmt.Errorf("create state folder: %w", err)
	}
	if err := d.tryLog(settings.LogFile); err != nil {
		return fresh, found, "", err
	}
	fresh = State{SessionID: id, Settings: settings}
	if found, err = d.discover(ctx, fresh); err != nil {
		return fresh, found, "", err
	}
	d.tidy(now)
	lessons, confidence := d.lessons(found.Tasks, settings.Criteria)
	err = d.change(id, func(s *State, _ bool) (bool, error) {
		s.fresh(now)
		s.Enabled, s.Settings, s.Learned, s.Confidence = true, settings, lessons, confidence
		fresh = *s
		return true, nil
	})
	if err != nil {
		return fresh, found, "", err
	}
	return fresh, found, d.logged(settings.LogFile, newEvent(now, "enabled", Event{"sessionId": id, "config": settings})), nil
}

// logged logs events of something that has taken effect, and says what keeps it from
// that.
func (d Desk) logged(file string, events ...Event) (warning string) {
	if err := d.log(file, events...); err != nil {
		return err.Error()
	}
	return ""
}

// Disable lets the agent stop: the desk's session, or without one every session of
// the project; and the one that was to be the next.
func (d Desk) Disable(ctx context.Context, now time.Time) (Status, error) {
	s, err := d.shown(now)
	if err != nil {
		return Status{}, err
	}
	ids := []string{d.Session}
	if d.Session == "" {
		all, _, err := d.all()
		if err != nil {
			return Status{}, err
		}
		for _, x := range enabled(all, now) {
			ids = append(ids, x.SessionID)
		}
	} else {
		ids = append(ids, "")
	}
	warning := ""
	for _, id := range ids {
		x, was, err := d.disable(id, now)
		if err != nil {
			return Status{}, err
		}
		if was {
			warning = cmp.Or(d.logged(x.LogFile, newEvent(now, "disabled", Event{"iterations": x.Iterations})), warning)
		}
	}
	s.Enabled = false
	found, err := d.discover(ctx, s)
	if err != nil {
		return Status{}, err
	}
	st, err := d.status(s, found, now)
	st.Warning = warning
	return st, err
}

// disable disables one state and says whether it was enabled and had time left.
func (d Desk) disable(id string, now time.Time) (s State, was bool, err error) {
	s, found, err := d.load(id)
	if err != nil || !found || !s.Enabled {
		return s, false, err
	}
	err = d.change(id, func(cur *State, _ bool) (bool, error) {
		was = cur.Enabled && !cur.expired(now)
		cur.Enabled = false
		s = *cur
		return true, nil
	})
	return s, was, err
}

// Configure changes settings: of the desk's session, or without one of every session
// that is enabled, and of those to come. A value out of range is refused and changes
// nothing.
func (d Desk) Configure(c Change, now time.Time) (Settings, error) {
	s, err := d.shown(now)
	if err != nil {
		return Settings{}, err
	}
	if c.empty() {
		return s.Settings, nil
	}
	out := c.on(s.Settings)
	if err := out.Check(); err != nil {
		return Settings{}, err
	}
	if err := os.MkdirAll(d.Folder, folderMode); err != nil {
		return Settings{}, fmt.Errorf("create state folder: %w", err)
	}
	err = d.change("", func(p *State, _ bool) (bool, error) {
		p.Chosen = c.over(p.Chosen)
		p.Settings = c.on(d.base(*p))
		return true, nil
	})
	if err != nil {
		return Settings{}, err
	}
	ids := []string{d.Session}
	if d.Session == "" {
		all, _, err := d.all()
		if err != nil {
			return Settings{}, err
		}
		ids = ids[:0]
		for _, x := range enabled(all, now) {
			ids = append(ids, x.SessionID)
		}
	}
	for _, id := range ids {
		err := d.change(id, func(s *State, found bool) (bool, error) {
			if found {
				s.Settings = c.on(s.Settings)
			}
			return found, nil
		})
		if err != nil {
			return Settings{}, err
		}
	}
	_ = d.logged(out.LogFile, newEvent(now, "config-updated", Event{ // it has taken effect all the same
		"maxIterations": out.MaxIterations, "timeoutMinutes": out.TimeoutMinutes, "taskSources": out.TaskSources,
	}))
	return out, nil
}

// Reset sets the count to 0 and starts the timer again.
func (d Desk) Reset(ctx context.Context, now time.Time) (Status, error) {
	s, err := d.current(now)
	if err != nil {
		return Status{}, err
	}
	warning := ""
	if _, found, err := d.load(s.SessionID); err != nil {
		return Status{}, err
	} else if found {
		err := d.change(s.SessionID, func(cur *State, _ bool) (bool, error) {
			cur.fresh(now)
			s.fresh(now)
			return true, nil
		})
		if err != nil {
			return Status{}, err
		}
		warning = d.logged(s.LogFile, newEvent(now, "reset", nil))
	}
	tasks, err := d.discover(ctx, s)
	if err != nil {
		return Status{}, err
	}
	st, err := d.status(s, tasks, now)
	st.Warning = warning
	return st, err
}

// Progress is how far each source is.
func (d Desk) Progress(ctx context.Context) (Progress, error) {
	s, err := d.current(time.Now())
	if err != nil {
		return Progress{}, err
	}
	found, err := d.discover(ctx, s)
	if err != nil {
		return Progress{}, err
	}
	p := Progress{Overall: task.CountOf(found.Tasks), BySource: map[string]SourceProgress{}}
	for _, source := range s.TaskSources {
		tasks := []task.Task{}
		for _, t := range found.Tasks {
			if t.Source == source {
				tasks = append(tasks, t)
			}
		}
		p.BySource[source] = SourceProgress{Count: task.CountOf(tasks), Tasks: tasks}
	}
	return p, nil
}

// discover looks for the tasks that count for a state: all of the project, or those
// of its session and of the shared list. What was found when the time ran out is no
// answer.
func (d Desk) discover(ctx context.Context, s State) (task.Found, error) {
	place := d.Place
	place.Session = cmp.Or(place.Session, s.SessionID, d.Session)
	found := task.Discover(ctx, place, s.TaskSources)
	if err := ctx.Err(); err != nil {
		return found, fmt.Errorf("discover tasks: %w", context.Cause(ctx))
	}
	return found, nil
}

// shown is the state that is meant when it is only looked at: that which current
// means, or where that is not clear the one that was enabled last.
func (d Desk) shown(now time.Time) (State, error) {
	if d.Session != "" {
		return d.ofSession(now)
	}
	all, _, err := d.all()
	if err != nil {
		return State{}, err
	}
	if on := d.held(all, now); len(on) > 0 {
		s, _ := last(on)
		return s, nil
	}
	project, err := d.project(now)
	if err != nil || project.Enabled {
		return project, err
	}
	s, found := last(all)
	if !found {
		return project, nil
	}
	if !s.Enabled || s.expired(now) {
		s.Settings, s.Enabled = project.Settings, false // those for who is enabled next
	}
	return s, nil
}

// held are the sessions that are enabled and live. When none of them does, they are
// all that are enabled, unless the next one is waited for.
func (d Desk) held(all []State, now time.Time) []State {
	on := enabled(all, now)
	if len(on) == 0 {
		return nil
	}
	living := task.Living(d.Place.Config)
	alive := slices.DeleteFunc(slices.Clone(on), func(s State) bool {
		return !slices.ContainsFunc(living, func(l task.LiveSession) bool { return l.ID == s.SessionID })
	})
	if len(alive) > 0 {
		return alive
	}
	if p, err := d.project(now); err == nil && p.Enabled {
		return nil
	}
	return on
}

// current is the state that is meant: of the desk's session; without one, of the
// only session that is enabled and lives; else the state without session, or that of
// the session that was enabled last.
func (d Desk) current(now time.Time) (State, error) {
	if d.Session != "" {
		return d.ofSession(now)
	}
	all, _, err := d.all()
	if err != nil {
		return State{}, err
	}
	on := d.held(all, now)
	switch len(on) {
	case 0:
		return d.project(now)
	case 1:
		return on[0], nil
	}
	var ids []string
	for _, s := range on {
		ids = append(ids, s.SessionID)
	}
	return State{}, refused{fmt.Errorf("%d sessions are enabled: %s", len(ids), strings.Join(ids, ", ")), "name one with --session ID"}
}

// ofSession is the state of the desk's session, or that of the next session while
// this one may become it.
func (d Desk) ofSession(now time.Time) (State, error) {
	if err := CheckSession(d.Session); err != nil {
		return State{}, err
	}
	s, _, err := d.load(d.Session)
	if err != nil || s.Enabled {
		return s, err
	}
	p, err := d.project(now)
	if err != nil || p.Enabled {
		return p, err
	}
	s.Settings = p.Settings // those it would be enabled with
	return s, nil
}

// project is the state without session. It is not enabled when its time is over.
func (d Desk) project(now time.Time) (State, error) {
	s, _, err := d.load("")
	if err != nil {
		return s, err
	}
	s.Settings = d.base(s)
	s.Enabled = s.Enabled && !s.expired(now)
	return s, nil
}

// base are the settings of the state without session: while it waits those it was
// enabled with, else what would hold.
func (d Desk) base(p State) Settings {
	if p.Enabled {
		return p.Settings
	}
	return d.settings(p.Chosen)
}

// Check decides whether the agent may stop, and counts an iteration when not.
func (d Desk) Check(ctx context.Context, now time.Time) (Decision, error) {
	s, err := d.current(now)
	if err != nil {
		return Decision{}, err
	}
	if !s.Enabled {
		return Check(&s, Facts{Now: now}), nil
	}
	f, err := d.settled(ctx, s)
	if err != nil {
		return Decision{}, err
	}
	f.Now = now
	var dec Decision
	err = d.change(s.SessionID, func(cur *State, _ bool) (bool, error) {
		was := cur.Enabled
		dec = Check(cur, f)
		return was, nil
	})
	if err != nil {
		return Decision{}, err
	}
	return dec, d.remember(s, dec)
}

// settled are the tasks that are decided on. A file that is just being written may
// not be readable for a moment, and its task not there; so before all is taken for
// complete it is looked at again.
func (d Desk) settled(ctx context.Context, s State) (Facts, error) {
	found, err := d.discover(ctx, s)
	open := func(t task.Task) bool { return !t.Terminal() }
	broken := func(l task.Look) bool { return len(l.Broken) > 0 }
	if err == nil && !slices.ContainsFunc(found.Tasks, open) && slices.ContainsFunc(found.Looks, broken) {
		select {
		case <-time.After(secondLook):
		case <-ctx.Done():
		}
		found, err = d.discover(ctx, s)
	}
	f := Facts{Tasks: found.Tasks}
	remote := func(l task.Look) bool { return l.Source == task.GitHubIssues && (d.Place.GH == nil || broken(l)) }
	if slices.ContainsFunc(found.Looks, remote) {
		f.Unasked = task.GitHubIssues
	}
	if faults := faultsOf(found); len(faults) > 0 {
		f.Unasked, f.Fault = faults[0].Path, &faults[0]
	}
	return f, err
}

func faultsOf(f task.Found) []task.Fault {
	faults := []task.Fault{}
	for _, l := range f.Looks {
		faults = append(faults, l.Broken...)
	}
	return faults
}

const secondLook = 20 * time.Millisecond

// remember logs the events of a decision and keeps its episode. The decision stands
// whatever becomes of them.
func (d Desk) remember(s State, dec Decision) error {
	err := d.log(s.LogFile, dec.Events...)
	if dec.Episode == nil || d.Episodes == "" || d.Supervised {
		return err
	}
	_, kept := episode.Open(d.Episodes, episode.Options{Keep: d.Cap}).Append(*dec.Episode)
	return errors.Join(err, kept)
}
