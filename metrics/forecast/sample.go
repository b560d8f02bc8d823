package forecast

import (
	"math"

	"autopilot/metrics/ledger"
)

// TruthOf is what a run took. Sessions are all that were started, whatever came
// of them; time is without waiting, because a usage limit of the account says
// nothing about the goal. A run that continues another gives its own part alone.
func TruthOf(r ledger.Run) Truth {
	t := Truth{
		Sessions: max(r.IterationsCompleted, len(r.Sessions), 0),
		Seconds:  max(0, float64(r.DurationSeconds)-max(0, float64(r.WaitedSeconds))),
		Tokens:   max(0, float64(r.TotalTokensUsed)),
	}
	if positive(r.TotalCostUSD, math.MaxFloat64) {
		t.CostUSD = r.TotalCostUSD
	}
	return t
}

// SizeOf is the size of a run's goals together, from 1 to 1,000.
func SizeOf(r ledger.Run, size func(text string) int) int {
	one := func(text string) int {
		if size == nil {
			return 1
		}
		return clampSize(size(text))
	}
	if len(r.Goals) == 0 {
		return one(r.Goal)
	}
	sum := 0
	for _, g := range r.Goals {
		sum = min(sum+one(g.Text), maxSize)
	}
	return sum
}
