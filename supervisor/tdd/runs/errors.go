package runs

import (
	"errors"
	"fmt"

	"autopilot/metrics/statedir"
)

// ErrNoRun is returned when there is no current run, or no run of that name.
var ErrNoRun = errors.New("there is no such run")

// BrokenError is returned when the state of a run cannot be read, or contradicts
// itself. The rest of its folder may be in order.
type BrokenError struct {
	RunID string
	Path  string // of state.json
	Err   error  // names the path
}

// Error names the run and what is wrong with its state.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("run %s has no usable state: %v", e.RunID, e.Err)
}

// Unwrap returns what is wrong.
func (e *BrokenError) Unwrap() error { return e.Err }

// Hint says what a person can do about it.
func (e *BrokenError) Hint() string {
	return "autopilot tdd abort puts it aside; " + e.Path + " is kept under another name"
}

// UnsettledError is returned when a state was saved, and something that follows from
// it was not: the change has been made. The next load for writing tries again.
type UnsettledError struct {
	RunID string
	Err   error
}

// Error says what could not be written.
func (e *UnsettledError) Error() string {
	return fmt.Sprintf("run %s was saved, but not all that follows from its state: %v", e.RunID, e.Err)
}

// Unwrap returns the reasons.
func (e *UnsettledError) Unwrap() error { return e.Err }

// Hint says what a person can do about it.
func (e *UnsettledError) Hint() string {
	if full, ok := errors.AsType[*statedir.FullError](e.Err); ok {
		return full.Hint()
	}
	return "once the reason is gone, the next command that changes the run makes up for it"
}
