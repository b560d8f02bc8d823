// Package shell says what a shell text would run, as far as that can be seen without
// running it.
//
// [Read] walks a text statement by statement: both arms of a condition, every turn of a
// loop over known words, functions where they are called, substitutions, pipelines and
// here-documents. It resolves quoting, and variables that the text itself sets, and takes
// off what only wraps a command: sudo, env, xargs, find -exec, ssh, docker exec and the
// like. A shell within the text is read too, and so are the strings that code in another
// language hands to a shell, scripts, scripts of package.json and targets of a Makefile.
//
// Nothing is run, and nothing is read but through Options.Files. The work is bounded:
// past the bounds the text is told as unreadable. What is not known stands in a word as
// the mark [Unset] or [Made], so that a caller can tell a known piece from an unknown one.
//
// It refuses to guess what a command prints, apart from those that only repeat what they
// were given.
package shell
