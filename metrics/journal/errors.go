package journal

import (
	"errors"
	"fmt"
	"time"

	"autopilot/metrics/statedir"
)

// FullError is returned when the disk or the quota is full; it names the path and
// the free space. errors.Is finds syscall.ENOSPC or syscall.EDQUOT in it.
type FullError = statedir.FullError

// ErrNotDurable is returned when a record was written and could not be synced. It
// may or may not survive a power cut, and a later sync that succeeds says nothing
// about it. The Writer refuses further records with the same error.
var ErrNotDurable = errors.New("record is not durable")

// LockedError is returned when another writer held the journal for longer than
// Options.LockTimeout. PID is 0 when the system does not tell who it is.
type LockedError struct {
	Path   string
	PID    int
	Waited time.Duration
}

// Error names the journal and, where it is known, who holds it.
func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("pid %d", e.PID)
	}
	return fmt.Sprintf("%s holds the lock on %s for more than %v", who, e.Path, e.Waited)
}

// Hint says what a person can do about it.
func (e *LockedError) Hint() string {
	if e.PID == 0 {
		return "look for a stopped process that has the journal open"
	}
	return fmt.Sprintf("process %d may be stopped: continue it (kill -CONT %d) or end it", e.PID, e.PID)
}
