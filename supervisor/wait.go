package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"autopilot/sessions"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/killswitch"
)

// recheck is the longest time that passes before a deadline is looked at again:
// timers stand still while a machine sleeps, the wall clock does not.
const recheck = 30 * time.Second

func newBackoff(w Waits) *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier, b.RandomizationFactor = w.Initial, w.Max, 2, 0.25
	b.Reset()
	return b
}

// wakeAt is when the session may go on: after the reset of a limit with a known
// time, else after a wait that grows.
func wakeAt(now, resetAt time.Time, w Waits, grown time.Duration) time.Time {
	if resetAt.IsZero() {
		return now.Add(grown)
	}
	if at := resetAt.Add(w.Margin); at.After(now) {
		return at
	}
	return now.Add(min(grown, w.Initial))
}

// waitForLimit waits until the API takes requests again. Waiting spends no
// iteration and counts as no failure, but it does not outlast the run.
func (l *loop) waitForLimit(ctx context.Context) (event, error) {
	now := time.Now().Round(0)
	if !l.result.ResetAt.IsZero() {
		l.Company.Limited(l.result.LimitKind, l.result.ResetAt.Add(l.Waits.Margin))
	}
	until := wakeAt(now, l.result.ResetAt, l.Waits, l.wait.NextBackOff())
	if until.Sub(now) >= l.timeLeft() {
		end := fmt.Sprintf("max-hours=%.2fh", l.Limits.MaxHours)
		if !l.Until.IsZero() && !until.Before(l.Until) {
			end = "its time, which is over at " + l.Until.Format(time.RFC3339)
		}
		l.stop = stopFor(&killswitch.Hit{
			Reason: killswitch.MaxHoursExceeded,
			Detail: fmt.Sprintf("%s; it could go on at %s, after %s", l.result.Cause, until.UTC().Format(time.RFC3339), end),
		})
		l.stop.timeOver = !l.Until.IsZero() && !until.Before(l.Until)
		return hit, nil
	}
	why := string(l.result.Ending) + ": " + l.result.Cause
	if stopped, err := l.waitUntil(ctx, until, why); err != nil {
		return "", err
	} else if stopped {
		return hit, nil
	}
	res := l.result
	l.spec.Continue, l.spec.ContinuePrompt = &res, prompt.Resumed
	l.spec.Cap = capOf(l.look(ctx, l.AgentsFor(l.assignment.Mode)))
	return resume, nil
}

// waitUntil waits for the API and says so on disk and in the log, also when it
// goes on. It reports whether the run is to stop instead.
func (l *loop) waitUntil(ctx context.Context, until time.Time, why string) (stopped bool, err error) {
	now := time.Now().Round(0)
	l.file.Waiting = &Waiting{Until: until, Why: why}
	if err := l.save(); err != nil {
		return false, err
	}
	l.Log.Warn("waiting for the API", "detail", why, "until", until.UTC().Format(time.RFC3339))
	l.live(sessions.Progress{})
	if stopped = l.sleepUntil(ctx, until, "the API"); !stopped {
		l.stop = l.late() // the machine may have slept meanwhile
		stopped = l.stop != nil
	}
	l.file.Record.WaitedSeconds += int64(time.Now().Round(0).Sub(now).Seconds())
	l.file.Waiting = nil
	l.live(sessions.Progress{})
	if stopped {
		return true, nil // what ends the run saves it
	}
	return false, l.save()
}

// sleepUntil waits for a moment of the wall clock. It reports whether the run
// is to stop instead.
func (l *loop) sleepUntil(ctx context.Context, until time.Time, what string) (stopped bool) {
	for {
		if ctx.Err() != nil {
			l.stop = aborted(ctx, " while waiting for "+what)
			return true
		}
		if why := l.StopRequested(); why != "" {
			l.stop = stopFor(&killswitch.Hit{Reason: killswitch.UserAbort, Detail: why + " while waiting for " + what})
			l.stop.code = ExitWanted
			return true
		}
		left := until.Sub(time.Now().Round(0))
		if left <= 0 {
			return false
		}
		l.live(sessions.Progress{}) // whoever watches the loop sees that it waits
		t := time.NewTimer(min(left, recheck))
		select {
		case <-t.C:
		case <-ctx.Done():
		case <-l.Poke:
		}
		t.Stop()
	}
}
