// Package tdd is the test-driven workflow as a written-down machine: what a run of a
// task is, which step follows which, and what is refused. It is pure: every decision
// is a function of the state, of what was reported and measured, and of a time.
//
//	preflight -> branch-setup -> red -> green -> commit -> finalize -> complete
//	                             ^                  |
//	                             +--- next subtask -+
//
// Red, green and commit are the subtask loop. A run may be paused in each of them
// and while it is finalized: when a step was refused as often as is allowed. A person
// resumes it. It may be aborted at any time.
//
// # Guarantees
//
// Nothing gets from red to green without a failing test, from green to commit without
// all of them passing, or from commit to the next subtask without a commit. Where a
// measurement stands beside a report, the measurement counts, and a report that it
// contradicts is refused with both numbers.
//
// # What it refuses to do
//
// It starts nothing, reads nothing and writes nothing.
package tdd
