package cohort

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"autopilot/metrics/logs"
	"autopilot/probe"
	"autopilot/probe/tier"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/story"
)

const (
	tick       = time.Second
	giveAnew   = 20 * time.Second // a share is written again so that it stays fresh
	mostCrash  = 2                // supervisors of a story that may be killed before it counts as failed
	endingTime = 45 * time.Second // that a supervisor has to end in order
	frozen     = 10 * time.Second // between two turns, when this process did not run
)

// event is something that a goroutine of a story has to tell.
type event struct {
	id     string
	member *story.Member // after Prepare; nil for the others
	exit   int
	ended  bool
	err    error
	draft  string
}

// loop is one cohort at work. Only the loop's own goroutine changes it.
type loop struct {
	Options
	c       story.Cohort
	events  chan event
	group   sync.WaitGroup
	running map[string]Process
	ending  map[string]time.Time // when a supervisor was told to end
	killed  map[string]bool
	silent  map[string]silence
	given   map[string]Share
	givenAt time.Time
	tried   map[string]int // sessions of a story when its draft request was tried last

	snapshot  probe.Snapshot
	looked    time.Time
	damper    story.Damper
	preparing context.Context // of work trees; giveUp breaks it off
	giveUp    func()
	broken    error     // why the cohort could not be written down
	turned    time.Time // when everything was looked at last
}

// silence is the last sign of life of a supervisor, and since when there is none. It is
// counted in time that the machine was awake.
type silence struct {
	beat  time.Time
	since time.Time
}

// Run coordinates a cohort to its end and returns how it stands then. The first end of ctx
// has the supervisors end in order; kill ends them at once. The error is for what kept the
// cohort from being written down.
func Run(ctx, kill context.Context, c story.Cohort, o Options) (story.Cohort, error) {
	l := &loop{
		Options: o, c: c, events: make(chan event, 4*len(c.Members)+4), running: map[string]Process{}, ending: map[string]time.Time{},
		killed: map[string]bool{}, silent: map[string]silence{}, given: map[string]Share{}, tried: map[string]int{},
	}
	l.takeUp()
	t := time.NewTicker(tick)
	defer t.Stop()
	// A story that is being prepared when the cohort is told to end is not waited for.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	preparing, giveUp := context.WithCancel(work)
	defer giveUp()
	l.preparing, l.giveUp = preparing, giveUp
	done, killed := ctx.Done(), kill.Done()
	for l.turn(work) {
		select {
		case e := <-l.events:
			l.happened(work, e)
		case <-t.C:
		case <-l.Poke:
		case <-done:
			done = nil
			l.interrupted(context.Cause(ctx))
			cancel()
		case <-killed:
			killed = nil
			for id := range l.running {
				l.end(id)
			}
		}
	}
	l.finish(ctx, kill, cancel)
	l.leave(context.WithoutCancel(ctx))
	return l.c, errors.Join(l.broken, l.save())
}

// finish waits for what still goes on beside the loop, such as a push. A further signal
// breaks it off.
func (l *loop) finish(ctx, kill context.Context, cancel func()) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		l.group.Wait()
		close(over)
	})
	done := ctx.Done()
	if ctx.Err() != nil {
		done = nil
	}
	select {
	case <-over:
	case <-done:
	case <-kill.Done():
	}
	cancel()
	wg.Wait()
}

// takeUp makes waiting again all that was not done when the cohort ended that is
// continued, or when its coordinator died.
func (l *loop) takeUp() {
	l.c.Stop = nil
	for i := range l.c.Members {
		if m := &l.c.Members[i]; m.Status != story.Done {
			m.Status, m.Why, m.PID, m.Start, m.Crashes, m.KillSwitch = story.Waiting, "", 0, 0, 0, ""
		}
	}
}

// turn looks at everything once. It reports whether the cohort goes on.
func (l *loop) turn(ctx context.Context) bool {
	now := time.Now()
	l.thaw(now)
	l.look(ctx, now)
	l.refresh(ctx, now)
	l.asked(now)
	for _, a := range story.Decide(l.c, l.facts(now)) {
		l.act(a, now)
	}
	l.give(now)
	return l.c.Stop == nil || len(l.running)+l.busy() > 0
}

// thaw forgives the time in which this process did not run: the supervisors may have been
// frozen with it.
func (l *loop) thaw(now time.Time) {
	gap := now.Sub(l.turned)
	if !l.turned.IsZero() && gap > frozen {
		for id, s := range l.silent {
			s.since = s.since.Add(gap)
			l.silent[id] = s
		}
		for id, at := range l.ending {
			if !at.IsZero() {
				l.ending[id] = at.Add(gap)
			}
		}
	}
	l.turned = now
}

// busy counts the stories that are being prepared.
func (l *loop) busy() int {
	n := 0
	for _, m := range l.c.Members {
		if m.Status == story.Running && l.running[m.ID] == nil {
			n++
		}
	}
	return n
}

// look takes a look at the machine when it is due.
func (l *loop) look(ctx context.Context, now time.Time) {
	if !l.looked.IsZero() && now.Sub(l.looked) < l.Every {
		return
	}
	l.snapshot, l.looked = l.Probe(ctx), now
	j := tier.Judge(l.snapshot.Signals, l.c.Agents)
	before := l.c.Tier
	l.damper = l.damper.Next(now, string(j.Tier), l.c.Agents)
	l.c.Tier, l.c.Cap = l.damper.Tier, l.damper.Cap
	if before != l.c.Tier {
		l.changed()
		l.Log.Info("the machine's tier", "tier", l.c.Tier, "measured", string(j.Tier), "cap", l.c.Cap, "signal", j.Signal)
	}
}

func (l *loop) facts(now time.Time) story.Facts {
	f := story.Facts{Now: now, Tier: l.c.Tier, Cap: l.c.Cap, Lanes: l.Lanes, BudgetLeft: l.budgetLeft(), MinFree: l.Room == nil || l.Room()}
	f.Draining = l.broken != nil
	if l.Limited != nil {
		f.LimitUntil, _ = l.Limited(now)
	}
	if l.Limits.MaxHours > 0 {
		f.Deadline = l.c.StartedAt.Add(time.Duration(l.Limits.MaxHours * float64(time.Hour)))
	}
	return f
}

func (l *loop) budgetLeft() bool {
	used := l.c.Spent()
	return (l.Limits.MaxTokens == 0 || used.Tokens < l.Limits.MaxTokens) && (l.Limits.MaxCostUSD == 0 || used.CostUSD < l.Limits.MaxCostUSD)
}

// refresh reads how the running stories stand, and ends those that are silent.
func (l *loop) refresh(ctx context.Context, now time.Time) {
	for i := range l.c.Members {
		m := &l.c.Members[i]
		if l.running[m.ID] == nil {
			continue
		}
		st := l.Stage.Look(*m)
		l.take(m, st)
		if l.Early {
			l.draft(ctx, *m)
		}
		s := l.silent[m.ID]
		if s.since.IsZero() || !st.Beat.Equal(s.beat) {
			l.silent[m.ID] = silence{beat: st.Beat, since: now}
		} else if now.Sub(s.since) > l.Silence && l.ending[m.ID].IsZero() {
			l.Log.Warn("a story's supervisor gives no sign of life and is ended", "story", m.ID, "since", s.beat)
			m.Why, m.KillSwitch = fmt.Sprintf("its supervisor gave no sign of life for %v", l.Silence), stalled
			l.end(m.ID)
		}
		if at := l.ending[m.ID]; !at.IsZero() && now.Sub(at) > endingTime && !l.killed[m.ID] {
			l.killed[m.ID] = true
			l.running[m.ID].Kill()
		}
	}
}

func (l *loop) take(m *story.Member, st Standing) {
	m.Sessions, m.Spent = st.Sessions, st.Spent
	if st.RunID != "" && !slices.Contains(m.Runs, st.RunID) {
		m.Runs = append(m.Runs, st.RunID)
		l.changed()
	}
}

// asked stops the cohort when a person wants that.
func (l *loop) asked(now time.Time) {
	if why := l.StopRequested(); why != "" && l.c.Stop == nil {
		l.stop(story.Stop{Reason: "user-abort", Detail: why, At: now})
	}
}

// interrupted has everything end in order.
func (l *loop) interrupted(cause error) {
	reason := story.ReasonSignal
	if k, ok := cause.(interface{ Reason() killswitch.Reason }); ok {
		reason = string(k.Reason())
	}
	l.stop(story.Stop{Reason: reason, Detail: cause.Error(), At: time.Now()})
	for id := range l.running {
		l.end(id)
	}
}

// stop decides that nothing more is begun. The first reason stands.
func (l *loop) stop(s story.Stop) {
	if l.c.Stop != nil {
		return
	}
	l.c.Stop = &s
	if len(l.running) == 0 {
		l.giveUp() // a work tree that is made for nothing may take half an hour
	}
	l.Log.Info("the cohort ends", "reason", s.Reason, "detail", s.Detail, "running", len(l.running))
	l.changed()
}

// end tells the supervisor of a story to end.
func (l *loop) end(id string) {
	if l.running[id] == nil {
		return // it is still being prepared; nothing is started once it is known to end
	}
	if l.ending[id].IsZero() {
		l.ending[id] = time.Now()
	}
	l.running[id].End()
}

// act carries out a decision.
func (l *loop) act(a story.Action, now time.Time) {
	switch {
	case a.Stop != nil:
		l.stop(*a.Stop)
	case a.Shut != "":
		m := l.c.Find(a.Shut)
		m.Status, m.Why, m.EndedAt = story.Shut, a.Why, now
		l.Log.Warn("a story cannot be begun", "story", m.ID, "detail", a.Why)
		l.changed()
	case a.End != "":
		l.end(a.End)
	case a.Begin != "":
		l.begin(a, now)
	}
}

// changed writes the cohort down. What cannot be written down is not begun either.
func (l *loop) changed() {
	if err := l.save(); err != nil && l.broken == nil {
		l.broken = err
		l.Log.Error("the cohort cannot be written down; nothing more is begun", "err", logs.Redact(err.Error()))
		l.c.Stop = &story.Stop{Reason: story.ReasonError, Detail: err.Error(), At: time.Now()}
	}
}

func (l *loop) save() error {
	l.c.UpdatedAt = time.Now()
	return l.Save(l.c)
}
