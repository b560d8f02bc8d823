// Package document keeps updates in a Markdown file of the repository: one section per
// subject, between two comments that nobody sees when the file is rendered.
//
// Sections are named by their subject alone: a file is of one project.
//
// Guarantees:
//
//   - Outside of the section of the subject not a byte of the file changes. A new section
//     goes to the end.
//   - The file is replaced as a whole; a reader finds the old or the new one. It keeps its
//     mode and its line ends; a new one has mode 0644.
//   - An update whose key the section holds already changes nothing.
//   - The text of an update can neither end the section nor hide the rest of the file. It
//     is shown as words and blocks of code: no HTML, no pictures, no mentions, and no boxes
//     to check, which would be taken for tasks.
//   - The file stays in the repository, and out of the folders in which git, the agent
//     and programs with lists of tasks keep what they work by, through whatever symlinks the
//     path leads.
//
// On failure the file is as it was. Everything that a person has to mend is a permanent
// error: a section without an end or there twice, a path that leads out of the repository,
// something there that is no file, a file of more than 8 MiB.
//
// # Rough edges
//
// What somebody else writes into the file between our reading and our writing, a moment,
// is lost.
package document
