// Package record reads the JSON files in which other programs keep tasks.
//
// # Guarantees
//
// It is pure. What is no JSON is an error that names the line; what is JSON but not
// of the form that is asked for is an error that says what stands there. In an array
// only the entries that are broken are left out, each with an error of its own.
//
// There are two ways through such a file. The usual one reads it in one pass and
// knows only what such files usually are; where it meets anything else it gives up,
// and encoding/json decides what the file is and what is wrong with it. What both
// accept they read alike.
//
// # What it refuses to do
//
// It does not judge what it reads: texts come as they are written, control
// characters and all.
package record
