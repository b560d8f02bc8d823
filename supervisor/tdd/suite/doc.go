// Package suite finds the test command of a project, runs it, and turns what it
// prints into numbers that do not come from whoever wrote the code.
//
// # How the numbers come about
//
// A runner is a form of output. Where a tool can write its results for machines, its
// command is extended by the options for that, right behind the word that names it:
//
//	go      -json; the events are read from the output while the command runs
//	jest    --json into a file, no snapshots are written
//	vitest  the json reporter into a file, no cache, no snapshots are written
//	node    the tap reporter into a file, by way of NODE_OPTIONS
//	pytest  JUnit XML into a file; neither cache nor bytecode in the work tree
//	cargo   its text, with --no-fail-fast
//	tap     the output is TAP 13 or 14
//	exit    only the exit status means something
//
// A command in which the tool is named twice, in a loop, or not at all cannot be
// extended: it runs as it is, and only its exit status counts.
//
// # What is counted
//
// What the tool itself tells people. For go these are top-level tests, examples and
// fuzz targets; subtests are part of the test that they stand in. A test that was
// running when its package died has failed, one that waited for its turn is not
// counted. For node they are the numbers at the end of its output, in which a test
// with subtests counts beside them. Tests that are expected to fail, or are still to
// be done, are skipped ones. For cargo ignored tests are skipped ones. For tap only
// what is not indented counts.
//
// A package, file or binary of which it is not known what tests are in it is broken:
// it did not build or load, or it failed without a failing test.
//
// # Guarantees
//
// Results are read from a folder that is new for every run and removed afterwards, so
// that those of an earlier run are never read. Numbers are given only when the result
// is complete and agrees with itself; else Counted is false and all numbers are zero.
// Memory does not grow with the output: what is kept of lines, names and results has
// limits, and beyond them nothing is counted. OK is the exit status of the command,
// with two exceptions: that pytest found no tests, and that go found no packages.
// Names and texts hold neither secrets nor control characters.
//
// # Failure and crash
//
// A command that cannot be started, is killed or takes too long is a measurement that
// is not OK, with the words why; nothing is an error of its own. A crash leaves a
// folder in the scratch folder.
//
// # What it refuses to do
//
// It installs and downloads nothing itself, and writes nothing into the work tree;
// what the command does there is its own business. It does not guess numbers from
// text that was made for people, except cargo's.
package suite
