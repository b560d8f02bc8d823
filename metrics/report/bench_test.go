package report_test

import (
	"testing"

	"autopilot/metrics/report"
)

func BenchmarkHTML(b *testing.B) {
	for name, f := range map[string]report.Facts{"night": night(), "thousand": many(1000, "some words of a usual length about what was done")} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				html(b, f)
			}
		})
	}
}
