// Package board is the picture of all runs of a machine that the live page, the terminal
// view and the metrics are made of.
//
// # Sources
//
// What is on is what package fleet says. What was is read from the folders of the runs and,
// where a folder is gone, from the ledgers in the repository: those in the usual place and
// those that the setup of a run there names. What waits for a person is read from the gates,
// the queue and the last run of each project; rewards from its episodes. What happens is the
// log in the folder of a run and the conversation of the session that runs, as Claude Code
// writes it down.
//
// # Guarantees
//
// Nothing is written, no lock is taken, no run is recovered, no process is started. What
// cannot be read is a problem in words and hides nothing else.
//
// All texts are valid UTF-8 without escape sequences, control characters and secrets, and
// are cut; only paths are as they are on disk. An agent that writes whatever it wants can
// make a picture longer, never larger than its bounds.
//
// With a [Cache] a file is read again only when its size, its time or its inode has
// changed, and of a file that grows only what is new. A file that changed in the instant in
// which it was read is read once more. The functions may be called by several goroutines,
// also with one cache.
//
// # On failure
//
// The picture is taken file by file while the runs go on, so two facts in it may be a
// moment apart. A line that is torn, too long or no JSON is left out. A log that was
// replaced or cut is read from its new end.
//
// # What it refuses to do
//
// It says what could be done about a run and does none of it.
package board
