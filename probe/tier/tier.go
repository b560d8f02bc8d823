package tier

// GB is the number of bytes in one GB, here and wherever a field's name ends
// in _gb: 2^30, the unit in which memory is sold and in which the thresholds
// are meant.
const GB = 1 << 30

// Tier is how much room the machine has. The zero value is no tier.
type Tier string

// The tiers, from the most room to the least.
const (
	Green    Tier = "green"
	Warn     Tier = "warn"
	Degraded Tier = "degraded"
	Critical Tier = "critical"
)

// Rank orders the tiers: 0 for green up to 3 for critical, and -1 for
// anything that is no tier.
func (t Tier) Rank() int {
	switch t {
	case Green:
		return 0
	case Warn:
		return 1
	case Degraded:
		return 2
	case Critical:
		return 3
	}
	return -1
}

// Cap is the number of agents that a wave may run at once in this tier, never
// more than planned and never below 0. What is no tier caps at 0.
func (t Tier) Cap(planned int) int {
	limit := 0
	switch t {
	case Green:
		limit = planned
	case Warn:
		limit = 4
	case Degraded:
		limit = 2
	case Critical:
	}
	return max(0, min(planned, limit))
}
