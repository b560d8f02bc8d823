// Package rule says which tool calls of a session a person has to see first.
//
// A [Set] holds rules. Its Judge looks at one call: what a shell command would do, after
// quoting, variables that the command sets, wrappers and nested shells are resolved; which
// file a file tool would write; what the name of an outside tool says. A word counts only
// where it is what a command does: a text about deploying, a file with a telling name and
// a message of a commit are free.
//
// Judging has no effects and needs no clock. It reads only what its Files hands it:
// scripts that a command runs, package.json, a Makefile or justfile, the aliases of git and
// the list of what git ignores. The work is bounded; what is too long or nested too deep to
// be looked at is held as unreadable, and so is a shell text that does not parse. A panic
// inside is held in the same way.
//
// It is a net for an agent that goes astray and no wall: a program of the agent's own can
// do anything that its author could, and is not looked into beyond the strings that it
// hands to a shell.
package rule
