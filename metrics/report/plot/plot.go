package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report/chart"
	"autopilot/metrics/report/wording"
	"autopilot/metrics/samples"
)

// Session is what a session took.
type Session struct {
	Number    int
	Tokens    ledger.Tokens
	CostUSD   float64
	Completed bool
}

const (
	marked = "did not complete"
	cross  = " A cross stands over sessions that did not complete."
)

// Tokens draws the tokens of sessions by kind. Words say how many there are in all.
func Tokens(list []Session, words string) string {
	used := false
	c := chart.Columns{
		Labels: chart.Labels{ID: "tokens", Title: "Tokens per session", X: "session", Y: "tokens", Desc: "A column for each session or group of sessions, input below, output above it, cache writes on top; reads of the cache are left out. " + words + cross},
		One:    "session", Marked: marked, Series: []string{"input", "output", "cache writes"}, Merge: chart.Mean, Word: wording.Short,
	}
	for _, s := range list {
		used = used || s.Tokens.Budgeted() > 0
		c.Bars = append(c.Bars, chart.Column{Number: s.Number, Mark: !s.Completed, Values: []float64{float64(s.Tokens.Input), float64(s.Tokens.Output), float64(s.Tokens.CacheCreation)}})
	}
	if !used {
		return ""
	}
	return c.Draw()
}

// Cost draws the cost of sessions. Words say how much it was in all.
func Cost(list []Session, words string) string {
	used := false
	c := chart.Columns{
		Labels: chart.Labels{ID: "cost", Title: "Cost per session", X: "session", Y: "US dollars", Desc: "A column for each session or group of sessions. " + words + cross},
		One:    "session", Marked: marked, Series: []string{"cost"}, Merge: chart.Mean, Word: wording.Dollars,
	}
	for _, s := range list {
		used = used || s.CostUSD > 0
		c.Bars = append(c.Bars, chart.Column{Number: s.Number, Mark: !s.Completed, Values: []float64{s.CostUSD}})
	}
	if !used {
		return ""
	}
	return c.Draw()
}

// Look is how far the work was, 0 to 100, when so many sessions were over.
type Look struct {
	Session int
	Percent float64
}

// known are the looks whose percentage can be.
func known(looks []Look) []Look {
	return slices.DeleteFunc(slices.Clone(looks), func(l Look) bool { return wording.Percent(l.Percent) == wording.None })
}

// Velocity is how many percent of the work were done in a session, in the mean: what the
// last look has found more than the first, by the sessions between them. It is not known
// from less than two looks, or without a session between them.
func Velocity(looks []Look) (perSession float64, ok bool) {
	looks = known(looks)
	if len(looks) < 2 {
		return 0, false
	}
	first, last := looks[0], looks[len(looks)-1]
	if last.Session <= first.Session {
		return 0, false
	}
	return (last.Percent - first.Percent) / float64(last.Session-first.Session), true
}

// Gained draws what each look has found more than the one before.
func Gained(looks []Look) string {
	looks = known(looks)
	if len(looks) < 2 {
		return ""
	}
	c := chart.Columns{
		Labels: chart.Labels{ID: "velocity", Title: "Velocity", X: "session", Y: "percent gained", Desc: "A column for each look or group of looks, with what it has found more than the one before." + mean(looks) +
			" A cross stands over looks that have found less."},
		One: "session", Marked: "less than before", Series: []string{"gained"}, Merge: chart.Mean, Word: wording.Percent,
	}
	for i := 1; i < len(looks); i++ {
		gained := looks[i].Percent - looks[i-1].Percent
		c.Bars = append(c.Bars, chart.Column{Number: looks[i].Session, Values: []float64{gained}, Mark: gained < 0})
	}
	return c.Draw()
}

func mean(looks []Look) string {
	v, ok := Velocity(looks)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" In the mean it was %s of the work in a session.", VelocityWords(v))
}

// VelocityWords writes a velocity: 6.4%, or -2%.
func VelocityWords(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10+0, 'f', -1, 64) + "%"
}

// Tiers are the tiers by name, from the one with most room.
func Tiers() []string { return []string{"green", "warn", "degraded", "critical"} }

// apart is how long two samples are from each other at most when nothing is missing between
// them: the machine may have been busy, or asleep.
const apart = 10 * samples.Every

// mostGB is more memory than there is.
const mostGB = 1e6

func gigabytes(v *float64) (float64, bool) {
	if v == nil || !(*v >= 0 && *v < mostGB) {
		return 0, false
	}
	return *v, true
}

// Memory draws the memory that was available and the swap in use, with the tiers below them.
// The samples are in any order; those before the start count as from then.
func Memory(list []samples.Sample, start time.Time) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b samples.Sample) int { return a.At.Compare(b.At) })
	c := chart.Curves{
		Labels: chart.Labels{ID: "memory", Title: "Memory and tier", Y: "GB"}, Start: start, Series: []string{"available", "swap in use"},
		Word: wording.Short, Gap: apart, Names: Tiers(), Spans: Spans(list),
	}
	for _, s := range list {
		if ram, ok := gigabytes(s.AvailableGB); ok {
			swap, _ := gigabytes(s.SwapGB)
			c.Points = append(c.Points, chart.Moment{At: s.At, Values: []float64{ram, swap}})
		}
	}
	c.Desc = "Memory that was available, as a line, and swap in use, as a dashed line, over time; below them the tier of the machine, the worse the higher. " + Of(list).Words()
	return c.Draw()
}

// Spans are the tiers over time, of samples in order. Where these are missing, and behind the
// last one, no tier is known.
func Spans(list []samples.Sample) []chart.Span {
	var out []chart.Span
	var last time.Time
	for _, s := range list {
		if !last.IsZero() && s.At.Sub(last) > apart {
			out = append(out, chart.Span{From: last.Add(samples.Every), Level: -1})
		}
		last = s.At
		level := slices.Index(Tiers(), s.Tier)
		if n := len(out); n == 0 || out[n-1].Level != level {
			out = append(out, chart.Span{From: s.At, Level: level})
		}
	}
	if !last.IsZero() {
		out = append(out, chart.Span{From: last.Add(samples.Every), Level: -1})
	}
	return out
}

// Machine sums up samples.
type Machine struct {
	Samples  int
	LeastGB  *float64 // of memory that was available
	MostGB   *float64
	SwapGB   *float64 // at most
	Peers    *int     // at most
	Worst    string   // tier; empty when none is known
	Share    float64  // of the samples that were of that tier, 0..1
	SleptFor time.Duration
}

// Of sums up samples.
func Of(list []samples.Sample) Machine {
	m := Machine{Samples: len(list)}
	of := map[string]int{}
	for _, s := range list {
		if v, ok := gigabytes(s.AvailableGB); ok {
			m.LeastGB, m.MostGB = least(m.LeastGB, v), largest(m.MostGB, v)
		}
		if v, ok := gigabytes(s.SwapGB); ok {
			m.SwapGB = largest(m.SwapGB, v)
		}
		if s.Peers != nil && *s.Peers >= 0 {
			m.Peers = largest(m.Peers, *s.Peers)
		}
		if slices.Index(Tiers(), s.Tier) > slices.Index(Tiers(), m.Worst) {
			m.Worst = s.Tier
		}
		of[s.Tier]++
		if s.Suspended > 0 && s.Suspended < 1e9 {
			m.SleptFor += time.Duration(s.Suspended * float64(time.Second))
		}
	}
	if m.Worst != "" {
		m.Share = float64(of[m.Worst]) / float64(len(list))
	}
	return m
}

func least[T cmp.Ordered](have *T, v T) *T {
	if have != nil && *have <= v {
		return have
	}
	return &v
}

func largest[T cmp.Ordered](have *T, v T) *T {
	if have != nil && *have >= v {
		return have
	}
	return &v
}

// Range is the memory that was available: 4 to 12 GB; nothing when it is not known.
func (m Machine) Range() string {
	if m.LeastGB == nil {
		return ""
	}
	low, high := GB(*m.LeastGB), GB(*m.MostGB)
	if low == high {
		return low + " GB"
	}
	return low + " to " + high + " GB"
}

// Words say it in a sentence or two.
func (m Machine) Words() string {
	var out string
	if m.LeastGB != nil {
		out = "Available were " + m.Range()
		if m.SwapGB != nil {
			out += fmt.Sprintf(", at most %s GB of swap were in use", GB(*m.SwapGB))
		}
		out += "."
	}
	if m.Worst != "" {
		out += fmt.Sprintf(" The worst tier was %s, in %s of the samples.", m.Worst, wording.Percent(100*m.Share))
	}
	return out
}

// GB writes gigabytes.
func GB(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
