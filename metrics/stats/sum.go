package stats

import (
	"cmp"
	"maps"
	"slices"

	"autopilot/metrics/forecast"
	"autopilot/metrics/ledger"
)

// quantities are sessions, time, tokens, cost.
const quantities = 4

// maxNames bounds the names in a distribution; what is rarer is counted together.
const (
	maxNames = 40
	other    = "other"
)

// Metrics returns the metrics over what was added so far.
func (c *Collector) Metrics() Metrics {
	s := sums{reasons: map[string]int64{}, by: map[string]int64{}}
	took := c.onward()
	for i, a := range c.attempts {
		if a.known {
			s.run(a)
			s.compare(a.forecast, took[i])
		}
	}
	for _, i := range c.speakers(c.groups()) {
		if i >= 0 {
			s.goal(c.attempts[i])
		}
	}
	return s.metrics()
}

// sums are what Metrics are made from.
type sums struct {
	runs, goalRuns, goals, done, iterations, stops int64
	count, failed, judged, correct, score          int64
	spent                                          spent
	seconds, forecasts                             int64
	compared, held                                 [quantities]int64
	reasons, by                                    map[string]int64
}

func (s *sums) run(a *attempt) {
	s.runs++
	if a.hasGoal {
		s.goalRuns++
	}
	s.reasons[a.reason]++
	s.count, s.failed = plus(s.count, a.count), plus(s.failed, a.failed)
	s.judged, s.correct, s.score = plus(s.judged, a.judged), plus(s.correct, a.correct), plus(s.score, a.score)
	for _, b := range a.by {
		s.by[b.name] = plus(s.by[b.name], b.n)
	}
	s.spent.add(a.spent)
	s.seconds = plus(s.seconds, a.seconds)
}

// compare counts the quantities of a forecast that held.
func (s *sums) compare(f *ledger.Forecast, took spent) {
	if f == nil {
		return
	}
	s.forecasts++
	got := forecast.Compare(*f, forecast.Truth{
		Sessions: int(took.sessions), Seconds: float64(took.work), Tokens: float64(took.tokens), CostUSD: took.dollars(),
	})
	for i, q := range [quantities]forecast.Judged{got.Sessions, got.Seconds, got.Tokens, got.CostUSD} {
		if q.Verdict != forecast.Unknown {
			s.compared[i]++
		}
		if q.Verdict == forecast.Within {
			s.held[i]++
		}
	}
}

func (s *sums) goal(a *attempt) {
	s.goals, s.done = plus(s.goals, int64(a.goals)), plus(s.done, int64(a.done))
	s.iterations, s.stops = plus(s.iterations, a.iterations), plus(s.stops, a.stops)
}

func (s *sums) metrics() Metrics {
	classes := []string{Completed, Stuck, Timeout, Error, UserInterrupt}
	for _, name := range classes {
		s.reasons[name] += 0
	}
	m := Metrics{
		Runs: s.runs, GoalRuns: s.goalRuns, Goals: s.goals, GoalsAchieved: s.done,
		CompletionRate: ratio(s.done, s.goals), MeanIterationsToCompletion: ratio(s.iterations, s.done),
		Reflections: Reflections{Count: s.count, Failed: s.failed, Judged: s.judged, Correct: s.correct, Accuracy: ratio(s.correct, s.judged)},
		Reasons:     bounded(s.reasons, classes), FalseStops: s.stops, FalseStopRate: ratio(s.stops, plus(s.stops, s.done)),
		Totals: Totals{Sessions: s.spent.sessions, Tokens: s.spent.tokens, CostUSD: s.spent.dollars(), Seconds: s.seconds},
		Forecasts: Forecasts{
			Runs: s.forecasts, Sessions: ratio(s.held[0], s.compared[0]), Seconds: ratio(s.held[1], s.compared[1]),
			Tokens: ratio(s.held[2], s.compared[2]), CostUSD: ratio(s.held[3], s.compared[3]),
		},
		ByReflector: bounded(s.by, nil),
	}
	if mean := ratio(s.score, s.judged); mean != nil {
		*mean /= perScore
		m.Reflections.Score = mean
	}
	return m
}

// ratio is nil when there is nothing to divide by.
func ratio(part, of int64) *float64 {
	if of == 0 {
		return nil
	}
	r := float64(part) / float64(of)
	return &r
}

// bounded keeps the given names and the most frequent others, and counts the rest
// together, because anybody may write a name into a ledger.
func bounded(counts map[string]int64, keep []string) map[string]int64 {
	if len(counts) <= maxNames {
		return counts
	}
	out := map[string]int64{}
	for _, name := range keep {
		out[name] = counts[name]
	}
	rest := int64(0)
	for _, name := range byCount(counts) {
		switch {
		case slices.Contains(keep, name):
		case name != other && len(out) < maxNames:
			out[name] = counts[name]
		default:
			rest = plus(rest, counts[name])
		}
	}
	out[other] = rest
	return out
}

// byCount returns the names, the most frequent first.
func byCount(counts map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}
