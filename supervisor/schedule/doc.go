// Package schedule says when a run begins and when it has to be over, in words that
// systemd, launchd and cron can all be told.
//
// Guarantees:
//
//   - The same wish gives the same Spec, byte for byte: 22:00 on weekdays is one line of
//     crontab(5), whether it came as times and days or as cron text.
//   - A time of day that the clocks jump over begins at the first instant after the jump. One
//     that comes twice begins once, at the first. A day that a zone left out has no times.
//     Next gives strictly increasing instants, and Last of such an instant is that instant.
//   - Decide takes every nominal time once, however often and however late something is
//     woken for it. It is a pure function.
//
// Nothing is stored here, so there is nothing to repair after a crash. Only LocalZone reads
// the disk, and the names of zones are looked up in the machine's zone files.
//
// It refuses, in words and with a way out: a zone that does not exist, a window without
// length, a date that never comes, seconds, @every and @reboot, and what some cron program
// alone understands (L, W, #, H, ~). A step over the days of the month beside days of the
// week means one thing to cron and another to everybody else, and is refused as well.
//
// # Why
//
// The zone files are also inside of the program (400 KB of it): a schedule that is installed in a
// machine image without zone files would otherwise be refused by the program that has to
// decide at 22:00.
//
// crontab(5) begins on a day that fits the day of the month or the day of the week when both are
// given, systemd.time(7) when it fits both. Such a line is therefore taken apart into one
// for each, and no line of a Spec ever has both.
//
// The library that reads the cron text is not asked for times. It begins something twice in the
// night in which an hour comes twice, half an hour late after a jump over it, and not at all
// when the jump is at midnight or is one of half an hour.
//
// # Rough edges
//
// In the hour that comes twice, something that begins every few minutes rests for one hour.
// A window that lies inside of a jump of the clocks as a whole has no length on that day.
package schedule
