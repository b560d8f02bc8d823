package stats_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/stats"
)

func TestLessons(t *testing.T) {
	t.Parallel()
	accuracy, mean := 0.7, 4.25
	full := stats.Metrics{
		Reflections: stats.Reflections{Judged: 10, Correct: 7, Accuracy: &accuracy}, FalseStops: 2, GoalsAchieved: 3, Goals: 5, MeanIterationsToCompletion: &mean,
	}
	tests := []struct {
		name   string
		change func(*stats.Metrics)
		want   []string
	}{
		{"all", func(*stats.Metrics) {}, []string{
			"7 of 10 assessments of progress were right when compared with what came after",
			"of 5 times a goal was said to be reached, 2 were wrong: a check failed",
			"a goal that was reached took 4.2 sessions on average; 3 of 5 goals were reached",
		}},
		{"nothing yet", func(m *stats.Metrics) { *m = stats.Metrics{} }, nil},
		{"too little", func(m *stats.Metrics) { m.Reflections.Judged, m.FalseStops, m.GoalsAchieved = 2, 0, 2 }, nil},
		{"no false stop", func(m *stats.Metrics) { m.Reflections.Judged, m.FalseStops = 0, 0 }, []string{
			"a goal that was reached took 4.2 sessions on average; 3 of 5 goals were reached",
		}},
	}
	for _, tt := range tests {
		m := full
		tt.change(&m)
		if diff := cmp.Diff(tt.want, m.Lessons()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
