// Package gate makes the checks of a goal: commands that must succeed and files
// that must exist. The supervisor makes them itself before it believes that work
// is done, because what a session says about its own work is no proof.
//
// # How a command runs
//
// In a shell, in the repository, with the environment that sessions get: it leads
// a session of its own without a controlling terminal, reads from /dev/null, and
// prints into a pipe of which only the end is kept. The time limit is wall-clock
// time and looked at every 30 seconds at the latest, so that a machine that slept
// does not give a command more of it. At the limit, and when the run is cancelled,
// the process group is terminated, then killed.
//
// # Guarantees
//
// A command holds if it exits by itself with status 0 and in no other case: one
// that cannot be started, is killed or takes too long does not hold, whatever its
// exit status. A file holds if it lies in the repository, is reached without
// leaving it, and has content.
//
// What a command leaves behind is ended, also after a success: what lost its
// parent to this process, carries the marker of the command, descends from either,
// or is still in its session. Its end is never waited for as the end of a file.
//
// Memory does not grow with what is printed. What is kept of it is redacted, valid
// UTF-8, and without escape sequences and control characters.
//
// # Failure and crash
//
// Trouble is a result that does not hold, with the words why; nothing is an error
// of the whole. If the supervisor is killed, Linux terminates the shell, and what
// is left carries the token of the run, by which the guard and the next start
// find it. Nothing is written to disk, so that there is nothing to repair.
//
// # What it refuses to do
//
// It does not run checks side by side, nor while a session of this process runs:
// a sweep ends everything that lost its parent to this process. It does not
// judge output, and takes no file outside the repository or in git's own folder
// as a proof.
package gate
