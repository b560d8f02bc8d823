// Package digest sums up the runs that have ended within a time, for the morning after: as
// Markdown, as one HTML page and as JSON. It is pure: it is given the facts and reads no file
// and no clock.
//
// # What it says
//
// What was done, what proves it, what it has cost, why the runs stopped, and what a person
// has to do now come first, with the commands to go on. Behind that come the runs one by
// one, what waits for a person, proof, goals, pieces of work, and cost by day, and on the
// page drawings: how far runs came and how fast, tokens and cost of sessions, tier and
// memory of the machine, and reward. A time in which nothing ended is told as such.
//
// # What counts
//
// Sums are over the runs that had sessions: one that coordinated others has what it has
// cost in the records of those. A session counts once, by its id. Goals count by attempt as
// package stats counts them, so one that was resumed and reached counts once, as reached.
//
// # Guarantees
//
// Those of package report: texts of strangers are cleaned, cut and escaped, numbers that
// cannot be are not shown, the size is bounded with the telling part of long lists shown and
// the rest counted, and the same facts give the same bytes.
//
// The JSON form has the version of the schema of package report; see Document.
package digest
