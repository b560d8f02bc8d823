// Package nightly is what happens when a schedule is due: it decides whether something is to
// begin, begins it with the environment that was agreed on, keeps its log and its history,
// and tells a person when nothing began.
//
// Guarantees:
//
//   - What runs has the environment of the entry and of its file of secrets, and what the
//     service manager itself says to its child. Nothing else of the caller's gets in.
//   - Of one schedule only one runs at a time, whoever starts it.
//   - Every time that came is in the history: begun, left out or missed, with the reason.
//   - A log that cannot be written never keeps a run from starting.
//
// # Failure and crash
//
// A history that ends in a beginning without an end is that of a run whose guard was killed
// together with this process; the next time says so. When the guard is killed, the output of
// a supervisor that still ends its run in order is lost, its own log is not.
//
// It refuses an entry of another version, a file of secrets that others may read, and a
// variable that looks like a secret outside of that file.
package nightly
