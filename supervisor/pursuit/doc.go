// Package pursuit follows the goals of a run: what was done for each of them,
// how far it is, and whether it is reached.
//
// # One goal after the other
//
//	open ──achieved──▶ achieved
//	  │──asked──────▶ paused    (a person is needed; the next open goal is taken up)
//	  └──stopped────▶ partial, given-up   (going on is of no use)
//
// A person who resumes the run takes up again what is not achieved.
//
// After each session the loop hands over what happened. When a reflection is due,
// or the session claims to be done, the checks of the goal are made first. What
// they say is stronger than what any model says: a goal is never reached while one
// of its checks fails. A check that merely follows from the words of the goal may
// be wrong about what was meant; after two false stops it is set aside and the
// record says so. Only the strict rules take the word of an assessment against the
// checks; that counts as a false stop as well.
//
// # When a reflection fails
//
// The run goes on within its fixed limits and says so. A claim to be done then
// counts when the checks hold. When the context ends meanwhile, or when the
// reflection is to be made again later, nothing has changed.
//
// # What it refuses
//
// It keeps no list without a bound, and gives no estimate of more than a million
// sessions or ten years. Goals, criteria, milestones, questions and what reflections
// say are kept without secrets.
//
// All of the state is plain data, part of the run's state file, so a run that is
// continued elsewhere goes on exactly where this one stood.
package pursuit
