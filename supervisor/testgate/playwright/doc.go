// Package playwright knows how the end-to-end tests of a Playwright project are run and
// what its JSON report says.
//
// # How results are had
//
// The report goes into a file that two variables of the environment name, so that what
// hooks and tests print does not mix with it. The form of the report is that of the type
// JSONReport in Playwright's own declarations: suites, one for each file, hold specs and
// further suites; a spec holds one test for each project; a test holds one result for
// each try.
//
// # Guarantees
//
// A report counts only when it is complete and the numbers in its head are those of its
// tests; else Flaw says why not. A report is read file by file and what is kept of it has
// limits, so that memory follows the largest file of tests and not what they recorded.
// Texts are as Playwright wrote them, with escape sequences and possibly with secrets:
// the caller cleans them.
//
// # Failure and crash
//
// What cannot be read is a flaw. Nothing is written, so that nothing is left.
//
// # What it refuses to do
//
// It runs nothing, installs neither Playwright nor browsers, and takes no numbers from
// text that was made for people.
package playwright
