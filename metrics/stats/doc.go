// Package stats says how well the runs of a project went: how many goals were
// reached, in how many sessions, how often a run was said to be over too early,
// why runs ended, what they cost, and how right reflections and forecasts were.
// It is pure: it is given the records of the run ledger and reads nothing itself.
//
// # What counts
//
// A record counts once, by its id. A record without an id is none of a run, a dry
// run did nothing, and a record that does not say how the run ended is of one
// that is still under way: these are left out. Every other record is one run, one
// reason, and adds to the totals.
//
// Goals count by attempt. Runs that continue each other (resumed_from), directly
// or over others, are attempts at the same goals, also when the first of them is
// not in the ledger, and when two of them continue the same one. Of such a group
// one record speaks for the goals: one that no other record with goals continues,
// and of several the one that ended last. So a goal that was resumed three times
// counts once. A record without goals neither speaks nor hides what came before.
// Runs that continue each other in a circle were written by mistake; the one that
// ended last speaks.
//
// A record of an older version lists no goals. When it has the text of one, it
// counts as one goal, reached when the run was completed.
//
// # Formulae
//
//	completion rate = goals achieved / goals
//	sessions to completion = sum of the iterations of achieved goals / their number
//	accuracy = correct / judged                        over all reflections
//	score = sum of (score of a run * judged of it) / judged
//	false stop rate = false stops / (false stops + goals achieved)
//	forecast, per quantity = forecasts that held the truth / forecasts with a known truth
//	truth = what the run took + what all runs took that continue it
//
// A share with nothing to divide by is null.
//
// # Guarantees
//
// The order of the records has no influence, to the last bit, as long as no two of
// one id that ended at the same moment differ: money is added in millionths and
// scores in billionths. Numbers that cannot be (negative, not finite) count as
// zero, sums stop at the largest number instead of turning over, and of a record's
// texts only the names of reasons and reflectors leave the package, as at most 40
// bytes of visible ASCII.
//
// Adding a record takes a few microseconds and keeps 300 to 400 bytes; texts of
// goals are not kept. The metrics over 100,000 records take some tens of
// milliseconds, however long the chains are.
package stats
