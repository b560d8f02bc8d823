// Package drive is test-driven work as a source of work for the loop of sessions: Claude
// Code gets a session for each red and green step, and for what a hook or the whole
// suite finds. The rest, the tests that check it, the commits, the end of the run, is
// done here, between the sessions.
//
// # Guarantees
//
// What a session says about its tests counts only where no test command is known. A
// session that was cut short costs no attempt: when its work is done all the same, the
// run goes on from it.
//
// # Failure
//
// What keeps a step from being taken, git or the disk, is said in the next look at the
// work, and ends the run of the loop. The test-driven run stays where it is.
//
// # What it refuses to do
//
// It never resumes a run that is paused: that is a person's decision.
package drive
