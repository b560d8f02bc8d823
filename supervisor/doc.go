// Package supervisor is the loop: it decides whether another session may start,
// has it run, records it, and decides whether to go on.
//
// # The machine
//
//	checking ──clear──▶ selecting ──assigned──▶ running ──ended──▶ recording ──recorded──▶ judging ──clear──▶ looking ──clear──▶ checking
//	   │                   │                     │   ▲                │                        │                  │
//	  hit                 hit                 limited resume          ▲                       hit                hit
//	   │                   │                     ▼   │                │                        │                  │
//	   │                   │                    waiting ──hit─────────┘                        │                  │
//	   ▼                   ▼                                                                   ▼                  ▼
//	finishing ◀────────────┴───────────────────────────────────────────────────────────────────┴──────────────────┘
//	   └──written──▶ finished
//
// Judging looks at one session, looking at the goal: package pursuit says whether
// it is reached, whether a person has to be asked, or whether to go on.
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
// done, so that repeating it changes nothing. A reflection is in the state before it
// is in its journal: what it led to and what it cost outlives a crash, a line of the
// journal may not.
//
// # Continuing a run
//
// The state file is the checkpoint of a run: it is written before each session
// and when the run ends, and Recover brings it up to date after a crash. A run
// that continues another takes over its goals, counters and budgets, and where
// its last session was cut off, that conversation. The other run is marked as
// continued once this one has a state of its own. A look back that a crash prevented
// is not made up for: it is due again after the next session.
//
// # After a crash
//
// Recover ends what is left of a run's processes, writes the session record and
// the run record that are missing, and closes the state. It does nothing while
// the run's supervisor lives.
package supervisor
