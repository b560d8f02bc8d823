package episode

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestReward(t *testing.T) {
	t.Parallel()
	tests := []struct {
		iterations int
		d          time.Duration
		want       float64
	}{
		{0, 0, 1},
		{1, 5 * time.Minute, 0.912},
		{3, 15 * time.Minute, 0.762},
		{10, time.Hour, 0.3},
		{50, 4 * time.Hour, 0.1},
		{-5, -time.Hour, 1},
		{math.MaxInt, math.MaxInt64, 0},
	}
	for _, tt := range tests {
		if got := Reward(tt.iterations, tt.d); math.Abs(got-tt.want) > 0.0005 {
			t.Errorf("Reward(%d, %v) = %v, want %v", tt.iterations, tt.d, got, tt.want)
		}
	}
}

func won(score float64, task string, iterations int, reward float64) Match {
	return Match{Score: score, Episode: Episode{Task: task, Success: true, Reward: reward, Iterations: iterations, DurationMS: int64(iterations) * 60_000, Status: "completed"}}
}

func lost(score float64, task, status, critique string, iterations int) Match {
	e := Episode{Task: task, Status: status, Critique: critique, Iterations: iterations}
	for i := range iterations {
		e.Steps = append(e.Steps, Step{Iteration: i, Completed: min(i, 2), Total: 5})
	}
	return Match{Score: score, Episode: e}
}

func TestAdvise(t *testing.T) {
	t.Parallel()
	tagged := won(0.5, "migrate the orders table", 4, 0.8)
	tagged.Tags = []string{"SQL"}
	tagged2 := won(0.45, "rename columns, then migrate the users table", 2, 0.6)
	tagged2.Tags = []string{"sql"}
	got := Advise([]Match{
		tagged,
		lost(0.6, "migrate the audit table", "stalled", "left: backfill\nof old rows", 10),
		tagged2,
		lost(0.4, "migrate the log table", "timeout", "", 3),
		lost(0.1, "write release notes", "stalled", "unrelated", 9), // weak: 0.1 of 0.6
	})
	want := Advice{
		PastFailures: []Past{
			{Task: "migrate the audit table", Critique: "left: backfill\nof old rows"},
			{Task: "migrate the log table"},
		},
		PastSuccesses: []Past{{Task: "migrate the orders table", Reward: 0.8}, {Task: "rename columns, then migrate the users table", Reward: 0.6}},
		Patterns:      []Pattern{{"migrate", 2, 0.7}, {"sql", 2, 0.7}, {"table", 2, 0.7}},
		Recommendations: []string{
			`Break "migrate the audit table" into smaller tasks: it stalled at 40% (2 of 5) after 10 iterations: left: backfill of old rows`,
			`2 similar episodes succeeded in 2 to 4 iterations, half of them within 4m; in common: migrate, sql, table`,
			`"migrate the log table" was not completed before: timeout at 40% (2 of 5) after 3 iterations`,
		},
		Confidence: math.Log(5) / math.Log(11) * 0.5,
	}
	near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAdviseWithoutEvidence(t *testing.T) {
	t.Parallel()
	want := Advice{PastFailures: []Past{}, PastSuccesses: []Past{}, Patterns: []Pattern{}, Recommendations: []string{}}
	for name, list := range map[string][]Match{
		"none": nil, "weak": {won(0.05, "something else", 1, 1), lost(0.04, "other", "stalled", "", 9)}, "no score": {won(math.NaN(), "x", 1, 1)},
	} {
		if diff := cmp.Diff(want, Advise(list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAdviseSingle(t *testing.T) {
	t.Parallel()
	tests := []struct {
		match Match
		want  string
	}{
		{won(0.5, "ship it", 1, 1), `"ship it" succeeded before in 1 iteration and 1m`},
		{Match{Score: 0.5, Episode: Episode{Task: "ship it", Success: true, DurationMS: 1500}}, `"ship it" succeeded before in 0 iterations and 2s`},
		{Match{Score: 0.5, Episode: Episode{Task: "ship it"}}, `"ship it" failed before`},
		{Match{Score: 0.5, Episode: Episode{Task: "a\x1b[31m\n b", Status: "max-iterations", Iterations: 50, Critique: "left: c"}}, `"a[31m b" was not completed before: max-iterations after 50 iterations: left: c`},
		{lost(0.5, "six the same", "timeout", "", 8), `Break "six the same" into smaller tasks: it stalled at 40% (2 of 5) after 8 iterations`},
		{lost(0.5, "five the same", "timeout", "", 7), `"five the same" was not completed before: timeout at 40% (2 of 5) after 7 iterations`},
	}
	for _, tt := range tests {
		got := Advise([]Match{tt.match})
		if diff := cmp.Diff([]string{tt.want}, got.Recommendations); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// The same failure, many times, is one sentence; and confidence grows with agreement.
func TestAdviseConfidence(t *testing.T) {
	t.Parallel()
	var list []Match
	before := 0.0
	for i := range 14 {
		list = append(list, lost(0.5, "deploy the site", "timeout", "no access", 3))
		a := Advise(list)
		if len(a.Recommendations) != 1 || len(a.PastFailures) != min(i+1, 3) {
			t.Fatalf("%d failures: %+v", i+1, a)
		}
		if a.Confidence < before || i < 10 && a.Confidence == before {
			t.Errorf("%d failures: confidence %v after %v", i+1, a.Confidence, before)
		}
		before = a.Confidence
	}
	if before != 1 {
		t.Errorf("ten that agree: confidence %v, want 1", before)
	}
	list[0], list[1] = won(0.5, "deploy", 1, 1), won(0.5, "deploy", 1, 1)
	if got := Advise(list).Confidence; math.Abs(got-0.8) > 1e-9 {
		t.Errorf("eight of ten agree: confidence %v, want 0.8", got)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	a := Advise([]Match{
		won(0.5, "write unit tests for the parser", 1, 0.9),
		won(0.5, "Unit test of the lexer", 1, 0.5),
		won(0.5, "parser: unit tests again, unit tests", 1, 0.7),
		lost(0.5, "lexer lexer", "timeout", "", 1),
	})
	want := []Pattern{{"unit tests", 3, 0.7}, {"parser", 2, 0.8}}
	near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })
	if diff := cmp.Diff(want, a.Patterns, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever the episodes hold, advice keeps its bounds.
func TestAdviceIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var list []Match
		for range rapid.IntRange(0, 15).Draw(t, "matches") {
			m := Match{Score: rapid.Float64Range(0, 1).Draw(t, "score"), Episode: Episode{
				Task: rapid.String().Draw(t, "task"), Status: rapid.String().Draw(t, "status"), Critique: rapid.StringN(0, 300, -1).Draw(t, "critique"),
				Success: rapid.Bool().Draw(t, "success"), Reward: rapid.Float64Range(0, 1).Draw(t, "reward"),
				Iterations: rapid.Int().Draw(t, "iterations"), DurationMS: rapid.Int64().Draw(t, "ms"), Tags: rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "tags"),
			}}
			if rapid.Bool().Draw(t, "steps") {
				m.Steps = []Step{{Completed: rapid.IntRange(-5, 50).Draw(t, "c"), Total: rapid.IntRange(-5, 50).Draw(t, "t")}}
			}
			list = append(list, m)
		}
		a := Advise(list)
		if len(a.PastFailures) > 3 || len(a.PastSuccesses) > 3 || len(a.Patterns) > 5 || len(a.Recommendations) > 3 || !(a.Confidence >= 0 && a.Confidence <= 1) {
			t.Fatalf("%+v", a)
		}
		for _, s := range a.Recommendations {
			if s == "" || utf8.RuneCountInString(s) > 200 || strings.ContainsAny(s, "\n\r\x1b\x00\u2028") {
				t.Fatalf("%q", s)
			}
		}
	})
}

func TestPredict(t *testing.T) {
	t.Parallel()
	known := map[string][]Match{
		"good":   {won(0.5, "x", 1, 0.9), lost(0.25, "x", "timeout", "", 1)},
		"fair":   {won(0.5, "x", 1, 0.5)},
		"failed": {lost(0.5, "x", "timeout", "", 1)},
		"weak":   {won(0.05, "x", 1, 1)},
	}
	recall := func(query string, _ int) ([]Match, error) { return known[query], nil }
	tests := []struct {
		tasks []string
		want  Prediction
	}{
		{nil, Prediction{Action: "Nothing remains", Confidence: 1, Reason: "no task is left that can be done now"}},
		{[]string{"new", "weak"}, Prediction{
			Action: "Work on: new", Reason: "no similar episode yet; the first task that can be done", Remaining: 2,
			Alternatives: []Alternative{{"Work on: weak", 0}},
		}},
		{[]string{"failed", "new"}, Prediction{
			Action: "Work on: failed", Confidence: math.Log(2) / math.Log(11), Reason: "1 similar episode, 0 succeeded, mean reward 0.00", Remaining: 2,
			Alternatives: []Alternative{{"Work on: new", 0}},
		}},
		{[]string{"new", "fair", "failed", "good", "weak"}, Prediction{
			Action: "Work on: good", Confidence: math.Log(3) / math.Log(11) / 2, Reason: "2 similar episodes, 1 succeeded, mean reward 0.60", Remaining: 5,
			Alternatives: []Alternative{{"Work on: fair", 0.5}, {"Work on: new", 0}, {"Work on: failed", 0}},
		}},
		{[]string{"two\nlines\x1b"}, Prediction{
			Action: "Work on: two lines", Reason: "no similar episode yet; the first task that can be done", Remaining: 1,
		}},
	}
	near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })
	for _, tt := range tests {
		if tt.want.Alternatives == nil {
			tt.want.Alternatives = []Alternative{}
		}
		got, err := Predict(tt.tasks, recall)
		if diff := cmp.Diff(tt.want, got, near); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", tt.tasks, err, diff)
		}
	}
}

func TestPredictAsksTwenty(t *testing.T) {
	t.Parallel()
	var tasks []string
	for i := range 30 {
		tasks = append(tasks, fmt.Sprint("task ", i))
	}
	asked := 0
	got, err := Predict(tasks, func(string, int) ([]Match, error) {
		asked++
		return nil, nil
	})
	if err != nil || asked != 20 || got.Remaining != 30 || len(got.Alternatives) != 3 {
		t.Errorf("asked %d times, %+v, %v", asked, got, err)
	}
	broken := errors.New("disk is gone")
	got, err = Predict(tasks, func(string, int) ([]Match, error) { return nil, broken })
	if !errors.Is(err, broken) || got.Action != "Work on: task 0" {
		t.Errorf("with a broken recall: %+v, %v", got, err)
	}
	if got, err = Predict(tasks, nil); err != nil || got.Action != "Work on: task 0" {
		t.Errorf("without recall: %+v, %v", got, err)
	}
}

func TestLearn(t *testing.T) {
	t.Parallel()
	s := small(t.TempDir(), 0)
	for i := range 12 {
		e := Episode{Task: "write unit tests", Success: true, Reward: 0.8, Iterations: 2 + i%3, DurationMS: 120_000, Status: "completed"}
		if i < 2 { // more common among the failures, so no pattern of success
			e.Task = []string{"legacy docs", "legacy pages"}[i]
		}
		if i < 5 {
			e.Steps = []Step{{Iteration: 1}, {Iteration: 2}}
		}
		mustAppend(t, s, e)
	}
	for range 6 {
		mustAppend(t, s, Episode{Task: "write legacy billing", Status: "stalled", Steps: []Step{{Signals: []string{"no-progress"}}}})
	}
	write(t, s.chunk(2), append(read(t, s.chunk(2)), "broken\n"...))
	got, err := s.Learn()
	want := Learned{
		Episodes: 18, Successes: 12, Failures: 6, Trajectories: 5, AvgReward: 0.8 * 12 / 18,
		Patterns:        []Pattern{{"unit tests", 10, 0.8}, {"write unit", 10, 0.8}},
		FailurePatterns: []Pattern{{"legacy billing", 6, 0}, {"write legacy", 6, 0}, {"no-progress", 6, 0}, {"stalled", 6, 0}},
		Recommendations: []string{
			"Break work into smaller tasks when it stalls: 6 of 6 failures had stopped to make progress",
			`Take care with "legacy billing": 6 of 6 episodes with it failed`,
			"Expect 3 iterations and 2m: half of the 12 successes among 18 episodes took no more",
		},
		Confidence: math.Log(19) / math.Log(51),
	}
	near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-9 })
	if diff := cmp.Diff(want, got, near); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// What failures have more often is no pattern of successes, however often these have it.
func TestPatternsTellOutcomesApart(t *testing.T) {
	t.Parallel()
	m := newMiner()
	var won, lost []row
	for i := range 12 {
		won = append(won, m.row(Episode{Task: "unit tests", Reward: 1}))
		if i < 2 {
			won = append(won, m.row(Episode{Task: "legacy docs", Reward: 1}))
		}
		if i < 6 {
			lost = append(lost, m.row(Episode{Task: "legacy billing"}))
		}
	}
	want := []Pattern{{"unit tests", 12, 1}, {"legacy docs", 2, 1}}
	if diff := cmp.Diff(want, patternsOf(m.find(won, lost))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
