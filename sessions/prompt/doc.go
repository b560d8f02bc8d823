// Package prompt writes what a session is told: the addition to the system
// prompt, the prompt of a goal session, and the form of the report it ends with.
// It also reads that report. It is pure.
//
// Everything a session reported is text from a model: it is cut to a bounded
// length and put into a later prompt as data, never used as a decision by its
// words.
package prompt
