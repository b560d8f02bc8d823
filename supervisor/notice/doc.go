// Package notice tells a person, away from the machine, what they would want to be woken for.
//
// It holds what is the same for every way to a person: the kinds of notices, the words
// of one, and how many a channel is sent. Its functions are pure; package channel below
// it sends, and package spool keeps what was not sent.
//
// Guarantees:
//
//   - A text of a model or of a stranger leaves as plain text: valid UTF-8, cut, without
//     control characters, escape sequences, marks that turn the direction of writing, and
//     what looks like a secret. A title is one line.
//   - No notice is swallowed: what comes too soon after one of its kind is held, summed up
//     with the others of the kind, and given out when the interval is over or when the
//     process ends. Only what has the key of an earlier one is dropped.
//   - The limiter is plain data, so it can be kept on disk; its decisions depend on what it
//     holds and on the moment alone. A clock that jumps back makes what is held due, never
//     later.
//
// It refuses nothing: an unknown kind is treated as one that is not urgent.
package notice
