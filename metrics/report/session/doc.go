// Package session shows a run as the one JSON object that people of SpecWeave know as
// the state of an auto session: the same field names, with values that mean what they
// say. It is a view for people, dashboards and scripts. Nothing in this program reads
// it, and writing it steers nothing.
//
// # Status while a run is on
//
//	needs_human   a gate waits for an answer
//	paused        the run waits for a limit of the API, or was paused
//	initializing  no session has begun
//	running       else
//
// # Status of a run that ended
//
// The kill-switch decides, without one the cause, without a known one the exit code:
//
//	kill-switch              exit  status       endReason
//	user-abort               130   cancelled    user_abort
//	max-sessions-reached     0     completed    max_iterations
//	max-hours-exceeded       0     completed    max_hours
//	token-budget-exceeded    6     paused       token_budget_exceeded
//	resource-overload        5     paused       resource_overload
//	low-confidence-fallback  4     needs_human  low_confidence_fallback
//	stall-timeout            3     failed       stall_timeout
//	spiral                   3     failed       spiral
//	failed-wave              3     failed       failed_wave
//	carryover-too-high       3     failed       carryover_too_high
//
//	cause            exit  status       endReason
//	work-done        0     completed    completion_promise or work_done
//	no-tasks         0     completed    no_tasks
//	manual-fallback  4     needs_human  manual_fallback
//	needs-person     4     needs_human  needs_person
//	given-up         3     failed       given_up
//	failed-tasks     3     failed       failed_tasks
//	no-progress      3     failed       no_progress
//	killed           137   failed       killed
//	error            1     failed       error
//
//	exit code alone  0 completed; 4 needs_human; 5, 6 paused; 129, 130, 143 cancelled;
//	                 all others failed; endReason exit_N
//
// A run that reached its number of sessions or hours is completed, as its readers
// expect; endReason says that it was a limit, and incrementQueue what is left. The
// reason work_done becomes completion_promise when the promised words were seen. A
// status of completed or paused becomes needs_human while a gate waits for an answer.
//
// # Guarantees
//
// Of is pure. Lists are never null, sessionId is that of the run, times are UTC with
// three decimals, and texts are valid UTF-8 without secrets and control characters,
// and cut. Numbers that cannot be are zero.
package session
