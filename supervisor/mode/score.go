package mode

import (
	"fmt"
	"strings"
)

// Part is one signal's share of a confidence. A value of 0 means the signal was there and changed nothing.
type Part struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Why   string  `json:"why"`
}

// The names of parts. Base is what every recommended mode starts from.
const (
	partBase         = "base"
	partTrend        = "trend"
	partOtherTrend   = "other-trend"
	partTier         = "tier"
	partTierConflict = "tier-conflict"
	partLearnings    = "learnings"
	partCarryover    = "carryover"
	partPressure     = "pressure"
	partCompletion   = "completion-rate"
)

const (
	trendLength   = 3
	highRate      = 0.9
	baseScore     = 0.5
	topConfidence = 0.9
)

// facts are the signals reduced to what scoring asks, computed once for all candidates.
type facts struct {
	signals *Signals
	// trend is the type the last three sessions share, empty when they differ or are fewer.
	trend     Mode
	trendRate float64
	// rateless is how many of the last three sessions say nothing about their completion.
	rateless   int
	tier       string
	aligned    Mode
	completion *float64
	carryover  *float64
	pressure   Pressure
	score      float64
	weighPress bool
}

func gather(s *Signals) facts {
	f := facts{
		signals:    s,
		tier:       s.BootstrapLock["tier"],
		completion: finite(s.CompletionRate),
		carryover:  finite(s.CarryoverRatio),
		weighPress: hasPressureInput(s),
	}
	f.pressure, f.score = pressureOf(s)
	f.aligned, _ = aligned(f.tier)
	recent := last(s.RecentSessions, trendLength)
	if len(recent) < trendLength {
		return f
	}
	f.trend = recent[0].Type
	sum := 0.0
	for _, r := range recent {
		if r.Type != f.trend {
			f.trend = ""
		}
		rate, ok := r.Rate()
		if !ok {
			f.rateless++
		}
		sum += rate
	}
	f.trendRate = sum / trendLength
	return f
}

// score is what one candidate gains and loses. Penalties are kept as positive amounts.
type score struct {
	trend, tier, learnings              float64
	otherTrend, tierConflict, carryover float64
	pressure                            float64
}

func (f facts) scoreOf(m Mode) score {
	var s score
	switch {
	case f.trend == m && f.trendRate >= highRate:
		s.trend = 0.15
	case f.trend == m:
		s.trend = 0.075
	case known(f.trend) && f.trendRate >= highRate:
		s.otherTrend = 0.10
	}
	switch f.aligned {
	case "":
	case m:
		s.tier = 0.10
	default:
		s.tierConflict = 0.10
	}
	s.learnings = min(0.05*float64(f.hints(m)), 0.10)
	if f.carryover != nil && *f.carryover >= 0.2 && m != Deep {
		s.carryover = 0.10
	}
	if f.weighPress {
		s.pressure = pressureFor(m, f.pressure)
	}
	return s
}

// confidence adds up in one fixed order, because sums of decimal fractions depend on it in the last bit and a
// confidence of exactly half a cent is rounded by that bit.
func (s score) confidence() float64 {
	penalty := s.otherTrend + s.tierConflict + s.carryover
	delta := s.trend + s.tier + s.learnings - penalty + s.pressure
	return round2(clamp(baseScore+delta, 0, topConfidence))
}

// hints counts the learnings that speak for m. Two are enough for the whole bonus.
func (f facts) hints(m Mode) int {
	count := 0
	for _, l := range f.signals.Learnings {
		if l.Type != "effective-sizing" && l.Type != "scope-guidance" {
			continue
		}
		if strings.Contains(strings.ToLower(l.Subject), string(m)) {
			count++
		}
		if count == 2 {
			break
		}
	}
	return count
}

func pressureFor(m Mode, p Pressure) float64 {
	switch {
	case m == Feature && p == PressureLow:
		return 0.05
	case m == Feature && p == PressureHigh:
		return -0.15
	case m == Housekeeping && p == PressureHigh:
		return -0.10
	}
	return 0
}

// explain lists the parts of m's confidence whose signal is present, and the names of the signals that are not but
// would have counted.
func (f facts) explain(m Mode, s score) (parts []Part, missing []string) {
	add := func(name string, value float64, why string, args ...any) {
		parts = append(parts, Part{Name: name, Value: value, Why: clip(fmt.Sprintf(why, args...))})
	}
	add(partBase, baseScore, "%s is the mode being weighed", m)
	f.explainTrend(m, s, add)
	switch {
	case f.aligned == m:
		add(partTier, s.tier, "bootstrap tier %s stands for %s", f.tier, m)
	case f.aligned != "":
		add(partTierConflict, -s.tierConflict, "bootstrap tier %s stands for %s", f.tier, f.aligned)
	}
	if n := len(f.signals.Learnings); n > 0 {
		add(partLearnings, s.learnings, "%d of %d learnings counted for %s, at most 2 do", f.hints(m), n, m)
	}
	if f.carryover != nil {
		// Subtracting from 0 keeps an absent penalty from being shown as -0.
		add(partCarryover, 0-s.carryover, "carryover ratio is %.2f, from 0.20 on it speaks for deep", *f.carryover)
	}
	if f.weighPress {
		add(partPressure, s.pressure, "context pressure is %s (%.2f)", f.pressure, f.score)
	}
	return parts, f.missing(m)
}

func (f facts) explainTrend(m Mode, s score, add func(string, float64, string, ...any)) {
	switch {
	case len(f.signals.RecentSessions) < trendLength:
	case f.trend == "":
		add(partTrend, 0, "the last %d sessions have no type in common", trendLength)
	case f.trend == m:
		add(partTrend, s.trend, "the last %d sessions were %s, mean completion rate %.2f", trendLength, m, f.trendRate)
	default:
		add(partOtherTrend, 0-s.otherTrend, "the last %d sessions were %.40q, mean completion rate %.2f",
			trendLength, f.trend, f.trendRate)
	}
}

func (f facts) missing(m Mode) []string {
	var names []string
	add := func(absent bool, name string) {
		if absent {
			names = append(names, name)
		}
	}
	add(f.completion == nil, "completionRate")
	add(f.carryover == nil, "carryoverRatio")
	add(len(f.signals.RecentSessions) < trendLength, "recentSessions")
	add(known(f.trend) && f.rateless > 0 && f.trendRate < highRate, "recentSessions.completion_rate")
	add(f.signals.BootstrapLock == nil, "bootstrapLock")
	add(f.signals.BootstrapLock != nil && f.aligned == "", "bootstrapLock.tier")
	add(len(f.signals.Learnings) == 0, "learnings")
	add(!f.weighPress && (m == Feature || m == Housekeeping), "topPriorities")
	return names
}
