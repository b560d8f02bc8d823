package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/sessions"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/track"
)

// StateVersion is the version of the state file's format.
const StateVersion = 1

const stateName = "state.json"

// State is what is on disk about a run. Record is always what the run's ledger
// line would be if the run ended at that moment.
type State struct {
	Version   int        `json:"version"`
	Finished  bool       `json:"finished"`
	PID       int        `json:"pid"`
	Token     string     `json:"token"` // marks every process of the run
	Start     uint64     `json:"start"` // start stamp of the process, tells it from a later one with its pid
	UpdatedAt time.Time  `json:"updated_at"`
	Iteration int        `json:"iteration"`
	Current   *Current   `json:"current,omitempty"`
	Waiting   *Waiting   `json:"waiting,omitempty"`
	Record    ledger.Run `json:"record"`

	Mode      string             `json:"mode"`
	Pursuit   pursuit.State      `json:"pursuit"`
	Errors    []string           `json:"errors_in_row,omitempty"` // kinds of the errors of the last sessions
	HeldInRow int                `json:"held_in_row,omitempty"`   // sessions in a row with calls that wait for a person
	Outcomes  ledger.Outcomes    `json:"outcomes"`
	Costs     []killswitch.Spend `json:"costs,omitempty"` // of the last sessions
	Carried   Carried            `json:"carried"`
	Last      *Last              `json:"last,omitempty"`       // session that has ended
	ResumedBy string             `json:"resumed_by,omitempty"` // run that continues this one
	Tasks     *track.State       `json:"tasks,omitempty"`      // of a source that tracks its work
}

// Carried is what the runs that a run continues had used up.
type Carried struct {
	Iterations int              `json:"iterations"`
	Completed  int              `json:"completed"`
	Spent      killswitch.Spend `json:"spent"`
	Active     time.Duration    `json:"active_ns"` // wall clock of those runs
	Outcomes   ledger.Outcomes  `json:"outcomes"`
}

// Last is the session that ended last, as far as another may have to continue its
// conversation.
type Last struct {
	Conversation string `json:"conversation"`
	Iteration    int    `json:"iteration"`
	Ending       string `json:"ending"`
	Opened       bool   `json:"opened"` // the conversation exists
	NextStep     int    `json:"next_step"`
	Goal         int    `json:"goal"` // for which it worked, from 1; 0 for none
	Work         string `json:"work,omitempty"`
}

// Current is the session that runs or is not recorded yet.
type Current struct {
	SessionID    string    `json:"session_id"`
	Mode         string    `json:"mode"`
	SessionType  string    `json:"session_type"`
	StartedAt    time.Time `json:"started_at"`
	LedgerOffset int64     `json:"ledger_offset"`  // size of the session ledger when it started
	Records      bool      `json:"records"`        // the session writes a record of its own
	Work         string    `json:"work,omitempty"` // what it is for, as the assignment names it

	// Conversation is the one of an earlier session that this one goes on with, at
	// NextStep; empty when it opens its own.
	Conversation string `json:"conversation,omitempty"`
	NextStep     int    `json:"next_step,omitempty"`
}

// Waiting says how long a run waits for the API, and why.
type Waiting struct {
	Until time.Time `json:"until"`
	Why   string    `json:"why"`
}

// Alive reports whether the supervisor of the run is still there.
func (s State) Alive() bool { return !s.Finished && proctree.Alive(s.PID, s.Start) }

// SessionFolder is where a session of the run in a folder keeps its files.
func SessionFolder(runFolder string, id sessions.ID) string {
	return filepath.Join(runFolder, "sessions", string(id))
}

// LoadState reads the state of the run in a folder.
func LoadState(folder string) (State, error) {
	var s State
	if err := statedir.LoadJSON(filepath.Join(folder, stateName), &s); err != nil {
		return s, err
	}
	if s.Version != StateVersion {
		return s, fmt.Errorf("read %s: version %d is not known, want %d", filepath.Join(folder, stateName), s.Version, StateVersion)
	}
	return s, nil
}

// NewState is the state of a run that begins.
func NewState(o Options, started time.Time, verdict string) State {
	host := runtime.GOOS + "-" + map[string]string{"amd64": "x86_64"}[runtime.GOARCH]
	if runtime.GOARCH != "amd64" {
		host = runtime.GOOS + "-" + runtime.GOARCH
	}
	start, _ := proctree.StartOf(os.Getpid())
	rec := ledger.Run{
		SchemaVersion: ledger.RunSchema, AutopilotRunID: o.RunID, StartedAt: ledger.Stamp(started),
		MaxSessions: o.Limits.MaxSessions, MaxHours: o.Limits.MaxHours, ConfidenceThreshold: o.Limits.ConfidenceThreshold,
		Sessions: []string{}, HostClass: &host, ResourceVerdictAtStart: &verdict,
		Source: o.Source.Name(), Goal: logs.Redact(o.Goal), Endings: []ledger.Ending{}, Caps: []ledger.Cap{}, Version: o.Version,
	}
	if o.Worktree != "" {
		rec.WorktreePath = &o.Worktree
	}
	if o.Parent != "" {
		rec.ParentRunID = &o.Parent
	}
	if o.BlockedBy != 0 {
		rec.BlockedByIssue = &o.BlockedBy
	}
	rec.Mode, rec.Forecast = o.Mode, o.Forecast
	return State{Version: StateVersion, PID: os.Getpid(), Start: start, Token: o.Session.Token, Record: rec, Mode: o.Mode}
}

func (l *loop) save() error {
	if l.Slept != nil {
		l.file.Record.SleptSeconds = int64(l.Slept().Seconds())
	}
	err := l.file.Save(l.Folder)
	if err == nil && l.Saved != nil {
		l.Saved(l.file)
	}
	return err
}

// Save writes the state durably into the folder of its run.
func (s *State) Save(folder string) error {
	s.UpdatedAt = time.Now()
	s.Record.CompletedAt = ledger.Stamp(s.UpdatedAt)
	return statedir.ReplaceJSON(filepath.Join(folder, stateName), s)
}
