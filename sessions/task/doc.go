// Package task finds the tasks of a project where other programs keep them: in
// the task lists of Claude Code, in files of the repository, and, when it is
// allowed to ask, in the issues of its hosting service.
//
// # Guarantees
//
// [Discover] returns what there is and says of every source that was asked
// where it looked, what was broken, and why it had nothing. A file that cannot be
// taken for what it should be is a [Fault] and never skipped in silence, and the
// rest of the source counts all the same. A missing file is no fault.
//
// Only the lists of the project count. A list of Claude Code belongs to it when
// it is the shared one of [Place.ListID], when it carries the name of a session
// that has a transcript under the project's slug, or when it is that of a team
// which such a session leads or which works inside the repository. The slug is
// not unique: two paths that differ in punctuation share it, and then their
// sessions too.
//
// What was read is text of strangers. Subjects, states, ids and owners become one
// bounded line of valid UTF-8 without control characters.
//
// # The same task in two places
//
// Tasks of different lists are the same when their subjects are, apart from case,
// white space and final punctuation. The list of higher priority keeps the task and
// its state counts, for what waits for it as well; the others are named in
// [Task.Also]. Lists are ordered by the priority of their source. Among those of
// Claude Code the shared one comes first, then those of sessions, the last active
// one first, then those of teams. Tasks of one list are never the same, and neither
// are tasks without a subject of their own.
//
// # Failure
//
// Nothing here fails as a whole. When the context ends, the sources that are left
// say so in [Look.Empty]. A task file that vanishes while it is read is gone; one
// that another program has written half is a fault of this look and fine in the
// next.
//
// # What it refuses to do
//
// It writes nothing, starts nothing, and asks the network only through
// [Place.GH]. It reads regular files up to 16 MiB. A symbolic link counts as what
// it leads to, but one that is absolute or leads out of the repository, or out of
// Claude Code's folder, is a fault.
package task
