// Package reap finds and ends what a session leaves behind: background
// processes of its tools, MCP servers that do not stop, anything that called
// setsid or lost its parent.
//
// # How a process is recognised
//
// On Linux the supervisor is a subreaper, so every descendant of a session whose
// own parent has ended becomes the supervisor's child: a look at its children is
// complete, also for processes that cleared their environment. Elsewhere, and
// for a session whose supervisor has died, a process is recognised by the marker
// in its environment, and by descent from one that is.
//
// # Guarantees
//
// Nothing is signalled but processes that belong to the session or run that was
// named. Sweeping is repeated until nothing is left or the time is over; what
// could not be ended is returned.
package reap
