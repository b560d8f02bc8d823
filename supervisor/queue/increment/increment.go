package increment

import (
	"errors"
	"time"

	"autopilot/sessions/task"
)

// Statuses of an increment.
const (
	Planning       = "planning"
	Active         = "active"
	Backlog        = "backlog"
	Paused         = "paused"
	ReadyForReview = "ready_for_review"
	Completed      = "completed"
	Abandoned      = "abandoned"
)

// Statuses are all statuses that SpecWeave knows.
func Statuses() []string {
	return []string{Planning, Active, Backlog, Paused, ReadyForReview, Completed, Abandoned}
}

// Errors that callers tell apart.
var (
	// ErrNotFound is returned when there is no such increment.
	ErrNotFound = errors.New("there is no such increment")
	// ErrIllegal is returned for a change of the status that SpecWeave does not allow.
	ErrIllegal = errors.New("not a change that SpecWeave allows")
	// ErrChanged is returned when somebody else changed a file that was to be replaced.
	ErrChanged = errors.New("somebody else has changed it")
)

// Fault is a file that could not be taken for what it should be, with its path and why.
type Fault = task.Fault

// Criteria counts acceptance criteria by their check boxes.
type Criteria struct {
	Open int `json:"open"`
	Done int `json:"done"`
}

// Increment is an increment as it is on disk.
type Increment struct {
	ID             string      `json:"id"`  // the name of its folder
	Dir            string      `json:"dir"` // the folder, below the repository as it was given
	Title          string      `json:"title"`
	Type           string      `json:"type,omitempty"`     // feature, hotfix, ...; lower case
	Status         string      `json:"status"`             // one of Statuses, or another word that is written there
	Priority       int         `json:"priority,omitempty"` // 1 to 3; 0 when none is given
	Created        time.Time   `json:"created,omitzero"`
	LastActivity   time.Time   `json:"last_activity,omitzero"`
	DependsOn      []string    `json:"depends_on,omitempty"`      // ids; in full where the increment is there
	TestMode       string      `json:"test_mode,omitempty"`       // as it is written: TDD, ...
	CoverageTarget int         `json:"coverage_target,omitempty"` // percent; 0 when none is given
	Tasks          []task.Task `json:"tasks,omitempty"`           // only of Load
	Criteria       Criteria    `json:"criteria"`                  // only of Load
	Warnings       []string    `json:"warnings,omitempty"`        // what is odd in its files
}
