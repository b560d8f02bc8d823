package page

import (
	"autopilot/cmd/internal/board"
	"autopilot/supervisor/fleet"
)

// Classes of states. A colour belongs to each; the word is what says it.
const (
	good   = "good"
	open   = "open"
	limit  = "limit"
	person = "person"
	bad    = "bad"
	quiet  = "quiet"
)

// badge is a state in a word.
type badge struct{ Class, Word string }

func badgeOf(s fleet.State) badge {
	switch s {
	case fleet.StateStarting, fleet.StateRunning, fleet.StateLooking:
		return badge{open, string(s)}
	case fleet.StateWaiting:
		return badge{limit, "at a limit"}
	case fleet.StateStopping:
		return badge{limit, string(s)}
	case fleet.StatePerson:
		return badge{person, string(s)}
	case fleet.StateDone:
		return badge{good, string(s)}
	case fleet.StateOpen:
		return badge{bad, "dead"}
	case fleet.StateFailed, fleet.StateInterrupted, fleet.StateUnreadable, fleet.StateShut:
		return badge{bad, string(s)}
	case "":
		return badge{quiet, "not known"}
	}
	return badge{quiet, line(string(s), shortText)}
}

// endedAs is how a run ended, for the list of those that have.
func endedAs(r board.Row) badge {
	b := badgeOf(r.State)
	if r.State != fleet.StateEnded {
		return b
	}
	switch r.ExitCode {
	case 0:
		return badge{good, "ended"}
	case 4:
		return badge{person, string(fleet.StatePerson)}
	case 5, 6:
		return badge{limit, "at a limit"}
	}
	return badge{bad, "ended with failures"}
}

// on reports whether something runs of which more may come. A run that waits for a person
// may have ended for it.
func on(r board.Row) bool {
	switch r.State {
	case fleet.StateStarting, fleet.StateRunning, fleet.StateWaiting, fleet.StatePerson, fleet.StateLooking, fleet.StateStopping:
		return r.Ended.IsZero()
	}
	return false
}

// tierClass is the colour of a tier.
func tierClass(tier string) string {
	switch tier {
	case "green":
		return good
	case "warn", "degraded":
		return limit
	case "critical":
		return bad
	}
	return quiet
}
