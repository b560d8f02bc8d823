// Package samples keeps how the machine was during a run: a line a minute at most, in the
// folder of the run, for plots and for the question why it was slow at three.
//
// Samples are not evidence: nothing is decided by them, they are not synced to disk one
// by one, and what a crash takes is the last line. A line that is torn is left out.
package samples
