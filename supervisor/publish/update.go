package publish

import (
	"context"
	"fmt"
	"time"
)

// State is how the work stands of which an update tells.
type State string

// States.
const (
	Running    State = "running"
	Done       State = "done" // all of it, as it was wanted
	Failed     State = "failed"
	Stopped    State = "stopped" // before it was done: by a limit, a person or a lack of something
	NeedsHuman State = "needs-human"
)

// States are all states.
func States() []State { return []State{Running, Done, Failed, Stopped, NeedsHuman} }

// Update is the standing of a run, or of one piece of its work, at a moment.
type Update struct {
	// Subject is what it tells of. Updates of one subject follow each other in one entry
	// at a target: letters, digits, '-', '_', '.' and '/', at most 200 bytes.
	Subject string `json:"subject"`
	// Project tells apart projects that have subjects of one name and one target: at most
	// 40 letters and digits; empty when there are no others.
	Project string    `json:"project,omitempty"`
	RunID   string    `json:"run_id"`
	Title   string    `json:"title"` // one line
	Body    string    `json:"body"`  // Markdown, at most 16 KiB, without secrets
	State   State     `json:"state"`
	Percent int       `json:"percent"` // 0..100
	At      time.Time `json:"at"`
	// Final is set for the last update of the subject.
	Final bool `json:"final,omitempty"`
}

// Entry names the entry of the update's subject at a target that several projects may
// tell of theirs.
func (u Update) Entry() string {
	if u.Project == "" {
		return u.Subject
	}
	return u.Subject + ":" + u.Project // ':' is in no subject
}

// Receipt says what a target has taken.
type Receipt struct {
	URL string `json:"url,omitempty"` // where a person can see it
	ID  string `json:"id,omitempty"`  // of the entry at the target
	// Again is set when the target had the update already.
	Again bool `json:"again,omitempty"`
}

// Sender brings updates to one target.
type Sender interface {
	// Send brings the entry of the update's subject up to date, or makes it. The key is
	// the same whenever the same update is sent again; a target that has it already is
	// left as it is. It returns when the target has answered or ctx ends, which counts as
	// not sent. An error is a *SendError where the target has answered.
	Send(ctx context.Context, key string, u Update) (Receipt, error)
	// Preview says, for a person, what Send would do: method, address and body. It asks
	// nobody.
	Preview(key string, u Update) string
}

// SendError is the answer of a target that did not take an update.
type SendError struct {
	Service Service
	Status  int // HTTP status; 0 when there was none
	// RetryAt is when the target wants to be asked again; zero when it did not say.
	RetryAt time.Time
	// Permanent is set when asking again is of no use before a person has mended something.
	Permanent bool
	Err       error
}

// Error names the service and its answer.
func (e *SendError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s: %v", e.Service, e.Err)
	}
	return fmt.Sprintf("%s answered %d: %v", e.Service, e.Status, e.Err)
}

// Unwrap returns what the client library said.
func (e *SendError) Unwrap() error { return e.Err }
