// Package ending ends a program together with all that it has started: also what has
// left its process group, as a program does that is run by timeout or by a shell with
// job control, and what has left its session while its parents are there.
//
// # Guarantees
//
// Everything is asked first and has some time to clean up; what does not heed that is
// killed. A pid that was given to another process meanwhile is told by its start.
//
// # Failure
//
// Where the process table cannot be read, the process group is what is ended.
//
// # What it refuses to do
//
// What has made itself a child of nobody in a session of its own is not looked for: it
// means to stay. The process of the caller is never signalled.
package ending
