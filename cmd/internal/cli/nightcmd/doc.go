// Package nightcmd has the commands for a night's work: the queue, the calls that wait
// for a person, what is told to others, and the report of a run.
package nightcmd
