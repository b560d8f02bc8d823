package pursuit

import (
	"math"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
)

func TestScore(t *testing.T) {
	t.Parallel()
	const (
		good, slow, stuck = reflector.Good, reflector.Slow, reflector.Stuck
		on, stop, ask     = reflector.Continue, reflector.Stop, reflector.AskUser
	)
	for _, c := range []struct {
		name     string
		progress reflector.Progress
		advice   reflector.Recommendation
		outcome  outcome // expected, actual, gain, effect
		want     float64
		right    bool
	}{
		{"all right", good, on, outcome{50, 50, 10, true}, 1, true},
		{"forecast 20 too high", good, on, outcome{60, 40, 10, true}, 0.92, true},
		{"forecast 20 too low", good, on, outcome{40, 60, 10, true}, 0.92, true},
		{"forecast as wrong as can be", good, on, outcome{0, 100, 100, true}, 0.6, true},
		{"good, and nothing came", good, on, outcome{50, 30, 0, false}, 0.32, false},
		{"good, and only words came", good, on, outcome{50, 50, 20, false}, 0.4, false},
		{"good, and changes without gain", good, on, outcome{50, 50, 0, true}, 0.4, false},
		{"asked, and it went on well", good, ask, outcome{50, 50, 5, true}, 0.7, true},
		{"slow, and little came", slow, on, outcome{50, 50, 10, true}, 1, true},
		{"slow, and much came", slow, on, outcome{50, 50, 10.5, true}, 0.7, false},
		{"slow, and it went back", slow, on, outcome{45, 40, -5, true}, 0.68, true},
		{"slow, and only words came", slow, on, outcome{50, 50, 5, false}, 0.7, true},
		{"slow, and nothing came", slow, ask, outcome{50, 50, 0, false}, 0.7, false},
		{"stuck indeed", stuck, ask, outcome{50, 50, 0, false}, 1, true},
		{"stuck in spite of changes", stuck, stop, outcome{50, 50, 0, true}, 1, true},
		{"stuck by words alone", stuck, ask, outcome{50, 50, 9, false}, 1, true},
		{"stuck, and it went on well", stuck, ask, outcome{20, 40, 20, true}, 0.32, false},
		{"stuck, and to be continued", stuck, on, outcome{50, 50, 0, false}, 0.7, true},
	} {
		got, right := score(reflector.Assessment{Progress: c.progress, Recommendation: c.advice}, c.outcome)
		if math.Abs(got-c.want) > 1e-9 || right != c.right {
			t.Errorf("%s: got %v, %t, want %v, %t", c.name, got, right, c.want, c.right)
		}
	}
}

// TestAccuracyOverARun has the numbers of four reflections computed by hand.
func TestAccuracyOverARun(t *testing.T) {
	t.Parallel()
	s := Begin(goals(2), 1)
	r := &asked{usage: reflector.Usage{Input: 10, Output: 5, CacheCreation: 2, CacheRead: 1000, CostUSD: 0.125}}
	look := func(a reflector.Assessment) {
		t.Helper()
		r.assessment = a
		s.reflect(t, Options{Reflector: r}, Occasion{Left: reflector.Left{Sessions: 9}})
	}
	want := ledger.Reflections{By: map[string]int{"oracle": 1}, Count: 1, Tokens: 17, CostUSD: 0.125}
	worked(&s, 2)
	look(good(20)) // 10 a session
	same(t, "nothing to compare", want, s.Tally)

	worked(&s, 2)
	look(good(50)) // expected 40: 0.4 * 0.9 + 0.6
	want.By, want.Count, want.Tokens, want.CostUSD = map[string]int{"oracle": 2}, 2, 34, 0.25
	want.Judged, want.Correct, want.Score = 1, 1, 0.96
	same(t, "right", want, s.Tally)

	one(&s, reflector.Session{Duration: time.Hour})
	look(assessment(reflector.No, reflector.Stuck, 50, reflector.Continue)) // expected 50 + 12.5: 0.4 * 0.875, and both wrong
	want.By, want.Count, want.Tokens, want.CostUSD = map[string]int{"oracle": 3}, 3, 51, 0.375
	want.Judged, want.Score = 2, (0.96+0.35)/2
	same(t, "wrong", want, s.Tally)

	r.err = errSilent
	worked(&s, 1)
	s.reflect(t, Options{Reflector: r}, Occasion{Left: reflector.Left{Sessions: 9}})
	want.By, want.Count, want.Tokens, want.CostUSD, want.Failed = map[string]int{"oracle": 4}, 4, 68, 0.5, 1
	same(t, "one that came to nothing is not judged", want, s.Tally)

	r.err = nil
	worked(&s, 1)
	look(good(90)) // two sessions at 10 a session, expected 70: 0.4 * 0.8; it went on as advised, and it was not stuck
	want.By, want.Count, want.Tokens, want.CostUSD = map[string]int{"oracle": 5}, 5, 85, 0.625
	want.Judged, want.Score = 3, (0.96+0.35+0.62)/3
	same(t, "after one that came to nothing", want, s.Tally)

	s.Goals[0].Status = ledger.GoalAchieved
	worked(&s, 1)
	look(good(10))
	want.By, want.Count, want.Tokens, want.CostUSD = map[string]int{"oracle": 6}, 6, 102, 0.75
	same(t, "the first one of another goal", want, s.Tally)
}

// TestForecastIsNeverAboveAHundred has one session too many at the velocity so far.
func TestForecastIsNeverAboveAHundred(t *testing.T) {
	t.Parallel()
	s := Begin(goals(1), 1)
	r := &asked{assessment: good(80)}
	worked(&s, 1)
	s.reflect(t, Options{Reflector: r}, Occasion{})
	worked(&s, 2)
	r.assessment = good(90)
	s.reflect(t, Options{Reflector: r}, Occasion{})
	same(t, "score", 0.96, s.Tally.Score) // expected 100, not 240
}

// TestOnlyWhatCameAfterCounts has an effect before a reflection and none after it.
func TestOnlyWhatCameAfterCounts(t *testing.T) {
	t.Parallel()
	s := Begin(goals(1), 1)
	r := &asked{assessment: good(20)}
	worked(&s, 1)
	s.reflect(t, Options{Reflector: r}, Occasion{})
	one(&s, reflector.Session{})
	r.assessment = good(40)
	s.reflect(t, Options{Reflector: r}, Occasion{})
	same(t, "score", 0.4, s.Tally.Score) // the forecast alone was right
}
