// Package gitfiles reads what git keeps of a work tree in files, without git.
//
// # Guarantees
//
// It reads only. It answers also while git makes or removes an entry of its list, where
// git itself would end with an error.
//
// # On failure and crash
//
// What is not there is an answer; what cannot be read is an error, but for a pointer, which
// then leads nowhere.
//
// # What it refuses to do
//
// It reads no refs: how those are kept is the repository's choice.
package gitfiles
