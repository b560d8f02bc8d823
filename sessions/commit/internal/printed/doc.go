// Package printed keeps what a program and those that it starts print, and makes it fit
// to be shown.
//
// # Guarantees
//
// The file of [Open] has no name: it is gone when nobody has it open any more, whoever
// dies first. What [Shown] returns is valid UTF-8 without escape sequences, control
// characters and what looks like a secret.
//
// # Failure
//
// A file that cannot be read counts as empty.
//
// # What it refuses to do
//
// It starts nothing, and knows nothing of repositories.
package printed
