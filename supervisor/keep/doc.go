// Package keep decides what of ended runs may go, removes or compresses it, and opens what
// was compressed.
//
// # What is looked at
//
// Every project below the state root, also when only one is to be cleared: the stories of a
// cohort have projects of their own, and whether one may go is seen in another. Of a run that
// is its folder below "runs". Ledgers, conversations of Claude Code, work trees, queues,
// gates, outboxes, episodes and test-driven workflows are never removed or changed; only with
// Policy.Orphans does the folder of a project go as a whole, when its work tree is gone.
//
// # Guarantees
//
// Decide is a pure function. A run goes only when it ended longer ago than Policy.Days, an hour
// at least, and is not among the latest Policy.Runs of its project. Whatever its age, a run is
// left exactly as it is while
//
//   - its supervisor lives, its records are not written, or its state cannot be read,
//   - it is the one that was started last in its project,
//   - it can be continued (unless Policy.Resumable), or such a run continues it, over any
//     number of runs,
//   - it is a cohort and one of its stories' runs is on, open or can be continued, or a work
//     tree of it is still there; and with a cohort its stories' runs stay,
//   - a question of it, a gate, an item of the queue, an open test-driven workflow or an
//     update that was not delivered refers to it; what cannot be read may refer to any run,
//   - its folder holds a symlink, or a file that no part of this program writes.
//
// An episode needs no run: all that it teaches stands in it.
//
// No symlink is followed, and nothing outside of the state root is touched but the lock of a
// work tree, which is taken for the moment in which a folder is renamed. A run that starts
// waits longer for that lock than it is held.
//
// # On failure and crash
//
// A folder is renamed to .gc-<name> beside it, which makes it gone for every reader, and is
// emptied under that name. Whoever is killed leaves such a name, and the next Apply of any
// project goes on with it. A file is compressed beside itself, read back and compared before
// the original goes: at any moment one of the two is there and whole. When both are, the
// original counts.
//
// What could not be removed is named, and keeps nothing else.
//
// # What is compressed
//
// What no part of the program reads once a run has ended for good: the messages of sessions
// (stderr.log), answers that a result holds the beginning of (answer.txt), questions to a
// reflector (prompt.txt), and the output of stories (output.log). The log of the run,
// reflections, samples, test results and the results of sessions stay as they are: reports and
// the live page read them from runs of any age.
//
// # What it refuses to do
//
// It removes no run at the wish of a clock: one that ended in the future, or at a time that is
// not known, is kept.
//
// # Rough edges
//
// Where Policy.Resumable is set a run can be removed between the look of a 'resume' at it and
// the moment in which that run begins, which then fails. A file system that gives no room for
// the compressed file beside the original cannot be helped by compressing.
package keep
