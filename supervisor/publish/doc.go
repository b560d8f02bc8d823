// Package publish tells others how far the work is: an issue, a work item, a hook on
// the web, a file of the repository.
//
// What is to be told is an [Update]; where, a [Target]. Everything about one subject at
// one target is one entry there that is brought up to date, not a row of entries. An
// update is kept on disk until its target has taken it, so that a target that is away
// loses nothing; the key that goes with it makes sure that one which was taken without
// our knowing is not entered twice.
//
// Nothing is told unless a target was configured. Tokens come from the environment and
// are never written.
package publish
