// Package repo asks git what a session changed. It only reads: it runs git
// with optional locks off, so that it never gets in the way of a session that
// commits at the same moment, and it changes nothing.
//
// What git cannot tell is an error of the call and never a guess; a supervisor
// goes on without the number.
package repo
