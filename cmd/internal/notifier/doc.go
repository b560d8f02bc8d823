// Package notifier tells a person of a run while it is on: it derives news from the states
// of the run, and has them delivered beside it.
//
// Guarantees:
//
//   - Tell never blocks and never fails. A run neither waits for a channel nor ends because
//     of one; it waits for what is left at its end, for a quarter of a minute at most.
//   - A channel has one worker and at most one call at a time, which is a process of its own
//     that is ended when its time is over. So a channel that stalls holds neither another one
//     nor the end of the run, and nothing grows.
//   - What was told is on disk before it is sent, and stays until a channel has taken it, has
//     refused it, or it is no news any more. The next run in the work tree sends what is
//     left, and so does 'autopilot notify flush'.
//   - The log says what goes wrong, the same thing once, and shows no more of a channel than
//     its kind and host.
//
// # Failure and crash
//
// Killed between two of its steps, a process has written down each try before it was made:
// a notice is sent once more at most, never again and again. Without a place to write to,
// notices still go out and do not survive the process.
//
// It refuses nothing that is told to it. Kinds that are not wanted are left out.
package notifier
