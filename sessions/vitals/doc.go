// Package vitals tells a session that works in silence from one that hangs.
//
// A sign of life is an event in the stream, growth of a transcript, or CPU time
// in the tree of processes; a process that waits for a processor on a machine that
// is too busy counts like one that has it. The model has one clock, a running tool a longer one,
// since a tool may be silent for long; heartbeats are no sign of life, because
// the CLI prints them for a tool that hangs as well.
//
// All times are wall-clock times. A look that comes much later than planned means
// that the machine slept: the silence until then says nothing and the clock
// starts again, while deadlines stay where they are.
package vitals
