// Package story is what is done at the same time: pieces of work that a supervisor of its
// own does each, in a work tree of its own, and the cohort that they make.
//
// A cohort is coordinated by one process. It begins stories while there is room, shares
// the machine and the budgets out among them, ends what stalls, and says at the end how
// each stands. This package holds what it decides; package cohort has the effects.
//
// # Guarantees
//
// Everything here is pure: it depends on its arguments alone. A story is begun only when
// all that it waits for is done. Stories that run at the same time in one tree have paths
// that do not overlap. What the stories may run at once never adds up to more than the cap
// of the machine, but that each of them has its own session.
//
// # On failure
//
// A story that fails stops itself and what waits for it, not the others. Two that end for
// the same bad reason stop the cohort: what goes wrong twice in the same way would go
// wrong all night.
package story
