// Package fleet is what is on of this program on a machine, in all repositories at once:
// the runs, the cohorts with their stories, and the Claude Code sessions that are
// nobody's of ours. It can ask them to stop.
//
// # What is looked at
//
// Every project below the state root, and of each the runs whose mark says that they are
// not finished; ended ones only when they are wanted. A cohort is a run in whose folder a
// cohort file lies. A story has a run of its own, in the project of its work tree; it is
// shown once, as the story, below its cohort.
//
// # Guarantees
//
// A look changes nothing and takes no lock. Whether a supervisor lives is decided by its
// pid together with its start stamp, so a process that was given the pid later is never
// taken for it. What cannot be read is a problem that names its path, and hides nothing
// else.
//
// A stop is refused as a whole when one of the ids is unknown or could mean several. A
// signal goes only to the process whose start stamp the run has written down: where the
// system has handles for processes, the handle is taken before the stamp is compared, so
// that not even a pid that is given away in between can be hit.
//
// # On failure
//
// The picture is taken file by file while the runs go on: a run that ends meanwhile may be
// missing or shown as it was. A run that was killed is shown as ended-but-open until the
// next start in its repository finishes it; this package does not do that.
//
// # What it refuses to do
//
// It ends no session itself and sends no signal but the two that a supervisor expects. It
// does not stop peers.
package fleet
