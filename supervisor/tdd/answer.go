package tdd

import "time"

// Answers are what commands print with --json and what tools return: one form for
// both.

// Next is what has to be done now.
type Next struct {
	Action       string   `json:"action"` // red, green, commit, finalize, complete, paused
	Subtask      *Work    `json:"subtask,omitempty"`
	Context      *Context `json:"context,omitempty"`
	Instructions string   `json:"instructions"`
}

// Values of Next.Action.
const (
	ActionRed      = "red"
	ActionGreen    = "green"
	ActionCommit   = "commit"
	ActionFinalize = "finalize"
	ActionComplete = "complete"
	ActionPaused   = "paused"
)

// Work is a subtask as its file has it now.
type Work struct {
	ID           string `json:"id"`
	Title        string `json:"title"`
	Description  string `json:"description,omitempty"`
	Details      string `json:"details,omitempty"`
	TestStrategy string `json:"testStrategy,omitempty"`
	Attempt      int    `json:"attempt"`
	MaxAttempts  int    `json:"maxAttempts"`
}

// Context is what helps with a subtask.
type Context struct {
	ProjectRoot   string   `json:"projectRoot"`
	Branch        string   `json:"branch"`
	TestCommand   string   `json:"testCommand,omitempty"` // that will be run to check; empty when reports are believed
	TestPattern   string   `json:"testPattern,omitempty"`
	ExistingTests []string `json:"existingTests"`
	FailingTests  []string `json:"failingTests,omitempty"`
	ChangedFiles  []string `json:"changedFiles,omitempty"`
	LastRefusal   string   `json:"lastRefusal,omitempty"`
}

// Started is the answer to start.
type Started struct {
	RunID      string   `json:"runId"`
	TaskID     string   `json:"taskId"`
	Title      string   `json:"title"`
	Tag        string   `json:"tag"`
	Branch     string   `json:"branch"`
	Subtasks   int      `json:"subtasks"` // that are to be done
	Warnings   []string `json:"warnings,omitempty"`
	NextAction Next     `json:"nextAction"`
}

// Judged is the answer to a report of test results.
type Judged struct {
	Validated  bool      `json:"validated"`
	Message    string    `json:"message"`
	Suggestion string    `json:"suggestion,omitempty"`
	Warning    string    `json:"warning,omitempty"`
	Reported   *Results  `json:"reported,omitempty"`
	Measured   *Measured `json:"measured,omitempty"`
	Attempt    int       `json:"attemptNumber"`
	NextAction Next      `json:"nextAction"`
}

// Committed is the answer to commit.
type Committed struct {
	CommitSHA  string   `json:"commitSha"`
	Message    string   `json:"message"` // whole
	Files      []string `json:"files"`
	Warnings   []string `json:"warnings,omitempty"`
	NextAction Next     `json:"nextAction"`
}

// Progress is how far the subtasks are.
type Progress struct {
	Completed []string `json:"completed"`
	Current   string   `json:"current"`
	Remaining []string `json:"remaining"` // behind the current one
}

// Standing is a run in short: the answer to status.
type Standing struct {
	RunID          string    `json:"runId"`
	TaskID         string    `json:"taskId"`
	TaskTitle      string    `json:"taskTitle"`
	Tag            string    `json:"tag"`
	Branch         string    `json:"branch"`
	Status         Status    `json:"status"`
	CurrentSubtask string    `json:"currentSubtask"`
	CurrentPhase   At        `json:"currentPhase"`
	AttemptNumber  int       `json:"attemptNumber"`
	MaxAttempts    int       `json:"maxAttempts"`
	Progress       Progress  `json:"progress"`
	Commits        int       `json:"commits"`
	StartTime      time.Time `json:"startTime"`
	Duration       string    `json:"duration"` // 5m 30s
	Why            string    `json:"why,omitempty"`
	RunFolder      string    `json:"runFolder"`
}

// Resumed is the answer to resume.
type Resumed struct {
	Resumed    bool   `json:"resumed"`
	RunID      string `json:"runId"`
	NextAction Next   `json:"nextAction"`
}

// Finalized is the answer to finalize.
type Finalized struct {
	Completed bool      `json:"completed"`
	Message   string    `json:"message"`
	RunID     string    `json:"runId"`
	Branch    string    `json:"branch"`
	Commits   int       `json:"commits"`
	CommitSHA string    `json:"commitSha,omitempty"` // of the commit that closes the task
	Results   *Results  `json:"results,omitempty"`
	Coverage  *Coverage `json:"coverage,omitempty"`
	Pushed    string    `json:"pushed,omitempty"` // where to
	Warnings  []string  `json:"warnings,omitempty"`
}

// Stopped is the answer to abort.
type Stopped struct {
	Aborted  bool     `json:"aborted"`
	RunID    string   `json:"runId,omitempty"`
	Branch   string   `json:"branch,omitempty"`
	Deleted  bool     `json:"deleted"` // branch and state are gone
	Progress Progress `json:"progress"`
	Note     string   `json:"note"`
}
