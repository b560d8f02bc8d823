package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"autopilot/metrics/episode"
	"autopilot/metrics/ledger"
	"autopilot/probe"
	"autopilot/reflector"
	"autopilot/sessions"
	"autopilot/supervisor/ending"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/shares"
	"autopilot/supervisor/source"
)

// Source says what the next session is to do.
type Source interface {
	Name() string
	Next(source.Request) source.Assignment
}

// Tracker is a source that can tell by itself how far its work is. What a session
// claims does not count then.
type Tracker interface {
	Track(context.Context) source.Track
}

// Advancer is a source that takes steps of its own between sessions. The result is that
// of the session that has just ended, nil before the first.
type Advancer interface {
	Advance(ctx context.Context, res *sessions.Result, log *slog.Logger)
}

// Keeper is a source that takes the questions of its sessions as its own: the run does not
// wait for the answer. Kept reports whether what the last session was for is over, or put
// aside.
type Keeper interface {
	Kept() bool
}

// Waits bound the waiting for a limit of the API.
type Waits struct {
	Margin  time.Duration // after the reset time of a usage limit
	Initial time.Duration // first wait when no reset time is known
	Max     time.Duration // longest single wait when no reset time is known
}

// Options are what a run is made of. All functions are called from one
// goroutine, except Probe and AgentsFor, which a running session calls as well.
type Options struct {
	RunID    string
	Version  string // of this program
	Goal     string
	Branch   string
	Worktree string // path of the work tree when it is not the main one
	Source   Source
	Mode     string
	// Profile is what a mode stands for; nil when Limits hold in any mode.
	Profile func(mode string) Profile
	Limits  killswitch.Limits
	Waits   Waits
	// Until is when the time of the run is over, whatever its limits say: no session is
	// begun in the 20 seconds before, and whoever cancels its context ends one that runs.
	// Zero for never.
	Until    time.Time
	Goals    []pursuit.Goal
	Pursuit  pursuit.Options
	Forecast *ledger.Forecast
	// Analyse looks closer at the goals before the first session and says what that
	// has cost, which counts as the run's own; nil takes the goals as they are. It
	// is not called for a run that continues another.
	Analyse func(context.Context) ([]pursuit.Goal, reflector.Usage)
	// Head is the commit of the repository now; nil when that cannot be told.
	Head func(context.Context) string
	// Announce is called once behind the first line of the log; it may be nil.
	Announce func()
	// Previous is the run that this one continues, or nil.
	Previous *State
	// HasConversation reports whether a conversation can be continued on this
	// machine; nil when that cannot be told.
	HasConversation func(id string) bool
	Session         sessions.Spec // template: what all sessions have in common
	// AgentsFor is the number of sub-agents at once for a mode on a green machine. A
	// running session asks it as well.
	AgentsFor func(mode string) int
	// Company is who the run shares its account, the machine and budgets with; nil for
	// nobody.
	Company shares.Company
	// Parent is the run of the cohort that this one is a story of, and BlockedBy the issue
	// that it waited for; empty and 0 for none.
	Parent    string
	BlockedBy int
	// Chosen is told which session an assignment led to, by the id of its record; nil for
	// nobody.
	Chosen func(source.Assignment, sessions.ID)
	// Aborted reports whether the cohort has stopped the run; nil outside of one.
	Aborted func() bool
	Probe   func(context.Context) probe.Snapshot
	// Run runs one session. It is sessions.Run but in tests.
	Run     func(context.Context, sessions.Spec, func(sessions.Progress)) (sessions.Result, error)
	Ledgers *ledger.Ledgers
	Folder  string // state folder of the run
	Log     *slog.Logger
	Live    func(Status) // a sign of life for a live line; may be nil
	// Saved is told the state whenever it was written down, and Slept says how long the
	// machine has slept during the run so far. Both may be nil.
	Saved func(State)
	Slept func() time.Duration
	// Checkpoint takes a copy of the state after each session and at the end; nil
	// when none is wanted. What keeps it from doing so does not end the run.
	Checkpoint func(State) error
	// Equip gives a session what it needs of its own: its tool server and its hooks;
	// nil for nothing.
	Equip func(*sessions.Spec) error
	// Recall says what earlier work recommends for work in words, a line each; nil
	// for nothing.
	Recall func(work string) []string
	// Learn takes what the run teaches, at its end; nil for nobody.
	Learn func(episode.Episode) error
	// Promise is what a session has to say before its goal counts as reached; empty for
	// nothing.
	Promise string
	// Held are the calls of a session that wait for a person, a line each; nil when none
	// is ever held.
	Held func(session string) []string
	// Reflections takes a line for each reflection; nil when none is wanted.
	Reflections func(pursuit.Record) error
	// ModeRequested is the mode that a person wants from now on, or nothing.
	ModeRequested func() string
	// StopRequested says why the run is to stop after the current session, or
	// nothing. Poke wakes a waiting run so that it looks.
	StopRequested func() string
	Poke          <-chan struct{}
}

// Profile is what a mode stands for.
type Profile struct {
	Limits   killswitch.Limits
	Interval int // sessions between two reflections; 0 for none
}

// Interrupted is the cause with which a run's context is cancelled by a signal.
type Interrupted struct{ Signal syscall.Signal }

// Error names the signal.
func (i Interrupted) Error() string { return fmt.Sprintf("received %v", i.Signal) }

// TimeOver is the cause with which a run's context is cancelled when its time is over.
type TimeOver struct{ At time.Time }

// Error says when that was.
func (t TimeOver) Error() string { return "its time was over at " + t.At.Format(time.RFC3339) }

// Reason is the kill-switch that this is.
func (t TimeOver) Reason() killswitch.Reason { return killswitch.MaxHoursExceeded }

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
	Progress  pursuit.Progress
}

// Cause says why a run ended: one of the kill-switches, or one of these.
type Cause string

// Causes beside the kill-switches.
const (
	CauseManual   Cause = ending.CauseManual // the first iteration was not sure enough
	CauseWorkDone Cause = ending.CauseDone
	CausePerson   Cause = ending.CausePerson
	CauseGivenUp  Cause = ending.CauseGivenUp // a reflection found that going on is of no use
	CauseNoTasks  Cause = ending.CauseNoTasks // there is nothing to do
	CauseFailed   Cause = ending.CauseFailed  // every task is over, and some have failed
	CauseNoGain   Cause = ending.CauseNoGain  // no further task was completed for too long
	CauseKilled   Cause = ending.CauseKilled  // the supervisor died; written by the next start
	CauseError    Cause = ending.CauseError   // a record could not be written, or a session not be started
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
	case CauseGivenUp, CauseFailed, CauseNoGain:
		return ExitFailures
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
	Told   string // in place of its sessions, of a run that coordinated others
	Hint   string
}
