package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"autopilot/supervisor/killswitch"
)

// Causes of a run's end that are no kill-switches and mean trouble, as the run ledger
// names them.
const (
	causeError  = "error"
	causeKilled = "killed"
)

// Exit codes of a cohort, as those of a run.
const (
	exitDone        = 0
	exitInternal    = 1
	exitFailed      = 3
	exitPerson      = 4
	exitResources   = 5
	exitBudget      = 6
	exitInterrupted = 130
)

// After returns the decision that the end of a member's run leads to; nil when the cohort
// goes on. It is asked once, when that is known; a cohort that is stopped stays so.
//
// When another member is over for the same reason, and that is a spiral, a failed wave, a stall,
// too much carryover, an overloaded machine, an error or a death, the cohort is aborted:
// once is a story's own trouble. A budget or the hours are the cohort's, and stop
// it at the first, which is no abort.
func After(c Cohort, id string) *Stop {
	m := c.Find(id)
	if m == nil || c.Stop != nil || !m.Status.Over() || m.Status == Done {
		return nil
	}
	switch m.KillSwitch {
	case killswitch.MaxHoursExceeded: // the budget is told by the sum
		return &Stop{Reason: string(m.KillSwitch), Detail: fmt.Sprintf("%s ended for it, and it is that of all stories", id), At: m.EndedAt}
	}
	reason := trouble(*m)
	if reason == "" {
		return nil
	}
	for _, o := range c.Members {
		if o.ID != id && o.Status.Over() && o.Status != Done && trouble(o) == reason {
			return &Stop{Reason: ReasonTwice + reason, Detail: fmt.Sprintf("%s and %s both ended for %s", o.ID, id, reason), Aborted: true, At: m.EndedAt}
		}
	}
	return nil
}

// trouble is the bad reason for which a story's last run ended; "" when it was none.
func trouble(m Member) string {
	switch m.KillSwitch {
	case killswitch.Spiral, killswitch.FailedWave, killswitch.StallTimeout, killswitch.CarryoverTooHigh, killswitch.ResourceOverload:
		return string(m.KillSwitch)
	case "":
		if m.Cause == causeError || m.Cause == causeKilled {
			return m.Cause
		}
	}
	return ""
}

// result is how something ended: what a cohort would be stopped for, and the exit code.
type result struct {
	reason string
	code   int
}

// worse are the exit codes from the worst on.
func worse() []int {
	return []int{exitInterrupted, exitInternal, exitFailed, exitPerson, exitResources, exitBudget, exitDone}
}

// ExitCode returns the code for a cohort that is over:
//
//	0  all is done, or what is not was stopped by a limit of time or sessions, or on request
//	1  something of the coordinator's own went wrong, or stories neither ended nor were stopped
//	3  a story failed, or waited for one that did, or the cohort was aborted
//	4  a person is needed
//	5  the machine was overloaded
//	6  the budget is spent
//	130  the coordinator was told to end by a signal
//
// Of several, the first of 130, 1, 3, 4, 5, 6, 0 counts. Which signal it was is not known
// here: a caller that knows takes 128 and its number instead of asking.
func ExitCode(c Cohort) int {
	code := outcome(c).code
	if c.Stop != nil {
		code = worst(code, stopCode(*c.Stop))
	} else if n := c.Counts(); n[Waiting]+n[Running] > 0 {
		code = worst(code, exitInternal)
	}
	return code
}

func worst(a, b int) int {
	list := worse()
	return list[min(slices.Index(list, a), slices.Index(list, b))]
}

func stopCode(s Stop) int {
	reason, twice := strings.CutPrefix(s.Reason, ReasonTwice)
	switch reason {
	case ReasonDone:
		return exitDone
	case ReasonSignal:
		return exitInterrupted
	case ReasonPerson:
		return exitPerson
	case ReasonFailed:
		return exitFailed
	case ReasonError:
		return exitInternal
	}
	switch killswitch.Reason(reason) {
	case killswitch.UserAbort, killswitch.MaxSessionsReached, killswitch.MaxHoursExceeded:
		return exitDone
	case killswitch.TokenBudgetExceeded:
		return exitBudget
	case killswitch.ResourceOverload:
		return exitResources
	case killswitch.LowConfidence:
		return exitPerson
	case killswitch.StallTimeout, killswitch.Spiral, killswitch.FailedWave, killswitch.CarryoverTooHigh:
		return exitFailed
	}
	if twice {
		return exitFailed
	}
	return exitInternal
}

// outcome is the worst of how the members ended, the first of equals.
func outcome(c Cohort) result {
	out, known := result{ReasonDone, exitDone}, map[string]result{}
	for _, m := range c.Members {
		if r := ended(c, m, known); out.reason == ReasonDone || worst(r.code, out.code) != out.code {
			out = r
		}
	}
	return out
}

// ended is how one member ended. One that is shut ended as the worst of what it waited
// for, since nothing else is wrong with it. What is found is kept in known.
func ended(c Cohort, m Member, known map[string]result) result {
	r, ok := known[m.ID]
	if ok {
		return r
	}
	r = result{ReasonDone, exitDone}
	switch m.Status {
	case Failed:
		r = result{ReasonFailed, exitFailed}
	case Person:
		r = result{ReasonPerson, exitPerson}
	case Stopped:
		r.reason = string(cmp.Or(m.KillSwitch, killswitch.UserAbort))
		r.code = stopCode(Stop{Reason: r.reason})
	case Shut:
		known[m.ID] = result{ReasonFailed, exitFailed} // what comes back to it waits for itself
		for _, id := range m.After {
			on, found := result{ReasonFailed, exitFailed}, c.Find(id)
			if found != nil {
				on = ended(c, *found, known)
			}
			if r.reason == ReasonDone || worst(on.code, r.code) != r.code {
				r = on
			}
		}
		if r.reason == ReasonDone { // it was nothing that it waited for
			r = result{ReasonFailed, exitFailed}
		}
	case Waiting, Running, Done:
	}
	known[m.ID] = r
	return r
}
