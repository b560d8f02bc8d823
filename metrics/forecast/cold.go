package forecast

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"autopilot/metrics/ledger"
)

// What work is held to take as long as nothing was measured. Sessions are whole ones: a
// conversation that reads, changes, tests and commits. What one of them takes is the
// same guess as that of Make; the split by kind follows what users of the CLI publish of
// their days, where nearly all tokens are reads of the cache and output is the smallest
// part that costs.
const (
	sessionsPerTask   = 2
	sessionsIncrement = 5 // at least, for a whole increment
	sessionsFactor    = 2 // the truth lies between half and twice of it, or it was a bad guess

	shareInput      = 0.05 // of the tokens without cache reads
	shareOutput     = 0.20
	shareCacheWrite = 0.75
	cacheReads      = 10 // for each of those tokens
)

// Complexity is how hard work is held to be.
type Complexity string

// Complexities. Anything else counts as Normal.
const (
	Simple  Complexity = "simple"
	Normal  Complexity = "normal"
	Complex Complexity = "complex"
)

// Factor is what the sessions of work of this complexity are multiplied by: 0.7, 1 or
// 1.5.
func (c Complexity) Factor() float64 {
	switch c {
	case Simple:
		return 0.7
	case Complex:
		return 1.5
	}
	return 1
}

// Part is a piece of work that has not begun.
type Part struct {
	Tasks      int  // that are open; below 1 counts as 1
	Whole      bool // a whole increment, which takes its own planning and closing
	Complexity Complexity
}

// Sessions is how many sessions the part is held to take: two a task times the factor of
// its complexity, at least five for a whole increment, from half to twice of that.
func (p Part) Sessions() ledger.Range {
	n := sessionsPerTask * float64(clampSize(p.Tasks)) * p.Complexity.Factor()
	if p.Whole {
		n = max(n, sessionsIncrement)
	}
	return ledger.Range{Low: n / sessionsFactor, Likely: n, High: n * sessionsFactor}
}

// Work is what there is to do.
type Work struct {
	Parts []Part // none counts as one task
	Model string // name or alias of the model; empty when not known
}

// Guess is an expectation that no run of the same kind stands behind. Runs is the number
// of samples from which it knows what a session takes, 0 for none.
type Guess struct {
	Expectation

	Prices  string   `json:"prices,omitempty"` // row of the price list; empty when the cost was measured
	Assumes []string `json:"assumes"`          // what it rests on, for people
}

// Cold says what work will take before any run of its kind has shown it. The number of
// sessions is a rule of thumb, see Part. What each of them takes is measured where past
// knows it: the weighted median over the samples of value / sessions. What it does not
// know is a guess: 5 minutes and 60,000 tokens, each from a third to three times of it,
// and their list price. What was measured always wins.
//
// Two ranges that are multiplied count as independent: the distances of their bounds
// from what is likely, as logarithms, add up as squares.
func Cold(w Work, past []Sample, at Limits) Guess {
	parts := w.Parts
	if len(parts) == 0 {
		parts = []Part{{Tasks: 1}}
	}
	var sum ledger.Range
	for _, p := range parts {
		r := p.Sessions()
		sum = ledger.Range{Low: sum.Low + r.Low, Likely: sum.Likely + r.Likely, High: sum.High + r.High}
	}
	each := measure(past)
	price, known := priceOf(w.Model)
	g := Guess{Expectation: Expectation{Forecast: ledger.Forecast{Runs: each.runs}}, Assumes: []string{
		fmt.Sprintf("%d sessions a task, at least %d a whole increment, %g times that for simple and %g times that for complex work",
			sessionsPerTask, sessionsIncrement, Simple.Factor(), Complex.Factor()),
	}}
	if each.seconds.Likely == 0 {
		each.seconds = guess(guessSeconds)
		g.assume("%d minutes a session", guessSeconds/60)
	}
	if each.tokens.Likely == 0 {
		each.tokens = guess(guessTokens)
		g.assume("%s tokens a session without cache reads", count(guessTokens))
	}
	if each.usd.Likely == 0 {
		each.usd = times(each.tokens, price.session(1))
		g.Prices = price.Family
		g.assume("list prices of %s as of %s; a subscription is not billed by them", price.Family, PricesAsOf)
		if !known {
			g.assume("the model is not known or not in the price list")
		}
	}
	if each.runs > 0 {
		g.assume("what a session takes is measured where %s know it", earlier(each.runs))
	}
	g.Sessions = g.within(Sessions, whole(sum, 1), float64(at.Sessions))
	g.Seconds = g.within(Time, whole(product(sum, each.seconds), 1), at.Seconds)
	g.Tokens = g.within(Tokens, whole(product(sum, each.tokens), 1), at.Tokens)
	g.CostUSD = g.within(Cost, whole(product(sum, each.usd), 1e4), at.CostUSD)
	return g
}

func (g *Guess) assume(format string, args ...any) {
	g.Assumes = append(g.Assumes, fmt.Sprintf(format, args...))
}

func earlier(runs int) string {
	if runs == 1 {
		return "1 earlier run"
	}
	return fmt.Sprintf("%d earlier runs", runs)
}

// Text says the guess in one line for people, and that it is one.
func (g Guess) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "a guess: %s sessions%s, about %s%s, %s tokens%s, %s%s", sessions(g.Sessions.Likely), brackets(g.Sessions, sessions),
		span(g.Seconds.Likely), brackets(g.Seconds, span), count(g.Tokens.Likely), brackets(g.Tokens, count), dollars(g.CostUSD.Likely), brackets(g.CostUSD, dollars))
	if len(g.Exceeds) > 0 {
		fmt.Fprintf(&b, "; cut to the limit of %s", strings.Join(g.Exceeds, ", "))
	}
	return b.String()
}

// measured is what one session took. A likely value of zero is not known.
type measured struct {
	runs                 int
	seconds, tokens, usd ledger.Range
}

func measure(past []Sample) measured {
	alike := slices.Clone(past)
	for i := range alike {
		alike[i].Size = 1 // the size of a goal says nothing about one session
	}
	all := weigh(alike, 1)
	m := measured{runs: len(all)}
	m.seconds, _ = spread(all, func(s Sample) float64 { return s.Seconds / float64(s.Sessions) }, maxSeconds)
	m.tokens, _ = spread(all, func(s Sample) float64 { return s.Tokens / float64(s.Sessions) }, maxTokens)
	m.usd, _ = spread(all, func(s Sample) float64 { return s.CostUSD / float64(s.Sessions) }, maxUSD)
	return m
}

const maxProduct = 1e14 // of anything; beyond it something was written down by mistake

// product is the range of a number of things and what each of them takes.
func product(n, each ledger.Range) ledger.Range {
	likely := min(n.Likely*each.Likely, maxProduct)
	down := math.Hypot(apart(n.Likely, n.Low), apart(each.Likely, each.Low))
	up := math.Hypot(apart(n.High, n.Likely), apart(each.High, each.Likely))
	return ledger.Range{Low: likely * math.Exp(-down), Likely: likely, High: min(likely*math.Exp(up), maxProduct)}
}

// apart is the logarithm of the ratio of two numbers, 0 where there is none.
func apart(high, low float64) float64 {
	const most = 300 // keeps what is made of it finite
	if d := math.Log(high / low); d > 0 {
		return min(d, most)
	}
	return 0
}

func times(r ledger.Range, f float64) ledger.Range {
	return ledger.Range{Low: r.Low * f, Likely: r.Likely * f, High: r.High * f}
}

// Factor is the truth as a multiple of what was likely: 2 is twice as much, 0.5 is half.
// It is 0 when either is not known.
func (j Judged) Factor() float64 {
	if !positive(j.Truth, math.MaxFloat64) || !positive(j.Range.Likely, math.MaxFloat64) {
		return 0
	}
	if f := j.Truth / j.Range.Likely; positive(f, math.MaxFloat64) {
		return f
	}
	return 0
}

// Off says in words by how much the forecast was off, such as "2.4 times as much as
// expected", and nothing when that is not known.
func (j Judged) Off() string {
	const near = 0.05 + 1e-9
	switch f := j.Factor(); {
	case f == 0:
		return ""
	case math.Abs(f-1) <= near:
		return "as expected"
	case f >= 10:
		return count(f) + " times as much as expected"
	case f < 0.1:
		return "less than a tenth of what was expected"
	default:
		return short(f) + " times as much as expected"
	}
}
