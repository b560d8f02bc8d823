// Package taskmaster reads one task of Task Master with all its parts, and changes
// one status in its file.
//
// The file is .taskmaster/tasks/tasks.json, or in older projects tasks/tasks.json. It
// holds lists of tasks under tags, or one list without tags, which counts as that of
// the tag master. Which tag is worked on stands in .taskmaster/state.json.
//
// # Guarantees
//
// What is changed is the value of one member, in place: indentation, line ends,
// byte-order mark, order, forms of numbers, escapes and the end of the file stay. The
// same holds for the two members that [SwitchTag] changes. A file is replaced as a
// whole or not at all, and not when somebody else has written it since it was read.
// Between that look and the replacement there is an instant in which a write of
// somebody else would be lost.
//
// Numbers and text are the same as ids. Ids of subtasks have that of their task in
// front. An entry without an id has its number in the file for one. Names of members
// are compared to the letter.
//
// # Failure
//
// A file that is no JSON is refused for writing. For reading it is refused where that
// is noticed: the rest of a file is passed over without a look at what it says,
// because agents wait for the answer. What stands there twice is never guessed: two
// tasks with one id, or two members of one name in an object that counts, are
// ErrAmbiguous.
//
// A crash while writing leaves the old file or the new one, and perhaps a temporary
// file beside it.
//
// # What it refuses to do
//
// It reads regular files up to 64 MiB, and follows no link that is absolute or leads
// out of the repository. It writes no file that is read-only. It creates none but a
// missing state.json. It neither adds nor removes tasks, and does not move the status
// of a task when those of its subtasks change.
//
// # Why
//
// The way to a task is a scanner of our own, which finds brackets and quotes eight
// bytes at a time and decodes nothing. For a file of 2,000 tasks it takes a third of
// the time of a decoder that looks at every token.
package taskmaster
