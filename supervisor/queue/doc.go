// Package queue is the list of work for a night: increments and goals, one after the
// other.
//
// # Guarantees
//
// Ids are unique, at most one item is in progress, and what is done stays done. The
// order of the list is the one a person gave it. [Queue.Choose] and the changes of a
// [Queue] are pure: they depend on their arguments alone. What Choose returns has no
// unmet dependency and breaks no limit; an item that can never be begun as things are
// is told as shut, with the way out, so that nothing waits for ever without a word.
// When Choose returns no item, everything that still waits is shut.
//
// A [Store] keeps the queue in one file. Every change reads it again under a lock, so
// that a person who adds an item while a run is at work loses nothing and takes nothing
// away. Texts that come from people, models and other programs are cut, freed of control
// characters and of what looks like a secret before they are kept; a command that would
// be changed by that is refused instead.
//
// # On failure and after a crash
//
// A change that is refused, or whose function returns an error, writes nothing. The file
// is the old one or the new one at any instant, also after a power cut. An item that was
// in progress when its run died is still so, and the next run is told to go on with it.
//
// # What it refuses to do
//
// It does not write over a file that it cannot read, or that a newer version made. It
// starts nothing and looks at no increment: what is on disk is told to it as [Facts].
//
// # Rough edges
//
// The priority counts more than the place in the list: moving an item changes the order
// only among items of the same priority.
package queue
