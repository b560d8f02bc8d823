// Package message makes the names and texts that a run leaves in a repository: commit
// messages, and names of branches.
//
// # Guarantees
//
// Titles and descriptions of tasks are foreign text. Whatever is in them, the first
// line of a message is one line, no line of a message is one that the program writes
// itself or that git would take for a comment, and a name is one that git accepts for a
// branch. Texts are bounded, however long a title is.
//
// The same arguments give the same text.
//
// # What it refuses
//
// Templates and patterns with placeholders that do not exist, or without the one by
// which tasks can be told apart. It reads and starts nothing.
package message
