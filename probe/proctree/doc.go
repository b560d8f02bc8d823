// Package proctree takes one look at the process table: who is whose child,
// which session a process is in, how much processor time it has used, and
// which processes carry a mark in their environment.
//
// On Linux it reads /proc itself; the folder is a parameter where a test needs
// a made-up one. On macOS it asks the kernel through sysctl and ignores that
// parameter.
//
// # Guarantees
//
// A look never fails because a process vanished while it was being read, or
// belongs to someone else: such processes are left out. Results are ordered by
// pid. Nothing is cached between calls, and no descriptor stays open.
//
// # What a look cannot promise
//
// The kernel offers no frozen picture. Rows are read one after the other, so a
// process that starts during the look may be missing, and a parent in the table
// may already have ended. A process in the middle of an exec has no environment
// for a moment. Whoever must find every process of a tree repeats the look until
// it finds none twice.
//
// A pid is reused in time. [Process.Start] tells two owners of one pid apart, on
// one machine until it boots again; [Alive] compares it.
//
// On macOS [Process.CPU] and [Process.Reaped] are always zero, because the table
// that the kernel gives out there leaves the times empty, and arguments and environments of other
// users' and of protected programs cannot be read.
//
// # What it refuses to do
//
// It sends no signal and changes nothing.
package proctree
