package tdd

// Kind says what a refusal means for who asked.
type Kind string

// Kinds of refusals.
const (
	Invalid Kind = "invalid" // the request, or the place, is not right; nothing was begun
	Refused Kind = "refused" // the workflow does not allow it as things are
	Paused  Kind = "paused"  // a person is needed
	Failed  Kind = "failed"  // something went wrong that is no matter of the workflow
)

// Refusal is an error that names what is wrong and the way out. It is printed as JSON
// where an answer would be.
type Refusal struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"error"`
	Way     string `json:"suggestion,omitempty"`
	// Phase is where the run stands, when there is one.
	Phase At `json:"currentPhase,omitempty"`
	// Cause is the error behind it, if any.
	Cause error `json:"-"`
}

// NothingToCommit is the message of the refusal of a commit in which nothing would be.
const NothingToCommit = "no changes to commit"

// Error is what is wrong.
func (r *Refusal) Error() string { return r.Message }

// Hint is the way out.
func (r *Refusal) Hint() string { return r.Way }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Cause }
