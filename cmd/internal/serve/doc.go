// Package serve is the live page of this machine: what is on and what was, one run in
// full, and the few things that a person can do about it.
//
// # Guarantees
//
// Who may ask is decided by package guard, before anything else. What changes a run goes
// to an [Actor], for a person alone: what a process below a run asks for is refused, also
// when it has the token. An answer or a decision holds for what the page has shown: when
// that has changed in the meantime, nothing is sent on. A page that only shows has no
// Actor.
//
// The page works without a script. With it, parts and events arrive as they change, over
// at most so many connections as [Options] say; one look is shared by all who look within
// a second.
//
// # Failure and crash
//
// A look that fails is a page that says so. The server keeps nothing on disk: when it is
// gone, runs go on as before, and the next one begins with new sessions.
//
// # What it refuses
//
// It starts no run, reads no file of a repository, and listens nowhere itself: it is given
// a listener that only this machine can reach.
package serve
