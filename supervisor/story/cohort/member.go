package cohort

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"autopilot/metrics/logs"
	"autopilot/probe/proctree"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/ending"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/story"
)

const (
	stalled   = killswitch.StallTimeout
	longestWy = 300 // bytes of why a story is not done
)

// begin begins a story, or goes on with it, beside the others.
func (l *loop) begin(a story.Action, now time.Time) {
	m := l.c.Find(a.Begin)
	m.Status, m.Lane, m.Why, m.KillSwitch, m.Cause = story.Running, a.Lane, "", "", ""
	if m.StartedAt.IsZero() {
		m.StartedAt = now
	}
	m.EndedAt = time.Time{}
	if l.changed(); l.broken != nil {
		m.Status = story.Waiting
		return
	}
	delete(l.silent, m.ID)
	delete(l.ending, m.ID)
	delete(l.killed, m.ID)
	delete(l.given, m.ID)
	copied, after := *m, l.dependencies(*m)
	l.group.Go(func() {
		if err := l.Stage.Prepare(l.preparing, &copied, after); err != nil {
			l.events <- event{id: copied.ID, err: err, ended: true}
			return
		}
		l.events <- event{id: copied.ID, member: &copied}
	})
}

func (l *loop) dependencies(m story.Member) []story.Member {
	var out []story.Member
	for _, id := range m.After {
		if d := l.c.Find(id); d != nil {
			out = append(out, *d)
		}
	}
	return out
}

// happened takes in what a goroutine of a story tells.
func (l *loop) happened(ctx context.Context, e event) {
	m := l.c.Find(e.id)
	switch {
	case e.draft != "":
		m.Draft = e.draft
		l.changed()
	case e.member != nil:
		m.Worktree, m.Branch, m.Base = e.member.Worktree, e.member.Branch, e.member.Base
		l.launch(ctx, m)
	case e.ended && l.running[e.id] == nil: // it was never started
		l.over(ctx, m, Standing{Cause: "error", Detail: e.err.Error()}, 1)
	case e.ended:
		delete(l.running, e.id)
		st := l.Stage.Look(*m)
		l.take(m, st)
		l.over(ctx, m, st, e.exit)
	}
}

// launch starts the supervisor of a story whose work tree is there.
func (l *loop) launch(ctx context.Context, m *story.Member) {
	if l.c.Stop != nil {
		m.Status, m.Why, m.EndedAt = story.Stopped, "the cohort ended before it began", time.Now()
		l.changed()
		return
	}
	l.changed()
	l.giveTo(m, l.shares()[m.ID], time.Now())
	p, err := l.Stage.Launch(ctx, *m)
	if err != nil {
		l.over(ctx, m, Standing{Cause: "error", Detail: err.Error()}, 1)
		return
	}
	l.running[m.ID], m.PID = p, p.PID()
	m.Start, _ = proctree.StartOf(m.PID) // 0 for one that is gone already
	l.changed()
	l.Log.Info("story begun", "story", m.ID, "title", m.Title, "branch", m.Branch, "worktree", m.Worktree, "pid", m.PID, "runs", len(m.Runs))
	l.told(*m)
	id := m.ID
	l.group.Go(func() { l.events <- event{id: id, exit: p.Wait(), ended: true} })
}

// over takes in that the supervisor of a story has ended.
func (l *loop) over(ctx context.Context, m *story.Member, st Standing, exit int) {
	m.PID, m.Start, m.ExitCode, m.EndedAt = 0, 0, exit, time.Now()
	silent := m.KillSwitch == stalled // it was ended for that
	if !silent {
		m.KillSwitch = st.KillSwitch
	}
	m.Cause = st.Cause
	switch {
	case silent:
		m.Status = story.Failed
	case !st.Begun && (l.c.Stop != nil || !l.ending[m.ID].IsZero() || ctx.Err() != nil):
		m.Status, m.Why = story.Stopped, "the cohort ended before it began"
	case exit > exitSignal && !st.Begun: // it was killed before it could write anything
		l.crashed(m)
	case exit == exitUsage || !st.Begun: // it refused to begin: what keeps it from that may keep others
		m.Status, m.Cause, m.KillSwitch, m.Why = story.Failed, ending.CauseError, "", cmp.Or(st.Words, st.Detail)
	case st.Cause == ending.CauseKilled && l.ending[m.ID].IsZero() && l.c.Stop == nil:
		l.crashed(m)
	default:
		m.Status, m.Why = verdict(st, exit)
	}
	m.Why = prompt.Cut(logs.Redact(m.Why), longestWy)
	l.Log.Info("story ended", "story", m.ID, "status", string(m.Status), "detail", m.Why, "exit_code", exit, "sessions", m.Sessions,
		"tokens", m.Spent.Tokens, "cost_usd", m.Spent.CostUSD)
	if s := story.After(l.c, m.ID); s != nil {
		s.At = time.Now()
		l.stop(*s)
	}
	l.changed()
	if m.Status == story.Waiting {
		return
	}
	if m.Status == story.Done {
		l.draft(ctx, *m)
	}
	l.told(*m)
}

// crashed has a story whose supervisor was killed go on, unless that has happened too often.
func (l *loop) crashed(m *story.Member) {
	m.Crashes++
	m.Status, m.Why = story.Waiting, ""
	if m.Crashes > mostCrash {
		m.Status, m.Cause, m.Why = story.Failed, ending.CauseKilled, fmt.Sprintf("its supervisor was killed %d times", m.Crashes)
	}
}

// verdict is how a story stands after its supervisor has ended.
func verdict(st Standing, exit int) (story.Status, string) {
	why := st.Why
	if why == "" {
		why = st.Detail
	}
	switch st.Item {
	case story.Done, story.Failed, story.Person:
		return st.Item, map[bool]string{false: why}[st.Item == story.Done]
	}
	switch {
	case slices.Contains(trouble(), st.KillSwitch), st.Cause == ending.CauseError:
		return story.Failed, why
	case st.KillSwitch == killswitch.LowConfidence, exit == exitPerson:
		return story.Person, why
	}
	return story.Stopped, why
}

// Exit codes of a supervisor.
const (
	exitUsage  = 2
	exitPerson = 4
	exitSignal = 128 // and the signal's number above it
)

// trouble are the kill-switches after which a story is not gone on with by itself.
func trouble() []killswitch.Reason {
	return []killswitch.Reason{killswitch.StallTimeout, killswitch.Spiral, killswitch.FailedWave, killswitch.CarryoverTooHigh}
}

func (l *loop) told(m story.Member) {
	if l.Tell != nil {
		l.Tell(m)
	}
}

// draft has the draft request of a story opened beside the others, after each session until
// there is one.
func (l *loop) draft(ctx context.Context, m story.Member) {
	if l.Draft == nil || m.Draft != "" || m.Status == story.Running && m.Sessions <= l.tried[m.ID] {
		return
	}
	l.tried[m.ID] = m.Sessions
	l.group.Go(func() {
		url, err := l.Draft(ctx, m)
		if err != nil {
			l.Log.Warn("the draft request of a story could not be opened", "story", m.ID, "err", logs.Redact(err.Error()))
			return
		}
		if url != "" {
			l.Log.Info("draft request", "story", m.ID, "url", url)
			l.events <- event{id: m.ID, draft: url}
		}
	})
}

// leave looks at what each story leaves behind, when all are over.
func (l *loop) leave(ctx context.Context) {
	for drained := false; !drained; {
		select {
		case e := <-l.events:
			if m := l.c.Find(e.id); e.draft != "" {
				m.Draft = e.draft
			}
		default:
			drained = true
		}
	}
	for i := range l.c.Members {
		m := &l.c.Members[i]
		if m.Worktree != "" {
			l.Stage.Leave(ctx, m)
		}
	}
}
