// Package report makes the summary of one run for the morning after, as Markdown, as one
// HTML page, and as JSON (see Document). It is pure: it is given the facts and reads no file
// and no clock. Package digest below it does the same for several runs.
//
// # What it says
//
// What was wanted, how it ended and why, what was done, and what a person has to do
// now come first; behind that come the pieces of work, what waits for a person, the
// tests, the sessions, what was told to others, the reflections, and how far the
// estimate was off. A part of which nothing is known is left out, but for the first.
//
// # Guarantees
//
// The page is one file: no script, nothing from the network, no fonts of its own. It
// follows the light or dark setting of the reader, fits a phone and can be printed. It
// is well-formed XML as well as HTML. Its drawings are made here, of a few numbers
// each; each has a title and a description, and says nothing by colour alone. What they
// show of the machine and of the pace is in the text of both forms as well.
//
// The JSON form has the version of its schema. Fields may be added under one version; one
// that changes its meaning or goes away is a new version.
//
// Every text is one of strangers: secrets are taken out, control characters and marks
// that turn the direction of writing are dropped, it is cut, and escaped for where it
// stands. Nothing in it becomes markup or a link.
//
// Numbers that cannot be (negative, not finite) are shown as not known. Any facts give
// a report, and one of bounded size: of long lists the telling part is shown, and the
// report says how much was left out. Sums and drawings are over everything that was
// given. The same facts give the same bytes.
//
// # What it refuses
//
// It does not judge the work, claims no success that the record of the run does not
// claim, and leaves out what it was not given instead of guessing it.
package report
