package supervisor

import (
	"context"
	"time"

	"autopilot/sessions"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/shares"
)

// askAgain is how often Company is asked whether a session may start by now.
const askAgain = 2 * time.Second

// hold says until when no session may start, and why. Money that sessions of others may
// still spend is waited for rather than counted as gone.
func (l *loop) hold(now time.Time) (until time.Time, why string) {
	if until, why = l.Company.Hold(now); !until.IsZero() {
		return until, why
	}
	facts := l.soFar()
	facts.Spent.CostUSD += l.Company.Others().Reserved
	if h := killswitch.CheckBefore(l.Limits, facts); h != nil && h.Reason == killswitch.TokenBudgetExceeded {
		return now.Add(time.Minute), "sessions of other stories, which may spend what is left of the budget"
	}
	return time.Time{}, ""
}

// part is what a session may spend: what is left of the cohort's budget, divided among the
// stories that have nothing of it yet.
func (l *loop) part() float64 {
	o := l.Company.Others()
	return (l.Limits.MaxCostUSD - l.with(l.spent()).CostUSD - o.Reserved) / float64(max(1, o.Among-o.Holders))
}

// await waits while the others want no further session to start. It reports whether it
// waited; a reason to stop that came up meanwhile is in l.stop.
func (l *loop) await(ctx context.Context) (waited bool, err error) {
	now := time.Now().Round(0)
	until, why := l.hold(now)
	if until.IsZero() {
		return false, nil
	}
	l.Log.Warn("waiting", "detail", why, "until", until.UTC().Format(time.RFC3339))
	for shown := ""; !until.IsZero() && l.timeLeft() > 0; until, why = l.hold(time.Now().Round(0)) {
		if why != shown {
			shown, l.file.Waiting = why, &Waiting{Until: until, Why: why}
			if err := l.save(); err != nil {
				return true, err
			}
			l.live(sessions.Progress{})
		}
		next := time.Now().Round(0).Add(askAgain)
		if until.Before(next) {
			next = until
		}
		if l.sleepUntil(ctx, next, why) {
			break
		}
	}
	l.file.Record.WaitedSeconds += int64(time.Now().Round(0).Sub(now).Seconds())
	l.file.Waiting = nil
	l.snapshotAt = time.Time{} // what was measured before the wait is old
	l.live(sessions.Progress{})
	return true, l.save()
}

// tell tells the others what was used up, after a session or a look back.
func (l *loop) tell(began time.Time, answered bool) {
	l.Company.Used(shares.Use{Spent: l.spent(), Sessions: l.iteration(), Began: began, Answered: answered})
}

// with adds what the others have used up to what the run has.
func (l *loop) with(own killswitch.Spend) killswitch.Spend {
	others := l.Company.Others().Used
	return killswitch.Spend{Tokens: own.Tokens + others.Tokens, CostUSD: own.CostUSD + others.CostUSD}
}
