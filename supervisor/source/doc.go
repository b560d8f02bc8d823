// Package source says what the next session is to do. Every source of work
// gives the same kind of assignment, so that limits, kill-switches, ledgers and
// recovery know nothing of where the work comes from.
//
// A source reads the repository again each time it is asked. It starts nothing
// and writes nothing.
package source
