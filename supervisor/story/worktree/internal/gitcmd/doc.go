// Package gitcmd runs git for the work trees of stories.
//
// # Guarantees
//
// A git has no terminal, asks nothing and opens no editor; its words are in English. What
// in the environment would make it work elsewhere than it is told is taken out. A git that
// only reads runs no hook and writes no index. It keeps the files open that it was given,
// with their locks, and so does what it started.
//
// # On failure and crash
//
// A git that takes too long is asked to end, and two seconds later it is killed, with what
// it started. One that was to change something and met another's lock is run again, for
// ten seconds. When this process dies git goes on.
//
// # What it refuses to do
//
// It deletes no lock of git, and does not tell what an exit status means.
package gitcmd
