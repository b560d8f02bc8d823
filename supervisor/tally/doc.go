// Package tally turns the result of a session into what is counted of it: the line of
// the session ledger, and the facts that the kill-switches judge. It is pure.
package tally
