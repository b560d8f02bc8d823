// Package folder deletes the folder of a work tree and nothing that came after the look at it.
//
// # Guarantees
//
// A file is deleted only when it was there at the look, and a tracked one only while it is
// the same file with the same mode, size and time. Folders are deleted only when they are
// empty. No symbolic link is followed, neither by the look nor out of the folder.
//
// # On failure and crash
//
// Erase stops at the first file that is not as it was. The link to the repository goes
// last, so that what is left is a work tree in which files are missing, which git can put
// back. A folder that is not to be written is made so, that its files can go.
//
// # What it refuses to do
//
// It decides nothing: whether something would be lost is for its caller to find out,
// between the look and the deletion. It puts nothing back.
package folder
