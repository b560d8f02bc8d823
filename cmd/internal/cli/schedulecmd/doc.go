// Package schedulecmd holds the commands of schedules: install, list, show, remove, run-now
// and doctor, and the hidden one that the units of a schedule call.
//
// Everything that can be found out when a schedule is installed is found out then, with the
// environment that its runs will have: what would fail at night is refused in the evening.
// What is changed outside the state folder is shown first, and a person agrees to it. What
// is not ours is never changed.
//
// Secrets are not written into units or entries. They belong into a file of the owner alone,
// which is read when a run begins.
package schedulecmd
