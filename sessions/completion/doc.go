// Package completion keeps an agent at its tasks until all of them are complete: it
// decides, whenever a Claude Code session is about to end its turn, whether it may,
// and what it is told when it may not.
//
// Guarantees:
//
//   - Only a session that was enabled is ever held: by its id, or because it was the
//     first to stop in the project while the next one was waited for. Of several that
//     stop at the same time one is taken.
//   - No session is refused its end more often than its settings allow, nor after its
//     time, nor ten iterations long without progress, nor more often in a row than
//     Claude Code takes. That all tasks are complete is looked at before any limit.
//   - Every refusal has been counted on the disk before the agent hears of it.
//   - Texts of tasks are data: they stay within their line of the prompt, and the
//     prompt has less than 9,000 bytes.
//   - Any number of processes may use the same folder at the same time; nothing that
//     one of them counted is lost.
//
// # Failure and crash
//
// Check is a pure function of the state and the facts. What is around it fails open:
// where the state cannot be read or written the agent stops, with an error beside the
// decision. Commands name a broken state and leave it as it is. States and log are
// not synced, since the agent waits for the answer; a power cut takes at most the
// counts of sessions that it ends as well. A writer that is killed leaves the old
// state; what it left of a line in the log stays a line of its own and is skipped.
// Whoever dies while it takes the place of the next session has not got it, and
// nobody else gets it either.
//
// When the clock is set back the time that has passed stays passed.
//
// It refuses session ids that are no plain file names, settings out of range, states
// that it cannot have written, and to log outside the repository, into its .git folder or
// into a file that is no event log. It never asks the network while an agent
// waits; with a source among the settings that would need it, complete tasks let the
// agent stop but do not end the work.
//
// # Rough edges
//
// What an agent has taken in tokens is estimated from its transcript. The wait of a
// task for another that failed is over, as its source sees it. States of sessions
// that are over stay in the folder, a few kilobytes each.
package completion
