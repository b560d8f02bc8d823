// Package shares is what a run shares with others on its machine: the account that its
// sessions are paid from, and in a cohort the machine and the budgets.
package shares

import (
	"time"

	"autopilot/supervisor/killswitch"
)

// Company is those that a run shares something with: the account that the sessions are
// paid from, and in a cohort the machine and the budgets. Its methods are called from the
// run's own goroutine.
type Company interface {
	// Hold says until when no session may start, and why; a zero time when one may. It is
	// asked again before that time.
	Hold(now time.Time) (until time.Time, why string)
	// Others is what the others of the cohort use.
	Others() Others
	// Limited tells the others of a usage limit: of which kind, until when.
	Limited(kind string, until time.Time)
	// Used tells them what the run and those that it continues use.
	Used(Use)
}

// Others is what the others of a cohort use of what is common to all.
type Others struct {
	Used     killswitch.Spend // counts as the run's own
	Reserved float64          // US dollars that their running sessions may still spend
	Holders  int              // stories that hold some of those
	Among    int              // running stories, this one included
}

// Use is what a run uses of what is common to a cohort.
type Use struct {
	Spent    killswitch.Spend
	Sessions int
	Reserved float64   // US dollars that the session which begins may spend
	Began    time.Time // of the session that was over; zero for none
	Answered bool      // the API answered it
}

// Alone is the company of a run that has none.
type Alone struct{}

// Hold holds nothing back.
func (Alone) Hold(time.Time) (until time.Time, why string) { return time.Time{}, "" }

// Others are none.
func (Alone) Others() Others { return Others{Among: 1} }

// Limited tells nobody.
func (Alone) Limited(string, time.Time) {}

// Used tells nobody.
func (Alone) Used(Use) {}
