package peers

import (
	"fmt"
	"strings"
	"time"

	"autopilot/sessions/prompt"
)

// Class says beside whom a session may work in one repository.
type Class string

// The classes of sessions.
const (
	Exclusive  Class = "exclusive"   // alone
	ParallelOK Class = "parallel-ok" // beside its like, better in a worktree of its own
	AlwaysOK   Class = "always-ok"   // beside anybody, because it only reads
)

// ClassOf returns the class of a session mode. The table is session-orchestrator's, which is
// case-sensitive and does not mind blanks around a name. A mode that it does not know is
// ParallelOK, as it is for every reader of that program; so is the empty one.
func ClassOf(mode string) Class {
	switch strings.TrimSpace(mode) {
	case "bootstrap", "housekeeping", "memory-cleanup":
		return Exclusive
	case "discovery", "evolve", "plan", "repo-audit", "portfolio":
		return AlwaysOK
	}
	return ParallelOK
}

// Outcome says what the other sessions mean for one that wants to begin.
type Outcome string

// The outcomes, in session-orchestrator's words.
const (
	PassThrough Outcome = "PASS_THROUGH"      // nobody is in the way
	Blocked     Outcome = "EXCLUSIVE_BLOCKED" // it must not begin now
	Promotion   Outcome = "PROMOTION_OFFER"   // it should begin in a worktree of its own
)

// Decision is an Outcome and where it comes from.
type Decision struct {
	Outcome Outcome `json:"outcome"`
	Peers   []Peer  `json:"peers,omitempty"` // those that decided; none when nobody is in the way
	Why     string  `json:"why"`             // one line for a person
}

// Decide tells what the sessions that were found mean for one that wants to begin in mode. It
// is pure. It follows the table of session-orchestrator but for one place:
//
//	caller       beside            outcome
//	always-ok    any               PassThrough
//	any          none              PassThrough
//	the others   an exclusive one  Blocked
//	parallel-ok  a parallel-ok one Promotion
//	exclusive    a parallel-ok one Blocked
//	the others   only always-ok    PassThrough
//
// The last but one is the place: the written rule of that program forbids an exclusive session
// to begin beside another, but its code lets it. The rule is followed here.
//
// Peers of origin StateMD decide nothing. What STATE.md says outlives the session that wrote
// it, so it is no sign that somebody is at work.
func Decide(mode string, found []Peer, now time.Time) Decision {
	class := ClassOf(mode)
	var exclusive, parallel, reading []Peer
	for _, p := range found {
		switch {
		case p.Origin == StateMD:
		case p.Class == Exclusive:
			exclusive = append(exclusive, p)
		case p.Class == AlwaysOK:
			reading = append(reading, p)
		default:
			parallel = append(parallel, p)
		}
	}
	name := shown(mode, maxMode)
	switch {
	case len(exclusive)+len(parallel)+len(reading) == 0:
		return Decision{Outcome: PassThrough, Why: "no other session works in this repository"}
	case class == AlwaysOK:
		return Decision{Outcome: PassThrough, Why: fmt.Sprintf("mode %s only reads and disturbs nobody", name)}
	case len(exclusive) > 0:
		return Decision{Outcome: Blocked, Peers: exclusive, Why: told(exclusive, now) + ", which nobody may work beside"}
	case len(parallel) > 0 && class == Exclusive:
		return Decision{Outcome: Blocked, Peers: parallel, Why: told(parallel, now) + fmt.Sprintf(", and mode %s has to be alone", name)}
	case len(parallel) > 0:
		return Decision{Outcome: Promotion, Peers: parallel, Why: told(parallel, now) + ", so that a worktree of its own is safer"}
	}
	return Decision{Outcome: PassThrough, Why: told(reading, now) + ", which only reads"}
}

// told names the first of the peers, and how many more there are.
func told(list []Peer, now time.Time) string {
	s := list[0].Told(now)
	if n := len(list) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// Told says who a peer is and how long it has been at work, in one line: what the texts of the
// messages of this package are made of.
func (p Peer) Told(now time.Time) string {
	s := "session " + orUnknown(shown(p.SessionID, maxName)) + " in mode " + orUnknown(shown(p.Mode, maxMode))
	if !p.StartedAt.IsZero() {
		s += ", begun " + ago(now.Sub(p.StartedAt))
	}
	if !p.LastHeartbeat.IsZero() {
		s += ", last seen " + ago(now.Sub(p.LastHeartbeat))
	}
	if p.Worktree != "" {
		s += ", in " + prompt.Cut(line(p.Worktree), maxPath)
	}
	return s
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// ago is a duration in one unit, because nobody plans by the rest.
func ago(d time.Duration) string {
	count := func(n int, unit string) string {
		if n != 1 {
			unit += "s"
		}
		return fmt.Sprintf("%d %s ago", n, unit)
	}
	switch {
	case d < 0:
		return "in the future by our clock"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return count(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return count(int(d.Hours()), "hour")
	}
	return count(int(d.Hours())/24, "day")
}
