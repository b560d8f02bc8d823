package supervisor

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
)

// TestReflectionDoesNotOutlastTheRun: what it could wait for would be too late.
func TestReflectionDoesNotOutlastTheRun(t *testing.T) {
	t.Parallel()
	limit := func(after time.Duration) func() opinion { return func() opinion { return later(after) } }
	failure := func(err error) func() opinion { return func() opinion { return opinion{err: err} } }
	for _, tt := range []struct {
		name  string
		limit func() opinion
		waits bool
	}{
		{"long after the run", limit(8 * time.Hour), false},
		{"with the margin just after it", limit(4*time.Hour - 30*time.Second), false},
		{"with the margin at its end", limit(4*time.Hour - time.Minute), false},
		{"before its end", limit(4*time.Hour - 62*time.Second), true},
		{"nobody knows when", failure(&reflector.LaterError{Err: errors.New("limit")}), false},
		{"no limit at all", failure(errors.New("cannot be reached")), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, work(10*time.Minute))
				f := w.looks(1, tt.limit().spending(30, 0), goesWell())
				w.opts.Limits.MaxSessions = 2
				w.play(t.Context())
				rec := w.record()
				if tt.waits != (rec.WaitedSeconds > 0) || rec.WaitedSeconds > 4*3600-600 {
					t.Errorf("it waited %d s in a run of %d s, want a wait: %v", rec.WaitedSeconds, rec.DurationSeconds, tt.waits)
				}
				if tt.waits {
					return
				}
				if len(w.calls) != 2 || len(f.asked) != 2 || w.kept[0].Error == "" || w.kept[0].Decision.Rule != pursuit.RuleFixed || rec.Reflections.Failed != 1 || rec.TotalTokensUsed != 30 {
					t.Errorf("%d sessions, %d questions, reflections %+v; want the run to go on within its limits", len(w.calls), len(f.asked), w.kept)
				}
			})
		})
	}
}

// TestReflectionFails and the session had said that nothing is left to do: that
// counts then.
func TestReflectionFails(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, claims(time.Minute))
		w.looks(3, opinion{err: errors.New("cannot be reached")})
		w.play(t.Context())
		if rec := w.record(); rec.ExitCause != string(CauseWorkDone) || rec.ExitCode != ExitWanted || len(w.calls) != 1 || rec.Reflections.Failed != 1 || w.kept[0].Decision.Rule != pursuit.RuleClaim {
			t.Errorf("record %+v, reflections %+v", rec, w.kept)
		}
	})
}

// TestReflectionAfterAPassedReset asks again after a while, not at once.
func TestReflectionAfterAPassedReset(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(10*time.Minute))
		f := w.looks(1, later(-time.Hour))
		w.opts.Limits.MaxSessions, w.opts.Limits.MaxHours = 1, 0.5
		var asked []time.Duration
		w.at = func(moment string) {
			if moment == "reflector asked" {
				if asked = append(asked, time.Since(w.started)); len(asked) > 200 {
					f.opinions = []opinion{goesWell()}
				}
			}
		}
		w.play(t.Context())
		for i := 1; i < len(asked); i++ {
			if d := asked[i] - asked[i-1]; d < 20*time.Second || d > time.Minute {
				t.Fatalf("asked again after %v", d)
			}
		}
		if rec := w.record(); rec.DurationSeconds > 1800 || rec.ExitCause != string(killswitch.MaxSessionsReached) || len(asked) < 30 {
			t.Errorf("asked %d times in %d s", len(asked), rec.DurationSeconds)
		}
	})
}

// TestReflectionInterrupted by a signal or a request, while it waits or works.
func TestReflectionInterrupted(t *testing.T) {
	t.Parallel()
	waits, works := func() opinion { return later(3 * time.Hour) }, func() opinion {
		o := goesWell().spending(50, 0)
		o.takes = 3 * time.Hour
		return o
	}
	tests := []struct {
		name    string
		opinion func() opinion
		signal  bool
		code    int
		says    string
		tokens  int64
	}{
		{"a signal while it waits", waits, true, 143, "received terminated while waiting for the API", 0},
		{"a request while it waits", waits, false, ExitWanted, "stop was requested by me while waiting for the API", 0},
		{"a signal while it works", works, true, 143, "received terminated while looking back", 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, work(10*time.Minute))
				w.looks(1, tt.opinion())
				w.opts.StopRequested = func() string { return StopRequested(w.opts.Folder) }
				w.poke = make(chan struct{}, 1)
				w.opts.Poke = w.poke
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				time.AfterFunc(time.Hour, func() {
					if tt.signal {
						cancel(Interrupted{syscall.SIGTERM})
						return
					}
					if err := RequestStop(w.opts.Folder, "me", time.Now()); err != nil {
						t.Error(err)
					}
					w.poke <- struct{}{}
				})
				w.play(ctx)
				rec := w.record()
				if *rec.KillSwitch != string(killswitch.UserAbort) || rec.ExitCode != tt.code || *rec.KillSwitchDetail != tt.says || rec.DurationSeconds != 3600 {
					t.Errorf("got %s (%s), code %d after %d s; want %q, code %d after an hour", *rec.KillSwitch, *rec.KillSwitchDetail, rec.ExitCode, rec.DurationSeconds, tt.says, tt.code)
				}
				if len(w.kept) != 0 || rec.Reflections != nil || rec.IterationsCompleted != 1 || rec.TotalTokensUsed != tt.tokens {
					t.Errorf("record %+v with %d reflections, want none and %d tokens", rec, len(w.kept), tt.tokens)
				}
				if s := w.state(); s.Waiting != nil || !s.Finished || s.Pursuit.Goals[0].Since != 1 {
					t.Errorf("state %+v", s)
				}
				if tm := rec.Termination; tm.Status != ledger.Interrupted || tm.Reason != "user_stop" || tm.Guard != ledger.GuardInterrupt || !tm.Resumable || !strings.HasPrefix(tm.Summary, "Ended at session 1: ") {
					t.Errorf("termination %+v", tm)
				}
			})
		})
	}
}
