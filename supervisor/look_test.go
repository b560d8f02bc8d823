package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/reflector"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/tally"
)

// opinion is one answer of the reflector.
type opinion struct {
	says  reflector.Assessment
	usage reflector.Usage
	takes time.Duration
	err   error
}

// fakeReflector has its opinions ready; the last one serves every further call.
type fakeReflector struct {
	w        *world
	opinions []opinion
	asked    []reflector.Input
}

func (f *fakeReflector) Name() string { return "fake" }

func (f *fakeReflector) Reflect(ctx context.Context, in reflector.Input) (reflector.Reflection, error) {
	o := nth(f.opinions, len(f.asked))
	f.asked = append(f.asked, in)
	f.w.at("reflector asked")
	t := time.NewTimer(o.takes)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		o.err = ctx.Err()
	}
	f.w.at("reflector answers")
	return reflector.Reflection{Assessment: o.says, Asked: reflector.Asked{Attempts: 1, Usage: o.usage}}, o.err
}

// looks makes a run look back, at first after so many sessions.
func (w *world) looks(interval int, opinions ...opinion) *fakeReflector {
	f := &fakeReflector{w: w, opinions: opinions}
	w.opts.Pursuit.Reflector, w.opts.Pursuit.Matrix = f, reflector.Extended
	w.opts.Profile = func(string) Profile { return Profile{Limits: w.opts.Limits, Interval: interval} }
	w.opts.Reflections = func(r pursuit.Record) error {
		w.at("reflection")
		w.kept = append(w.kept, r)
		return nil
	}
	return f
}

func says(a reflector.Achieved, p reflector.Progress, percent float64, r reflector.Recommendation) opinion {
	return opinion{says: reflector.Assessment{GoalAchieved: a, Progress: p, PercentComplete: percent, Recommendation: r, Reasoning: "because", NextSteps: []string{"first this", "then that"}}}
}

func goesWell() opinion { return says(reflector.No, reflector.Good, 40, reflector.Continue) }

func (o opinion) spending(tokens int64, usd float64) opinion {
	o.usage = reflector.Usage{Input: tokens - 20, Output: 15, CacheCreation: 5, CacheRead: 9000, CostUSD: usd}
	return o
}

// work is a session that changes something and leaves something to do.
func work(lasts time.Duration) play {
	return completed(lasts).with(func(r *sessions.Result) {
		r.Files, r.Report = []string{"a.go"}, report(`{"planned":["a"],"completed":["a"],"carried_over":[],"summary":"a is done","next_steps":["b"],"needs_person":""}`)
	})
}

// claims is a session that says that nothing is left to do.
func claims(lasts time.Duration) play {
	return work(lasts).with(func(r *sessions.Result) {
		r.Report = report(`{"planned":["b"],"completed":["b"],"carried_over":[],"summary":"all is done","next_steps":[],"needs_person":""}`)
	})
}

func using(tokens int64, usd float64) func(*sessions.Result) {
	return func(r *sessions.Result) { r.Usage = outcome.Usage{Input: tokens, CostUSD: usd} }
}

// TestReflectionsDue is when a run looks back, and why.
func TestReflectionsDue(t *testing.T) {
	t.Parallel()
	idle := work(1).with(func(r *sessions.Result) { r.Files = nil })
	again := work(1).with(func(r *sessions.Result) {
		r.Calls = slices.Repeat([]outcome.Call{{Tool: "Bash", Brief: "make", Same: "1"}}, 3)
	})
	broken := claims(1).with(func(r *sessions.Result) { r.Ending = outcome.Crashed })
	tests := []struct {
		name     string
		plays    []play
		interval int
		sessions int
		want     string // iteration and trigger of each
		asked    int
		cause    Cause
	}{
		{"interval", []play{work(1)}, 2, 10, "2 interval, 6 interval, 9 before-last, 10 at-end", 4, "max-sessions-reached"},
		{"at every session", []play{work(1)}, 1, 4, "1 interval, 3 interval, 4 at-end", 3, "max-sessions-reached"},
		{"never", []play{idle}, 0, 4, "", 0, "max-sessions-reached"},
		{"never but with a claim", []play{work(1), claims(1)}, 0, 4, "2 claim", 0, CauseWorkDone},
		{"claim before interval", []play{claims(1), work(1)}, 1, 2, "1 claim, 2 at-end", 2, "max-sessions-reached"},
		{"no progress", []play{idle}, 5, 5, "2 no-progress, 4 no-progress, 5 at-end", 3, "max-sessions-reached"},
		{"progress in between", []play{idle, work(1), idle, work(1)}, 5, 6, "5 interval, 6 at-end", 2, "max-sessions-reached"},
		{"loop", []play{work(1), again, work(1)}, 5, 4, "2 loop, 3 before-last, 4 at-end", 3, "max-sessions-reached"},
		{"a session that broke claims nothing", []play{broken, work(1)}, 0, 2, "", 0, "max-sessions-reached"},
		{"one session", []play{work(1)}, 9, 1, "1 at-end", 1, "max-sessions-reached"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, tt.plays...)
				f := w.looks(tt.interval, goesWell())
				w.opts.Limits.MaxSessions, w.opts.Limits.MaxErrors = tt.sessions, 3
				w.play(t.Context())
				var got []string
				for _, r := range w.kept {
					got = append(got, fmt.Sprint(r.Iteration, " ", r.Trigger))
				}
				if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
					t.Errorf("reflections (-want +got):\n%s", diff)
				}
				rec := w.record()
				if len(f.asked) != tt.asked || rec.ExitCause != string(tt.cause) || tt.asked > 0 && rec.Reflections.Count != tt.asked || tt.asked == 0 && rec.Reflections != nil {
					t.Errorf("%d were asked for, the run ended with %s and %+v; want %d and %s", len(f.asked), rec.ExitCause, rec.Reflections, tt.asked, tt.cause)
				}
			})
		})
	}
}

// TestReflectionIsSaved: what a reflection led to is on disk before anything else
// happens, also before the journal of reflections has it.
func TestReflectionIsSaved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(time.Minute).with(using(100, 0.1)))
		w.looks(1, goesWell().spending(400, 0.25))
		w.opts.Limits.MaxSessions = 4
		done := 0
		w.at = func(moment string) {
			s := w.state()
			switch moment {
			case "reflector asked":
				if s.Pursuit.Tally.Count != done || s.Current == nil {
					t.Errorf("before reflection %d: state %+v", done+1, s)
				}
				return
			case "reflection":
				done++
			}
			if moment != "reflection" && moment != "live checking" {
				return
			}
			g := s.Pursuit.Goals[0]
			if s.Pursuit.Tally.Count != done || done > 0 && (len(g.Assessments) != min(done, 3) || g.Series.Percent != 40 || s.Record.Reflections.Count != done) {
				t.Errorf("after %d reflections: %+v", done, s.Pursuit)
			}
			if moment == "reflection" && (s.Current != nil || g.Since != 0 || s.Record.TotalTokensUsed != int64(100*s.Iteration+400*done) || len(s.Record.Sessions) != s.Iteration || s.Record.Goals[0].Iterations != s.Iteration) {
				t.Errorf("at reflection %d: %+v", done, s)
			}
		}
		w.play(t.Context())
		if done != 3 {
			t.Errorf("%d reflections, want 3", done)
		}
	})
}

// TestReflectionCosts: what a look back costs is spent by the run.
func TestReflectionCosts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		interval int
		limits   func(*killswitch.Limits)
		spent    reflector.Usage // before the first session
		sessions int
		cause    killswitch.Reason
		tokens   int64
		usd      float64
		says     string
	}{
		{"no look back", 0, func(l *killswitch.Limits) { l.MaxTokens = 600 }, reflector.Usage{}, 5, killswitch.MaxSessionsReached, 500, 0.5, ""},
		{"tokens", 1, func(l *killswitch.Limits) { l.MaxTokens = 600 }, reflector.Usage{}, 2, killswitch.TokenBudgetExceeded, 600, 0.45, "cumulative_tokens=600 >= max-tokens=600"},
		{"tokens of the first reflection alone", 1, func(l *killswitch.Limits) { l.MaxTokens = 500 }, reflector.Usage{}, 1, killswitch.TokenBudgetExceeded, 500, 0.35, "cumulative_tokens=500"},
		{"cost", 1, func(l *killswitch.Limits) { l.MaxCostUSD = 0.46 }, reflector.Usage{}, 2, killswitch.TokenBudgetExceeded, 600, 0.45, "cost left=0.0100"},
		{"what was spent before", 0, func(l *killswitch.Limits) { l.MaxTokens = 600 }, reflector.Usage{Input: 200, Output: 50, CacheRead: 1e6, CostUSD: 0.01}, 3, killswitch.TokenBudgetExceeded, 550, 0.31, "tokens left=50"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, work(time.Minute).with(using(100, 0.1)))
				f := w.looks(tt.interval, goesWell().spending(400, 0.25))
				w.opts.Analyse = func(context.Context) ([]pursuit.Goal, reflector.Usage) { return w.opts.Goals, tt.spent }
				tt.limits(&w.opts.Limits)
				w.play(t.Context())
				rec := w.record()
				if rec.ExitCause != string(tt.cause) || !strings.Contains(*rec.KillSwitchDetail, tt.says) || len(w.calls) != tt.sessions {
					t.Errorf("%s (%s) after %d sessions; want %s saying %q after %d", rec.ExitCause, *rec.KillSwitchDetail, len(w.calls), tt.cause, tt.says, tt.sessions)
				}
				tk := rec.Tokens
				if rec.TotalTokensUsed != tt.tokens || tk.Input+tk.Output+tk.CacheCreation != tt.tokens || tk.CacheRead != int64(9000*len(f.asked))+tt.spent.CacheRead || rec.TotalCostUSD != tt.usd {
					t.Errorf("%d tokens as %+v and $%v, want %d and $%v", rec.TotalTokensUsed, tk, rec.TotalCostUSD, tt.tokens, tt.usd)
				}
				if r := rec.Reflections; r != nil && (r.Tokens != int64(400*len(f.asked)) || r.CostUSD != 0.25*float64(len(f.asked))) {
					t.Errorf("reflections %+v, %d were made", r, len(f.asked))
				}
				if tt.name == "cost" && tally.Dollars(w.calls[1].spec.BudgetUSD) != 0.11 {
					t.Errorf("the second session may cost $%v, want what the first reflection left", w.calls[1].spec.BudgetUSD)
				}
				for _, in := range f.asked {
					if in.Left.Tokens < -1 || w.opts.Limits.MaxTokens > 0 && in.Left.Tokens < 0 {
						t.Errorf("left are %d tokens, which stands for no limit", in.Left.Tokens)
					}
				}
			})
		})
	}
}

// TestNothingIsLeft is a budget that the last session has overdrawn: it is no
// budget without a limit.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(time.Minute).with(using(900, 0)))
		f := w.looks(1, goesWell())
		w.opts.Limits.MaxTokens = 500
		w.play(t.Context())
		if len(f.asked) != 1 || f.asked[0].Left.Tokens != 0 {
			t.Errorf("asked %+v, want once with no tokens left", f.asked)
		}
	})
}

// TestReflectionsJournalFails ends the run in order.
func TestReflectionsJournalFails(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(time.Minute))
		f := w.looks(1, goesWell().spending(400, 0.25))
		full := errors.New("the disk is full")
		w.opts.Reflections = func(pursuit.Record) error { return full }
		out, err := w.try(t.Context())
		if !errors.Is(err, full) || out.Record.ExitCode != ExitError {
			t.Fatalf("got %+v, %v", out.Record, err)
		}
		rec := w.record()
		if rec.ExitCause != string(CauseError) || *rec.KillSwitchDetail != "record reflection: the disk is full" || rec.KillSwitch != nil || rec.Termination.Reason != "error" || len(rec.Sessions) != 1 || len(f.asked) != 1 {
			t.Errorf("record %+v", rec)
		}
		if s := w.state(); !s.Finished || s.Current != nil || s.Pursuit.Tally.Count != 1 || rec.TotalTokensUsed != 400 {
			t.Errorf("state %+v, want the reflection counted", s)
		}
	})
}

// later is a reflector under a limit that ends at a moment of the run.
func later(after time.Duration) opinion {
	return opinion{err: &reflector.LaterError{At: time.Now().Add(after), Err: errors.New("limit")}}
}

// TestReflectionWaits for a limit of the API, and is made then.
func TestReflectionWaits(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(10*time.Minute))
		f := w.looks(1, later(2*time.Hour).spending(30, 0.01), later(3*time.Hour).spending(30, 0.01), goesWell().spending(400, 0.25))
		w.opts.Limits.MaxSessions = 2
		var waiting []Waiting
		w.at = func(moment string) {
			s := w.state()
			if moment == "reflector asked" && s.Waiting != nil {
				t.Errorf("it is said to wait until %v while it is asked again", s.Waiting.Until)
			}
			if s.Waiting != nil {
				waiting = append(waiting, *s.Waiting)
				if s.Current != nil || s.Iteration != 1 || len(s.Record.Sessions) != 1 {
					t.Errorf("state while it waits: %+v", s)
				}
			}
		}
		w.play(t.Context())
		until := []time.Duration{2*time.Hour + time.Minute, 3*time.Hour + time.Minute}
		for _, wt := range waiting {
			at := wt.Until.Sub(w.started)
			if !slices.Contains(until, at) || !strings.HasPrefix(wt.Why, "reflection: ") || !strings.Contains(wt.Why, "limit") {
				t.Errorf("it waits until %v for %q", at, wt.Why)
			}
		}
		rec := w.record()
		if len(waiting) < 2 || rec.WaitedSeconds != int64((until[1]-10*time.Minute).Seconds()) || w.calls[1].at != until[1] {
			t.Errorf("%d waits, %d s waited, the next session after %v; want two, %v and %v", len(waiting), rec.WaitedSeconds, w.calls[1].at, until[1]-10*time.Minute, until[1])
		}
		if len(f.asked) != 4 || len(w.kept) != 2 || w.kept[0].Iteration != 1 || w.kept[0].Error != "" || rec.Reflections.Failed != 0 || rec.Reflections.Count != 2 {
			t.Errorf("%d questions for %d reflections %+v", len(f.asked), len(w.kept), w.kept)
		}
		if rec.TotalTokensUsed != 860 || rec.Reflections.Tokens != 860 || rec.TotalCostUSD != 0.52 {
			t.Errorf("%d tokens, $%v, %+v; want the tries counted as well", rec.TotalTokensUsed, rec.TotalCostUSD, rec.Reflections)
		}
	})
}
