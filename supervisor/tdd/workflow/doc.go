// Package workflow walks a task through its subtasks in one work tree: it puts the
// machine of package tdd together with git, the task file, the project's tests, and
// the folder in which runs are kept. Commands, tools and the loop of sessions call it.
//
// # Guarantees
//
// One process changes a run at a time; a second one waits for some seconds and is then
// told who is at work. Looking at a run takes no lock and writes nothing.
//
// The state is on disk before anything that could go wrong in git is begun. A process
// that is killed at any moment leaves a run that the next command finds where it was: a
// commit that was made counts, one that was not is made again, and none is made twice.
//
// Nothing is committed on a default branch, or on any but the run's own. What was
// changed before the run began is the person's: it is committed only where a person
// names it.
//
// # Failure
//
// What is refused is a *tdd.Refusal, and the run stays where it was. Other errors are
// those of git, of the disk, and of the task file; they change nothing either.
//
// # What it refuses to do
//
// It pushes only when asked, and never forces. It does not stash, reset or discard.
package workflow
