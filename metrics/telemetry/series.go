package telemetry

import (
	"math"
	"strings"

	"autopilot/metrics/report/wording"
)

// family is a metric with its values.
type family struct {
	Metric

	points []point
}

// point is a value with the values of the metric's labels.
type point struct {
	labels []string
	value  float64
}

// families are the metrics that have values. A number that cannot be is left out, and so is
// a second value for the same labels.
func families(f Facts) []family {
	var out []family
	for _, m := range table() {
		got := family{Metric: m.Metric}
		seen := map[string]bool{}
		m.collect(f, func(v float64, labels ...string) {
			clean := make([]string, len(labels))
			for i, l := range labels {
				clean[i] = wording.Line(l, maxLabel)
			}
			key := strings.Join(clean, "\n") // of which none has a line end
			if seen[key] || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				return
			}
			seen[key] = true
			got.points = append(got.points, point{clean, v})
		})
		if len(got.points) > 0 {
			out = append(out, got)
		}
	}
	return out
}
