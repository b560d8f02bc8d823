// Package morning gathers what is known of a run, from all the places where it was
// written down, for the report and for the view of a session. It changes nothing, and
// what cannot be read is left out: a report of most of the night is better than none.
package morning
