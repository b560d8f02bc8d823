// Package keepcmd has the commands for what was written down of runs: to clear away what is
// old, and to pack a run into one file for a bug report.
//
// Clearing away is for a person. Inside a session of a run it is refused; a look at what
// would be done is not.
package keepcmd
