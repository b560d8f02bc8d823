package stats

import (
	"strings"

	"autopilot/metrics/ledger"
)

// Classes of reasons. The first five are always part of Metrics.Reasons.
const (
	Completed     = "completed"
	Stuck         = "stuck"
	Timeout       = "timeout"
	Error         = "error"
	UserInterrupt = "user_interrupt"

	MaxIterations = "max_iterations"
	CostLimit     = "cost_limit"
	Question      = "question"
	Overload      = "resource_overload"
	Killed        = "killed"
	Unknown       = "unknown"
)

const maxName = 40 // bytes

// Class says to which class of reasons the end of a run belongs. What a run
// says in its termination comes first, then its exit cause, then its
// kill-switch. A reason that is none of the classes is its own, in lower case
// with underscores.
func Class(r ledger.Run) string {
	if t := r.Termination; t != nil {
		for _, word := range []string{completed(t.Status), t.Guard, t.Reason, t.Status} {
			if name := plain(word); name != "" {
				return classOf(name)
			}
		}
	}
	if name := plain(r.ExitCause); name != "" {
		return classOf(name)
	}
	if r.KillSwitch != nil && plain(*r.KillSwitch) != "" {
		return classOf(plain(*r.KillSwitch))
	}
	if r.FallbackToManual {
		return Question
	}
	return Unknown
}

// completed keeps a status that leaves nothing to say; the others only say where
// to look.
func completed(status string) string {
	if status == ledger.Completed {
		return status
	}
	return ""
}

// classOf maps a plain name to its class.
func classOf(name string) string {
	switch name {
	case "completed", "goal_achieved", "work_done":
		return Completed
	case "stuck", "too_slow":
		return Stuck
	case "timeout", "max_hours_exceeded":
		return Timeout
	case "error", "error_threshold", "failed_wave", "spiral", "stall_timeout", "carryover_too_high":
		return Error
	case "user_interrupt", "user_abort", "user_stop", "interrupted":
		return UserInterrupt
	case "max_iterations", "max_sessions_reached":
		return MaxIterations
	case "cost_limit", "token_budget_exceeded":
		return CostLimit
	case "question", "needs_person", "low_confidence", "low_confidence_fallback", "manual_fallback", "paused":
		return Question
	}
	return name
}

// plain brings a reason into one form: lower case, words joined by underscores,
// nothing but letters and digits, bounded.
func plain(s string) string {
	s = strings.ToLower(s[:min(len(s), maxName)])
	words := strings.FieldsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "_")
}

// label is the name of a reflector as it can be shown: visible ASCII, bounded.
func label(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, s[:min(len(s), maxName)])
	if s = strings.TrimSpace(s); s == "" {
		return Unknown
	}
	return s
}
