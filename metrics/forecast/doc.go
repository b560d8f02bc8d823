// Package forecast says what a run towards a goal will take, from what earlier
// runs took, and compares the forecast with the truth afterwards. It is pure: it
// reads no file and no clock.
//
// # Method
//
// Every earlier run is evidence, with a weight:
//
//	weight = alike * recent * reached
//	alike  = 1 / ratio²             ratio of the larger size to the smaller, at least 1
//	recent = (1 + 2^(-age/30d)) / 2 age against the newest sample; 1/2 without a time
//	reached = 1, or 1/2 for a run that did not reach its goal
//
// Each quantity is then the weighted median, with the weighted quartiles as its
// bounds, or with the smallest and the largest value when fewer than four runs
// know it. Quantiles are those of the midpoint rule: the i-th value in order
// stands at (weight before it + half of its own) / whole weight, and what lies
// between two values is interpolated. Sizes weigh; they do not scale: after runs
// of size 1 alone, a goal of size 10 is expected to take what those took.
//
// Without any evidence the size alone speaks: size sessions, each of 5 minutes,
// 60,000 tokens and $0.30, from a third to three times of it. A quantity that no
// run knows is guessed in the same way from the sessions that are expected.
//
// Work that is a list of tasks, of which no earlier run is alike, is guessed by Cold from
// how many tasks there are.
//
// # Guarantees
//
// Every number of a forecast is finite and above zero, with low <= likely <= high
// <= the limit. The order of the samples has no influence, to the last bit. The
// cost is that of sorting the samples four times.
//
// # What it refuses
//
// Numbers that cannot be: zero, negative, not finite, or beyond the bounds
// below. They count as not known and never as evidence. A sample without a known
// number of sessions is left out as a whole. A sample of a size below 1 is one of
// size 1, of a size above 1,000 one of 1,000.
package forecast
