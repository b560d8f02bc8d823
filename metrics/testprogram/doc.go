// Package testprogram writes programs for tests to start.
//
// A process that is forked while a file is open for writing holds it open until its
// exec, and the kernel refuses to start a program that somebody could still write: "text
// file busy". Tests that run in parallel fork all the time.
package testprogram
