// Package suitability judges whether a run may be started without asking a person first.
//
// [Judge] is a pure function of [Signals]: it reads no file, no clock and no environment,
// and the same signals give the same [Verdict]. Four gates have to pass, all of them: the
// confidence reaches the floor, few of the last runs ended in trouble, the pipeline is not
// red, the machine is not critical. It says whether a run may begin; when a run ends is
// decided elsewhere, by the kill-switches, and nothing here changes that.
//
// # Guarantees
//
// A confidence that is absent or no number never passes. A floor that is absent or no
// share is 0.5, never 0. What is absent or malformed of the other signals passes, and
// there is a warning for each, so that a signal that could not be fetched is told from one
// that is good. Every text of a verdict is one line without control characters, whatever
// the signals say.
//
// Runs that say nothing against a repository do not count against it: one that reached its
// number of sessions or hours ended as it was asked to, one that a person stopped was not
// stopped by trouble, and a dry run is not history at all. [RecentRuns] leaves out what
// ended more than a week ago. So a gate that failed passes again by itself, also when
// nobody starts a run meanwhile.
//
// # On failure
//
// A history that cannot be read is an empty one: the gate is skipped and warns. Nothing is
// written, so a crash leaves nothing behind.
//
// It refuses to let a run begin unasked on its own word: a verdict is autonomous only where
// the dial, which a person sets, is autonomous-gated.
package suitability
