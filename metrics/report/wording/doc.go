// Package wording makes texts and numbers of a run fit to be shown: texts of models
// and strangers without secrets, control characters and marks that turn the direction
// of writing; numbers with separators, durations in words.
//
// It is pure. A number that cannot be is a dash, never a number that looks like one.
package wording
