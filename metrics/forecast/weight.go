package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"

	"autopilot/metrics/ledger"
)

const (
	halfLife      = 30 * 24 * time.Hour
	unreached     = 0.5 // weight of a run that did not reach its goal
	quartilesFrom = 4   // values
)

// weighted is a sample and how much it tells.
type weighted struct {
	Sample
	weight float64
}

// weigh returns the samples that are of use.
func weigh(past []Sample, size int) []weighted {
	var newest time.Time
	for _, s := range past {
		if usable(s) && s.At.After(newest) {
			newest = s.At
		}
	}
	var all []weighted
	for _, s := range past {
		if usable(s) {
			all = append(all, weighted{s, weight(s, size, newest)})
		}
	}
	return all
}

func usable(s Sample) bool { return positive(float64(s.Sessions), maxSessions) }

func weight(s Sample, size int, newest time.Time) float64 {
	own := clampSize(s.Size)
	ratio := float64(max(own, size)) / float64(min(own, size))
	w := 1 / (ratio * ratio)
	recent := 0.5
	if !s.At.IsZero() {
		recent += 0.5 * math.Exp2(-newest.Sub(s.At).Hours()/halfLife.Hours())
	}
	if !s.Achieved {
		w *= unreached
	}
	return w * recent
}

// point is one value with its weight.
type point struct{ value, weight float64 }

// spread is the range of a quantity over the samples that know it, and false when
// none does.
func spread(all []weighted, value func(Sample) float64, most float64) (ledger.Range, bool) {
	var points []point
	for _, s := range all {
		if v := value(s.Sample); positive(v, most) {
			points = append(points, point{v, s.weight})
		}
	}
	if len(points) == 0 {
		return ledger.Range{}, false
	}
	// Weights decide between equal values, because sums of fractions depend on
	// their order.
	slices.SortFunc(points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.weight, b.weight))
	})
	r := ledger.Range{Low: points[0].value, Likely: quantile(points, 0.5), High: points[len(points)-1].value}
	if len(points) >= quartilesFrom {
		r.Low, r.High = quantile(points, 0.25), quantile(points, 0.75)
	}
	return r, true
}

// quantile reads the value at a share q of the weight, by the midpoint rule.
func quantile(sorted []point, q float64) float64 {
	sum := 0.0
	for _, p := range sorted {
		sum += p.weight
	}
	before, at, last := 0.0, 0.0, sorted[0].value
	for i, p := range sorted {
		here := (before + p.weight/2) / sum
		if here >= q {
			if i == 0 || here <= at {
				return p.value
			}
			return min(p.value, last+(p.value-last)*(q-at)/(here-at))
		}
		before, at, last = before+p.weight, here, p.value
	}
	return last
}
