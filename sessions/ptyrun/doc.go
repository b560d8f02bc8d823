// Package ptyrun starts one child process the way an unattended Claude Code
// needs it, and ends it.
//
// The child leads a session of its own. Its stdout is the slave of a raw pty
// that is nobody's controlling terminal; the prompt comes through a pipe on
// stdin that ends; stderr is a file. What the child prints goes to a writer
// from one goroutine that does nothing else.
//
// # Why
//
// On a pipe the CLI loses the end of a long output, on a pty never. Raw mode
// keeps lines as they are, without echo and carriage returns. The prompt does
// not go through the pty, because a terminal in canonical mode cuts a line at
// 4,095 bytes. Without a controlling terminal the child is not hung up on when
// the supervisor dies; it gets the interrupt that lets it end its own tools.
//
// # Guarantees
//
// Done is closed when the process has exited, whatever its descendants do with
// the pty: the end of a session is never waited for as the end of a file. On
// Linux the child is interrupted by the kernel when the supervisor dies.
package ptyrun
