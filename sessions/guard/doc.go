// Package guard keeps a run's sessions from outliving their supervisor, however
// it dies: killed with SIGKILL, by the kernel for lack of memory, or by a panic.
//
// The guard is the process that a person starts. It starts the program again as
// the supervisor, hands signals on to it, and does nothing else. When the
// supervisor is gone the guard ends whatever is left: first with an interrupt,
// which lets the CLI end its own tools and write its transcript, then with a kill.
//
// # Why a parent and not a helper
//
// On Linux orphans become the children of the nearest ancestor that asked for
// them. Below the supervisor that is the supervisor; when it is dead, the guard.
// So the guard sees every process of the run, also those that cleared their
// environment and left every session and group, which no marker would find. On
// other systems the marker in the environment has to do.
//
// # When the guard dies
//
// The supervisor holds the other end of a pipe and ends the run in order when the
// guard is gone. When both are killed at the same moment, the kernel interrupts
// the CLI where it can, and the next start of the program ends what carries the
// run's marker.
//
// The supervisor leads a process group of its own, so that one Ctrl-C is one
// signal and not two.
package guard
