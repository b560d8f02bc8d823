// Package guard ends a run's sessions when the supervisor dies without being
// able to do so: killed with SIGKILL, by the kernel for lack of memory, or by a
// panic.
//
// The guard is a process of its own that does nothing but read a pipe. As long
// as the supervisor lives the pipe is open; when it closes without the word that
// all is well, the guard ends every process of the run: first an interrupt, which
// lets the CLI end its own tools and write its transcript, then a kill.
//
// The guard leads a session of its own and ignores the signals that end its
// supervisor, so that one Ctrl-C does not reach it. It does not carry the marker
// it looks for. If the guard is killed as well, the next start of the program
// finds what is left.
package guard
