// Package awake keeps a machine from going to sleep while a run is on, and notices
// when it has slept all the same.
//
// # Staying awake
//
// Inhibit starts a small program of the system: systemd-inhibit on Linux, caffeinate
// on macOS. It is told to last as long as this process does, so nothing is left when
// this process is killed. A lid that is closed and an empty battery are stronger.
//
// # Having slept
//
// Watch compares, every few seconds, how much time has passed with how much was meant
// to. What is missing is time in which nothing of this process ran: the machine was
// suspended, the process was stopped, or the machine was too busy to let it run. The
// three cannot be told apart everywhere and mean the same for a run: nobody was at
// work. Passed time is that of a clock that goes on while the machine sleeps and that
// nobody can set; where the wall clock moves against it, the clock was set.
//
// # What it refuses
//
// It decides nothing: deadlines are times of the wall clock and hold by themselves,
// and silence while nothing ran is no stall; both are the business of who waits.
package awake
