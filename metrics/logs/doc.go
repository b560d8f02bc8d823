// Package logs holds what every log of the program has in common: the removal
// of secrets. It has no logger of its own.
package logs
