// Package glob holds slash-separated paths against patterns with ** and lists in
// braces.
//
// # Guarantees
//
// It is pure and reads no folders. Every pattern means something: what is not
// well-formed stands for itself. The time that a comparison takes grows with the
// product of the lengths of pattern and path, times the alternatives in braces, of
// which there is a limit.
//
// # What it refuses to do
//
// It knows no further forms, such as +(a|b), and no list of patterns.
package glob
