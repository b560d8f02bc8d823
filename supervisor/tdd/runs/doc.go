// Package runs is where test-driven runs live on disk. Below the folder of a Store:
//
//	runs/<run>/state.json      the run: all that it is resumed from
//	runs/<run>/activity.jsonl  what happened, one event per line
//	runs/<run>/manifest.json   the run in short
//	runs/<run>/commits.txt     its commits: full id, a space, the subject
//	runs/<run>/test-results/   what the tests said, a file per step
//	tags/<tag>/current-run.json, current-run.json
//
// # Guarantees
//
//   - state.json is the truth. It is replaced durably before anything else is
//     written, and all other files follow from it: whoever is killed in between,
//     and whenever, the next load for writing makes them up to date.
//   - When Create or Save has returned nil, the state and each of its events are on
//     disk. An event stands in activity.jsonl once, in the order of its number,
//     without gaps. A change is not put in place of another one as long as the log
//     lacks an event of that one.
//   - Test results are on disk before the state that was made with them, when the
//     caller puts them in that order.
//   - Peek and PeekRun write nothing, create nothing and take no lock.
//   - A run is found even if its process died before it was pointed to.
//
// # Failure and crash
//
// A full disk is a *statedir.FullError. Where state.json could not be replaced, the
// old state holds. Where only what follows from it could not be written, the new
// state holds and the error is an *UnsettledError.
//
// A state.json that cannot be used is a *BrokenError until Abort puts it aside; a
// run is never begun beside it. A pointer that cannot be read, or whose run is gone,
// is ignored: the newest run counts that is not over.
//
// # What it refuses to do
//
// It does not save a state that it would not load, one that is older than that on
// disk, or one whose events do not follow on those before. It begins no second run
// while one is not over. It follows no name out of its folders.
//
// # Rough edges
//
// Nothing stops a caller from writing without the Lock. An activity.jsonl from which
// a person has removed lines stays as it is. On file systems that do not tell small
// letters from capitals two tags may share a pointer, which is written and never
// relied on.
package runs
