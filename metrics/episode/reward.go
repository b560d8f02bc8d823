package episode

import "time"

const (
	iterationScale = 10.0
	longWork       = time.Hour
	iterationShare = 0.6
	durationShare  = 0.4
)

// Reward rates work that succeeded, between 0 and 1:
//
//	(1 - i/(i+10)) * 0.6 + (1 - min(ms/3,600,000, 1)) * 0.4
//
// with i iterations and ms milliseconds. Fewer iterations weigh six parts of ten,
// without an end to the scale; a shorter time weighs four, and none from an hour on.
// What is negative counts as 0. A failure has the reward 0, whatever it took.
func Reward(iterations int, d time.Duration) float64 {
	i := float64(max(iterations, 0))
	ms := float64(max(d, 0)) / float64(time.Millisecond)
	hour := float64(longWork / time.Millisecond)
	return (1-i/(i+iterationScale))*iterationShare + (1-min(ms/hour, 1))*durationShare
}
