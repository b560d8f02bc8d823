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

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/source"
)

// asks is a session with a question.
func asks(text string) play {
	return work(time.Minute).with(func(r *sessions.Result) {
		r.Report = report(`{"planned":["a"],"completed":[],"carried_over":[],"summary":"s","next_steps":["by hand","by machine"],"needs_person":"` + text + `"}`)
	})
}

// holding makes the checks of a goal: each holds from so many sessions on.
func (w *world) holding(from map[string]int) {
	w.opts.Pursuit.Check = func(_ context.Context, checks []gate.Check) []gate.Result {
		var out []gate.Result
		for _, c := range checks {
			r := gate.Result{Check: c, OK: len(w.calls) >= from[c.Name()], Detail: "exit status 1"}
			if r.OK {
				r.Detail = "exit status 0"
			}
			out = append(out, r)
		}
		return out
	}
}

func check(command string) gate.Check {
	return gate.Check{Kind: gate.Command, Command: command, Given: true}
}

// finale is how a run came to its end.
type finale struct {
	cause    Cause
	code     int
	sessions int
	status   string // of the termination, with reason and guardrail
	detail   string
}

func (w *world) finale(rec ledger.Run) finale {
	t := rec.Termination
	return finale{Cause(rec.ExitCause), rec.ExitCode, len(rec.Sessions), strings.TrimSpace(t.Status + " " + t.Reason + " " + t.Guard), *rec.KillSwitchDetail}
}

// TestGoalEnds is every way in which the goals of a run end it.
func TestGoalEnds(t *testing.T) {
	t.Parallel()
	stop := says(reflector.No, reflector.Slow, 30, reflector.Stop)
	partly := says(reflector.Partial, reflector.Slow, 60, reflector.Stop)
	person := says(reflector.No, reflector.Slow, 30, reflector.AskUser)
	done := says(reflector.Yes, reflector.Good, 100, reflector.Continue)
	finished := done
	finished.says.Reasoning = "all is there"
	stuck := says(reflector.No, reflector.Stuck, 10, reflector.Continue)
	stuck.says.LoopDetected = true
	half := says(reflector.Partial, reflector.Good, 50, reflector.Continue)
	tests := []struct {
		name     string
		plays    []play
		goals    int
		max      int
		opinions []opinion
		want     finale
		statuses string
		question string
	}{
		{"a claim", []play{work(1), claims(1)}, 1, 5, []opinion{goesWell(), done}, finale{CauseWorkDone, 0, 2, "completed goal_achieved", "nothing is left to do"}, "achieved", ""},
		{"a reflection finds it", []play{work(1)}, 1, 5, []opinion{done}, finale{CauseWorkDone, 0, 1, "completed goal_achieved", "nothing is left to do"}, "achieved", ""},
		{"a reflection asks", []play{work(1)}, 1, 5, []opinion{person}, finale{CausePerson, 4, 1, "paused question", "because"}, "paused", "because"},
		{"a loop asks", []play{work(1)}, 1, 5, []opinion{stuck}, finale{CausePerson, 4, 1, "paused stuck", "Stuck in loop: because"}, "paused", "Stuck in loop: because"},
		{"a session asks", []play{asks("which one?")}, 1, 5, []opinion{goesWell()}, finale{CausePerson, 4, 1, "paused question", "which one?"}, "paused", "which one?"},
		{"given up", []play{work(1)}, 1, 5, []opinion{stop}, finale{CauseGivenUp, 3, 1, "stopped given_up", "because"}, "given-up", ""},
		{"given up with a part", []play{work(1)}, 1, 5, []opinion{partly}, finale{CauseGivenUp, 3, 1, "stopped given_up", "because"}, "partial", ""},
		{"a part at the limit", []play{work(1)}, 1, 3, []opinion{goesWell(), half}, finale{"max-sessions-reached", 0, 3, "stopped max_iterations MAX_ITERATIONS", "iterations_completed=3 >= max-sessions=3"}, "partial", ""},
		{"given up at the limit", []play{work(1)}, 1, 1, []opinion{partly}, finale{CauseGivenUp, 3, 1, "stopped given_up", "because"}, "partial", ""},
		{"one after the other", []play{work(1)}, 2, 5, []opinion{done, done}, finale{CauseWorkDone, 0, 2, "completed goal_achieved", "nothing is left to do"}, "achieved achieved", ""},
		{"one paused, one achieved", []play{asks("which one?"), work(1)}, 2, 5, []opinion{done}, finale{CausePerson, 4, 2, "paused question", "which one?"}, "paused achieved", "which one?"},
		{"one achieved, one paused", []play{work(1), asks("which one?")}, 2, 5, []opinion{done}, finale{CausePerson, 4, 2, "paused question", "which one?"}, "achieved paused", "which one?"},
		{"both paused", []play{asks("first?"), asks("second?")}, 2, 5, []opinion{goesWell()}, finale{CausePerson, 4, 2, "paused question", "first?"}, "paused paused", "first?"},
		{"one given up, one achieved", []play{work(1)}, 2, 5, []opinion{stop, finished}, finale{CauseGivenUp, 3, 2, "stopped given_up", "because"}, "given-up achieved", ""},
		{"one given up, one paused", []play{work(1)}, 2, 5, []opinion{stop, person}, finale{CausePerson, 4, 2, "paused question", "because"}, "given-up paused", "because"},
		{"a question in the last session", []play{asks("which one?")}, 2, 1, []opinion{done}, finale{"max-sessions-reached", 0, 1, "stopped max_iterations MAX_ITERATIONS", "iterations_completed=1 >= max-sessions=1"}, "paused open", "which one?"},
	}
	for _, tt := range tests {
		for _, kind := range []string{"goal", "lifecycle"} {
			t.Run(tt.name+" "+kind, func(t *testing.T) {
				t.Parallel()
				bubble(t, func(t *testing.T) {
					w := newWorld(t, tt.plays...)
					f := w.looks(1, tt.opinions...)
					w.opts.Limits.MaxSessions = tt.max
					w.opts.Source = fakeSource{kind, func(source.Request) source.Assignment {
						a := assignment("feature", 1)
						a.Records = kind == "lifecycle"
						return a
					}}
					w.opts.Goals = []pursuit.Goal{{Text: "the first"}, {Text: "the second"}}[:tt.goals]
					out := w.play(t.Context())
					rec := w.record()
					if diff := cmp.Diff(tt.want, w.finale(rec), cmp.AllowUnexported(finale{})); diff != "" {
						t.Errorf("end (-want +got):\n%s", diff)
					}
					var statuses []string
					for _, g := range rec.Goals {
						statuses = append(statuses, g.Status)
					}
					tm := rec.Termination
					if got := strings.Join(statuses, " "); got != tt.statuses || tm.Question != tt.question || tm.AwaitingUserInput != (tt.question != "") || tm.Resumable == (tt.want.cause == CauseWorkDone) || tm.Partial != (strings.Contains(got, "partial") || strings.Contains(got, "achieved") && tm.Status != ledger.Completed) {
						t.Errorf("goals %q and termination %+v, want %q and the question %q", got, tm, tt.statuses, tt.question)
					}
					if (rec.KillSwitch != nil) != (tt.want.cause == "max-sessions-reached") || out.Record.ExitCause != rec.ExitCause {
						t.Errorf("kill switch %v for %s", rec.KillSwitch, rec.ExitCause)
					}
					for _, in := range f.asked {
						if in.Totals.Sessions == 0 {
							t.Errorf("a reflection was made on %q, for which no session has worked", in.Goal)
						}
					}
				})
			})
		}
	}
}

// TestQuestion is what a person is asked, and in which conversation it arose.
func TestQuestion(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]play{"by a session": asks("which one?"), "by a reflection": work(time.Minute)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, work(time.Minute), by)
				person := says(reflector.No, reflector.Slow, 30, reflector.AskUser)
				person.says.Reasoning, person.says.NextSteps = "which one?", []string{"by hand", "by machine"}
				w.looks(2, person)
				w.play(t.Context())
				q := w.state().Pursuit.Goals[0].Question
				want := pursuit.Question{Text: "which one?", Options: []string{"by hand", "by machine"}, Reason: "question", At: w.started.Add(2 * time.Minute), Session: w.ids()[1]}
				if name == "by a session" {
					want.At = q.At
				}
				if q == nil {
					t.Fatal("no question is kept")
				}
				want.At = q.At
				if diff := cmp.Diff(want, *q); diff != "" {
					t.Errorf("question (-want +got):\n%s", diff)
				}
				tm := w.record().Termination
				if !slices.Equal(tm.Options, want.Options) || !strings.Contains(strings.Join(tm.NextSteps, "\n"), "autopilot answer") {
					t.Errorf("termination %+v", tm)
				}
			})
		})
	}
}

// TestFalseStop is a session that says it is done while a check fails: the next one
// sees to that first, and the run goes on until the checks hold.
func TestFalseStop(t *testing.T) {
	t.Parallel()
	for _, interval := range []int{0, 1} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, claims(time.Minute))
			w.looks(interval, says(reflector.Yes, reflector.Good, 100, reflector.Continue))
			w.opts.Source = source.Goal{}
			w.opts.Goals = []pursuit.Goal{{Text: "make it green", Checks: []gate.Check{check("make test"), check("make lint")}}}
			w.holding(map[string]int{"make test": 2})
			w.play(t.Context())
			rec := w.record()
			if len(w.calls) != 2 || rec.ExitCause != string(CauseWorkDone) || rec.Goals[0].FalseStops != 1 || rec.Goals[0].Status != ledger.GoalAchieved {
				t.Fatalf("interval %d: record %+v after %d sessions", interval, rec, len(w.calls))
			}
			first, second := w.calls[0].spec.Steps[0].Prompt, w.calls[1].spec.Steps[0].Prompt
			const heading, broken, holds = "Put them right first:\n", "- make test: exit status 1", "make lint"
			if _, list, ok := strings.Cut(second, heading); !ok || !strings.HasPrefix(list, broken) || strings.Contains(list, holds) || strings.Contains(first, heading) {
				t.Errorf("interval %d: the second session was told %q", interval, second)
			}
			if !strings.Contains(second, "all is done") || !strings.Contains(second, "make it green") {
				t.Errorf("interval %d: the second session was not told what the first one said: %q", interval, second)
			}
			want := []ledger.Deliverable{{Name: "make test", OK: true, Proof: "exit status 0"}, {Name: "make lint", OK: true, Proof: "exit status 0"}}
			if diff := cmp.Diff(want, rec.Termination.Deliverables); diff != "" || rec.Termination.Summary != "Reached: make it green" {
				t.Errorf("interval %d: %q, deliverables (-want +got):\n%s", interval, rec.Termination.Summary, diff)
			}
		})
	}
}

// TestTolerated errors.
func TestTolerated(t *testing.T) {
	t.Parallel()
	crash, ok := ends(outcome.Crashed, time.Minute), work(time.Minute)
	failing := work(time.Minute).with(func(r *sessions.Result) { r.Agents.Failed = 1 })
	limit := func(p play) []play { return []play{ends(outcome.Overloaded, time.Minute), p} }
	broken := func(e outcome.Ending) play { return ends(e, time.Minute) }
	const wave, threshold = Cause(killswitch.FailedWave), "stopped error_threshold ERROR_THRESHOLD"
	tests := []struct {
		name     string
		errors   int
		max      int
		plays    []play
		want     finale
		outcomes ledger.Outcomes
		inRow    int
	}{
		{"three in a row", 3, 9, []play{crash, crash, ok, crash}, finale{wave, 3, 6, threshold, "errors in a row=3 (3 crashed) >= max-consecutive-errors=3, the last: crashed: crashed"}, ledger.Outcomes{Successes: 1, Failures: 5}, 3},
		{"none is tolerated", 1, 9, []play{ok, crash}, finale{wave, 3, 2, "stopped failed_wave", "crashed: crashed"}, ledger.Outcomes{Successes: 1, Failures: 1}, 1},
		{"not set", 0, 9, []play{crash}, finale{wave, 3, 1, "stopped failed_wave", "crashed: crashed"}, ledger.Outcomes{Failures: 1}, 1},
		{"no credentials", 3, 9, []play{ok, broken(outcome.Auth)}, finale{wave, 3, 2, "stopped failed_wave", "auth: auth"}, ledger.Outcomes{Successes: 1, Failures: 1}, 1},
		{"no credit after a crash", 3, 9, []play{crash, broken(outcome.Credit)}, finale{wave, 3, 2, "stopped failed_wave", "credit: credit"}, ledger.Outcomes{Failures: 2}, 2},
		{"hung", 3, 9, []play{crash, broken(outcome.Hung)}, finale{Cause(killswitch.StallTimeout), 3, 2, "stopped stall_timeout", "hung"}, ledger.Outcomes{Failures: 2}, 0},
		{"spiral", 3, 9, []play{ok.with(func(r *sessions.Result) { r.Agents.Spiral = 1 })}, finale{Cause(killswitch.Spiral), 3, 1, "stopped spiral", "agent_summary.spiral=1"}, ledger.Outcomes{Successes: 1}, 0},
		{"a wait is none", 3, 9, slices.Concat([]play{crash}, limit(crash), limit(ok), []play{crash, crash}, limit(crash)), finale{wave, 3, 6, threshold, "errors in a row=3 (3 crashed) >= max-consecutive-errors=3, the last: crashed: crashed"}, ledger.Outcomes{Successes: 1, Failures: 5}, 3},
		{"agents that failed", 2, 9, []play{failing, ok, failing}, finale{wave, 3, 4, threshold, "errors in a row=2 (2 failed agents) >= max-consecutive-errors=2, the last: agent_summary.failed=1"}, ledger.Outcomes{Successes: 4}, 2},
		{"of all kinds", 4, 9, []play{crash, broken(outcome.NoWork), broken(outcome.Failed), failing}, finale{wave, 3, 4, threshold, "errors in a row=4 (1 crashed, 1 failed, 1 failed agents, 1 no-work) >= max-consecutive-errors=4, the last: agent_summary.failed=1"}, ledger.Outcomes{Successes: 1, Failures: 3}, 4},
		{"they count as sessions", 9, 3, []play{crash}, finale{Cause(killswitch.MaxSessionsReached), 0, 3, "stopped max_iterations MAX_ITERATIONS", "iterations=3 >= max-sessions=3 (iterations_completed=0)"}, ledger.Outcomes{Failures: 3}, 3},
		{"they count beside the others", 9, 3, []play{crash, ok}, finale{Cause(killswitch.MaxSessionsReached), 0, 3, "stopped max_iterations MAX_ITERATIONS", "iterations=3 >= max-sessions=3 (iterations_completed=2)"}, ledger.Outcomes{Successes: 2, Failures: 1}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, tt.plays...)
				w.opts.Limits.MaxErrors, w.opts.Limits.MaxSessions = tt.errors, tt.max
				w.play(t.Context())
				rec := w.record()
				if diff := cmp.Diff(tt.want, w.finale(rec), cmp.AllowUnexported(finale{})); diff != "" {
					t.Errorf("end (-want +got):\n%s", diff)
				}
				s := w.state()
				if rec.Termination.Outcomes != tt.outcomes || s.Outcomes != tt.outcomes || len(s.Errors) != tt.inRow || len(w.sessionRecords()) != tt.want.sessions || rec.IterationsCompleted != tt.outcomes.Successes {
					t.Errorf("termination %+v, %q errors in a row, want %+v and %d", rec.Termination, s.Errors, tt.outcomes, tt.inRow)
				}
			})
		})
	}
}

// TestNotSureAfterAnError: only before the very first session a person takes over.
func TestNotSureAfterAnError(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, ends(outcome.Crashed, time.Minute))
		w.opts.Limits.MaxErrors = 3
		w.opts.Source = fakeSource{"lifecycle", func(r source.Request) source.Assignment {
			return assignment("deep", 2-float64(r.Objective.Iteration))
		}}
		w.play(t.Context())
		rec := w.record()
		if rec.ExitCause != string(killswitch.LowConfidence) || rec.FallbackToManual || !rec.Termination.Resumable {
			t.Errorf("record %+v", rec)
		}
	})
}

// TestModeChange takes over limits and interval of another mode while the run is on.
func TestModeChange(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(time.Minute))
		f := w.looks(0, goesWell())
		limits := w.opts.Limits
		profiles := map[string]Profile{"fixed": {limits, 0}, "continuous": {limits, 1}}
		for name, n := range map[string]int{"fixed": 3, "continuous": 9} {
			p := profiles[name]
			p.Limits.MaxSessions, p.Limits.MaxHours = n, float64(n)
			profiles[name] = p
		}
		var asked []string
		w.opts.Mode = "fixed"
		w.opts.Profile = func(mode string) Profile {
			asked = append(asked, mode)
			return profiles[mode]
		}
		requests := []string{"", "fixed", "continuous", "continuous", "", "fixed", ""}
		w.opts.ModeRequested = func() string { return nth(requests, len(w.calls)) }
		var told []string
		w.opts.Live = func(s Status) {
			if s.State == "selecting" {
				told = append(told, strings.Repeat("x", s.Limits.MaxSessions))
				if st := w.state(); len(w.calls) == 3 && (st.Mode != "continuous" || st.Record.Mode != "continuous" || st.Pursuit.Interval != 1) {
					t.Errorf("state after the change: %+v", st)
				}
			}
		}
		w.play(t.Context())
		if diff := cmp.Diff([]string{"fixed", "continuous", "fixed"}, asked); diff != "" {
			t.Errorf("profiles that were asked for (-want +got):\n%s", diff)
		}
		rec := w.record()
		if len(w.calls) != 5 || rec.Mode != "fixed" || rec.MaxSessions != 3 || rec.MaxHours != 3 || rec.ExitCause != string(killswitch.MaxSessionsReached) {
			t.Errorf("record %+v after %d sessions, want that the fixed mode ends it after five", rec, len(w.calls))
		}
		if diff := cmp.Diff([]string{"xxx", "xxx", "xxxxxxxxx", "xxxxxxxxx", "xxxxxxxxx"}, told); diff != "" {
			t.Errorf("limits that were told (-want +got):\n%s", diff)
		}
		if len(f.asked) != 2 || w.kept[0].Iteration != 3 || w.kept[1].Iteration != 5 || f.asked[0].Left.Sessions != 6 {
			t.Errorf("reflections %+v, want those after sessions 3 and 5", w.kept)
		}
	})
}

// TestModeRequested is what 'set' leaves for a run.
func TestModeRequested(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if got := ModeRequested(folder); got != "" {
		t.Errorf("got %q before anybody asked", got)
	}
	for _, mode := range []string{"continuous", "fixed"} {
		if err := RequestMode(folder, mode, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := ModeRequested(folder); got != mode {
			t.Errorf("got %q, want %q", got, mode)
		}
	}
}

// TestCheckpoint copies are made after each session after which the run goes on and at the end, and do
// not end the run when they cannot be.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(time.Minute).with(using(10, 0)))
		w.looks(2, goesWell())
		w.opts.Limits.MaxSessions = 3
		type copied struct {
			Iteration, Recorded, Goal, Reflections int
			Tokens                                 int64
			Finished                               bool
		}
		var got []copied
		w.opts.Checkpoint = func(s State) error {
			if s.Current != nil || s.Waiting != nil || (s.Record.Termination != nil) != s.Finished {
				t.Errorf("copy %+v", s)
			}
			got = append(got, copied{s.Iteration, len(s.Record.Sessions), s.Record.Goals[0].Iterations, s.Pursuit.Tally.Count, s.Record.TotalTokensUsed, s.Finished})
			return errors.New("no room")
		}
		w.play(t.Context())
		want := []copied{{1, 1, 1, 0, 10, false}, {2, 2, 2, 1, 20, false}, {3, 3, 3, 2, 30, false}, {3, 3, 3, 2, 30, true}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("copies (-want +got):\n%s", diff)
		}
		if rec := w.record(); rec.ExitCode != ExitWanted || strings.Count(w.log.String(), "no room") != 4 {
			t.Errorf("record %+v, log %s", rec, w.log.String())
		}
	})
}

// TestQuestionOverCarryover is a session that cannot go on without a person: what
// it leaves of its plan is blocked, not left undone.
func TestQuestionOverCarryover(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		blocked := completed(time.Minute).with(func(r *sessions.Result) {
			r.Report = []byte(`{"planned":["a","b"],"completed":[],"carried_over":["a","b"],"summary":"s","next_steps":["use make","use bazel"],"needs_person":"which?"}`)
		})
		w := newWorld(t, blocked)
		w.play(t.Context())
		rec := w.record()
		if rec.ExitCause != string(CausePerson) || rec.ExitCode != ExitPerson || rec.Termination.Question != "which?" || len(rec.Termination.Options) != 2 {
			t.Errorf("got %s with %+v, want the question", rec.ExitCause, rec.Termination)
		}
	})
}

// TestBaseOfEachGoal is the commit at which a goal is begun, for the question what
// has changed since.
func TestBaseOfEachGoal(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		done := completed(time.Minute).with(func(r *sessions.Result) {
			r.Report = []byte(`{"planned":["a"],"completed":["a"],"carried_over":[],"summary":"s","next_steps":[],"needs_person":""}`)
		})
		w := newWorld(t, done)
		w.opts.Goals = []pursuit.Goal{{Text: "first"}, {Text: "second"}}
		w.opts.Head = func(context.Context) string { return fmt.Sprintf("c%d", len(w.calls)) }
		w.play(t.Context())
		goals := w.state().Pursuit.Goals
		if goals[0].Base != "c0" || goals[1].Base != "c1" {
			t.Errorf("begun at %q and %q, want at c0 and c1", goals[0].Base, goals[1].Base)
		}
	})
}

// TestAnalysisIsSeen is a closer look at the goals before the first session, during
// which the run is on disk already.
func TestAnalysisIsSeen(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(time.Minute))
		w.opts.Limits.MaxSessions = 1
		w.opts.Analyse = func(context.Context) ([]pursuit.Goal, reflector.Usage) {
			if s := w.state(); s.Finished || s.Record.AutopilotRunID != w.opts.RunID || len(s.Pursuit.Goals) != 1 {
				t.Errorf("on disk during the analysis: %+v", s)
			}
			return []pursuit.Goal{{Text: "the goal", Criteria: []string{"sharper"}}}, reflector.Usage{Input: 7}
		}
		w.play(t.Context())
		if rec := w.record(); w.state().Pursuit.Goals[0].Criteria[0] != "sharper" || rec.TotalTokensUsed != 7 {
			t.Errorf("criteria %q, %d tokens", w.state().Pursuit.Goals[0].Criteria, rec.TotalTokensUsed)
		}
	})
}
