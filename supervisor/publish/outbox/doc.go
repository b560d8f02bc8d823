// Package outbox keeps what is to be told on disk until the targets have taken it.
//
// Guarantees:
//
//   - An update for which Put returned nil is on the disk and survives whoever is killed
//     and a power cut. It stays until its target has taken it, its target has refused it
//     and a person dropped it, or a newer one of the same subject stands for it.
//   - Updates of one subject reach a target in the order in which they were put. A final
//     one only yields to a later final one.
//   - One process delivers at a time; the lock is the kernel's and goes with its
//     holder. What was taken is written down before it is removed from what waits, so
//     only an end between the answer of the target and that note leads to a second
//     call, and that one has the same key.
//   - Calls through one breaker go one after the other, each with a limit of time, and
//     beside those through others: a service that stalls keeps nothing from another. After
//     a failure the next try waits twice as long as the one before, half an hour at most,
//     give or take a quarter; longer when the target asked for it.
//   - After a call that was cut off, by its limit or by the caller, its subject rests for a
//     minute at this target, forced or not: the target may still be making what a look for
//     it would not find.
//   - Before anything is written secrets are taken out of texts, control characters too,
//     and texts are cut. All files are for the user alone.
//   - At most so many entries are kept as were asked for. When there are more, the oldest
//     that are not final go first; how many went is counted, logged and told by Status.
//
// # Failure and crash
//
// A temporary failure keeps an entry. A permanent one sets it aside: it is not tried any
// more and stays visible until a person says Retry or Drop, or the target takes a later
// one that may stand for it. A file that cannot be read, or in which somebody has changed
// what is to be told, is counted, named and left alone until Drop. A clock that jumps back
// makes what waits due earlier, never later.
//
// It refuses updates whose subject, project or state is not one that package publish names, and
// Retry of what is older than what its target has.
//
// # Why
//
// Every entry is a file of its own, named after its subject, target and number: a Put
// costs one durable write however much waits, an entry goes by being removed, and a
// broken file is one update. A journal would grow by every attempt and would need to be
// rewritten to shrink; one file for all would be rewritten, with all texts, by every Put.
//
// # Rough edges
//
// A process that is killed within a call leaves no note of it: the next delivery looks at
// once whether the target has it. A process that is stopped while it delivers keeps
// others from it. An update that
// replaces one which is just being sent is sent after it, within the limits of a batch.
package outbox
