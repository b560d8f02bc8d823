// Package verify tells whether a commit of a test-driven run does what its message says:
// it reads the message, holds it against the task file as the commit has it, against
// the files that were changed, and against what is kept of the run, and may ask a model
// for its opinion.
//
// # Guarantees
//
// Each rule holds for every commit that the workflow makes, so that a rule that is
// broken means something, with the exceptions below. A rule that cannot be judged, such
// as one about numbers of a run that was made on another machine, says so and counts as
// kept.
//
// Parse, Judge and the text of the question are pure. Reading changes nothing: no
// branch, no index, no file of a run.
//
// Messages, tasks and changes are foreign text. What a model is told of them is bounded,
// without what looks like a secret, and marked as data; the answer counts only in the
// form of its schema, and can make a verdict worse and never better.
//
// # Failure
//
// A revision that names no commit, and a range in which no commit is one of a task, are a
// *tdd.Refusal of the kind Invalid. A model that does not answer is no verdict: the report
// says so.
//
// # What it refuses to do
//
// It asks no model about a commit that breaks a rule already. It does not look on which
// branch a commit is: one that was merged is on a default branch as it should be. It does
// not insist that a file of tests is among the changed ones, since what is one cannot be
// told in every language; the finding says when none is.
//
// # Rough edges
//
// Where a person had changed the task file before the run and let it go on, the commits
// do not have the file, and the status that it lacks is a broken rule. So is a subject
// that was made with a template which is not the one of now and which is not conventional
// either. An id of more than 30 characters is cut in messages, and its task is not found.
// Percentages of coverage are read and not compared.
package verify
