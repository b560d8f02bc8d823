// Package increment reads the increments of SpecWeave in a repository, and changes
// their status.
//
// An increment is a folder .specweave/increments/NNNN-name. Its metadata.json says how
// it stands, spec.md begins with fields between two lines of dashes and holds the
// acceptance criteria as check boxes, tasks.md holds the tasks. The forms are those
// that the program writes and reads itself; where its own parts disagree, both forms
// are understood.
//
// # Guarantees
//
// Nothing outside of the repository is read or written, also not through symbolic
// links. Files are read up to 16 MiB. Texts are shown without control characters and in
// bounded length. What cannot be read is told in words; it is never taken for something
// that is not there.
//
// [SetStatus] makes only changes that SpecWeave allows, and changes only the values of
// three fields of metadata.json: status, lastActivity and updated. Every other byte
// stays as it is. The file is the old one or the new one at any instant, also after a
// power cut; it keeps its mode, and a link within the repository stays a link.
//
// # On failure and after a crash
//
// A refused change writes nothing. A process that is killed while it writes may leave a
// hidden temporary file beside metadata.json, which the next change takes away.
//
// # What it refuses to do
//
// It changes no file that is not valid JSON, that has a name twice in one object, or
// that somebody else changed in the meantime. It writes neither tasks nor criteria nor
// the reports that SpecWeave wants to see before it closes an increment, nor the copy of
// the status that spec.md may have.
//
// # Rough edges
//
// The files have no lock that the other program knows. Whether somebody changed the file
// is looked at immediately before it is replaced; a change in the instant between is lost.
package increment
