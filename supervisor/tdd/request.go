package tdd

// StartRequest asks for a new run.
type StartRequest struct {
	TaskID      string
	Tag         string // empty is the current one
	Branch      string // empty is made from the pattern
	MaxAttempts int    // 0 is the setting
	NoConfirm   bool   // what would have to be confirmed is
}

// CompleteRequest reports the results of a step.
type CompleteRequest struct {
	Phase     At     // Red or Green; empty is the current one
	SubtaskID string // empty is the current one
	Results   *Results
	Coverage  Coverage
	Files     []string // that were changed; nil finds them
	// Trial does not count a step that is not done as an attempt.
	Trial bool
}

// CommitRequest asks for the commit of the current subtask.
type CommitRequest struct {
	SubtaskID string   // empty is the current one
	Message   string   // the summary in the subject; empty is made from the subtask
	Files     []string // to commit; nil is what the subtask changed
}

// FinalizeRequest asks for the end of a run.
type FinalizeRequest struct {
	Push bool // the branch to the remote, never forced
}

// AbortRequest asks for a run to be given up.
type AbortRequest struct {
	Cleanup   bool // delete branch and state
	NoConfirm bool
}
