// Package commit changes a git repository for work that nobody watches: it makes and
// switches branches, commits exactly the files it is told, and pushes.
//
// # Guarantees
//
// Nothing is ever pushed to, made as, or deleted as a default branch, see
// [Tree.Protected], and no commit is left on one, or on any branch but its own, as far as
// that can be seen. No push is forced. No file of the work tree is written by this package
// itself; git writes there when branches are switched, and is told to refuse where a file
// would be lost, one that is ignored included.
//
// A commit takes exactly the files it is told, as they are in the work tree, and what
// the repository's hooks add to it. It is put together in an index of its own, so that
// what a person has staged stays staged, what a hook refuses leaves no trace in the
// person's index, and nobody is locked out while hooks run. The person's index is
// brought in line when the commit is made: for each file of the commit, and only where
// nobody has staged something else meanwhile.
//
// Hooks run and commits are signed as the repository has it. No editor is opened and
// nothing asks on a terminal: git gets none. The end of the context ends git, its hooks
// and what they have started; what takes long to clean up is killed after ten seconds.
//
// # When the branch is switched meanwhile
//
// Git commits on what is checked out when its hooks have ended, and nobody is kept from
// switching branches until then. Git itself refuses a branch that is at another commit
// than the one at which it began. Where it is at the same one, as right after a branch
// was made, the commit gets there, and is taken back when git has ended: only where it
// is still the last one of that branch, and only when nothing says that somebody wanted
// it there. Neither index nor work tree is touched, so that all changes are there as
// before. A [BranchError] says so, and what could not be taken back. Until then hooks
// that run after a commit may have acted on it.
//
// # When this process dies
//
// Git is not ended with us. Its process is on record before it can commit, and whoever
// comes next ([Tree.Find], [Tree.Commit]) waits for it, so that the answer holds, and
// brings the index in line where that is left, or takes the commit back from a branch that
// is not its own; that is said once, as an error. A git whose process could not be put on
// record gets no message and commits nothing.
//
// The folder autopilot-commit in the git folder of the work tree holds the lock, the
// index and the record. The lock file stays; the rest is there only while a commit is
// made.
//
// # Failure
//
// Of git's words the useful lines are passed on, without secrets and escape sequences.
// Most errors have a Hint that says what to do. A stale lock of git is named and never
// deleted.
//
// # What it refuses to do
//
// It resolves nothing: in the middle of a merge, a rebase or the like it commits
// nothing. It adds no ignored file, no folder as such, and no repository that is not a
// submodule already.
//
// # Rough edges
//
// A hook may do what it wants: one that adds everything takes along everything, which
// [Tree.Touched] tells. A hook that writes another message, for a Commit that is killed
// while the branch is switched, makes its commit one that nobody knows any more: it
// stays where it is. The language of git's messages is set to English for hooks as
// well; the rest of the locale is left alone, because hooks depend on it.
package commit
