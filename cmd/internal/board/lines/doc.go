// Package lines reads files of lines that other processes write at the same time, without
// reading again what it knows.
//
// It opens nothing that could make it wait, holds a line of at most [Longest] bytes, and
// leaves a line that is not whole to a later call. A file that was cut, replaced or written
// anew is read from its beginning. It writes nothing and keeps no file open.
package lines
