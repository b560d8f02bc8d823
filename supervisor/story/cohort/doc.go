// Package cohort coordinates stories that are worked on at the same time: it begins them
// while there is room, shares the machine and the budgets out among them, ends what
// stalls, and says how each stands when nothing more can be done.
//
// # How a story runs
//
//	waiting ──begun──▶ running ──its process ended──▶ done | failed | person | stopped
//	   │                  │ ▲
//	   └──shut            ▼ │ killed: once more, at most twice
//	                    waiting
//
// What is decided is decided by package story, from the cohort and facts alone; every
// decision is on disk before it has an effect. The supervisor of a story is a process of
// its own with its own guard, so that one that dies takes no other with it. Coordinator
// and supervisors talk through files alone, see package shared.
//
// # After a crash
//
// A supervisor whose coordinator has died ends its session in order and writes its
// records. A coordinator that is started again with the cohort of a dead one goes on with
// it: what was done stays done, what was running is continued in its work tree.
//
// # What it refuses to do
//
// It merges nothing into a default branch, and removes no work tree that holds work.
package cohort
