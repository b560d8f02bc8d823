package mode

import (
	"math"
	"strings"
)

// Pressure says how much context the work at hand is likely to need.
type Pressure string

// The levels of pressure: the score is below 0.3, below 0.7, or higher.
const (
	PressureLow    Pressure = "low"
	PressureMedium Pressure = "medium"
	PressureHigh   Pressure = "high"
)

// pressureOf scores how wide the work is: more than three priorities, wording that announces changes everywhere, and
// issues that recent sessions keep carrying over each add to it. The score is 0 to 1 with two decimals.
func pressureOf(s *Signals) (Pressure, float64) {
	scope := clamp((float64(len(s.TopPriorities))-3)/10, 0, 0.5)
	keywords := 0.0
	if crossCutting(s.TaskDescriptionText) {
		keywords = 0.25
	}
	carryover := clamp(meanCarryover(s.RecentSessions)-0.3, 0, 0.25)
	score := round2(clamp(scope+keywords+carryover, 0, 1))
	switch {
	case score < 0.3:
		return PressureLow, score
	case score < 0.7:
		return PressureMedium, score
	}
	return PressureHigh, score
}

// hasPressureInput reports whether anything is known that pressure is measured by. Without it pressure changes no
// confidence, or an empty repository would look like one at ease.
func hasPressureInput(s *Signals) bool {
	if s.TopPriorities != nil || s.TaskDescriptionText != "" {
		return true
	}
	for _, r := range s.RecentSessions {
		if r.Effectiveness != nil {
			return true
		}
	}
	return false
}

// meanCarryover averages carryover over planned issues in those of the last five sessions that say both.
func meanCarryover(sessions []Session) float64 {
	sum, count := 0.0, 0.0
	for _, r := range last(sessions, 5) {
		if r.Effectiveness == nil {
			continue
		}
		carried, planned := finite(r.Effectiveness.Carryover), finite(r.Effectiveness.PlannedIssues)
		if carried == nil || planned == nil || *planned <= 0 {
			continue
		}
		ratio := *carried / *planned
		if finite(&ratio) == nil {
			continue
		}
		sum += ratio
		count++
	}
	if count == 0 {
		return 0
	}
	return sum / count
}

// crossCutting reports whether text speaks of changes in many places at once, in the phrases session-orchestrator
// listens for.
func crossCutting(text string) bool {
	text = strings.ToLower(text)
	for _, phrase := range []string{
		"across all", "every skill", "every agent", "every repo", "repo-wide", "repowide", "cross-cutting",
		"rename across", "massive refactor",
	} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

func clamp(v, low, high float64) float64 {
	return math.Min(high, math.Max(low, v))
}

// round2 rounds to two decimals, halves upwards, on the binary value as it is: 0.825 becomes 0.83. The conversion keeps
// compilers from fusing the product with the subtraction, which would round differently on some processors.
func round2(v float64) float64 {
	scaled := float64(v * 100)
	down := math.Floor(scaled)
	if scaled-down >= 0.5 {
		down++
	}
	return down / 100
}

func last[T any](list []T, n int) []T {
	return list[max(0, len(list)-n):]
}
