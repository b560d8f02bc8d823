package mode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Recommendation is what [Select] answers. Its lists are never nil.
type Recommendation struct {
	// Mode is one of the known modes, not always one that can be run: see [Executable].
	Mode Mode `json:"mode"`
	// Confidence is 0 to 0.9 with two decimals. 0 means there is no opinion.
	Confidence float64 `json:"confidence"`
	// Rationale is one line of at most 120 characters.
	Rationale string `json:"rationale"`
	// Alternatives are at most three other modes, the best first.
	Alternatives []Alternative `json:"alternatives"`
	// ContextPressure is how much context the work at hand is likely to need.
	ContextPressure Pressure `json:"context_pressure"`
	// Parts are the shares the signals have in the confidence. They add up to it, but for the rounding.
	Parts []Part `json:"parts"`
	// Missing names the signals that were absent and would have counted.
	Missing []string `json:"missing"`
}

// Alternative is another mode and the confidence it would have had.
type Alternative struct {
	Mode       Mode    `json:"mode"`
	Confidence float64 `json:"confidence"`
}

const (
	maxAlternatives = 3
	leastConfidence = 0.1
	maxRationale    = 120
)

// Select recommends the mode of the next session. A bad completion rate decides first, then a high carryover, then the
// recommended mode weighed by every other signal. Without any of these the answer is feature with confidence 0. A
// number that is not finite counts as absent. nil means that there are no signals at all.
func Select(s *Signals) Recommendation {
	if s == nil {
		s = &Signals{}
		missing := append([]string{"recommendedMode"}, gather(s).missing(Feature)...)
		return Recommendation{
			Mode: Feature, Rationale: "there are no signals", ContextPressure: PressureLow,
			Missing: missing,
		}.filled()
	}
	f := gather(s)
	switch {
	case f.completion != nil && *f.completion < 0.5:
		why := fmt.Sprintf("completion rate %.2f is below 0.50: look back before going on", *f.completion)
		return fixed(f, PlanRetro, Part{partCompletion, 0.80, clip(why)},
			Alternative{Feature, 0.3}, Alternative{Discovery, 0.25})
	case f.carryover != nil && *f.carryover >= 0.3:
		why := fmt.Sprintf("carryover ratio %.2f is 0.30 or more: a deep session clears it", *f.carryover)
		rec := fixed(f, Deep, Part{partCarryover, 0.75, clip(why)}, Alternative{Feature, 0.3}, Alternative{PlanRetro, 0.2})
		if f.completion == nil {
			rec.Missing = []string{"completionRate"}
		}
		return rec
	case known(s.RecommendedMode):
		return weigh(f, s.RecommendedMode)
	}
	return undecided(f)
}

// fixed is a recommendation that one signal decides alone.
func fixed(f facts, m Mode, part Part, alternatives ...Alternative) Recommendation {
	return Recommendation{
		Mode: m, Confidence: part.Value, Rationale: part.Why, Alternatives: alternatives,
		ContextPressure: f.pressure, Parts: []Part{part},
	}.filled()
}

// undecided is the answer when no signal names a mode. Signals that only weigh a named mode are not missed then.
func undecided(f facts) Recommendation {
	rec := Recommendation{Mode: Feature, Rationale: "no mode is recommended", ContextPressure: f.pressure}
	if f.completion == nil {
		rec.Missing = append(rec.Missing, "completionRate")
	}
	if f.carryover == nil {
		rec.Missing = append(rec.Missing, "carryoverRatio")
	}
	if m := f.signals.RecommendedMode; m != "" {
		rec.Rationale = clip(fmt.Sprintf("recommended mode %.60q is unknown", m))
	} else {
		rec.Missing = append([]string{"recommendedMode"}, rec.Missing...)
	}
	return rec.filled()
}

// weigh scores the recommended mode against the others. Another mode takes its place when it is strictly better and
// among the best three, and does more than prepare work.
func weigh(f facts, m Mode) Recommendation {
	own := f.scoreOf(m)
	alternatives := f.alternativesTo(m)
	rationale := recommendedBecause
	best := slices.IndexFunc(alternatives, func(a Alternative) bool { return !preparesOnly(a.Mode) })
	if best >= 0 && alternatives[best].Confidence > own.confidence() {
		better := alternatives[best]
		demoted := Alternative{m, own.confidence()}
		alternatives = ranked(slices.Insert(slices.Delete(alternatives, best, best+1), 0, demoted))
		rationale = func(Mode, score) string {
			return fmt.Sprintf("%s (%.2f) outscores the recommended %s (%.2f)", better.Mode, better.Confidence,
				demoted.Mode, demoted.Confidence)
		}
		m, own = better.Mode, f.scoreOf(better.Mode)
	}
	rec := Recommendation{
		Mode: m, Confidence: own.confidence(), Rationale: clip(rationale(m, own)),
		Alternatives: alternatives, ContextPressure: f.pressure,
	}
	rec.Parts, rec.Missing = f.explain(m, own)
	return rec.filled()
}

// alternativesTo scores every other mode. Without sessions, learnings and lock they would all score alike, so there are
// none then.
func (f facts) alternativesTo(m Mode) []Alternative {
	s := f.signals
	if len(s.Learnings) == 0 && len(s.RecentSessions) == 0 && s.BootstrapLock == nil {
		return nil
	}
	var list []Alternative
	for _, other := range modes() {
		if other != m {
			list = append(list, Alternative{other, f.scoreOf(other).confidence()})
		}
	}
	return ranked(list)
}

// ranked drops what is hardly likely and keeps the best three; equal confidences keep their order.
func ranked(list []Alternative) []Alternative {
	list = slices.DeleteFunc(list, func(a Alternative) bool { return a.Confidence < leastConfidence })
	slices.SortStableFunc(list, func(a, b Alternative) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return list[:min(len(list), maxAlternatives)]
}

func recommendedBecause(m Mode, s score) string {
	var reasons []string
	for _, p := range []Part{
		{Name: partTrend, Value: s.trend},
		{Name: partTier, Value: s.tier},
		{Name: partLearnings, Value: s.learnings},
		{Name: partOtherTrend, Value: -s.otherTrend},
		{Name: partTierConflict, Value: -s.tierConflict},
		{Name: partCarryover, Value: -s.carryover},
		{Name: partPressure, Value: s.pressure},
	} {
		if p.Value != 0 {
			reasons = append(reasons, fmt.Sprintf("%s %+g", p.Name, p.Value))
		}
	}
	if len(reasons) == 0 {
		return fmt.Sprintf("%s is recommended, no signal speaks for or against it", m)
	}
	return fmt.Sprintf("%s is recommended: %s", m, strings.Join(reasons, ", "))
}

// filled replaces nil lists, which JSON would show as null.
func (r Recommendation) filled() Recommendation {
	if r.Alternatives == nil {
		r.Alternatives = []Alternative{}
	}
	if r.Parts == nil {
		r.Parts = []Part{}
	}
	if r.Missing == nil {
		r.Missing = []string{}
	}
	return r
}

// clip cuts a line to the length a rationale may have, counted in characters.
func clip(s string) string {
	count := 0
	for i := range s {
		if count == maxRationale {
			return s[:i]
		}
		count++
	}
	return s
}
