// Package worktree makes, looks at and removes the git work trees of stories.
//
// # Guarantees
//
// A work tree and its branch are removed only when nothing would be lost: all is
// committed, nothing is under way, and each commit is elsewhere too or has come into a
// default head. Ignored files do not count, unless KeepIgnored is set. Nothing that is
// there is ever forced away, and a branch is deleted only while it is at the commit that
// was proven to be elsewhere.
//
// The files of a work tree are deleted one by one: those that the proof was about, and
// ignored ones. What came or was changed since stays, and with it the tree: what was
// deleted until then is put back, but for ignored files. Git's own removal deletes whatever
// it finds after its look, which is why it is used only to take the entry of a folder that
// is gone off the list.
//
// What is ours is on record: a file for each tree in the folder .trees beside them, which
// is written before anything is made and goes when all of it is gone. A branch or a folder
// that is not on record is never used, changed or removed. Trees are locked, so that
// nobody's prune takes them. A record alone does not make a branch ours: before one is
// deleted its own log has to begin with the story, and its tree has to have been made with
// it. Nothing is done to a branch that is a symbolic ref.
//
// Nothing is done to a tree whose statedir.RunLock is held. Add, Merge and Remove hold it until they
// return.
//
// # What counts as merged
//
// All of a branch is in a head when the head contains its last commit; when the head, or
// a commit that the head contains and the branch does not, has exactly its files; or when
// merging the branch into such a commit would change nothing, which is how a squash or a
// rebase looks, also where others have changed the same lines later. Of commits that
// changed one of the branch's files the newest 50 are tried. This needs git 2.38; an
// older one sees less and keeps more. Drivers for merges that the repository configures
// are not asked: they may drop a side. Commits that undo each other do not count as
// merged.
//
// The heads are the default branch of this repository, and that of the remote as last
// fetched: nothing but Base uses the network.
//
// # Failure and crash
//
// A call that is killed anywhere is made good by the next one: Add finishes what it began,
// and puts back what a Remove had begun to delete. Git and what it started in a tree are
// not ended with us; whoever comes next waits for them, for as long as one git may take,
// but for a post-checkout hook, which may then run twice. An
// Add that returns an error has taken back what it made, as far as that was possible; what
// was not is on record for the next one.
//
// Git gets no terminal. A git that takes too long is asked to end, and two seconds later it
// is killed, with its hooks. Locks of git that another process holds are waited for, for
// some seconds; a stale one is named and never deleted, but for the index of a tree whose
// making was broken off.
//
// A Merge that was broken off is taken back by the next one, unless somebody has been at
// the files since.
//
// Trees are made and removed one after the other where git lists them, under the lock
// autopilot-worktrees.lock in the shared git folder, whose file stays; they are filled at
// the same time.
//
// # What it refuses to do
//
// It resolves no conflict, and changes no branch but that of the tree it was told. It
// removes no tree that holds a repository of its own, such as an initialised submodule or
// another work tree, nor one in which git was told to overlook changes (assume-unchanged,
// skip-worktree). It initialises no submodules, and keeps what git keeps of a tree, also of
// one whose folder is gone, while that has repositories of submodules, commits in refs of
// the tree alone, or a lock that somebody else has put on it.
//
// # Rough edges
//
// A file that is changed in the instant between the last look at it and its deletion is
// lost, and so is what a process still writes to a file that it has open. A commit that
// was made and then thrown away in the tree, which only the log of its HEAD knows, goes
// with it. The same story in two letter cases is refused where the file system does not
// tell them apart. A branch whose log has lost its beginning, which git forgets after 90
// days when it tidies up, stays, and its tree with it. Git before 2.36 is not asked for the post-checkout hook; one before 2.33
// makes no tree, because it cannot lock it with a reason in one step.
package worktree
