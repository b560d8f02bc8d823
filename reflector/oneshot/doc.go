// Package oneshot asks Claude Code one question, in a session of its own that can
// answer and do nothing else.
//
// # What a question is
//
// It is one process of the CLI on a pty, run, watched, ended and swept up after as
// the sessions that do the work are. It has no tools and no tool servers, runs no
// hooks, reads nothing of the repository and no memory, and is not kept among a
// person's conversations. Credentials and addresses in the person's own settings
// hold; those in a repository's settings do not. Its folder stays and holds the
// prompt, the result and what the CLI said on stderr. Git is asked nothing. The
// process is a child of the supervisor, so that it is no peer of the run.
//
// # What comes back
//
// The answer is the structured report, or the words of the model when it would
// not report; whoever asked checks both. Usage is what the CLI counted, also with
// an error. A limit of the API is an error of type *[reflector.LaterError], which says when it
// is over if that is known: the CLI has tried again by then, and waiting is the
// caller's to decide. Everything else that keeps an answer from coming is an
// error in words.
//
// # What it refuses
//
// Temperature and top_p cannot be chosen: the CLI has no way to pass them on.
// Questions are asked one at a time and not beside another session of the same
// supervisor, because what a session leaves behind is found among the
// supervisor's children.
//
// # When the supervisor dies
//
// The process ends with it, as any session does. Nothing is resumed: the question
// is asked anew.
package oneshot
