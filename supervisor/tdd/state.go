package tdd

import (
	"maps"
	"slices"
	"time"
)

// At is where a run stands.
type At string

// The places of the machine.
const (
	Preflight   At = "preflight"
	BranchSetup At = "branch-setup"
	Red         At = "red"
	Green       At = "green"
	Commit      At = "commit"
	Finalize    At = "finalize"
	Complete    At = "complete"
)

// LoopPhase is what Red, Green and Commit are together.
const LoopPhase = "subtask-loop"

// Phase is the place as the phases of a run have it.
func (a At) Phase() string {
	switch a {
	case Red, Green, Commit:
		return LoopPhase
	}
	return string(a)
}

// Status is how a run is.
type Status string

// States of a run.
const (
	InProgress Status = "in-progress"
	OnHold     Status = "paused"
	Completed  Status = "completed"
	Aborted    Status = "aborted"
)

// Over reports whether nothing more happens in a run.
func (s Status) Over() bool { return s == Completed || s == Aborted }

// Subtask is one part of the task, as it was when the run began.
type Subtask struct {
	ID    string   `json:"id"` // with the task's: 1.2
	Title string   `json:"title"`
	After []string `json:"after,omitempty"` // ids of subtasks that have to be done before
	// What its file says of it, as of State.TasksStamp.
	Description  string `json:"description,omitempty"`
	Details      string `json:"details,omitempty"`
	TestStrategy string `json:"testStrategy,omitempty"`
}

// State is a run. It is the content of state.json, and all that a run is resumed from.
type State struct {
	RunID       string `json:"runId"`
	TaskID      string `json:"taskId"`
	TaskTitle   string `json:"taskTitle"`
	Tag         string `json:"tag"`
	PreviousTag string `json:"previousTag,omitempty"` // the current one before, where it was another
	Branch      string `json:"branch"`
	BaseBranch  string `json:"baseBranch"` // on which the run was started; empty when it was none
	BaseCommit  string `json:"baseCommit"` // at which the branch was made
	ProjectRoot string `json:"projectRoot"`
	TasksFile   string `json:"tasksFile"` // relative to the project root

	Status         Status `json:"status"`
	CurrentPhase   At     `json:"currentPhase"`
	CurrentSubtask string `json:"currentSubtask"` // empty outside the subtask loop
	// AttemptNumber counts the tries at the current step, from 1. It is one more than
	// the number of refusals.
	AttemptNumber int `json:"attemptNumber"`
	MaxAttempts   int `json:"maxAttempts"`
	// Attempts are all tries that a subtask took, over all its steps.
	Attempts map[string]int `json:"attempts,omitempty"`

	Subtasks          []Subtask `json:"subtasks"` // all that were open at the start, in the order in which they are done
	CompletedSubtasks []string  `json:"completedSubtasks"`
	PendingSubtasks   []string  `json:"pendingSubtasks"` // the current one included
	// Implemented are subtasks that were recorded as already implemented.
	Implemented []string `json:"alreadyImplemented,omitempty"`

	NextAction  Action    `json:"nextAction"`
	StartTime   time.Time `json:"startTime"`
	SubtaskTime time.Time `json:"subtaskTime"` // when the current subtask began
	LastUpdated time.Time `json:"lastUpdated"`
	EndTime     time.Time `json:"endTime,omitzero"`
	CanResume   bool      `json:"canResume"`
	// Why says in words why the run is paused or what was refused last.
	Why string `json:"why,omitempty"`

	// Red and Green are the last accepted results of the current subtask; Baseline is
	// what the tests said before anything was changed, Final what they said at the end.
	Baseline *Run `json:"baseline,omitempty"`
	Red      *Run `json:"red,omitempty"`
	Green    *Run `json:"green,omitempty"`
	Final    *Run `json:"final,omitempty"`
	// TasksStamp is size and time of the task file when the texts of Subtasks were read
	// from it. They count as long as it is the same.
	TasksStamp string `json:"tasksStamp,omitempty"`
	// Tree says what the work tree looked like when green was accepted.
	Tree string `json:"tree,omitempty"`
	// Mine are files that were changed before the run began, with what they looked
	// like: they are the person's.
	Mine map[string]string `json:"mine,omitempty"`
	// Artifacts are files that runs of the tests have left or changed, with what they
	// looked like then: they are nobody's work.
	Artifacts map[string]string `json:"artifacts,omitempty"`
	// Passed are the numbers before the current subtask, Passing the names of tests that
	// passed then, where they are few enough to be kept.
	Passed  *Results `json:"passed,omitempty"`
	Passing []string `json:"passing,omitempty"`
	// Rules are what the run is judged by. They are those of its start, or of when it was
	// last resumed.
	Rules Rules `json:"rules"`
	// Head is the last commit that is known to the run.
	Head string `json:"head"`
	// Pending is a commit that was begun and of which it is not known whether it was
	// made.
	Pending *Pending `json:"pending,omitempty"`
	Commits []Made   `json:"commits"`

	// Seq is the number of the last event in the activity log; Outbox are the events of
	// the last change, which the log may not have yet.
	Seq    int64      `json:"seq"`
	Outbox []Activity `json:"outbox,omitempty"`
}

// Action is what has to be done next, as state.json has it.
type Action struct {
	Type    string `json:"type"` // generate, implement, commit, finalize, none
	Subtask string `json:"subtask,omitempty"`
	Phase   At     `json:"phase"`
	Context Hints  `json:"context"`
}

// Hints are what is known about the current subtask's files and tests.
type Hints struct {
	TestFile            string   `json:"testFile,omitempty"` // the first of the test files
	TestFiles           []string `json:"testFiles,omitempty"`
	FailingTests        []string `json:"failingTests,omitempty"`
	ImplementationFiles []string `json:"implementationFiles,omitempty"`
}

// Run is a set of results that was accepted.
type Run struct {
	At       time.Time `json:"ts"`
	Reported *Results  `json:"reported,omitempty"`
	Measured *Measured `json:"measured,omitempty"`
	Coverage Coverage  `json:"coverage"`
	Files    []string  `json:"files,omitempty"` // that had changed by then
	// Tests tell what the test files among them looked like.
	Tests map[string]string `json:"tests,omitempty"`
	// Passing are the names of the tests that passed, where they are at most 500.
	Passing []string `json:"passing,omitempty"`
}

const mostPassing = 500

// lean is the run without what only its reader wants, so that the state stays small.
func (r Run) lean() Run {
	if r.Measured != nil {
		m := *r.Measured
		if len(m.Passing) <= mostPassing {
			r.Passing = slices.Sorted(maps.Keys(m.Passing))
		}
		m.Output, m.Passing = "", nil
		r.Measured = &m
	}
	return r
}

// Counts are the numbers that hold: those measured where there are some.
func (r *Run) Counts() Results {
	switch {
	case r == nil:
		return Results{}
	case r.Measured != nil && r.Measured.Counted:
		return r.Measured.Results
	case r.Reported != nil:
		return *r.Reported
	}
	return Results{}
}

// Rules are the settings that decide whether a step is done.
type Rules struct {
	TestCommand string `json:"testCommand"` // empty when reports are believed
	TestRunner  string `json:"testRunner"`  // form of its output
	// Settings are what a person has chosen about the two, as it was.
	Settings           string `json:"settings"`
	AlreadyImplemented bool   `json:"alreadyImplemented"`
}

// Pending is a commit that is about to be made.
type Pending struct {
	Subtask string   `json:"subtask"` // or the task, for the last commit of a run
	Parent  string   `json:"parent"`  // commit id
	Subject string   `json:"subject"`
	Mark    string   `json:"mark"` // a line in the message that is in no other
	Files   []string `json:"files"`
	Was     string   `json:"was"` // status of the subtask before
}

// Made is a commit of the run.
type Made struct {
	Subtask string    `json:"subtask"`
	SHA     string    `json:"sha"`
	Subject string    `json:"subject"`
	Mark    string    `json:"mark"` // a line in its message that no other has
	At      time.Time `json:"ts"`
}

// Activity is one line of activity.jsonl: what happened, append-only.
type Activity struct {
	TS    time.Time `json:"ts"`
	Event string    `json:"event"`
	Seq   int64     `json:"seq"` // from 1, without gaps
	RunID string    `json:"runId"`

	Phase        string          `json:"phase,omitempty"`
	Status       string          `json:"status,omitempty"`
	Checks       map[string]bool `json:"checks,omitempty"`
	Branch       string          `json:"branch,omitempty"`
	From         string          `json:"from,omitempty"`
	To           string          `json:"to,omitempty"`
	SubtaskID    string          `json:"subtaskId,omitempty"`
	Files        []string        `json:"files,omitempty"`
	TestCount    *int            `json:"testCount,omitempty"`
	Attempt      int             `json:"attempt,omitempty"`
	MaxAttempts  int             `json:"maxAttempts,omitempty"`
	Passed       *int            `json:"passed,omitempty"`
	Failed       *int            `json:"failed,omitempty"`
	Skipped      *int            `json:"skipped,omitempty"`
	Total        *int            `json:"total,omitempty"`
	Coverage     *float64        `json:"coverage,omitempty"`     // percent of lines
	LinesChanged string          `json:"linesChanged,omitempty"` // +58,-0
	SHA          string          `json:"sha,omitempty"`
	Message      string          `json:"message,omitempty"`
	Duration     string          `json:"duration,omitempty"`
	Error        string          `json:"error,omitempty"`
	Recoverable  *bool           `json:"recoverable,omitempty"`
}

// Names of events.
const (
	EventPhaseStart      = "phase:start"
	EventPhaseComplete   = "phase:complete"
	EventBranchCreated   = "branch:created"
	EventTagSwitched     = "tag:switched"
	EventSubtaskStart    = "subtask:start"
	EventSubtaskComplete = "subtask:complete"
	EventTestGenerated   = "test:generated"
	EventTestRun         = "test:run"
	EventTransition      = "phase:transition"
	EventCodeModified    = "code:modified"
	EventCommitCreated   = "commit:created"
	EventImplemented     = "subtask:already-implemented"
	EventPaused          = "run:paused"
	EventResumed         = "run:resumed"
	EventAborted         = "run:aborted"
	EventPushed          = "branch:pushed"
	EventWarning         = "step:warning"
	EventError           = "error"
)
