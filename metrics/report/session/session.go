package session

import (
	"time"
)

// Status is how a session stands, in the words of its readers.
type Status string

// The statuses.
const (
	Initializing Status = "initializing"
	Running      Status = "running"
	Paused       Status = "paused"
	NeedsHuman   Status = "needs_human"
	Completed    Status = "completed"
	Failed       Status = "failed"
	Cancelled    Status = "cancelled"
)

// Facts are what a view is made from. What is zero is not known.
type Facts struct {
	RunID         string
	Started       time.Time
	Ended         time.Time // counts when Over is set
	LastActivity  time.Time
	Iteration     int // sessions that were begun
	MaxIterations int
	MaxHours      float64
	Promise       string // words with which the work is said to be done
	Promised      bool   // they were seen and believed
	Prompt        string // what was asked for

	Over    bool // the run has ended; End says how
	End     End
	Waiting bool // the run is on and waits for a limit, or is paused

	Items       []Item
	Gates       []Gate
	Breakers    []Breaker
	Checkpoints []Checkpoint
}

// End is how a run ended, as in its record.
type End struct {
	KillSwitch string
	Cause      string
	ExitCode   int
}

// Item is a piece of work of the queue. Its status is as the queue writes it: waiting,
// in-progress, needs-human, failed, skipped or done.
type Item struct {
	ID     string
	Status string
}

// Gate is something that needs a person. Its status is pending, approved, used, denied
// or expired.
type Gate struct {
	ID      string
	Subject string
	Status  string
}

// Breaker is the breaker in front of a service. States are closed, open and half-open.
type Breaker struct {
	Service  string
	State    string
	Failures int // in a row
}

// Checkpoint is a moment at which the state of the run was kept.
type Checkpoint struct {
	At        time.Time
	Iteration int
	Percent   float64 // 0..100
}

// View is the session as it is written in JSON.
type View struct {
	SessionID           string                 `json:"sessionId"`
	Status              Status                 `json:"status"`
	StartTime           *string                `json:"startTime"`
	EndTime             *string                `json:"endTime"`
	Iteration           int                    `json:"iteration"`
	MaxIterations       int                    `json:"maxIterations"`
	MaxHours            float64                `json:"maxHours"`
	CompletionPromise   string                 `json:"completionPromise"`
	OriginalPrompt      string                 `json:"originalPrompt"`
	IncrementQueue      []string               `json:"incrementQueue"` // not begun, or waiting for a person
	CurrentIncrement    *string                `json:"currentIncrement"`
	CompletedIncrements []string               `json:"completedIncrements"`
	FailedIncrements    []string               `json:"failedIncrements"`
	HumanGates          HumanGates             `json:"humanGates"`
	CircuitBreakers     map[string]BreakerView `json:"circuitBreakers"` // github, jira and ado are always there
	Checkpoints         []CheckpointView       `json:"checkpoints"`
	LastActivity        *string                `json:"lastActivity"`
	EndReason           *string                `json:"endReason"`
}

// HumanGates are the gates, each as "id: subject". Of several that wait, Pending is the
// first. Those whose approval was used are approved, those that expired are denied.
type HumanGates struct {
	Pending  *string  `json:"pending"`
	Approved []string `json:"approved"`
	Denied   []string `json:"denied"`
}

// BreakerView is a breaker. States are closed, open and half_open.
type BreakerView struct {
	State    string `json:"state"`
	Failures int    `json:"failures"`
}

// CheckpointView is a checkpoint.
type CheckpointView struct {
	At        *string `json:"at"`
	Iteration int     `json:"iteration"`
	Percent   float64 `json:"percent"` // 0..100
}
