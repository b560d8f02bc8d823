package completion

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/metrics/episode"
	"autopilot/sessions/task"
)

func noon() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

func at(minutes int) time.Time { return noon().Add(time.Duration(minutes) * time.Minute) }

// list makes tasks of their states, one letter each: c completed, f failed, p
// pending, b blocked.
func list(states string) []task.Task {
	out := []task.Task{}
	for i, r := range states {
		t := task.Task{ID: fmt.Sprint(i + 1), Subject: fmt.Sprintf("task %d", i+1), Source: task.FileChecklist}
		t.Status = map[rune]string{'c': "completed", 'f': "failed", 'p': "pending", 'b': "pending"}[r]
		if r == 'b' {
			t.Blocked, t.BlockedBy = true, []string{"1"}
		}
		out = append(out, t)
	}
	return out
}

// running is a state that was enabled at noon.
func running(change func(*State)) State {
	s := State{SessionID: "s", Enabled: true, Settings: Desk{}.settings(nil)}
	s.fresh(noon())
	if change != nil {
		change(&s)
	}
	return s
}

func TestCheckOrder(t *testing.T) {
	t.Parallel()
	spent := func(s *State) { // every limit at once
		s.Iterations, s.TimeoutMinutes, s.MaxTokens, s.Tokens, s.Best, s.Blocks = 50, 1, 10, 10, 9, 8
	}
	hook := Facts{InHook: true, BlockCap: 8, TurnGoesOn: true}
	tests := []struct {
		name    string
		state   func(*State)
		tasks   string
		facts   Facts
		minutes int
		want    Decision // without events, episode and prompt
		enabled bool
		events  string
	}{
		{"disabled", func(s *State) { s.Enabled = false; spent(s) }, "cc", hook, 9, Decision{AllowStop: true, Reason: "Autopilot disabled"}, false, ""},
		{"no task", spent, "", hook, 9, Decision{AllowStop: true, Reason: "No tasks discovered from any source"}, true, ""},
		{"complete beats every limit", spent, "cc", hook, 9, Decision{AllowStop: true, Reason: "All 2 tasks complete (50 iterations, reward: 0.44)", Outcome: AllComplete}, false, "all-tasks-complete"},
		{"all over, one failed", spent, "cf", hook, 9, Decision{AllowStop: true, Reason: "All 2 tasks complete (50 iterations, reward: 0.00, 1 failed)", Outcome: AllComplete}, false, "all-tasks-complete"},
		{"a failed task is open where all have to succeed", func(s *State) { s.Criteria = AllSucceeded }, "cf", hook, 9, Decision{Reason: "1/2 tasks remaining (iteration 1/50)"}, true, "re-engaging"},
		{"max iterations beats the rest", spent, "cp", hook, 9, Decision{AllowStop: true, Reason: "Max iterations (50) reached", Outcome: OutOfTurns}, false, "max-iterations-reached"},
		{"the last iteration", func(s *State) { s.Iterations = 49; s.Progressed = 49 }, "cp", hook, 9, Decision{Reason: "1/2 tasks remaining (iteration 50/50)"}, true, "re-engaging"},
		{"timeout beats the rest", func(s *State) { spent(s); s.Iterations = 49 }, "cp", hook, 1, Decision{AllowStop: true, Reason: "Timeout (1 min) reached", Outcome: OutOfTime}, false, "timeout-reached"},
		{"budget beats the rest", func(s *State) { spent(s); s.Iterations = 49 }, "cp", hook, 0, Decision{AllowStop: true, Reason: "Token budget (10) reached", Outcome: OutOfTokens}, false, "budget-reached"},
		{"budget reached by this turn", func(s *State) { s.MaxTokens, s.Tokens = 10, 4 }, "cp", Facts{Tokens: 6}, 0, Decision{AllowStop: true, Reason: "Token budget (10) reached", Outcome: OutOfTokens}, false, "budget-reached"},
		{"a token left", func(s *State) { s.MaxTokens, s.Tokens = 10, 4 }, "cp", Facts{Tokens: 5}, 0, Decision{Reason: "1/2 tasks remaining (iteration 1/50)"}, true, "re-engaging"},
		{"stall beats the block cap", func(s *State) { s.Iterations, s.Best, s.Blocks = 10, 1, 8 }, "cpp", hook, 0, Decision{AllowStop: true, Reason: "Stalled: no progress in 10 iterations (1/3 complete)", Outcome: WithoutGain}, false, "stall-auto-disable"},
		{"an iteration before the stall", func(s *State) { s.Iterations, s.Best = 9, 1 }, "cpp", hook, 0, Decision{Reason: "2/3 tasks remaining (iteration 10/50)"}, true, "re-engaging"},
		{"progress ends a stall", func(s *State) { s.Iterations, s.Best = 10, 1 }, "ccp", hook, 0, Decision{Reason: "1/3 tasks remaining (iteration 11/50)"}, true, "re-engaging"},
		{"block cap", func(s *State) { s.Blocks = 8 }, "cp", hook, 0, Decision{AllowStop: true, Reason: "Let go after 8 refusals in a row without a tool call; still enabled"}, true, "let-go"},
		{"one block left", func(s *State) { s.Blocks = 7 }, "cp", hook, 0, Decision{Reason: "1/2 tasks remaining (iteration 1/50)"}, true, "re-engaging"},
		{"no block cap", func(s *State) { s.Blocks = 99 }, "cp", Facts{InHook: true, TurnGoesOn: true}, 0, Decision{Reason: "1/2 tasks remaining (iteration 1/50)"}, true, "re-engaging"},
		{"block cap, but a tool was used", func(s *State) { s.Blocks = 8 }, "cp", Facts{InHook: true, BlockCap: 8, TurnGoesOn: true, ToolsUsed: true}, 0, Decision{Reason: "1/2 tasks remaining (iteration 1/50)"}, true, "re-engaging"},
		{"block cap, but a new turn", func(s *State) { s.Blocks = 8 }, "cp", Facts{InHook: true, BlockCap: 8}, 0, Decision{Reason: "1/2 tasks remaining (iteration 1/50)"}, true, "re-engaging"},
		{"block cap outside of the hook", func(s *State) { s.Blocks = 8 }, "cp", Facts{BlockCap: 8, TurnGoesOn: true}, 0, Decision{Reason: "1/2 tasks remaining (iteration 1/50)"}, true, "re-engaging"},
		{"the fifth iteration without progress", func(s *State) { s.Iterations, s.Best = 5, 1 }, "cp", hook, 0, Decision{Reason: "1/2 tasks remaining (iteration 6/50)"}, true, "re-engaging stall-warning"},
		{"the sixth one", func(s *State) { s.Iterations, s.Best = 6, 1 }, "cp", hook, 0, Decision{Reason: "1/2 tasks remaining (iteration 7/50)"}, true, "re-engaging"},
		{"one blocked task is a task", nil, "b", hook, 0, Decision{Reason: "1/1 tasks remaining (iteration 1/50)"}, true, "re-engaging"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := running(tt.state)
			before := s
			f := tt.facts
			f.Tasks, f.Now = list(tt.tasks), at(tt.minutes)
			d := Check(&s, f)
			var events []string
			for _, e := range d.Events {
				events = append(events, e["event"].(string))
			}
			if got := strings.Join(events, " "); got != tt.events {
				t.Errorf("events %q, want %q", got, tt.events)
			}
			if (d.ContinueWith != "") == d.AllowStop {
				t.Errorf("stop allowed %v beside prompt %q", d.AllowStop, d.ContinueWith)
			}
			if (d.Episode != nil) != (d.Outcome != "") {
				t.Errorf("episode %+v with outcome %q", d.Episode, d.Outcome)
			}
			if counted := s.Iterations - before.Iterations; (counted == 1) == d.AllowStop || counted < 0 || counted > 1 {
				t.Errorf("%d iterations were counted", counted)
			}
			d.Events, d.Episode, d.ContinueWith = nil, nil, ""
			if diff := cmp.Diff(tt.want, d); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if s.Enabled != tt.enabled {
				t.Errorf("enabled %v afterwards, want %v", s.Enabled, tt.enabled)
			}
		})
	}
}

func TestCheckTimeout(t *testing.T) {
	t.Parallel()
	minutes := func(n int) *int64 { ms := at(n).UnixMilli(); return &ms }
	tests := []struct {
		name  string
		last  *int64
		now   time.Time
		stops bool
	}{
		{"just before", minutes(1), at(240).Add(-time.Millisecond), false},
		{"on time", minutes(1), at(240), true},
		{"long after", minutes(1), at(9999), true},
		{"clock set back before the first check", nil, at(-9999), false},
		{"clock set back after three hours", minutes(180), at(-500), false},
		{"clock set back when the time was over", minutes(240), at(-500), true},
	}
	for _, tt := range tests {
		s := running(func(s *State) { s.LastCheck = tt.last })
		d := Check(&s, Facts{Tasks: list("p"), Now: tt.now})
		if d.AllowStop != tt.stops {
			t.Errorf("%s: %+v, want stop %v", tt.name, d, tt.stops)
		}
	}
	// A clock that goes back again and again does not hold for ever: the time between
	// two jumps adds up.
	s := running(func(s *State) { s.MaxIterations = MostIterations })
	now, n := noon(), 0
	for ; n < 100 && s.Enabled; n++ {
		Check(&s, Facts{Tasks: list(strings.Repeat("c", n) + "p"), Now: now})
		Check(&s, Facts{Tasks: list(strings.Repeat("c", n) + "p"), Now: now.Add(10 * time.Minute)})
		now = now.Add(-time.Hour)
	}
	if n != 24 {
		t.Errorf("24 times 10 minutes ended after %d times", n)
	}
}

// TestCheckStall walks through a whole stall: ten iterations are granted without
// progress, with a warning from the fifth on, and the look after the tenth ends it.
func TestCheckStall(t *testing.T) {
	t.Parallel()
	s := running(nil)
	step := func(n int, tasks string) Decision { return Check(&s, Facts{Tasks: list(tasks), Now: at(n), Tokens: 7}) }
	step(0, "cppp")
	step(1, "ccpp")
	step(2, "cppp") // one less than at the best time
	step(3, "ccpp") // back again is no progress
	for n := 4; n <= 10; n++ {
		d := step(n, "ccpp")
		if got, want := strings.Contains(d.ContinueWith, "WARNING: No progress in"), n >= 6; got != want || d.AllowStop {
			t.Errorf("check %d: warned %v, want %v: %+v", n, got, want, d)
		}
	}
	d := step(11, "ccpp")
	if d.Outcome != WithoutGain || d.Reason != "Stalled: no progress in 10 iterations (2/4 complete)" || s.Iterations != 11 {
		t.Fatalf("check 11: %+v after %d iterations", d, s.Iterations)
	}
	want := "Stopped at 50%: remaining: task 3, task 4. No progress in 10 iterations and 10 min, between 1 and 2 of 4 complete: tasks were completed and opened again"
	if diff := cmp.Diff(want, d.Episode.Critique); diff != "" {
		t.Errorf("critique (-want +got):\n%s", diff)
	}
	if n := len(d.Episode.Steps); n != 11 {
		t.Fatalf("%d steps", n)
	}
	for i, st := range d.Episode.Steps {
		if got, want := len(st.Signals) > 0, i >= 2; got != want || st.Tokens != 7 || st.Iteration != i+1 {
			t.Errorf("step %d: %+v", i, st)
		}
	}
}

func TestStallPattern(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ steps, want string }{
		{"cp", "at 1 of 2 complete: the same tasks remained"},
		{"cp cpp", "at 1 of 3 complete, while the number of tasks changed"},
	} {
		s := running(nil)
		steps := strings.Fields(tt.steps)
		var d Decision
		for n := range 11 {
			d = Check(&s, Facts{Tasks: list(steps[min(n/5, len(steps)-1)]), Now: at(n)})
		}
		if d.Episode == nil || !strings.HasSuffix(d.Episode.Critique, ". No progress in 10 iterations and 10 min, "+tt.want) {
			t.Errorf("%s: %+v, want %s", tt.steps, d.Episode, tt.want)
		}
	}
}

func TestCheckEpisodes(t *testing.T) {
	t.Parallel()
	steps := []episode.Step{{At: noon().Local(), Iteration: 1, Completed: 1, Total: 4, Progress: 0.25, Tokens: 5}}
	base := episode.Episode{At: at(240), SessionID: "s", Source: "session", Iterations: 1, DurationMS: 240 * 60000, Tokens: 5, Steps: steps}
	of := func(change func(*episode.Episode)) episode.Episode { e := base; change(&e); return e }
	tests := []struct {
		name, tasks string
		want        episode.Episode
	}{
		{"complete", "cccc", of(func(e *episode.Episode) {
			e.Task, e.Status, e.Success, e.Reward, e.Tags = "task 1, task 2, task 3, task 4", "completed", true, episode.Reward(1, 4*time.Hour), []string{"all-tasks-complete"}
		})},
		{"some failed", "cfcf", of(func(e *episode.Episode) {
			e.Task, e.Status, e.Tags = "task 1, task 2, task 3, task 4", "failed-tasks", []string{"all-tasks-complete"}
			e.Critique = "2 of 4 tasks failed: task 2, task 4"
		})},
		{"out of time", "cbpppppppppp", of(func(e *episode.Episode) {
			e.Task, e.Status, e.Tags = "task 3, task 4, task 5, task 6, task 7, task 8, task 9, task 10 (+3 more)", "timeout", []string{"timeout"}
			e.Critique = "Stopped at 8%: remaining: task 3, task 4, task 5 (+8 more)"
		})},
	}
	for _, tt := range tests {
		s := running(nil)
		Check(&s, Facts{Tasks: list("cppp"), Now: noon(), Tokens: 5})
		d := Check(&s, Facts{Tasks: list(tt.tasks), Now: at(240)})
		if d.Episode == nil {
			t.Fatalf("%s: no episode: %+v", tt.name, d)
		}
		if diff := cmp.Diff(tt.want, *d.Episode); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := running(func(s *State) { s.MaxIterations = MostIterations })
	for n := range 120 {
		if d := Check(&s, Facts{Tasks: list(strings.Repeat("c", n) + "p"), Now: at(1)}); d.AllowStop {
			t.Fatalf("check %d: %+v", n, d)
		}
	}
	if n := len(s.History); n != keptPoints || s.History[0].Iteration != 71 || s.History[n-1].Iteration != 120 {
		t.Errorf("%d points, from %+v to %+v", n, s.History[0], s.History[n-1])
	}
}

func TestFresh(t *testing.T) {
	t.Parallel()
	s := running(nil)
	for n := range 11 {
		Check(&s, Facts{Tasks: list("cp"), Now: at(n), Tokens: 1, InHook: true})
	}
	s.fresh(at(20))
	s.Enabled = true
	want := running(nil)
	want.StartTime = at(20).UnixMilli()
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("after a stall (-want +got):\n%s", diff)
	}
}

// TestCheckProperties runs sessions of random events.
func TestCheckProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 40).Draw(t, "max")
		s := running(func(s *State) {
			s.MaxIterations, s.TimeoutMinutes = most, rapid.IntRange(1, 200).Draw(t, "minutes")
			s.MaxTokens = rapid.Int64Range(0, 500).Draw(t, "budget")
			s.Criteria = rapid.SampledFrom([]string{AllDone, AllSucceeded}).Draw(t, "criteria")
		})
		limit := rapid.IntRange(0, 9).Draw(t, "cap")
		refusals, row, sinceGain, best := 0, 0, 0, -1
		now := noon()
		for range rapid.IntRange(1, 120).Draw(t, "checks") {
			now = now.Add(time.Duration(rapid.IntRange(-30, 30).Draw(t, "pass")) * time.Minute)
			states := rapid.StringOfN(rapid.SampledFrom([]rune("cfpb")), 0, 6, -1).Draw(t, "tasks")
			f := Facts{
				Tasks: list(states), Now: now, InHook: rapid.Bool().Draw(t, "hook"), BlockCap: limit, TurnGoesOn: rapid.Bool().Draw(t, "on"),
				ToolsUsed: rapid.Bool().Draw(t, "tools"), Tokens: rapid.Int64Range(0, 40).Draw(t, "tokens"),
			}
			if f.InHook && (f.ToolsUsed || !f.TurnGoesOn) {
				row = 0
			}
			was := s.Enabled
			d := Check(&s, f)
			open := strings.ContainsAny(states, "pb") || s.Criteria == AllSucceeded && strings.Contains(states, "f")
			done := strings.Count(states, "c")
			if s.Criteria == AllDone {
				done += strings.Count(states, "f")
			}
			if was && states != "" && (done > best || refusals == 0) {
				best, sinceGain = max(best, done), 0
				if refusals == 0 {
					best = done
				}
			}
			switch {
			case !was && !d.AllowStop:
				t.Fatalf("held while disabled: %+v", d)
			case was && states != "" && !open && d.Outcome != AllComplete:
				t.Fatalf("complete, but %+v", d)
			case open && d.Outcome == AllComplete:
				t.Fatalf("tasks %s are complete: %+v", states, d)
			case states == "" && !d.AllowStop:
				t.Fatalf("held without tasks: %+v", d)
			case s.Enabled && d.Outcome != "", was && !s.Enabled && d.Outcome == "":
				t.Fatalf("enabled %v after %+v", s.Enabled, d)
			}
			if d.AllowStop {
				continue
			}
			refusals++
			sinceGain++
			if f.InHook {
				row++
			}
			if refusals > most || s.Iterations != refusals {
				t.Fatalf("%d refusals, %d counted, most %d", refusals, s.Iterations, most)
			}
			if limit > 0 && row > limit {
				t.Fatalf("%d refusals in a row, the cap is %d", row, limit)
			}
			if sinceGain > StallLimit {
				t.Fatalf("%d refusals without progress", sinceGain)
			}
		}
	})
}
