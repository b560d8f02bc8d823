// Package supervisor is the loop: it decides whether another session may start,
// has it run, records it, and decides whether to go on.
//
// # The machine
//
//	checking ──clear──▶ selecting ──assigned──▶ running ──ended──▶ recording ──recorded──▶ judging ──clear──▶ checking
//	   │                   │                     │   ▲                                        │
//	  hit                 hit                 limited resume                                 hit
//	   │                   │                     ▼   │                                        │
//	   │                   │                    waiting ──hit──▶ recording                    │
//	   ▼                   ▼                                                                  ▼
//	finishing ◀────────────┴──────────────────────────────────────────────────────────── finishing ──written──▶ finished
//
// Every change of state goes through one table. Every decision is a pure
// function of facts in a package below; this one has the effects.
//
// # Order of writing
//
// The state file of a run names the session before it starts, so that whoever
// comes after a crash knows what to look for. A session's result is written to
// its folder by the session itself, then the session ledger, then the state; the
// run's record comes last. Each of the later steps looks first whether it was
// done, so that repeating it changes nothing.
//
// # After a crash
//
// Recover ends what is left of a run's processes, writes the session record and
// the run record that are missing, and closes the state. It does nothing while
// the run's supervisor lives.
package supervisor
