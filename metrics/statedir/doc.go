// Package statedir knows where state lives outside the working tree, and holds
// the one implementation of durable replace and of the lock that keeps two
// processes apart.
//
// Guarantees:
//
//   - A file written by Replace is, at any instant and after any crash, either
//     the old one or the new one as a whole. When Replace has returned nil the
//     new one survives a power cut: the data is synced before the rename, the
//     folder after it.
//   - Every project has a folder of its own. Two paths never share one, also
//     when both processes ask for the first time at the same moment.
//   - A Lock is released by the kernel when its holder dies, however it dies,
//     and a child process does not inherit it. Its file is never deleted.
//   - New folders have mode 0700, new files 0600. What exists keeps its mode,
//     and a symlink stays a symlink.
//
// On failure the old content stays, and a full disk is told as *FullError. A
// process killed inside Replace leaves one temporary file behind, which
// CleanTemp removes.
//
// It refuses to guess: a relative XDG_STATE_HOME, a missing HOME and a project
// file that cannot be read are errors.
//
// # Why
//
// The lock and the information about its holder are in the same file, which is
// therefore written in place and not replaced: a rename would put a second
// inode, and with it a second lock, under the same name. Readers of the
// information take the first JSON value and accept that there may be none.
//
// # Rough edges
//
// Peek has to take a shared lock for an instant, because nothing tells who
// holds a flock in a portable way. Acquire therefore tries for at least 100 ms.
// On network file systems flock depends on the mount.
package statedir
