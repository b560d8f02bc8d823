// Package breaker keeps calls away from services that do not work: after some failures in
// a row a service is left alone for a time, then one call, the probe, tells whether it is
// back.
//
// Guarantees:
//
//   - The state is kept in one file over restarts, and all processes that name the file
//     share it. Calls are not made under a lock: calls of one service run side by side.
//   - Of all processes exactly one makes the probe. Its context ends in time, so that one
//     that hangs is over before the next begins.
//   - Only failures of the service count. That a caller gave up, that a service said no, and
//     that it wants to be left alone for a time are told apart by Settings.Judge. A
//     service that limits the rate is left alone until the moment it named, at most a day.
//   - What was admitted before the state changed does not count after it.
//   - A clock that jumps back does not keep a breaker open for longer than the time for which
//     it was opened; one that jumps forward, or a machine that slept, ends that time.
//
// # Failure and crash
//
// A probe whose process died counts as over when its time has passed; then the next
// call is the probe. A file that cannot be read, and one breaker in it that makes no sense, is
// taken as closed and logged. When the state cannot be locked or written the call is made
// nevertheless and this is logged: a full disk here is no reason to stop work.
//
// The file is replaced without waiting for the disk; after a power cut it may be older, or
// broken, which is closed.
//
// It refuses nothing but calls.
//
// # Why
//
// Counting and the changes of state are done by a library, on a state that we
// load and store around it. Its own shared breaker is not used as it is made: it holds
// the lock of its store for as long as a call takes, so that calls of one service follow
// each other and wait in steps of half a second; and it reads the state before it takes
// that lock, so that two processes can both find the breaker half-open. We therefore ask
// it twice, each time under our lock for a moment: whether a call may pass, and, with the
// outcome, what follows.
//
// # Rough edges
//
// The library looks at the clock itself. Times are moved by the difference to the time
// we were given before it sees them, which leaves the moments that passed in between as
// an error. The deadline of a probe stands still while the machine sleeps, its place
// does not: a probe that is asleep with the machine may go on beside the next one.
package breaker
