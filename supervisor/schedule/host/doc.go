// Package host installs schedules on a machine: as units of the user's systemd, as user agents of
// launchd, or as lines of the user's crontab.
//
// An entry is schedules/NAME/entry.json below the state folder (0600); what starts it is written
// from it. Units are in ~/.config/systemd/user (or below XDG_CONFIG_HOME) and
// ~/Library/LaunchAgents.
//
// Guarantees:
//
//   - Plan and PlanRemoval change nothing. Apply does what they said, or nothing: when a step fails
//     the ones before it are taken back, and what could not be taken back is told with the error.
//   - What was written by somebody else is not touched. A unit of the right name without our mark is
//     refused as not ours. Every foreign line of a crontab stays as it is, byte for byte,
//     also one that came between Plan and Apply; only a last line without a line end gets one.
//   - Two processes that install at once do it one after the other. Who finds that a file, or our own
//     lines, are no longer as they were when the change was planned gets a *ChangedError.
//   - No run that is on is ended by a change. launchd cannot change an agent without
//     ending it, so there a change is refused while it runs.
//
// # Failure and crash
//
// A new entry is written before what starts it, and removed after it. Whoever is killed in
// between leaves an entry without units, which List tells, or units that find their entry as it
// was or will be. Doing it again mends it. An old way of starting is taken down after
// the new one is up, so for an instant there may be two; schedule.Decide lets one of them begin.
//
// It refuses a backend that the machine does not have, and files of units that are links. It does not
// switch lingering on: that is the person's choice, and on some machines an administrator's.
//
// # Rough edges
//
// Between the last look at a crontab and its writing, crontab(1) has no lock that others
// respect: who saves one with an editor in that instant loses or overwrites a change. The crontab is read
// again afterwards, and a change that was lost is told.
package host
