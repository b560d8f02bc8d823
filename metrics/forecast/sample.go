package forecast

import (
	"math"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/ledger"
)

// workDone is the exit cause of a run in which nothing was left to do.
const workDone = "work-done"

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

// SampleOf makes a sample of the record of a run towards goals: its size is the
// sum over its goals, its text counting as one when it lists none. size may be
// nil: then every goal is of size 1. It is false for a record that is no
// evidence: a dry run, one without a goal, one without a session. A run that
// continues another is a sample of its own part alone.
func SampleOf(r ledger.Run, size func(text string) int) (Sample, bool) {
	t := TruthOf(r)
	if r.DryRun || t.Sessions == 0 || len(r.Goals) == 0 && strings.TrimSpace(r.Goal) == "" {
		return Sample{}, false
	}
	return Sample{
		Size: SizeOf(r, size), Sessions: t.Sessions, Seconds: t.Seconds, Tokens: t.Tokens, CostUSD: t.CostUSD,
		Achieved: achieved(r), At: time.Time(r.CompletedAt),
	}, true
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

func achieved(r ledger.Run) bool {
	if r.Termination != nil && r.Termination.Status == ledger.Completed {
		return true
	}
	if len(r.Goals) == 0 { // written before runs said how far their goals came
		return r.Termination == nil && r.ExitCause == workDone
	}
	return !slices.ContainsFunc(r.Goals, func(g ledger.Goal) bool { return g.Status != ledger.GoalAchieved })
}
