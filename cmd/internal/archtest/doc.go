// Package archtest holds the rules of the house as tests: which package may
// import which, and how large a function, a file or a package may grow. It has
// no code of its own.
//
// The tests parse the sources themselves instead of asking the go command: go
// test tracks the files a test opens, so a change to any of them runs the
// rules again, while the output of a subprocess would be cached.
package archtest
