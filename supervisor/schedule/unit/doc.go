// Package unit writes an entry as what starts it: a service and a timer of systemd, a user
// agent of launchd, or lines of a crontab. It also knows its own again.
//
// Guarantees:
//
//   - The same entry on a machine of the same zone gives the same bytes.
//   - What is started is always PROGRAM schedule exec NAME, which reads the entry; a unit holds
//     nothing of the command itself. Each kind carries HOME and XDG_STATE_HOME, so that it finds the
//     entry whatever its surroundings are.
//   - Every instant at which the spec begins something is among those at which a unit wakes the
//     program. It may be woken at others; schedule.Decide sorts them out.
//   - Paths and values come out as they went in, whatever is in them; what a format cannot hold is
//     refused as a *schedule.InvalidError. No path can add a line or a command of its own.
//   - Splice leaves every line of a crontab that is not its own as it is, byte for byte.
//
// It touches nothing. It refuses a calendar that becomes more than 60 lines of a crontab or 500
// dates of launchd, because it is in another zone than the machine or jumps about.
//
// # How a service ends
//
// Three processes make a run: a guard, which is the main process of the service, the supervisor below it, and
// the session below that. The guard hands an interrupt on, the supervisor ends its session in
// order on the first one, and takes a second one as the wish to end at once. A session that is
// interrupted ends its tools and still says what it has used; one that is terminated does neither.
//
// So KillSignal is SIGINT, and KillMode is mixed: the signal goes to the guard alone. With
// control-group every process would get it, the supervisor twice (from systemd and from the guard), and the
// first stop would be the hard one, with the session's tools interrupted beside it. What mixed shares
// with control-group is the sweep: whatever is left of the service when the guard has ended,
// and everything when TimeoutStopSec has passed, is killed as a group, also what a tool has
// started in a session of its own.
//
// An out of memory kill of a tool does not end the service (OOMPolicy=continue). Codes 4, 6 and 7 are
// planned endings a person was told of, 130 and 143 an end that was asked for: none of them is a failure.
//
// A night with an end goes on after it was cut off: systemd starts a service again that was killed
// (Restart=on-abnormal), not one that has ended with a code or was told to stop, and each
// kind of unit also wakes the program when the machine has started (OnStartupSec, RunAtLoad,
// @reboot). The program decides what that means; a cron that does not know @reboot leaves the line out.
//
// A missing work tree or file of variables keeps systemd from starting nothing: both are optional
// for it, because only the program itself can tell a person. For launchd, which knows no
// such thing, the work tree is left out for the same reason.
//
// # What is not there
//
// There is no After=network-online.target: a user's manager has no such unit, and waiting for the
// network is left to the sessions. There is no sandbox: in a user's manager nearly every
// option for one also sets NoNewPrivileges, which breaks sudo in a session, or needs namespaces
// of users, which breaks tools that make their own; memory that may not be written and run breaks the
// session's own compiler. A core dump of a session, with what it holds in memory, is never written.
//
// # Times
//
// systemd is told the zone by name. It leaves out a time of day that the clocks jump over, so
// each such date of the next ten years has a line of its own. launchd and cron know the machine's
// zone only. For a spec in another one they get every local time it falls on in the next two
// years (five, when it names days of the month or months).
//
// # Rough edges
//
// The command in a crontab is read by the shell that the crontab names. Words in quotes and a comment
// at the end are all it uses; fish, bash, zsh and every POSIX shell understand them. A line stands
// before the first variable that a crontab sets, because a zone or a shell that is set there is for the lines
// after it.
package unit
