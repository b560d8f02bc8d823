package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/probe"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/killswitch"
)

// limitedFor is a session that meets a limit with a known reset time.
func limitedFor(lasts, reset time.Duration) play {
	p := ends(outcome.Limited, lasts)
	p.do = func(context.Context, sessions.Spec) {}
	return p.with(func(r *sessions.Result) { r.ResetAt = time.Now().Add(lasts + reset) })
}

// TestSignsOfLifeWhileItWaits: whoever watches the loop never goes without one for long.
func TestSignsOfLifeWhileItWaits(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, limitedFor(10*time.Minute, 2*time.Hour), completed(time.Minute))
		w.opts.Limits.MaxSessions = 1
		last, most := time.Time{}, time.Duration(0)
		w.opts.Live = func(s Status) {
			if s.WaitUntil.IsZero() {
				last = time.Time{}
				return
			}
			if !last.IsZero() {
				most = max(most, time.Since(last))
			}
			last = time.Now()
		}
		w.play(t.Context())
		if most == 0 || most > time.Minute {
			t.Errorf("the longest silence in two hours of waiting was %v", most)
		}
	})
}

// TestNothingBeginsAtTheEndOfItsTime has a run whose time is over while a session ran.
func TestNothingBeginsAtTheEndOfItsTime(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(10*time.Minute), completed(10*time.Minute), completed(10*time.Minute))
		w.opts.Until = time.Now().Add(20*time.Minute + 15*time.Second)
		w.play(t.Context())
		rec := w.record()
		if len(w.calls) != 2 || rec.ExitCause != string(killswitch.MaxHoursExceeded) || rec.ExitCode != ExitWanted {
			t.Errorf("%d sessions, ended for %s with %d; the third had 15 seconds left", len(w.calls), rec.ExitCause, rec.ExitCode)
		}
		if tm := rec.Termination; tm == nil || !tm.Resumable || !slices.ContainsFunc(tm.NextSteps, func(s string) bool { return s == "'autopilot resume' goes on" }) {
			t.Errorf("termination %+v", tm)
		}
	})
}

func TestWaitForReset(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, limitedFor(10*time.Minute, 2*time.Hour), completed(20*time.Minute))
		w.opts.Limits.MaxSessions = 1
		var waiting []State
		var told []time.Time
		w.opts.Live = func(s Status) {
			if st := w.state(); st.Waiting != nil {
				waiting = append(waiting, st)
				told = append(told, s.WaitUntil)
			}
		}
		w.opts.AgentsFor = func(string) int { return 3 }
		w.play(t.Context())
		if len(w.calls) != 2 || len(w.ids()) != 1 {
			t.Fatalf("%d calls for %d sessions, want two for one", len(w.calls), len(w.ids()))
		}
		again := w.calls[1]
		if want := 10*time.Minute + 2*time.Hour + time.Minute; again.at != want {
			t.Errorf("it went on after %v, want %v: the reset and the margin", again.at, want)
		}
		if c := again.spec.Continue; c == nil || c.ID != w.calls[0].spec.ID || c.Ending != outcome.Limited || again.spec.ContinuePrompt != prompt.Resumed || again.spec.Cap.Cap != 3 {
			t.Errorf("it went on with %+v", again.spec)
		}
		rec := w.record()
		if rec.WaitedSeconds != 7260 || rec.DurationSeconds != 7260+1800 || rec.IterationsCompleted != 1 || len(rec.Sessions) != 1 || len(rec.Endings) != 1 || rec.Endings[0].Ending != "completed" {
			t.Errorf("record %+v, want one session and two hours of waiting", rec)
		}
		if got := w.sessionRecords(); len(got) != 1 || got[0].DurationSeconds != 7260+1800 {
			t.Errorf("session records %+v, want one", got)
		}
		if len(waiting) == 0 || !strings.HasPrefix(waiting[0].Waiting.Why, "limited: ") || !waiting[0].Waiting.Until.Equal(w.started.Add(again.at)) || waiting[0].Current == nil {
			t.Errorf("states while it waited: %+v", waiting)
		}
		if len(told) == 0 || !told[0].Equal(w.started.Add(again.at)) || slices.ContainsFunc(told, func(u time.Time) bool { return !u.IsZero() && !u.Equal(told[0]) }) {
			t.Errorf("the live line was told %v, want %v", told, w.started.Add(again.at))
		}
		if st := w.state(); st.Waiting != nil {
			t.Error("it still waits")
		}
	})
}

// TestBackOff grows between bounds, and begins anew with the next session.
func TestBackOff(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var plays []play
		for range 8 {
			plays = append(plays, ends(outcome.Overloaded, 0))
		}
		plays = append(plays, completed(time.Minute), ends(outcome.Overloaded, 0), completed(time.Minute))
		w := newWorld(t, plays...)
		w.opts.Limits.MaxSessions = 2
		w.play(t.Context())
		var waits []time.Duration
		for i := 1; i < len(w.calls); i++ {
			if w.calls[i].spec.Continue != nil {
				waits = append(waits, w.calls[i].at-w.calls[i-1].at)
			}
		}
		if len(waits) != 9 {
			t.Fatalf("%d waits, want 9", len(waits))
		}
		interval := 30 * time.Second
		for i, d := range waits {
			if i == 8 {
				interval = 30 * time.Second
			}
			if d < interval*3/4 || d > interval*5/4 {
				t.Errorf("wait %d took %v, want %v, give or take a quarter", i, d, interval)
			}
			interval = min(2*interval, 10*time.Minute)
		}
		if rec := w.record(); rec.IterationsCompleted != 2 || len(rec.Sessions) != 2 {
			t.Errorf("record %+v, want two sessions", rec)
		}
	})
}

func TestWakeAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	waits := Waits{Margin: time.Minute, Initial: 30 * time.Second, Max: 10 * time.Minute}
	tests := []struct {
		name  string
		reset time.Time
		grown time.Duration
		want  time.Duration
	}{
		{"no reset", time.Time{}, 5 * time.Minute, 5 * time.Minute},
		{"reset to come", now.Add(time.Hour), 5 * time.Minute, 61 * time.Minute},
		{"reset just over", now.Add(-time.Second), 5 * time.Minute, 59 * time.Second},
		{"reset long over", now.Add(-time.Hour), 5 * time.Minute, 30 * time.Second},
		{"reset long over, first try", now.Add(-time.Hour), 10 * time.Second, 10 * time.Second},
	}
	for _, tt := range tests {
		if got := wakeAt(now, tt.reset, waits, tt.grown).Sub(now); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestMaxHoursBeatsWait does not wait for what it may not use.
func TestMaxHoursBeatsWait(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reset time.Duration
		waits bool
	}{{8 * time.Hour, false}, {4*time.Hour - 11*time.Minute, false}, {4*time.Hour - 12*time.Minute, true}} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, limitedFor(10*time.Minute, tt.reset), completed(time.Hour))
			w.play(t.Context())
			rec := w.record()
			if *rec.KillSwitch != string(killswitch.MaxHoursExceeded) || rec.ExitCode != ExitWanted {
				t.Errorf("reset in %v: got %s", tt.reset, *rec.KillSwitch)
			}
			if tt.waits != (len(w.calls) == 2) || tt.waits != (rec.WaitedSeconds > 0) {
				t.Errorf("reset in %v: %d calls, %d s waited", tt.reset, len(w.calls), rec.WaitedSeconds)
			}
			if !tt.waits && (rec.DurationSeconds != 600 || rec.Endings[0].Ending != "limited" || !strings.Contains(*rec.KillSwitchDetail, "it could go on at 2000-01-01T") || rec.IterationsCompleted != 0) {
				t.Errorf("reset in %v: record %+v", tt.reset, rec)
			}
		})
	}
}

// TestOverloadedForEver ends when the hours are over, with one session.
func TestOverloadedForEver(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, ends(outcome.Overloaded, time.Minute))
		w.play(t.Context())
		rec := w.record()
		if *rec.KillSwitch != string(killswitch.MaxHoursExceeded) || len(rec.Sessions) != 1 || rec.Endings[0].Ending != "overloaded" || rec.DurationSeconds > 4*3600+60 || rec.DurationSeconds < 3*3600 {
			t.Errorf("got %+v", rec)
		}
		if len(w.calls) < 15 || len(w.sessionRecords()) != 1 {
			t.Errorf("%d tries and %d records, want many and one", len(w.calls), len(w.sessionRecords()))
		}
	})
}

// TestStopWhileWaiting is a request and a signal, each in the middle of a wait.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	interrupted := func(cause error) func(*world, context.CancelCauseFunc) {
		return func(_ *world, cancel context.CancelCauseFunc) { cancel(cause) }
	}
	request := func(poke bool) func(*world, context.CancelCauseFunc) {
		return func(w *world, _ context.CancelCauseFunc) {
			if err := RequestStop(w.opts.Folder, "me", time.Now()); err != nil {
				t.Error(err)
			}
			if poke {
				w.poke <- struct{}{}
			}
		}
	}
	tests := []struct {
		name string
		stop func(*world, context.CancelCauseFunc)
		code int
		says string
		late time.Duration
	}{
		{"a request that wakes it", request(true), ExitWanted, "stop was requested by me while waiting for the API", 0},
		{"a request that does not", request(false), ExitWanted, "stop was requested by me", 30 * time.Second},
		{"SIGINT", interrupted(Interrupted{syscall.SIGINT}), 130, "received interrupt while waiting for the API", 0},
		{"SIGTERM", interrupted(Interrupted{syscall.SIGTERM}), 143, "received terminated", 0},
		{"SIGHUP", interrupted(Interrupted{syscall.SIGHUP}), 129, "received hangup", 0},
		{"another reason", interrupted(errors.New("the program ends")), 130, "the program ends", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, limitedFor(0, 3*time.Hour))
				w.poke = make(chan struct{}, 1)
				w.opts.Poke = w.poke
				w.opts.StopRequested = func() string { return StopRequested(w.opts.Folder) }
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				time.AfterFunc(time.Hour+time.Second, func() { tt.stop(w, cancel) })
				w.play(ctx)
				rec := w.record()
				if *rec.KillSwitch != string(killswitch.UserAbort) || rec.ExitCode != tt.code || !strings.Contains(*rec.KillSwitchDetail, tt.says) {
					t.Errorf("got %s (%s), code %d; want user-abort saying %q, code %d", *rec.KillSwitch, *rec.KillSwitchDetail, rec.ExitCode, tt.says, tt.code)
				}
				late := time.Duration(rec.WaitedSeconds)*time.Second - time.Hour - time.Second
				if late < 0 || late > tt.late || len(w.calls) != 1 {
					t.Errorf("it noticed after %v, want at most %v; %d calls", late, tt.late, len(w.calls))
				}
				if rec.Endings[0].Ending != "limited" || len(w.sessionRecords()) != 1 {
					t.Errorf("endings %+v, want the session recorded as limited", rec.Endings)
				}
			})
		})
	}
}

// TestPokeWithoutRequest goes on waiting.
func TestPokeWithoutRequest(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, limitedFor(0, time.Hour), completed(0))
		w.opts.Limits.MaxSessions = 1
		w.poke = make(chan struct{}, 1)
		w.opts.Poke = w.poke
		for i := range 10 {
			time.AfterFunc(time.Duration(i)*time.Minute, func() { w.poke <- struct{}{} })
		}
		w.play(t.Context())
		if want := 61 * time.Minute; w.calls[1].at != want {
			t.Errorf("it went on after %v, want %v", w.calls[1].at, want)
		}
	})
}

// TestAbort is a signal at other moments than while it waits.
func TestAbort(t *testing.T) {
	t.Parallel()
	t.Run("before the first session", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(Interrupted{syscall.SIGTERM})
			w.play(ctx)
			rec := w.record()
			if len(w.calls) != 0 || *rec.KillSwitch != string(killswitch.UserAbort) || rec.ExitCode != 143 || *rec.KillSwitchDetail != "received terminated" || len(rec.Sessions) != 0 {
				t.Errorf("got %+v", rec)
			}
		})
	})
	t.Run("during a session", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			w := newWorld(t, completed(time.Hour))
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			time.AfterFunc(90*time.Minute, func() { cancel(Interrupted{syscall.SIGINT}) })
			w.play(ctx)
			rec := w.record()
			if len(w.calls) != 2 || *rec.KillSwitch != string(killswitch.UserAbort) || rec.ExitCode != 130 || *rec.KillSwitchDetail != "received interrupt" || rec.IterationsCompleted != 1 {
				t.Errorf("got %+v", rec)
			}
			if got := []string{rec.Endings[0].Ending, rec.Endings[1].Ending}; !slices.Equal(got, []string{"completed", "cancelled"}) {
				t.Errorf("endings %v", got)
			}
		})
	})
	t.Run("as a session completes", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			w := newWorld(t, completed(time.Hour))
			w.at = func(moment string) {
				if moment == "session ended" {
					cancel(Interrupted{syscall.SIGINT})
				}
			}
			w.play(ctx)
			rec := w.record()
			if rec.IterationsCompleted != 1 || *rec.KillSwitch != string(killswitch.UserAbort) || rec.ExitCode != 130 || rec.Endings[0].Ending != "completed" {
				t.Errorf("got %+v, want the session completed and the run aborted", rec)
			}
		})
	})
	t.Run("after a probe, before the session", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			w := newWorld(t, completed(time.Hour))
			w.opts.Probe = func(ctx context.Context) probe.Snapshot {
				cancel(Interrupted{syscall.SIGINT})
				return green(ctx)
			}
			w.play(ctx)
			if rec := w.record(); rec.ExitCode != 130 || len(w.calls) != 0 {
				t.Errorf("got %+v after %d calls", rec, len(w.calls))
			}
		})
	})
}

// TestLongRun is eight hours with limits, in no time.
func TestLongRun(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		var plays []play
		for range 6 {
			plays = append(plays, completed(40*time.Minute), ends(outcome.Limited, 10*time.Minute).doing(nil), completed(20*time.Minute))
		}
		w := newWorld(t, plays...)
		for i := range w.plays {
			if w.plays[i].result.Ending == outcome.Limited {
				w.plays[i].do = func(context.Context, sessions.Spec) { w.plays[i].result.ResetAt = time.Now().Add(30 * time.Minute) }
			}
		}
		w.opts.Limits.MaxHours, w.opts.Limits.MaxSessions = 8, 50
		begin := time.Now()
		w.play(t.Context())
		rec := w.record()
		if *rec.KillSwitch != string(killswitch.MaxHoursExceeded) || rec.DurationSeconds < 8*3600-1200 || time.Since(begin) < 7*time.Hour {
			t.Errorf("got %s after %d s", *rec.KillSwitch, rec.DurationSeconds)
		}
		if rec.IterationsCompleted != len(rec.Sessions) && rec.IterationsCompleted != len(rec.Sessions)-1 {
			t.Errorf("%d iterations, %d sessions", rec.IterationsCompleted, len(rec.Sessions))
		}
		if fmt.Sprint(rec.Sessions) != fmt.Sprint(w.ids()) {
			t.Errorf("sessions %v, want %v", rec.Sessions, w.ids())
		}
	})
}
