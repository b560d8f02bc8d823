package story

import (
	"time"

	"autopilot/probe/tier"
)

// Share is what a running story may use of the machine.
type Share struct {
	ID   string
	Cap  int  // agents at once; with 0 its session works alone
	Hold bool // no further session of it may begin
}

// Shares divides the cap of all stories among the running ones, in the order of the list:
// as evenly as it goes, and what is left over one each to the first. The sum is never above
// the cap. On a critical machine nobody has agents, and only the first goes on.
//
// It depends on the list, the statuses and the cap alone, so nobody's share changes while
// these do not.
func Shares(c Cohort, limit int, critical bool) []Share {
	var out []Share
	for _, m := range c.Members {
		if m.Status == Running {
			out = append(out, Share{ID: m.ID, Hold: critical && len(out) > 0})
		}
	}
	if critical || limit <= 0 {
		return out
	}
	for i := range out {
		out[i].Cap = limit / len(out)
		if i < limit%len(out) {
			out[i].Cap++
		}
	}
	return out
}

// Settle is how long a machine has to be better before it counts as better: long
// enough for sessions that were just begun to show what memory they take.
const Settle = 60 * time.Second

// Damper keeps a tier that flips from beginning and holding stories in turn. The zero
// value has seen nothing yet.
type Damper struct {
	Tier string // damped; empty before the first measurement
	Cap  int    // what the damped tier allows of the cap that was told last
	// since is from when on the machine has been at least as good as each tier without
	// a break, by rank; zero where it is not.
	since [worstRank]time.Time
}

const worstRank = 3

// Next returns the damper after a measurement. A worse tier counts at once. A better one
// counts when for [Settle] nothing worse than it was measured, so that a machine that
// recovers little by little goes up step by step. The first measurement counts at once, and
// what is no tier counts as critical. The damped tier is never better than the measured one.
// The limit is the cap that was planned, or the measured one, with the same result.
//
// A clock that was set back costs no more than another [Settle].
func (d Damper) Next(now time.Time, measured string, limit int) Damper {
	now = now.Round(0) // the deadline is one of the wall clock, which goes on while the machine sleeps
	rank := rankOf(measured)
	for r := range d.since {
		switch {
		case rank > r:
			d.since[r] = time.Time{}
		case d.since[r].IsZero() || now.Before(d.since[r]):
			d.since[r] = now
		}
	}
	best := rank
	if d.Tier != "" {
		best = max(rank, rankOf(d.Tier))
		for r := rank; r < best; r++ {
			if now.Sub(d.since[r]) >= Settle {
				best = r
			}
		}
	}
	t := []tier.Tier{tier.Green, tier.Warn, tier.Degraded, tier.Critical}[best]
	d.Tier, d.Cap = string(t), t.Cap(limit)
	return d
}

// rankOf is 0 for green up to worstRank for critical, and for what is no tier.
func rankOf(t string) int {
	if r := tier.Tier(t).Rank(); r >= 0 {
		return r
	}
	return worstRank
}
