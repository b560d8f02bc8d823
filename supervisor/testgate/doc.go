// Package testgate decides whether the work in a repository is green: it runs the tests
// from outside of any session, reads what they report, and says what follows.
//
// # What runs
//
// Unit tests, integration tests, and end-to-end tests, one command each, in this order.
// When the unit tests are red the others do not run, because a repair changes what they
// would show; when the integration tests are red the end-to-end tests still run. Commands
// of known runners are extended so that they write results for machines, as package
// suite says. A command that names Playwright is asked for its JSON report.
//
// # When a run is green
//
// Every command ended by itself with status 0 in time, and nothing that it has reported
// says otherwise. It is red when a test failed although the status is 0, when all tests
// were skipped, when a report is missing where one was asked for or disagrees with
// itself, when no test was run by any suite, and when the coverage is below the threshold
// or cannot be measured. A gate that cannot run is red. A suite whose results cannot be
// counted is judged by its exit status alone, which is a warning.
//
// # Coverage
//
// It is that of the first suite: as package suite measures it, or else what the command
// itself has written into coverage/coverage-summary.json during the run. For go it is
// the share of statements.
//
// # Classes of failures
//
// A failure is classed by who can do something about it, first by how the command ended:
// a time limit or a signal from outside is transient, a status of 126 or 127 external.
// Text counts only in the failure of a test itself or at the end of the output of a
// command that names no test, and only by codes of the system such as ECONNREFUSED. What
// names nothing is for a session to repair. Of several classes the one decides that keeps
// the gate red whatever else is repaired.
//
// # Guarantees
//
// A report is red unless everything in it is right. All text in it is redacted, plain,
// and bounded. Nothing that a command started is left when Run returns, as far as package
// gate can find it. Decisions are pure. A saved report is whole or not there.
//
// # Failure and crash
//
// Trouble is a failure in the report with what can be done about it. A crash leaves a
// folder of results in the scratch folder, and processes that carry the token of the run.
//
// # What it refuses to do
//
// It installs nothing, repairs nothing, and does not ask a model. It writes nothing into
// the repository itself; what the commands write there, such as Playwright's folder
// test-results, is their own business. It does not run while a session does.
package testgate
