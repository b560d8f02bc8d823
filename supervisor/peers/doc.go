// Package peers knows who else works in a repository, by the files in which the sessions of
// session-orchestrator announce themselves, what that means for a session that wants to begin,
// and how to be seen by them.
//
// A session is seen in three places: the lock of the worktree that it works in
// (.orchestrator/session.lock), its entry in the registry of the machine, and STATE.md of the
// repository. [Finder] reads them, [Decide] judges what was found, [Announce] adds a lock and an
// entry of our own, and [AppendDeviation] notes in STATE.md what was done in spite of others.
//
// # Guarantees
//
// Decide and ClassOf are pure. Find never fails and never hangs: it reads regular files of at most
// 1 MiB, and waits for git for two seconds. Of any number of processes that want the lock, one has
// it. What another wrote is never written over: a lock is created under its name or not at all,
// one that is too old is moved aside and looked at once more before it goes, and a heartbeat is
// written into the very file that was found to be ours. No text of a stranger is passed on
// without being cut and freed of control characters and of what looks like a secret.
//
// # On failure and after a crash
//
// What cannot be read while looking is told as a warning. What cannot be written is an error, and
// nothing is then half done. A process that is killed leaves its lock and its entry, which others
// believe until the heartbeats are too old, and perhaps a temporary file beside the lock, which
// nobody takes for one and which the next one to take the lock removes after ten minutes. A temporary
// file beside STATE.md or an entry stays: those folders are others', and nothing is removed there.
//
// # What it refuses to do
//
// It ends nobody's session, removes nobody's entry, waits for nobody's lock but for that of
// STATE.md, and takes no ended process for a sign that a session has ended: the processes named in
// these files are mostly hooks of a moment. It does not replace anything but a regular file.
//
// # Why
//
// A lock that cannot be understood holds for four hours from its last change, while
// session-orchestrator takes it for none when it looks and for a foreign one when it wants to have
// it, for ever. Entries count for every worktree of the repository, not only for the one that we
// stand in. Times ahead of ours are believed only as far as a time may lie back: that program
// believes them however far ahead they are, so that one wrong clock would block a repository
// for years.
//
// # Rough edges
//
// Sessions of session-orchestrator see a lock or a fresh entry of ours as that of any other
// session, also those that we start ourselves, unless it bears their own id. They then ask a
// person where to work, or refuse to begin, according to the mode that we announce. A mode
// of class AlwaysOK never stands in anybody's way.
//
// That program takes over a lock that is too old by renaming its own onto it, unseen. When it
// does so in the same instant as we, the later one has the lock and the other learns it from its
// next heartbeat. Where the file system has no hard links, no lock can be taken. Where it cannot
// lock a folder, such as NFS, three processes of ours that take over the same old lock in the
// same microseconds can leave two of them with the belief to have it, until the next Beat.
package peers
