// Package ending says how a run ended in the words that a person and other
// programs use: completed, paused, stopped or interrupted, with the reason, the
// guardrail that was hit, what is there as proof, and what can be done next.
//
// It is pure. It never claims a deliverable that no check has seen.
package ending
