package forecast

import (
	"math"
	"time"

	"autopilot/metrics/ledger"
)

// What one session is expected to take as long as no run has shown it, and how
// far the truth may lie away, as a factor in both directions.
const (
	guessSeconds = 300
	guessTokens  = 60_000
	guessUSD     = 0.30
	guessFactor  = 3
)

// Values above these are taken for mistakes of who wrote them.
const (
	maxSize     = 1000
	maxSessions = 1e6
	maxSeconds  = 1e9
	maxTokens   = 1e13
	maxUSD      = 1e8
)

// Quantities, as Expectation.Exceeds names them.
const (
	Sessions = "sessions"
	Time     = "time"
	Tokens   = "tokens"
	Cost     = "cost"
)

// Sample is what an earlier run took.
type Sample struct {
	Size     int     // of its goals, from 1
	Sessions int     // all that were started
	Seconds  float64 // without waiting for limits and for people
	Tokens   float64 // without cache reads
	CostUSD  float64
	Achieved bool
	At       time.Time // end of the run; zero when unknown
}

// Limits are the bounds of the run that is to come. A value that is not above
// zero, or not finite, is no limit.
type Limits struct {
	Sessions int
	Seconds  float64
	Tokens   float64 // without cache reads
	CostUSD  float64
}

// Expectation is a forecast, and where it would have been above the limits.
type Expectation struct {
	ledger.Forecast
	// Exceeds names the quantities whose likely value was above the limit, before
	// it was cut to it: sessions, time, tokens, cost.
	Exceeds []string `json:"exceeds,omitempty"`
}

// Make returns what a run towards a goal of this size will take. Runs is the
// number of samples that were of use, 0 for a guess by size alone. Seconds are
// without waiting, as in the samples.
func Make(past []Sample, size int, at Limits) Expectation {
	size = clampSize(size)
	all := weigh(past, size)
	e := Expectation{Forecast: ledger.Forecast{Runs: len(all)}}

	sessions, ok := spread(all, func(s Sample) float64 { return float64(s.Sessions) }, maxSessions)
	if !ok {
		sessions = guess(float64(size))
	}
	each := func(value func(Sample) float64, most, perSession float64) ledger.Range {
		r, ok := spread(all, value, most)
		if !ok {
			r = guess(sessions.Likely * perSession)
		}
		return r
	}
	seconds := each(func(s Sample) float64 { return s.Seconds }, maxSeconds, guessSeconds)
	tokens := each(func(s Sample) float64 { return s.Tokens }, maxTokens, guessTokens)
	usd := each(func(s Sample) float64 { return s.CostUSD }, maxUSD, guessUSD)

	e.Sessions = e.within(Sessions, whole(sessions, 1), float64(at.Sessions))
	e.Seconds = e.within(Time, whole(seconds, 1), at.Seconds)
	e.Tokens = e.within(Tokens, whole(tokens, 1), at.Tokens)
	e.CostUSD = e.within(Cost, whole(usd, 1e4), at.CostUSD)
	return e
}

// guess is the wide range around a value of which nothing is known.
func guess(likely float64) ledger.Range {
	return ledger.Range{Low: likely / guessFactor, Likely: likely, High: likely * guessFactor}
}

// whole rounds to parts of one: the bounds outwards, so that they still hold what
// they held, and nothing to zero.
func whole(r ledger.Range, parts float64) ledger.Range {
	least := 1 / parts
	return ledger.Range{
		Low:    max(least, math.Floor(r.Low*parts)/parts),
		Likely: max(least, math.Round(r.Likely*parts)/parts),
		High:   max(least, math.Ceil(r.High*parts)/parts),
	}
}

// within cuts a range to a limit and remembers what would have been above it.
func (e *Expectation) within(name string, r ledger.Range, limit float64) ledger.Range {
	if !positive(limit, math.MaxFloat64) {
		return r
	}
	if r.Likely > limit {
		e.Exceeds = append(e.Exceeds, name)
	}
	return ledger.Range{Low: min(r.Low, limit), Likely: min(r.Likely, limit), High: min(r.High, limit)}
}

// positive reports whether a number is known and can be.
func positive(v, most float64) bool { return v > 0 && v <= most }

func clampSize(n int) int { return min(max(n, 1), maxSize) }
