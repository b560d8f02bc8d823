// Package act does what a person asks for in the terminal view or on the live page: it stops
// runs, decides held calls and answers questions. It does so by starting this program with
// the command that the person would type, so that there is one way in which each of these
// things is done, and one place that refuses it.
//
// # Guarantees
//
// No shell is involved. What came from a person is one argument, and can be taken neither for
// an option nor for another argument. A stop reaches the run that was meant or none: it
// names the process that the run has written down. A held call is decided where it is held,
// also when it is that of a story, which has its project elsewhere.
//
// An answer continues a run, which lives for hours. It is started in a session of its own,
// without a terminal, and goes on when the viewer ends; what it prints goes to a file in the
// state folder of its project. The call returns when the run is on, or has said why not.
//
// # On failure
//
// The error is what the command has said, with its way out and its exit status. When the
// context ends before the command, the command is ended too, but not a run that an answer has
// begun to start; it may be on or not, and looking again tells.
//
// # What it refuses to do
//
// It decides nothing itself, changes no file of a run, and takes no name that begins with a
// minus.
package act
