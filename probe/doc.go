// Package probe takes a picture of the machine before a session starts: how
// much memory could be handed out, how much swap is in use, how many other
// Claude Code sessions run, and how hard memory is pressed.
//
// The picture is one plain value, [Snapshot]. What it means for the next session
// is judged in package tier, from the four signals that the snapshot carries.
//
// # Guarantees
//
// [Take] never fails and never waits longer than its context allows, or five
// seconds. Each source is read by itself. What it could not tell is nil, and
// Absent says which and why; a value that is present was measured in this call.
//
// Available memory is bounded by the control groups that this process is in,
// because the machine's own figure means nothing inside a container: for the
// group and every group above it that can be seen, the smaller of its hard and its
// throttling limit, less what is used, page cache that can be dropped not
// counted. Version 2 and version 1 are both read; on a machine that mixes them,
// whichever holds the memory. Where a group limits memory or swap, the swap in
// use is that group's (the largest, if several do) instead of the machine's.
//
// [ParseSnapshot] reads a snapshot that someone wrote by hand or kept, strictly:
// it accepts only the fields of a snapshot and only in their form.
//
// # On failure and crash
//
// Nothing is kept between calls and nothing is written. A source that the kernel
// holds up beyond the deadline leaves one goroutine behind until the kernel
// answers, and one more with every further call that meets the same.
//
// # What it refuses to do
//
// It does not decide, does not remember the picture before, and ignores the
// environment variables by which the library below could be sent to other
// folders.
//
// # Rough edges
//
// Inside a container of its own namespaces neither limits of the groups outside
// nor processes outside can be seen. On macOS available memory is free plus
// inactive pages, read by starting a system program.
package probe
