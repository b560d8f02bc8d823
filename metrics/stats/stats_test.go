package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/forecast"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
)

// at is a moment, in hours of a day.
func at(hour int) ledger.Stamp {
	return ledger.Stamp(time.Date(2026, 9, 1, hour, 0, 0, 0, time.UTC))
}

// run is a record that ended at an hour, continues another, and lists goals.
func run(id, from string, hour int, goals ...ledger.Goal) ledger.Run {
	return ledger.Run{AutopilotRunID: id, ResumedFrom: from, CompletedAt: at(hour), ExitCause: "max-sessions-reached", Goals: goals}
}

func reached(iterations int) ledger.Goal {
	return ledger.Goal{Text: "a", Status: ledger.GoalAchieved, Iterations: iterations}
}

func open(falseStops int) ledger.Goal {
	return ledger.Goal{Text: "b", Status: ledger.GoalOpen, Iterations: 99, FalseStops: falseStops}
}

func collect(runs ...ledger.Run) *Collector {
	var c Collector
	for _, r := range runs {
		c.Add(r)
	}
	return &c
}

// permute calls fn with every order of the runs.
func permute(runs []ledger.Run, fn func([]ledger.Run)) {
	var walk func(int)
	walk = func(k int) {
		if k == len(runs) {
			fn(runs)
			return
		}
		for i := k; i < len(runs); i++ {
			runs[k], runs[i] = runs[i], runs[k]
			walk(k + 1)
			runs[k], runs[i] = runs[i], runs[k]
		}
	}
	walk(0)
}

// project is a ledger with something of everything.
func project() []ledger.Run {
	band := ledger.Forecast{
		Sessions: ledger.Range{Low: 2, Likely: 3, High: 5}, Seconds: ledger.Range{Low: 100, Likely: 200, High: 300},
		Tokens: ledger.Range{Low: 1000, Likely: 2000, High: 3000}, CostUSD: ledger.Range{Low: 0.5, Likely: 1, High: 1.5},
	}
	a := run("a", "", 1, reached(4), reached(1), open(1))
	a.Sessions, a.IterationsCompleted, a.DurationSeconds, a.WaitedSeconds = []string{"1", "2", "3", "4", "5"}, 4, 1300, 1000
	a.TotalTokensUsed, a.TotalCostUSD, a.Forecast = 4000, 0.1, &band
	a.Termination = &ledger.Termination{Status: ledger.Stopped, Reason: "timeout", Guard: ledger.GuardTimeout}
	a.Reflections = &ledger.Reflections{Count: 4, Failed: 1, Judged: 3, Correct: 2, Score: 0.6, By: map[string]int{"claude": 3, "rules": 1}}
	b := run("b", "", 2, reached(2))
	b.Sessions, b.DurationSeconds, b.TotalTokensUsed, b.TotalCostUSD, b.Forecast = []string{"1"}, 200, 2000, 0.2, &band
	b.Termination = &ledger.Termination{Status: ledger.Completed, Reason: "goal_achieved"}
	b.Reflections = &ledger.Reflections{Count: 1, Judged: 1, Correct: 1, Score: 1, By: map[string]int{"claude": 1}}
	old := ledger.Run{AutopilotRunID: "old", Goal: "write it", ExitCause: "work-done", IterationsCompleted: 3, TotalTokensUsed: 100, DurationSeconds: 10}
	foreign := ledger.Run{AutopilotRunID: "foreign", KillSwitch: new("spiral"), IterationsCompleted: 2}
	asked := run("asked", "", 3, open(0))
	asked.Termination = &ledger.Termination{Status: ledger.Paused, Reason: "stuck"}
	return []ledger.Run{a, b, old, foreign, asked}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	want := Metrics{
		Runs: 5, GoalRuns: 4, Goals: 6, GoalsAchieved: 4, CompletionRate: new(4.0 / 6), MeanIterationsToCompletion: new(10.0 / 4),
		Reflections: Reflections{Count: 5, Failed: 1, Judged: 4, Correct: 3, Accuracy: new(0.75), Score: new(0.7)},
		Reasons:     map[string]int64{Completed: 2, Stuck: 1, Timeout: 1, Error: 1, UserInterrupt: 0},
		FalseStops:  1, FalseStopRate: new(0.2),
		Totals: Totals{Sessions: 11, Tokens: 6100, CostUSD: 0.3, Seconds: 1510},
		// a: sessions and time within, tokens above, cost below; b: 1 session is below 2, cost 0.2 below 0.5
		Forecasts:   Forecasts{Runs: 2, Sessions: new(0.5), Seconds: new(1.0), Tokens: new(0.5), CostUSD: new(0.0)},
		ByReflector: map[string]int64{"claude": 4, "rules": 1},
	}
	permute(project(), func(runs []ledger.Run) {
		if diff := cmp.Diff(want, collect(runs...).Metrics()); diff != "" {
			t.Fatalf("metrics (-want +got):\n%s", diff)
		}
	})
	c := collect(project()...)
	c.Metrics()
	if diff := cmp.Diff(want, c.Metrics()); diff != "" {
		t.Errorf("asked twice (-want +got):\n%s", diff)
	}
}

func TestNothing(t *testing.T) {
	t.Parallel()
	const want = `{"runs":0,"goal_runs":0,"goals":0,"goals_achieved":0,"completion_rate":null,"mean_iterations_to_completion":null,` +
		`"reflections":{"count":0,"failed":0,"judged":0,"correct":0,"accuracy":null,"score":null},` +
		`"reasons":{"completed":0,"error":0,"stuck":0,"timeout":0,"user_interrupt":0},"false_stops":0,"false_stop_rate":null,` +
		`"totals":{"sessions":0,"tokens":0,"cost_usd":0,"seconds":0},` +
		`"forecasts":{"runs":0,"sessions":null,"seconds":null,"tokens":null,"cost_usd":null},"by_reflector":{}}`
	got, err := json.Marshal(new(Collector).Metrics())
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if s := new(Collector).Samples(); len(s) != 0 {
		t.Errorf("samples of nothing: %v", s)
	}
}

func TestWhatCounts(t *testing.T) {
	t.Parallel()
	dry := run("dry", "", 1, reached(1))
	dry.DryRun = true
	for _, tt := range []struct {
		name       string
		rec        ledger.Run
		runs, goal int64
	}{
		{"no id", run("", "", 1, reached(1)), 0, 0},
		{"dry run", dry, 0, 0},
		{"under way", ledger.Run{AutopilotRunID: "x", Goals: []ledger.Goal{open(0)}}, 0, 0},
		{"ended by an exit cause", ledger.Run{AutopilotRunID: "x", ExitCause: "killed", Goals: []ledger.Goal{open(0)}}, 1, 1},
		{"ended by a kill-switch", ledger.Run{AutopilotRunID: "x", KillSwitch: new("spiral")}, 1, 0},
		{"ended by time", ledger.Run{AutopilotRunID: "x", CompletedAt: at(1)}, 1, 0},
		{"ended by a termination", ledger.Run{AutopilotRunID: "x", Termination: &ledger.Termination{}}, 1, 0},
		{"a blank goal", ledger.Run{AutopilotRunID: "x", Goal: " \n", ExitCause: "work-done"}, 1, 0},
	} {
		m := collect(tt.rec).Metrics()
		if m.Runs != tt.runs || m.Goals != tt.goal {
			t.Errorf("%s: got %d runs, %d goals, want %d, %d", tt.name, m.Runs, m.Goals, tt.runs, tt.goal)
		}
	}
}

func TestResumed(t *testing.T) {
	t.Parallel()
	old := func(id, from string, hour int, cause string) ledger.Run {
		r := run(id, from, hour)
		r.Goal, r.ExitCause, r.IterationsCompleted = "text", cause, 2
		return r
	}
	named := func(r ledger.Run, iterations int) ledger.Run {
		r.Termination = &ledger.Termination{Status: ledger.Completed, Iterations: iterations}
		return r
	}
	for _, tt := range []struct {
		name              string
		runs              []ledger.Run
		goals, done, stop int64
		iterations        float64
	}{
		{"three times, at last reached", []ledger.Run{run("a", "", 1, open(1)), run("b", "a", 2, open(1)), run("c", "b", 3, open(2)), run("d", "c", 4, reached(9))}, 1, 1, 0, 9},
		{"once more, the number of goals changes", []ledger.Run{run("a", "", 1, reached(1), open(0)), run("b", "a", 2, reached(1), reached(5), open(3))}, 3, 2, 3, 3},
		{"the clock was set back", []ledger.Run{run("a", "", 9, open(0)), run("b", "a", 2, reached(5))}, 1, 1, 0, 5},
		{"two goals that have nothing to do with each other", []ledger.Run{run("a", "", 1, open(0)), run("b", "", 2, reached(5))}, 2, 1, 0, 5},
		{"the first run is not in the ledger", []ledger.Run{run("b", "gone", 2, open(0)), run("c", "b", 3, reached(5))}, 1, 1, 0, 5},
		{"two continue a run that is not in the ledger", []ledger.Run{run("b", "gone", 2, open(0)), run("c", "gone", 3, reached(5))}, 1, 1, 0, 5},
		{"two continue the same, the later counts", []ledger.Run{run("a", "", 1, open(0)), run("b", "a", 3, reached(5)), run("c", "a", 2, open(7))}, 1, 1, 0, 5},
		{"two continue the same and end at once, the id decides", []ledger.Run{run("a", "", 1, open(0)), run("b", "a", 3, open(4)), run("c", "a", 3, reached(7))}, 1, 1, 0, 7},
		{"the last names no goal", []ledger.Run{run("a", "", 1, reached(3)), run("b", "a", 2)}, 1, 1, 0, 3},
		{"one between names no goal", []ledger.Run{run("a", "", 5, open(8)), run("b", "a", 2), run("c", "b", 1, reached(3))}, 1, 1, 0, 3},
		{"two continue the same, the later is continued by one without goals", []ledger.Run{run("a", "", 1, open(0)), run("b", "a", 3, reached(5)), run("c", "a", 2, open(7)), run("d", "b", 4)}, 1, 1, 0, 5},
		{"none names a goal", []ledger.Run{run("a", "", 1), run("b", "a", 2)}, 0, 0, 0, 0},
		{"itself", []ledger.Run{run("a", "a", 1, reached(3))}, 1, 1, 0, 3},
		{"each other", []ledger.Run{run("a", "b", 1, open(2)), run("b", "a", 2, reached(3))}, 1, 1, 0, 3},
		{"a circle of three, the last names no goal", []ledger.Run{run("a", "c", 1, open(2)), run("b", "a", 2, reached(3)), run("c", "b", 3)}, 1, 1, 0, 3},
		{"out of a circle", []ledger.Run{run("a", "b", 8, open(2)), run("b", "a", 9, open(2)), run("c", "a", 1, reached(3))}, 1, 1, 0, 3},
		{"texts alone", []ledger.Run{old("a", "", 1, "user-abort"), old("b", "a", 2, "work-done")}, 1, 1, 0, 2},
		{"text alone, all sessions are said", []ledger.Run{old("a", "", 1, "user-abort"), named(old("b", "a", 2, ""), 6)}, 1, 1, 0, 6},
		{"text and then list", []ledger.Run{old("a", "", 1, "work-done"), run("b", "a", 2, reached(3), open(0))}, 2, 1, 0, 3},
		{"a parent is not continued", []ledger.Run{run("a", "", 1, open(0)), func() ledger.Run { r := run("b", "", 2, reached(5)); r.ParentRunID = new("a"); return r }()}, 2, 1, 0, 5},
		{"the same record twice", []ledger.Run{run("a", "", 1, reached(3)), run("a", "", 1, reached(3))}, 1, 1, 0, 3},
		{"the same id, the later one counts", []ledger.Run{run("a", "x", 1, open(1)), run("a", "y", 2, reached(3)), run("b", "x", 1, open(1))}, 2, 1, 1, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			permute(tt.runs, func(runs []ledger.Run) {
				m := collect(runs...).Metrics()
				mean := 0.0
				if m.MeanIterationsToCompletion != nil {
					mean = *m.MeanIterationsToCompletion
				}
				if m.Goals != tt.goals || m.GoalsAchieved != tt.done || m.FalseStops != tt.stop || mean != tt.iterations {
					t.Fatalf("%v: got %d goals, %d achieved, %d false stops, %v sessions, want %d, %d, %d, %v",
						ids(runs), m.Goals, m.GoalsAchieved, m.FalseStops, mean, tt.goals, tt.done, tt.stop, tt.iterations)
				}
			})
		})
	}
}

func ids(runs []ledger.Run) []string {
	var out []string
	for _, r := range runs {
		out = append(out, r.AutopilotRunID)
	}
	return out
}

// TestResumedStillCostsMoney counts goals once and money as often as it was spent.
func TestResumedStillCostsMoney(t *testing.T) {
	t.Parallel()
	a, b := run("a", "", 1, open(0)), run("b", "a", 2, reached(5))
	a.TotalCostUSD, b.TotalCostUSD = 0.1, 0.2
	a.Sessions, b.Sessions = []string{"1"}, []string{"2", "3"}
	m := collect(a, b).Metrics()
	if m.Runs != 2 || m.GoalRuns != 2 || m.Reasons[MaxIterations] != 2 {
		t.Errorf("got %d runs, %d with goals, %d by sessions, want 2 of each", m.Runs, m.GoalRuns, m.Reasons[MaxIterations])
	}
	if diff := cmp.Diff(Totals{Sessions: 3, CostUSD: 0.3}, m.Totals); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

// TestForecastOfAResumedRun: it was about the whole way to the goal.
func TestForecastOfAResumedRun(t *testing.T) {
	t.Parallel()
	// link is a run of two sessions, each of 30 s, 100 tokens, $0.10, that is expected
	// to take just so many of them.
	link := func(id, from string, sessions float64) ledger.Run {
		r := run(id, from, 1, open(0))
		r.Sessions, r.DurationSeconds, r.WaitedSeconds, r.TotalTokensUsed, r.TotalCostUSD = []string{"1", "2"}, 100, 40, 200, 0.2
		exactly := func(v float64) ledger.Range { return ledger.Range{Low: v, Likely: v, High: v} }
		if sessions > 0 {
			r.Forecast = &ledger.Forecast{Sessions: exactly(sessions), Seconds: exactly(30 * sessions), Tokens: exactly(100 * sessions), CostUSD: exactly(sessions / 10)}
		}
		return r
	}
	for _, tt := range []struct {
		name string
		runs []ledger.Run
	}{
		{"alone", []ledger.Run{link("a", "", 2)}},
		{"continued", []ledger.Run{link("a", "", 8), link("b", "a", 0), link("c", "b", 0), link("d", "c", 0)}},
		{"continued, with forecasts of the rest", []ledger.Run{link("a", "", 6), link("b", "a", 4), link("c", "b", 2)}},
		{"continued twice", []ledger.Run{link("a", "", 8), link("b", "a", 2), link("c", "a", 4), link("d", "c", 2)}},
		{"continues an unknown one", []ledger.Run{link("a", "x", 4), link("b", "a", 2), link("c", "x", 2)}},
		{"itself", []ledger.Run{link("a", "a", 2)}},
		{"into a circle", []ledger.Run{link("a", "b", 4), link("b", "a", 2), link("c", "a", 2)}},
	} {
		permute(tt.runs, func(runs []ledger.Run) {
			m := collect(runs...).Metrics()
			got := []*float64{m.Forecasts.Sessions, m.Forecasts.Seconds, m.Forecasts.Tokens, m.Forecasts.CostUSD}
			if diff := cmp.Diff([]*float64{new(1.0), new(1.0), new(1.0), new(1.0)}, got); diff != "" {
				t.Fatalf("%s: %v: share that held (-want +got):\n%s", tt.name, ids(runs), diff)
			}
		})
	}
}

// TestSameIDAtOnce is the one case in which the order decides.
func TestSameIDAtOnce(t *testing.T) {
	t.Parallel()
	if m := collect(run("a", "", 1, reached(3)), run("a", "", 1, open(0))).Metrics(); m.GoalsAchieved != 1 {
		t.Errorf("got %d goals achieved, want that of the first record", m.GoalsAchieved)
	}
}

// TestLongChain is one goal that was resumed very often, in both orders.
func TestLongChain(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for _, down := range []bool{false, true} {
		var c Collector
		for i := range n {
			if down {
				i = n - 1 - i
			}
			c.Add(run(fmt.Sprint(i), fmt.Sprint(i-1), 1, open(i%2)))
		}
		m := c.Metrics()
		if m.Runs != n || m.Goals != 1 || m.FalseStops != 1 {
			t.Errorf("down %v: got %d runs, %d goals, %d false stops, want %d, 1, 1", down, m.Runs, m.Goals, m.FalseStops, n)
		}
	}
}

func TestClass(t *testing.T) {
	t.Parallel()
	ended := func(status, guard, reason string) ledger.Run {
		return ledger.Run{ExitCause: "failed-wave", Termination: &ledger.Termination{Status: status, Guard: guard, Reason: reason}}
	}
	cause := func(s string) ledger.Run { return ledger.Run{ExitCause: s, KillSwitch: new("never read")} }
	kill := func(s string) ledger.Run { return ledger.Run{KillSwitch: &s} }
	for _, tt := range []struct {
		rec  ledger.Run
		want string
	}{
		{ended("completed", "", "goal_achieved"), Completed},
		{ended("completed", "MAX_ITERATIONS", "anything"), Completed},
		{ended("paused", "", "stuck"), Stuck},
		{ended("paused", "", "too_slow"), Stuck},
		{ended("paused", "", "question"), Question},
		{ended("paused", "", "low_confidence"), Question},
		{ended("stopped", "", "given_up"), "given_up"},
		{ended("stopped", "", "stall_timeout"), Error},
		{ended("stopped", "ERROR_THRESHOLD", "error_threshold"), Error},
		{ended("paused", "ERROR_THRESHOLD", "errors"), Error},
		{ended("paused", "", ""), Question},
		{ended("stopped", "TIMEOUT", "x"), Timeout},
		{ended("stopped", "", "timeout"), Timeout},
		{ended("stopped", "MAX_ITERATIONS", "x"), MaxIterations},
		{ended("stopped", "COST_LIMIT", "x"), CostLimit},
		{ended("stopped", "", "resource-overload"), Overload},
		{ended("stopped", "", "Disk is full!"), "disk_is_full"},
		{ended("interrupted", "USER_INTERRUPT", "user_stop"), UserInterrupt},
		{ended("interrupted", "", "user_stop"), UserInterrupt},
		{ended("interrupted", "", "killed"), Killed},
		{ended("interrupted", "", ""), UserInterrupt},
		{ended("", "", ""), Error}, // by its exit cause
		{cause("max-sessions-reached"), MaxIterations},
		{cause("max-hours-exceeded"), Timeout},
		{cause("token-budget-exceeded"), CostLimit},
		{cause("user-abort"), UserInterrupt},
		{cause("resource-overload"), Overload},
		{cause("failed-wave"), Error},
		{cause("spiral"), Error},
		{cause("stall-timeout"), Error},
		{cause("carryover-too-high"), Error},
		{cause("error"), Error},
		{cause("low-confidence-fallback"), Question},
		{cause("manual-fallback"), Question},
		{cause("needs-person"), Question},
		{cause("work-done"), Completed},
		{cause("killed"), Killed},
		{cause("Something New"), "something_new"},
		{cause("\x1b[31mred\x1b[0m"), "31mred_0m"},
		{cause(strings.Repeat("a", 1000)), strings.Repeat("a", 40)},
		{kill("max-sessions-reached"), MaxIterations},
		{kill("another-one"), "another_one"},
		{ledger.Run{KillSwitch: new(""), FallbackToManual: true}, Question},
		{ledger.Run{FallbackToManual: true}, Question},
		{ledger.Run{}, Unknown},
	} {
		if got := Class(tt.rec); got != tt.want {
			t.Errorf("%+v, %q: got %q, want %q", tt.rec.Termination, tt.rec.ExitCause, got, tt.want)
		}
	}
}

func TestHostileNumbers(t *testing.T) {
	t.Parallel()
	r := run("a", "", 1, ledger.Goal{Status: ledger.GoalAchieved, Iterations: -5, FalseStops: -3})
	r.TotalCostUSD, r.TotalTokensUsed, r.DurationSeconds, r.IterationsCompleted = math.NaN(), -1, -1, -1
	r.Reflections = &ledger.Reflections{Count: -1, Failed: -1, Judged: 2, Correct: 5, Score: math.NaN(), By: map[string]int{"x": -4}}
	r.Forecast = &ledger.Forecast{Sessions: ledger.Range{Low: 5, Likely: 1, High: 2}, CostUSD: ledger.Range{Low: math.NaN()}}
	want := new(Collector).Metrics()
	want.Runs, want.GoalRuns, want.Goals, want.GoalsAchieved = 1, 1, 1, 1
	want.CompletionRate, want.MeanIterationsToCompletion, want.FalseStopRate = new(1.0), new(0.0), new(0.0)
	want.Reflections = Reflections{Judged: 2, Correct: 2, Accuracy: new(1.0), Score: new(0.0)}
	want.Reasons[MaxIterations], want.Forecasts.Runs = 1, 1
	if diff := cmp.Diff(want, collect(r).Metrics()); diff != "" {
		t.Errorf("numbers that cannot be (-want +got):\n%s", diff)
	}
	huge := func(id string) ledger.Run {
		r := run(id, "", 1, ledger.Goal{Status: ledger.GoalAchieved, Iterations: math.MaxInt, FalseStops: math.MaxInt})
		r.TotalCostUSD, r.TotalTokensUsed, r.DurationSeconds, r.IterationsCompleted = math.MaxFloat64, math.MaxInt64, math.MaxInt64, math.MaxInt
		r.Reflections = &ledger.Reflections{Count: math.MaxInt, Judged: math.MaxInt, Correct: math.MaxInt, Score: math.Inf(1), By: map[string]int{"x": math.MaxInt}}
		return r
	}
	m := collect(huge("a"), huge("b"), huge("c")).Metrics()
	if _, err := json.Marshal(m); err != nil {
		t.Error(err)
	}
	if m.Totals.Tokens != math.MaxInt64 || m.FalseStops != math.MaxInt64 || m.ByReflector["x"] != math.MaxInt64 {
		t.Errorf("sums turned over: %+v", m)
	}
	if !(m.Totals.CostUSD > 0) || !(*m.Reflections.Score <= 1) || !(*m.FalseStopRate <= 1) {
		t.Errorf("out of bounds: cost %v, score %v, false stops %v", m.Totals.CostUSD, *m.Reflections.Score, *m.FalseStopRate)
	}
}

// TestManyNames is a ledger whose writer puts numbers into its reasons.
func TestManyNames(t *testing.T) {
	t.Parallel()
	var c Collector
	for i := range 1000 {
		r := run(fmt.Sprint("r", i), "", 1)
		r.ExitCause = fmt.Sprintf("reason-%d", i)
		r.Reflections = &ledger.Reflections{By: map[string]int{fmt.Sprint("model\n", i): 1, "usual": 2, "\x1b": 1, "other": 1}}
		c.Add(r)
	}
	stuck := run("stuck", "", 1)
	stuck.ExitCause = "stuck"
	c.Add(stuck)
	m := c.Metrics()
	for name, counts := range map[string]map[string]int64{"reasons": m.Reasons, "reflectors": m.ByReflector} {
		sum := int64(0)
		for _, n := range counts {
			sum += n
		}
		want := map[string]int64{"reasons": 1001, "reflectors": 5000}[name]
		if len(counts) > maxNames+1 || sum != want {
			t.Errorf("%s: got %d names with %d, want at most %d with %d", name, len(counts), sum, maxNames+1, want)
		}
	}
	if _, ok := m.Reasons[Timeout]; !ok || m.Reasons[Stuck] != 1 || m.ByReflector["usual"] != 2000 || m.ByReflector[Unknown] != 1000 {
		t.Errorf("what is usual is gone: %v, %v", m.Reasons, m.ByReflector)
	}
	if strings.ContainsAny(m.Text(), "\x1b") || strings.Contains(m.Text(), "model\n") {
		t.Error("a name brings its control characters along")
	}
}

func TestSamples(t *testing.T) {
	t.Parallel()
	a, b := run("a", "", 1, open(0)), run("b", "a", 5, reached(5), reached(1))
	a.Sessions, a.DurationSeconds, a.WaitedSeconds, a.TotalTokensUsed, a.TotalCostUSD = []string{"1"}, 100, 40, 1000, 0.1
	b.Sessions, b.DurationSeconds, b.TotalTokensUsed, b.TotalCostUSD = []string{"2", "3"}, 200, 3000, 0.2
	idle, lifecycle := run("idle", "", 1, open(0)), run("lifecycle", "", 1)
	lifecycle.Sessions = []string{"4"}
	want := []forecast.Sample{{Size: 6, Sessions: 3, Seconds: 260, Tokens: 4000, CostUSD: 0.3, Achieved: true, At: time.Time(at(5))}}
	permute([]ledger.Run{a, b, idle, lifecycle}, func(runs []ledger.Run) {
		c := Collector{Size: func(string) int { return 3 }}
		for _, r := range runs {
			c.Add(r)
		}
		if diff := cmp.Diff(want, c.Samples()); diff != "" {
			t.Fatalf("%v: samples (-want +got):\n%s", ids(runs), diff)
		}
	})
}

func TestSamplesReached(t *testing.T) {
	t.Parallel()
	text := ledger.Run{AutopilotRunID: "a", Goal: "x", ExitCause: "work-done"}
	stopped := ledger.Run{AutopilotRunID: "a", Goal: "x", ExitCause: "spiral"}
	completed := run("a", "", 1, reached(1), open(0))
	completed.Termination = &ledger.Termination{Status: ledger.Completed}
	for _, tt := range []struct {
		name string
		rec  ledger.Run
		want bool
	}{
		{"all", run("a", "", 1, reached(1), reached(1)), true},
		{"some", run("a", "", 1, reached(1), open(0)), false},
		{"some, and completed", completed, true},
		{"text, work done", text, true},
		{"text, stopped", stopped, false},
	} {
		tt.rec.IterationsCompleted = 1
		if s := collect(tt.rec).Samples(); len(s) != 1 || s[0].Achieved != tt.want {
			t.Errorf("%s: got %+v, want one with achieved %v", tt.name, s, tt.want)
		}
	}
}

// TestFromALedger reads a file as others leave it.
func TestFromALedger(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ledger.RunsFile)
	var b strings.Builder
	for _, r := range project() {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	b.WriteString(`{"schema_version":1,"run_id":"x","kind":"multi-story-coordinator","stop_reason":"done"}` + "\n")
	b.WriteString("{broken\n[]\nnull\n5\n" + `{"autopilot_run_id":"torn","exit_cause":"work-done"`)
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var c Collector
	err := journal.Each(path, func(_ int, line []byte) error {
		var r ledger.Run
		if json.Unmarshal(line, &r) == nil {
			c.Add(r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(collect(project()...).Metrics(), c.Metrics()); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
