// Package tool offers the test-driven workflow to an agent: the steps of a run as tools
// of the server that the agent already has.
//
// # Guarantees
//
// A tool does what the command of the same name does, and its data is what the command
// prints as JSON. What the workflow refuses is an error result with the way out in
// words. Results of tests that do not bear out a step are none: they are the answer to
// the question whether the step is complete.
//
// The text of a result says in a few sentences what happened and what is next, for
// clients that show nothing else. Lists and texts in the data are bounded, because an
// answer costs the model tokens; a list says how many items it lacks.
//
// # What it refuses
//
// A tool cannot ask a person. So what has to be confirmed is refused: a start in a work
// tree with changes, and an end that deletes the branch unless the call says that this
// is meant. A project other than that of the server is refused.
//
// It has no state and starts nothing itself.
package tool
