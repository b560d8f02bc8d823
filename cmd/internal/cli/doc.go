// Package cli is the command line: one file for each command, the wiring of all
// other packages, and the one place that turns errors into words and exit codes.
//
// What a command was asked for goes to stdout; the log, the live line and errors
// go to stderr. An error is one line that names the thing, and a line with the
// way out where there is one. Nothing is started before all input was checked.
package cli
