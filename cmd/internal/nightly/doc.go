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
// A run that is killed under this process goes on after half a minute. A history that ends in a
// beginning without an end is that of a run that was killed together with this process, by a
// power cut for instance: who comes next while the window is open goes on with it, and the units
// see to it that somebody comes. The same holds for a run that was told to end less than a quarter
// of an hour before the machine was started again: it was shut down with it. That is done three
// times for a night at most, never when the run had ended in order, nor when a person has gone on
// with it; a person is told each time. When the guard is killed, the output of
// a supervisor that still ends its run in order is lost, its own log is not.
//
// It refuses an entry of another version, a file of secrets that others may read, and a
// variable that looks like a secret outside of that file.
package nightly
