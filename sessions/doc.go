// Package sessions runs one Claude Code session: it starts the process, reads
// its events, keeps the cap on its sub-agents, notices when it hangs, ends it,
// and says how it ended.
//
// A session is one conversation. It may take several prompts, each a process of
// its own, and it may be continued after a limit of the API; its numbers add up
// over all of them.
//
// # Guarantees
//
// Run returns when the process has exited and nothing of its tree is left. It
// never waits for end-of-file. When its context ends, the session is ended by
// the ladder of signals; when the kill context ends, at once. The result is on
// disk before Run returns, and Run with the id of a finished session returns
// that result without starting anything.
//
// # When the supervisor dies
//
// The session does not outlive it: the kernel interrupts the process where it
// can, the run's guard ends what is left, and the next start of the program ends
// whatever both have missed.
//
// # Clocks
//
// Deadlines are wall-clock times, looked at again at least every 30 seconds. A
// gap between two looks that is longer than that means that the machine slept;
// silence during sleep is not taken for a hang.
package sessions
