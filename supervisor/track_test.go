package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"autopilot/metrics/episode"
	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/sessions/task"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/source"
)

// list is a source whose tasks are a word each time it looks: a letter per task, "."
// open, "x" complete, "f" failed. The last word stands for every further look.
type list struct {
	fakeSource
	words  []string
	looks  int
	asked  []source.Request
	broken func(look int) []task.Fault
}

func (l *list) Track(context.Context) source.Track {
	word := l.words[min(l.looks, len(l.words)-1)]
	l.looks++
	t := source.Track{}
	if l.broken != nil {
		t.Broken = l.broken(l.looks - 1)
	}
	for i, c := range word {
		t.Total++
		t.Names = append(t.Names, fmt.Sprintf("task %d", i+1))
		switch c {
		case 'f':
			t.Failed++
			fallthrough
		case 'x':
			t.Completed++
		default:
			t.Open = append(t.Open, t.Names[i])
		}
	}
	t.Percent = 100
	if t.Total > 0 {
		t.Percent = 100 * t.Completed / t.Total
	}
	return t
}

func (l *list) Next(r source.Request) source.Assignment {
	l.asked = append(l.asked, r)
	return sure(r)
}

func tracking(words ...string) *list {
	return &list{fakeSource: fakeSource{name: "tasks"}, words: words}
}

func TestTrackedWork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		looks    []string // before the first session and after each
		max      int
		cause    Cause
		code     int
		sessions int
		goal     string
	}{
		{"all done", []string{"..", "x.", "xx"}, 5, CauseWorkDone, ExitWanted, 2, ledger.GoalAchieved},
		{"done before it began", []string{"xx"}, 5, CauseWorkDone, ExitWanted, 0, ledger.GoalAchieved},
		{"nothing to do", []string{""}, 5, CauseNoTasks, ExitWanted, 0, ledger.GoalOpen},
		{"tasks that went away", []string{"..", ""}, 5, CauseFailed, ExitFailures, 1, ledger.GoalOpen},
		{"one failed", []string{"..", "xf"}, 5, CauseFailed, ExitFailures, 1, ledger.GoalPartial},
		{"all failed", []string{"..", "ff"}, 5, CauseFailed, ExitFailures, 1, ledger.GoalPartial},
		{"done at the limit", []string{"..", "x.", "xx"}, 2, CauseWorkDone, ExitWanted, 2, ledger.GoalAchieved},
		{"the limit", []string{"..", "x."}, 2, "max-sessions-reached", ExitWanted, 2, ledger.GoalOpen},
		{"ten without progress", []string{"x."}, 50, CauseNoGain, ExitFailures, 10, ledger.GoalOpen},
		{"ten in a row only", strings.Split(strings.Repeat("....,", 10)+strings.Repeat("x...,", 10)+"xxxx", ","), 50, CauseWorkDone, ExitWanted, 20, ledger.GoalAchieved},
		{"one done and one undone is no progress", append([]string{"x.", ".x"}, strings.Split(strings.Repeat("..,x.,", 5), ",")...), 50, CauseNoGain, ExitFailures, 10, ledger.GoalOpen},
		{"tasks that are added are none either", strings.Split("x.,x..,x...,x....,x.....,x......,x.......,x........,x.........,x..........,x...........", ","), 50, CauseNoGain, ExitFailures, 10, ledger.GoalOpen},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, completed(time.Minute).with(func(r *sessions.Result) { r.Files = []string{"a"} }))
				src := tracking(tt.looks...)
				w.opts.Source, w.opts.Limits.MaxSessions = src, tt.max
				var learned []episode.Episode
				w.opts.Learn = func(e episode.Episode) error { learned = append(learned, e); return nil }
				out := w.play(t.Context())
				r := w.record()
				if r.ExitCause != string(tt.cause) || r.ExitCode != tt.code || len(r.Sessions) != tt.sessions {
					t.Errorf("ended as %s, %d after %d sessions, want %s, %d after %d", r.ExitCause, r.ExitCode, len(r.Sessions), tt.cause, tt.code, tt.sessions)
				}
				if got := r.Goals[0].Status; got != tt.goal {
					t.Errorf("the goal is %s, want %s", got, tt.goal)
				}
				if out.Record.ExitCause != r.ExitCause {
					t.Errorf("the outcome says %s", out.Record.ExitCause)
				}
				checkEpisode(t, learned, tt.cause, tt.sessions)
			})
		})
	}
}

func checkEpisode(t *testing.T, learned []episode.Episode, cause Cause, n int) {
	t.Helper()
	if n == 0 || cause == CauseNoTasks {
		if len(learned) != 0 {
			t.Errorf("a run without a session or a task is an episode: %+v", learned)
		}
		return
	}
	if len(learned) != 1 {
		t.Fatalf("%d episodes, want one", len(learned))
	}
	e := learned[0]
	if e.Success != (cause == CauseWorkDone) || e.Success != (e.Reward > 0) || e.Success == (e.Critique != "") {
		t.Errorf("success %t, reward %v, critique %q", e.Success, e.Reward, e.Critique)
	}
	if e.Iterations != n || len(e.Steps) != n || e.DurationMS < int64(n)*time.Minute.Milliseconds() {
		t.Errorf("%d iterations with %d steps in %d ms", e.Iterations, len(e.Steps), e.DurationMS)
	}
	if cause == CauseNoGain && !strings.Contains(e.Critique, "No further task was completed in the last 10 sessions") {
		t.Errorf("the critique does not tell the stall: %q", e.Critique)
	}
}

// TestTrackedWorkTellsTheSource has the prompt told how long nothing was completed,
// and what earlier work recommends.
func TestTrackedWorkTellsTheSource(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(time.Minute))
		src := tracking("...", "x..", "x..", "xx.", "xxx")
		w.opts.Source = src
		var queries []string
		w.opts.Recall = func(work string) []string { queries = append(queries, work); return []string{"split " + work} }
		w.play(t.Context())
		var stalled []int
		for _, r := range src.asked {
			stalled = append(stalled, r.Stalled)
			if len(r.Objective.Learned) != 1 {
				t.Errorf("session %d was told %q", r.Objective.Iteration, r.Objective.Learned)
			}
		}
		if got := fmt.Sprint(stalled); got != "[0 0 1 0]" {
			t.Errorf("stalled before each session: %s", got)
		}
		if len(queries) != 3 || queries[0] != "task 1\ntask 2\ntask 3" || queries[2] != "task 3" {
			t.Errorf("asked for earlier work with %q, want each set of tasks once", queries)
		}
	})
}

// TestTrackedWorkBelievesNoClaim has the session, and a reflector, say that nothing
// is left while tasks are.
func TestTrackedWorkBelievesNoClaim(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		claim, err := json.Marshal(map[string]any{"summary": "all done", "completed": []string{"everything"}})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, completed(time.Minute).with(func(r *sessions.Result) { r.Report, r.Files = claim, []string{"a"} }))
		w.opts.Source = tracking("..", "x.", "x.", "xx")
		w.opts.Profile = func(string) Profile { return Profile{Limits: w.opts.Limits, Interval: 1} }
		w.opts.Pursuit.Reflector, w.opts.Pursuit.Matrix = believer{}, reflector.Extended
		w.play(t.Context())
		if r := w.record(); r.ExitCause != string(CauseWorkDone) || len(r.Sessions) != 3 {
			t.Errorf("ended as %s after %d sessions, want work-done after 3", r.ExitCause, len(r.Sessions))
		}
	})
}

// believer finds every goal reached.
type believer struct{}

func (believer) Name() string { return "believer" }

func (believer) Reflect(context.Context, reflector.Input) (reflector.Reflection, error) {
	return reflector.Reflection{Assessment: reflector.Assessment{
		GoalAchieved: reflector.Yes, Progress: reflector.Good, PercentComplete: 100, Recommendation: reflector.Stop, Reasoning: "it says so", NextSteps: []string{},
	}}, nil
}

// TestTrackedWorkIsOver has the last task be completed by a session that does not end
// well: what is over is over, and nothing is waited for.
func TestTrackedWorkIsOver(t *testing.T) {
	t.Parallel()
	asks, err := json.Marshal(map[string]any{"summary": "s", "needs_person": "which colour?"})
	if err != nil {
		t.Fatal(err)
	}
	for name, last := range map[string]play{
		"crashed":         ends(outcome.Crashed, time.Minute),
		"hung":            ends(outcome.Hung, time.Minute),
		"failed agents":   completed(time.Minute).with(func(r *sessions.Result) { r.Agents.Failed = 1 }),
		"out of budget":   completed(time.Minute).with(func(r *sessions.Result) { r.Budget = true }),
		"a usage limit":   ends(outcome.Limited, time.Minute).with(func(r *sessions.Result) { r.ResetAt = time.Now().Add(100 * time.Hour) }),
		"with a question": completed(time.Minute).with(func(r *sessions.Result) { r.Report = asks }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, last)
				w.opts.Source = tracking("..", "xx")
				var learned []episode.Episode
				w.opts.Learn = func(e episode.Episode) error { learned = append(learned, e); return nil }
				w.play(t.Context())
				r := w.record()
				if r.ExitCause != string(CauseWorkDone) || r.ExitCode != ExitWanted || len(w.calls) != 1 || r.Termination.Status != ledger.Completed {
					t.Errorf("ended as %s, %d, %s after %d sessions", r.ExitCause, r.ExitCode, r.Termination.Status, len(w.calls))
				}
				if g := r.Goals[0]; g.Status != ledger.GoalAchieved || g.Percent != 100 || r.Termination.AwaitingUserInput {
					t.Errorf("the goal is %+v, a person is asked: %t", g, r.Termination.AwaitingUserInput)
				}
				if len(learned) != 1 || !learned[0].Success {
					t.Errorf("episodes %+v", learned)
				}
			})
		})
	}
}

// TestTrackedWorkCountsTheLast has a run end for another reason: what the last session
// completed counts.
func TestTrackedWorkCountsTheLast(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, ends(outcome.Crashed, time.Minute))
		w.opts.Source = tracking("...", "xx.")
		var learned []episode.Episode
		w.opts.Learn = func(e episode.Episode) error { learned = append(learned, e); return nil }
		w.play(t.Context())
		if r := w.record(); r.ExitCause != "failed-wave" || r.Goals[0].Percent != 66 {
			t.Errorf("ended as %s at %v%%", r.ExitCause, r.Goals[0].Percent)
		}
		if len(learned) != 1 || len(learned[0].Steps) != 1 || learned[0].Steps[0].Completed != 2 || !strings.HasPrefix(learned[0].Critique, "Stopped at 66%") {
			t.Errorf("episodes %+v", learned)
		}
	})
}

// TestTrackedWorkIsProved has a check fail when all tasks are complete.
func TestTrackedWorkIsProved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(time.Minute))
		src := tracking(".", "x")
		w.opts.Source = src
		w.opts.Goals = []pursuit.Goal{{Text: "all tasks", Checks: []gate.Check{{Kind: gate.Command, Command: "make test", Given: true}}}}
		made := 0
		w.opts.Pursuit.Check = func(_ context.Context, checks []gate.Check) []gate.Result {
			made++
			return []gate.Result{{Check: checks[0], OK: made > 1, Detail: "exit status 2"}}
		}
		w.play(t.Context())
		r := w.record()
		if r.ExitCause != string(CauseWorkDone) || len(r.Sessions) != 2 || made != 2 {
			t.Errorf("ended as %s after %d sessions and %d checks, want work-done after 2 and 2", r.ExitCause, len(r.Sessions), made)
		}
		if got := src.asked[1].Objective.First; len(got) != 1 || !strings.Contains(got[0], "make test: exit status 2") {
			t.Errorf("the second session is told first %q", got)
		}
		g := r.Goals[0]
		if g.FalseStops != 1 || len(g.Deliverables) != 2 || !g.Deliverables[0].OK || !g.Deliverables[1].OK {
			t.Errorf("the goal is %+v", g)
		}
	})
}

// TestTrackedWorkThatCannotBeRead has a list that cannot be read: from the beginning
// that ends the run before anything is spent, later the next session is told to repair
// it, and the last good count holds.
func TestTrackedWorkThatCannotBeRead(t *testing.T) {
	t.Parallel()
	fault := []task.Fault{{Path: "plan.json", Why: "cut off"}}
	for _, tt := range []struct {
		name     string
		looks    []string
		from, to int // looks that find it broken
		cause    Cause
		sessions int
	}{
		{"from the beginning", []string{"xx"}, 0, 9, CauseFailed, 0},
		{"from the beginning, beside open tasks", []string{"x.", "xx"}, 0, 0, CauseWorkDone, 1},
		{"repaired by the next session", []string{"x.", "xx", "xx"}, 1, 1, CauseWorkDone, 2},
		{"never repaired", []string{"x.", "x.", "xx"}, 1, 99, CauseNoGain, 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, completed(time.Minute))
				src := tracking(tt.looks...)
				src.broken = func(look int) []task.Fault {
					if look >= tt.from && look <= tt.to {
						return fault
					}
					return nil
				}
				w.opts.Source, w.opts.Limits.MaxSessions = src, 50
				w.play(t.Context())
				if r := w.record(); r.ExitCause != string(tt.cause) || len(r.Sessions) != tt.sessions {
					t.Errorf("ended as %s (%s) after %d sessions, want %s after %d", r.ExitCause, *r.KillSwitchDetail, len(r.Sessions), tt.cause, tt.sessions)
				}
				if tt.sessions > 1 && !strings.Contains(strings.Join(src.asked[len(src.asked)-1].Objective.First, ""), "plan.json cannot be read: cut off") {
					t.Errorf("the last session is told first %q", src.asked[len(src.asked)-1].Objective.First)
				}
			})
		})
	}
}

// TestTrackedWorkWithReflector has a reflector that finds every session too slow: the
// count knows better.
func TestTrackedWorkWithReflector(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(time.Minute).with(func(r *sessions.Result) { r.Files = []string{"a"} }))
		looks := []string{"............"}
		for i := 1; i <= 12; i++ {
			looks = append(looks, strings.Repeat("x", i)+strings.Repeat(".", 12-i))
		}
		w.opts.Source, w.opts.Limits.MaxSessions = tracking(looks...), 50
		w.opts.Profile = func(string) Profile { return Profile{Limits: w.opts.Limits, Interval: 1} }
		w.opts.Pursuit.Reflector, w.opts.Pursuit.Matrix = doubter{}, reflector.Extended
		w.play(t.Context())
		if r := w.record(); r.ExitCause != string(CauseWorkDone) || len(r.Sessions) != 12 {
			t.Errorf("ended as %s (%s) after %d sessions", r.ExitCause, *r.KillSwitchDetail, len(r.Sessions))
		}
	})
}

// doubter finds no work good enough.
type doubter struct{}

func (doubter) Name() string { return "doubter" }

func (doubter) Reflect(context.Context, reflector.Input) (reflector.Reflection, error) {
	return reflector.Reflection{Assessment: reflector.Assessment{
		GoalAchieved: reflector.No, Progress: reflector.Slow, PercentComplete: 0, Recommendation: reflector.AskUser, Reasoning: "it is slow", NextSteps: []string{},
	}}, nil
}

// TestTrackedWorkIsKept has a run continue another: what was best stays known.
func TestTrackedWorkIsKept(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(time.Minute))
		w.opts.Source, w.opts.Limits.MaxSessions = tracking("....", "x..."), 2
		w.play(t.Context())
		st := w.state()
		if st.Tasks == nil || st.Tasks.Best != 1 || st.Tasks.Stalled != 1 || len(st.Tasks.Steps) != 2 {
			t.Fatalf("the state has %+v", st.Tasks)
		}
		if s := st.Tasks.Steps[1]; s.Completed != 1 || s.Total != 4 || s.Progress != 0.25 || fmt.Sprint(s.Signals) != "[no-progress]" {
			t.Errorf("the last step is %+v", s)
		}
	})
}

// TestGoalEpisodes has a run with goals leave an episode for each that it worked for.
func TestGoalEpisodes(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		done, err := json.Marshal(map[string]any{"summary": "s", "completed": []string{"all"}})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t,
			completed(time.Minute).with(func(r *sessions.Result) {
				r.Report, r.Files, r.Worked, r.Usage = done, []string{"a"}, time.Minute, outcome.Usage{Input: 10, CostUSD: 0.5}
			}),
			ends(outcome.Crashed, time.Minute),
		)
		w.opts.Goals = []pursuit.Goal{{Text: "first"}, {Text: "second"}, {Text: "third"}}
		var learned []episode.Episode
		w.opts.Learn = func(e episode.Episode) error { learned = append(learned, e); return nil }
		w.play(t.Context())
		if len(learned) != 2 {
			t.Fatalf("%d episodes, want one for each goal that was worked for: %+v", len(learned), learned)
		}
		first, second := learned[0], learned[1]
		if first.Task != "first" || !first.Success || first.Status != "completed" || first.Reward != episode.Reward(1, time.Minute) || first.Tokens != 10 || first.CostUSD != 0.5 {
			t.Errorf("the first is %+v", first)
		}
		if second.Success || second.Reward != 0 || second.Status != w.record().ExitCause || !strings.Contains(second.Critique, "Stopped at 0%") {
			t.Errorf("the second is %+v", second)
		}
		if second.RunID != w.opts.RunID || second.Source != "goal" || len(second.Tags) != 2 {
			t.Errorf("the second says of its run %q, %q, %q", second.RunID, second.Source, second.Tags)
		}
	})
}

// TestGoalSteps has the progress of each session be what the looks back had found by
// then, and none before the first.
func TestGoalSteps(t *testing.T) {
	t.Parallel()
	g := pursuit.Goal{
		Totals:   reflector.Totals{Sessions: 5},
		Sessions: []reflector.Session{{Iteration: 2, Worked: true, Files: 1}, {Iteration: 3, Worked: true}, {Iteration: 4}, {Iteration: 5, Worked: true, Files: 1, CostUSD: 0.5}},
		Points:   []pursuit.Point{{Sessions: 3, Percent: 30}, {Sessions: 5, Percent: 70}},
	}
	var got []string
	for _, s := range stepsOf(g) {
		got = append(got, fmt.Sprintf("%d %.1f %v %v %t", s.Iteration, s.Progress, s.Signals, s.CostUSD, s.At.IsZero()))
	}
	want := []string{"2 0.0 [] 0 true", "3 0.3 [no-progress] 0 true", "4 0.3 [error] 0 true", "5 0.7 [] 0.5 true"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLearningIsNoReasonToFail has the episode not be kept.
func TestLearningIsNoReasonToFail(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(time.Minute))
		w.opts.Source = tracking(".", "x")
		w.opts.Learn = func(episode.Episode) error { return errors.New("disk full") }
		w.play(t.Context())
		if r := w.record(); r.ExitCode != ExitWanted {
			t.Errorf("exit code %d", r.ExitCode)
		}
		if !strings.Contains(w.log.String(), "disk full") {
			t.Error("nobody is told")
		}
	})
}
