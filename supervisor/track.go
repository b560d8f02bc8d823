package supervisor

import (
	"context"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/sessions"
	"autopilot/supervisor/source"
	"autopilot/supervisor/tally"
	"autopilot/supervisor/track"
)

// track looks at work that can be counted and says whether the run is to end. It
// returns nil for a source whose work cannot be.
func (l *loop) track(ctx context.Context) *stopping {
	tracker, ok := l.Source.(Tracker)
	if !ok {
		return nil
	}
	now := tracker.Track(ctx)
	if ctx.Err() != nil {
		return aborted(ctx, " while looking at the tasks")
	}
	for _, f := range now.Broken {
		l.Log.Warn("a list of tasks cannot be read", "path", f.Path, "detail", f.Why)
	}
	first := l.file.Tasks == nil
	if first {
		t := track.Begin(now)
		l.file.Tasks = &t
	} else {
		l.tracked(now)
	}
	if g := l.file.Pursuit.Current(); g != nil {
		g.Series.Percent = float64(l.file.Tasks.Percent)
		recordGoals(&l.file)
	}
	verdict, why := l.file.Tasks.Verdict()
	switch verdict {
	case track.Person:
		return &stopping{cause: CausePerson, detail: why, code: ExitPerson}
	case track.None:
		return &stopping{cause: CauseNoTasks, detail: why, code: ExitWanted}
	case track.Done:
		return l.done(ctx, why)
	case track.Hidden:
		if !first {
			l.toFirst(why + "; repair it, or remove it when nothing in it is left to do")
			return nil
		}
		return &stopping{cause: CauseFailed, detail: why, code: ExitFailures}
	case track.Failed:
		l.reached(ledger.GoalPartial)
		return &stopping{cause: CauseFailed, detail: why, code: ExitFailures}
	case track.Gone, track.Shut:
		return &stopping{cause: CauseFailed, detail: why, code: ExitFailures}
	case track.Stuck:
		return &stopping{cause: CauseNoGain, detail: why, code: ExitFailures}
	}
	return nil
}

// advance lets a source take the steps that need no session.
func (l *loop) advance(ctx context.Context, res *sessions.Result) {
	if a, ok := l.Source.(Advancer); ok {
		a.Advance(ctx, res, l.Log)
	}
}

// lastLookTime bounds the look at the work of a run that is to end.
const lastLookTime = 5 * time.Second

// lastLook counts what the last session did although the run ends for another reason.
func (l *loop) lastLook(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLookTime)
	defer cancel()
	l.track(ctx)
}

// afterSession looks at the work before anything else is judged. What is over is
// over, however the session ended; a question of the session comes before all else.
func (l *loop) afterSession(ctx context.Context) *stopping {
	l.advance(ctx, &l.result)
	_, own := l.Source.(Keeper)
	asked := l.file.Tasks != nil && !own && askedBy(&l.file, l.result)
	if s := l.track(ctx); s != nil && (!asked || s.cause == CauseWorkDone) {
		return s
	}
	return nil
}

// done makes the checks of the goal when every task is complete. While one fails, the
// run goes on: it is the first thing that the next session is told.
func (l *loop) done(ctx context.Context, why string) *stopping {
	g := l.file.Pursuit.Goal()
	if g == nil {
		return &stopping{cause: CauseWorkDone, detail: why, code: ExitWanted}
	}
	results := l.file.Tasks.With(l.Pursuit.Check)(ctx, g.Checks)
	failed := g.Prove(results)
	if ctx.Err() != nil {
		return nil // the next look at the kill-switches says so
	}
	if len(failed) > 0 {
		l.Log.Warn("every task is complete, and a check fails", "detail", failed[0])
		l.toFirst(failed...)
		return nil
	}
	l.reached(ledger.GoalAchieved)
	return &stopping{cause: CauseWorkDone, detail: why, code: ExitWanted}
}

// toFirst puts something right before anything else.
func (l *loop) toFirst(words ...string) {
	if g := l.file.Pursuit.Current(); g != nil {
		g.First = words
	}
}

// over reports whether nothing is left to do although the session was cut short.
func (l *loop) over(ctx context.Context) bool {
	tracker, ok := l.Source.(Tracker)
	if !ok {
		return false
	}
	now := tracker.Track(ctx)
	return ctx.Err() == nil && now.Total > 0 && now.Completed == now.Total && len(now.Broken) == 0
}

// tracked counts a session of such work.
func (l *loop) tracked(now source.Track) {
	t := l.file.Tasks
	x := track.Session{
		At: time.Now(), Iteration: l.iteration(), Tokens: tally.Tokens(l.result).Budgeted(), CostUSD: l.result.Usage.CostUSD, Error: l.facts.Error() != "",
	}
	warn := t.After(now, x)
	l.Log.Info("tasks", "act", "re-engaging", "iter", x.Iteration, "completed", t.Completed, "total", t.Total, "remaining", t.Total-t.Completed,
		"stalled", t.Stalled, "tokens", x.Tokens, "cost_usd", x.CostUSD)
	if warn {
		l.Log.Warn("no further task was completed for some sessions; the next ones are told to try another way", "sessions", t.Stalled)
	}
}

// reached ends the goal that stands for the tasks, also one that waits for a person.
func (l *loop) reached(status string) {
	if g := l.file.Pursuit.Goal(); g != nil {
		g.Status, g.Series.Percent, g.Question = status, 100, nil
	}
	recordGoals(&l.file)
}

// request is what the source is told.
func (l *loop) request() source.Request {
	r := source.Request{Objective: l.objective(), Now: time.Now()}
	if t := l.file.Tasks; t != nil {
		r.Stalled = t.Stalled
	}
	return r
}
