package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestText(t *testing.T) {
	t.Parallel()
	const want = `runs                           5  4 with a goal
goals                          6
goals achieved                 4
completion rate            66.7%  target > 80%: missed
sessions to completion       2.5  mean
false stops                    1
false stop rate            20.0%  target < 5%: missed
reflections                    5  1 failed
reflection accuracy        75.0%  3 of 4 judged
reflection score            0.70  0 to 1
  by claude                    4
  by rules                     1
forecasts                      2
  sessions within bounds   50.0%
  time within bounds      100.0%
  tokens within bounds     50.0%
  cost within bounds        0.0%
reasons
  completed                    2
  error                        1
  stuck                        1
  timeout                      1
  user_interrupt               0
total sessions                11
total tokens                6100
total cost                 $0.30
total time                25m10s
`
	if diff := cmp.Diff(want, collect(project()...).Metrics().Text()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestTextOfNothing(t *testing.T) {
	t.Parallel()
	const want = `runs                          0  0 with a goal
goals                         0
goals achieved                0
completion rate               -  target > 80%
sessions to completion        -  mean
false stops                   0
false stop rate               -  target < 5%
reflections                   0  0 failed
reflection accuracy           -  0 of 0 judged
reflection score              -  0 to 1
forecasts                     0
  sessions within bounds      -
  time within bounds          -
  tokens within bounds        -
  cost within bounds          -
reasons
  completed                   0
  error                       0
  stuck                       0
  timeout                     0
  user_interrupt              0
total sessions                0
total tokens                  0
total cost                $0.00
total time                   0s
`
	if diff := cmp.Diff(want, new(Collector).Metrics().Text()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		share *float64
		bound float64
		above bool
		want  string
	}{
		{nil, TargetCompletion, true, "target > 80%"},
		{new(0.8), TargetCompletion, true, "target > 80%: missed"},
		{new(math.Nextafter(0.8, 1)), TargetCompletion, true, "target > 80%: met"},
		{new(1.0), TargetCompletion, true, "target > 80%: met"},
		{nil, TargetFalseStops, false, "target < 5%"},
		{new(0.05), TargetFalseStops, false, "target < 5%: missed"},
		{new(0.0), TargetFalseStops, false, "target < 5%: met"},
	} {
		if got := target(tt.share, tt.bound, tt.above); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int64]string{0: "0s", 59: "59s", 5000: "1h23m20s", math.MaxInt64: "2562047h47m16s"} {
		if got := clock(seconds); got != want {
			t.Errorf("%d: got %q, want %q", seconds, got, want)
		}
	}
}
