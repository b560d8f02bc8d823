package taskmaster

import (
	"errors"
	"fmt"
)

// What can be wrong with a request or with what a file says about it. [Problem] wraps
// one of them. A missing file wraps [fs.ErrNotExist].
var (
	ErrNoTag       = errors.New("no such tag")
	ErrBadTag      = errors.New("not a name of a tag")
	ErrNotFound    = errors.New("no such task")
	ErrIsSubtask   = errors.New("id of a subtask where that of a task is expected")
	ErrBadID       = errors.New("not an id")
	ErrNoSubtasks  = errors.New("task without subtasks")
	ErrCannotOrder = errors.New("subtasks that cannot be put in order")
	ErrBadStatus   = errors.New("not a status")
	ErrAmbiguous   = errors.New("name or id that stands there twice")
	ErrChanged     = errors.New("file changed by somebody else")
)

// Problem is an error that somebody can do something about.
type Problem struct {
	Err     error  // what kind it is, for errors.Is
	Message string // one line that names the file where there is one
	Way     string // what to do about it; may be empty
}

// Error is the message.
func (p *Problem) Error() string { return p.Message }

// Hint is the way out.
func (p *Problem) Hint() string { return p.Way }

// Unwrap returns the kind.
func (p *Problem) Unwrap() error { return p.Err }

func problem(kind error, way, format string, args ...any) error {
	return &Problem{Err: kind, Way: way, Message: fmt.Sprintf(format, args...)}
}
