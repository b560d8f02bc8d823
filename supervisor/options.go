package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/probe"
	"autopilot/sessions"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/source"
)

// Source says what the next session is to do.
type Source interface {
	Name() string
	Next(source.Request) source.Assignment
}

// Waits bound the waiting for a limit of the API.
type Waits struct {
	Margin  time.Duration // after the reset time of a usage limit
	Initial time.Duration // first wait when no reset time is known
	Max     time.Duration // longest single wait when no reset time is known
}

// Options are what a run is made of. All functions are called from one
// goroutine, except Probe, which a running session calls as well.
type Options struct {
	RunID    string
	Version  string // of this program
	Goal     string
	Branch   string
	Worktree string // path of the work tree when it is not the main one
	Source   Source
	Limits   killswitch.Limits
	Waits    Waits
	Session  sessions.Spec // template: what all sessions have in common
	// AgentsFor is the number of sub-agents at once for a mode on a green machine.
	AgentsFor func(mode string) int
	Probe     func(context.Context) probe.Snapshot
	// Run runs one session. It is sessions.Run but in tests.
	Run     func(context.Context, sessions.Spec, func(sessions.Progress)) (sessions.Result, error)
	Ledgers *ledger.Ledgers
	Folder  string // state folder of the run
	Log     *slog.Logger
	Live    func(Status) // a sign of life for a live line; may be nil
	// StopRequested says why the run is to stop after the current session, or
	// nothing. Poke wakes a waiting run so that it looks.
	StopRequested func() string
	Poke          <-chan struct{}
}

// Interrupted is the cause with which a run's context is cancelled by a signal.
type Interrupted struct{ Signal syscall.Signal }

// Error names the signal.
func (i Interrupted) Error() string { return fmt.Sprintf("received %v", i.Signal) }

// Status is the state of a run at a moment, for the live line.
type Status struct {
	State     string
	Iteration int // from 1
	Limits    killswitch.Limits
	Started   time.Time
	Mode      string
	Tier      string
	Cap       int
	Spent     killswitch.Spend
	Session   sessions.Progress
	WaitUntil time.Time // zero when the run does not wait
}

// Cause says why a run ended: one of the kill-switches, or one of these.
type Cause string

// Causes beside the kill-switches.
const (
	CauseManual   Cause = "manual-fallback" // the first iteration was not sure enough
	CauseWorkDone Cause = "work-done"
	CausePerson   Cause = "needs-person"
	CauseKilled   Cause = "killed" // the supervisor died; written by the next start
	CauseError    Cause = "error"  // a record could not be written, or a session not be started
)

// Exit codes of a run.
const (
	ExitWanted    = 0
	ExitError     = 1
	ExitFailures  = 3
	ExitPerson    = 4
	ExitResources = 5
	ExitBudget    = 6
	ExitInterrupt = 130
	ExitKilled    = 137 // what the caller of a run that was killed sees
)

// exitCode is the exit code of a run that ended for this cause.
func exitCode(c Cause) int {
	switch killswitch.Reason(c) {
	case killswitch.UserAbort:
		return ExitInterrupt
	case killswitch.TokenBudgetExceeded:
		return ExitBudget
	case killswitch.ResourceOverload:
		return ExitResources
	case killswitch.LowConfidence:
		return ExitPerson
	case killswitch.StallTimeout, killswitch.Spiral, killswitch.FailedWave, killswitch.CarryoverTooHigh:
		return ExitFailures
	}
	switch c {
	case CauseManual, CausePerson:
		return ExitPerson
	case CauseKilled:
		return ExitKilled
	case CauseError:
		return ExitError
	}
	return ExitWanted
}

// Outcome is how a run ended.
type Outcome struct {
	Record ledger.Run
	Manual string // what a person would type instead, after a manual fallback
	Hint   string
}
