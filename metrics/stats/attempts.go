package stats

import (
	"cmp"
	"time"

	"autopilot/metrics/forecast"
)

// groups returns for each run the one that stands for all runs which it is
// linked with.
func (c *Collector) groups() []int32 {
	root := make([]int32, len(c.attempts))
	for i := range root {
		root[i] = int32(i)
	}
	find := func(i int32) int32 {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for i, a := range c.attempts {
		if a.from >= 0 {
			root[i] = find(a.from)
		}
	}
	for i := range root {
		root[i] = find(int32(i))
	}
	return root
}

// superseded says which runs are continued by one with goals, directly or over
// others. A walk ends where an earlier one came by, because that one went on to
// the end: so all walks together are no longer than the ledger.
func (c *Collector) superseded() []bool {
	out := make([]bool, len(c.attempts))
	for _, a := range c.attempts {
		if !a.hasGoal {
			continue
		}
		for i := a.from; i >= 0 && !out[i]; i = c.attempts[i].from {
			out[i] = true
		}
	}
	return out
}

// speakers returns for each group, by its root, the run that speaks for its
// goals; -1 where none does.
func (c *Collector) speakers(groups []int32) []int32 {
	old := c.superseded()
	out := make([]int32, len(groups))
	for i := range out {
		out[i] = -1
	}
	for i, a := range c.attempts {
		if !a.hasGoal {
			continue
		}
		best := &out[groups[i]]
		if *best < 0 || old[*best] && !old[i] || old[*best] == old[i] && later(a, c.attempts[*best]) {
			*best = int32(i)
		}
	}
	return out
}

// later reports whether a ended after b. The id decides between equals, so that
// the order of the records does not.
func later(a, b *attempt) bool {
	return cmp.Or(cmp.Compare(a.ended, b.ended), cmp.Compare(a.id, b.id)) > 0
}

// onward returns for each run what it took together with all that continue it,
// which is what its forecast was about. Sums are handed on from those that
// nobody continues; the runs of a circle keep what they have.
func (c *Collector) onward() []spent {
	out, waits := make([]spent, len(c.attempts)), make([]int32, len(c.attempts))
	for i, a := range c.attempts {
		out[i] = a.spent
		if a.from >= 0 {
			waits[a.from]++
		}
	}
	for i := range c.attempts {
		for at := int32(i); at >= 0 && waits[at] == 0; {
			waits[at]-- // once
			to := c.attempts[at].from
			if to >= 0 {
				out[to].add(out[at])
				waits[to]--
			}
			at = to
		}
	}
	return out
}

// Samples returns the runs towards goals as evidence for forecasts, one for all
// runs that continue each other, with what they took together. Groups without a
// session are left out. The order means nothing.
func (c *Collector) Samples() []forecast.Sample {
	groups := c.groups()
	sums, last := make([]spent, len(groups)), make([]int64, len(groups))
	for i, a := range c.attempts {
		sums[groups[i]].add(a.spent)
		last[groups[i]] = max(last[groups[i]], a.ended)
	}
	var out []forecast.Sample
	for root, i := range c.speakers(groups) {
		s := sums[root]
		if i < 0 || s.sessions == 0 {
			continue
		}
		sample := forecast.Sample{
			Size: int(c.attempts[i].size), Sessions: int(s.sessions), Seconds: float64(s.work),
			Tokens: float64(s.tokens), CostUSD: s.dollars(), Achieved: c.attempts[i].achieved,
		}
		if at := last[root]; at != 0 {
			sample.At = time.UnixMilli(at).UTC()
		}
		out = append(out, sample)
	}
	return out
}
