// Package killswitch decides when the loop stops. It holds the ten reasons,
// the two ordered lists of checks (before and after a session), and the way out
// that is printed with each.
//
// Everything here is a pure function of facts: no clock is read, nothing is
// measured, nothing is written. Limits hit when they are reached (>=); overload
// and carryover hit when they are passed (>). A fact that is absent never stops
// the loop, so that a source of work that does not measure something is not
// punished for it.
package killswitch
