// Package rules is a reflector that asks no model. It judges from what the
// supervisor knows itself, so it costs nothing, needs no network, and gives the
// same answer to the same facts.
//
// # Words
//
// Effect means changed files or commits. The last report is that of the latest
// session which reported anything; a session that crashed says nothing, and nothing
// is concluded from that. A failure is a session that did not end well, other than
// by waiting for a limit or the API, or because somebody interrupted it.
//
// # The rules
//
// Is the goal reached? The first row that holds decides.
//
//	NO or PARTIAL  a check fails
//	YES            the last session claims to be done, and there is a check or an effect of any session
//	YES            there is a check that a person gave, a session had an effect, and the last session carries nothing over
//	PARTIAL        a milestone is reached; or there was an effect, and a check holds or something was completed
//	NO             else
//
// With a check that fails, the last two rows say which of NO and PARTIAL it is.
//
// How many percent?
//
//	facts  share of the checks and milestones that hold
//	words  completed / (completed + carried over + next steps) of the last report
//	both   0.7 facts + 0.3 words; the only one there is when the other is missing
//
// Rounded; 100 with YES and at most 99 without. When facts or words are missing
// altogether, it is never less than in the assessment before.
//
// How does it go? The first row that holds decides.
//
//	GOOD   the goal is reached
//	STUCK  the last two sessions had no effect
//	STUCK  the last two sessions ended in the same failure
//	STUCK  tool calls repeat, and the last session had no effect
//	SLOW   percent did not rise since the assessment before
//	GOOD   else
//
// What to do? STOP with YES, ASK_USER when stuck, CONTINUE else. A loop is detected
// when tool calls repeat. The next steps are the checks that fail, then what the
// last report carries over, then its next steps.
//
// # What it cannot do
//
// It does not read the goal. It knows a file that a check names and not whether the
// text in it is any good; for that, ask a model.
//
// # Guarantees
//
// Every assessment is one that reflector.ParseAssessment takes. One more check that
// holds, instead of failing, never makes an assessment worse. It never fails, keeps
// nothing, and needs no cleaning up after a crash.
package rules
