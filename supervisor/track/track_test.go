package track

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"autopilot/metrics/episode"
	"autopilot/sessions/task"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/source"
)

func look(completed, failed, total int) source.Track {
	t := source.Track{Count: task.Count{Completed: completed, Failed: failed, Total: total, Percent: 100}}
	if total > 0 {
		t.Percent = 100 * completed / total
	}
	for i := range total - completed {
		t.Open = append(t.Open, fmt.Sprintf("task %d", i+1))
	}
	return t
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	broken := []task.Fault{{Path: "a.json", Why: "cut off"}}
	for _, tt := range []struct {
		name    string
		now     source.Track
		broken  []task.Fault
		stalled int
		want    Verdict
		words   string
	}{
		{"open", look(1, 0, 3), nil, 9, GoOn, ""},
		{"all done", look(3, 0, 3), nil, 0, Done, "all 3 tasks are complete"},
		{"done comes before a stall", look(3, 0, 3), nil, 10, Done, "complete"},
		{"one failed", look(3, 1, 3), nil, 0, Failed, "all 3 tasks are over, 1 of them failed"},
		{"none", look(0, 0, 0), nil, 0, None, "no tasks discovered"},
		{"ten sessions", look(1, 1, 3), nil, 10, Stuck, "no progress in 10 sessions (1/3 tasks complete)"},
		{"a file that cannot be read may hold more", look(3, 0, 3), broken, 9, Hidden, "a.json cannot be read: cut off; all 3"},
		{"that goes on for ten sessions", look(3, 0, 3), broken, 10, Stuck, "no progress in 10 sessions"},
		{"none that can be read", look(0, 0, 0), broken, 0, Hidden, "a.json"},
		{"a file that cannot be read beside open ones", look(1, 0, 3), broken, 0, GoOn, ""},
	} {
		tt.now.Broken = tt.broken
		s := State{Track: tt.now, Stalled: tt.stalled}
		if v, why := s.Verdict(); v != tt.want || !strings.Contains(why, tt.words) {
			t.Errorf("%s: got %q, %q, want %q, %q", tt.name, v, why, tt.want, tt.words)
		}
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	s := Begin(look(1, 0, 4))
	for i, x := range []struct {
		completed, stalled int
		warn               bool
	}{{1, 1, false}, {0, 2, false}, {1, 3, false}, {1, 4, false}, {1, 5, true}, {1, 6, false}, {2, 0, false}, {1, 1, false}, {2, 2, false}, {3, 0, false}} {
		if warn := s.After(look(x.completed, 0, 4), Session{Iteration: i + 1}); warn != x.warn || s.Stalled != x.stalled {
			t.Errorf("session %d: stalled %d, warned %t, want %d, %t", i+1, s.Stalled, warn, x.stalled, x.warn)
		}
	}
	for i := range 2 * keptSteps {
		s.After(look(3, 0, 4), Session{At: time.Unix(int64(i), 0), Iteration: 10 + i, Tokens: 5, CostUSD: 0.5, Error: true})
	}
	if len(s.Steps) != keptSteps {
		t.Fatalf("%d steps are kept, want %d", len(s.Steps), keptSteps)
	}
	last := s.Steps[keptSteps-1]
	if last.Iteration != 9+2*keptSteps || last.Progress != 0.75 || last.Tokens != 5 || last.CostUSD != 0.5 || fmt.Sprint(last.Signals) != "[no-progress error]" {
		t.Errorf("the last step is %+v", last)
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	none := func(context.Context, []gate.Check) []gate.Result { return []gate.Result{{OK: true}} }
	var nobody *State
	if got := nobody.With(none)(t.Context(), nil); len(got) != 1 {
		t.Errorf("without a state: %v", got)
	}
	for completed, ok := range map[int]bool{1: false, 2: true} {
		s := Begin(look(completed, 0, 2))
		got := s.With(none)(t.Context(), nil)
		if len(got) != 2 || got[1].OK != ok || !got[1].Given {
			t.Errorf("%d of 2: %+v", completed, got)
		}
	}
}

func TestEpisode(t *testing.T) {
	t.Parallel()
	s := Begin(look(1, 0, 9))
	s.After(look(1, 0, 9), Session{Iteration: 1})
	s.Names = []string{"a", "b"}
	e := s.Episode(End{Cause: "max-hours-exceeded", Detail: "4 hours", Iterations: 3, Active: time.Hour, Tokens: 7, CostUSD: 2})
	if e.Success || e.Reward != 0 || e.Status != "max-hours-exceeded" || e.Task != "9 tasks: a; b" || e.DurationMS != 3_600_000 || e.Tokens != 7 || e.CostUSD != 2 || len(e.Steps) != 1 {
		t.Errorf("a failure is %+v", e)
	}
	for _, want := range []string{"Stopped at 11%: 4 hours", "Remaining: task 1; task 2", "in the last 1 sessions"} {
		if !strings.Contains(e.Critique, want) {
			t.Errorf("the critique %q lacks %q", e.Critique, want)
		}
	}
	e = s.Episode(End{Cause: "work-done", Done: true, Iterations: 3, Active: time.Hour})
	if !e.Success || e.Reward != episode.Reward(3, time.Hour) || e.Critique != "" || e.Status != "completed" {
		t.Errorf("a success is %+v", e)
	}
	if got := s.Words(); got != "task 1\ntask 2\ntask 3" {
		t.Errorf("earlier work is looked for with %q", got)
	}
}
