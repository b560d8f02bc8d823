// Package tier turns what was measured on this machine into a verdict: how
// much room there is for another session, and how many agents a wave of it may
// run at once.
//
// Four signals are judged, each by itself, and the most restrictive one wins:
//
//	tier      RAM available  swap used  peers      memory free   cap
//	green     >= 6 GB        < 1 GB     <= 2       >= 30 %       as planned
//	warn      >= 4 GB        < 2 GB     <= 4       >= 15 %       4
//	degraded  >= 2 GB        <= 3 GB    <= 6       >= 5 %        2
//	critical  below that     above      above      below that    0
//
// A cap of 0 means that the coordinator works alone, without sub-agents. A cap
// never exceeds what was planned. One GB is 2^30 bytes, see [GB].
//
// # Guarantees
//
// The package is pure: no clock, no files, no state, and the same facts give
// the same verdict. An absent signal says nothing, neither good nor bad; when
// all are absent the verdict is green, its signal is [None] and its reason
// says that nothing could be measured, so that a reader never mistakes it for
// a healthy machine. A value that is no measurement (not a number, infinite,
// negative) counts as absent and its part says so.
//
// # What it refuses to do
//
// It remembers nothing: damping a verdict that flips between two tiers is the
// caller's, which knows the verdicts before. It does not measure either.
package tier
