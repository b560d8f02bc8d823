// Package shell splits a command for a shell into the simple commands in it and their
// words, so that options can be put into it at the right place.
//
// # Guarantees
//
// It is pure. Words are those that the shell would see, except that variables and
// patterns in them stand for themselves. Targets of redirections are no words.
//
// # What it refuses to do
//
// It refuses what it does not understand, or what may run a part of the command more
// than once: loops, conditions, functions, output of commands as words, here-documents.
package shell
