package completion

import (
	"autopilot/metrics/episode"
	"autopilot/sessions/task"
)

// Bounds and defaults of the settings.
const (
	UsualIterations = 50
	MostIterations  = 1000
	UsualMinutes    = 240
	MostMinutes     = 1440
)

// Iterations in a row without progress after which the agent is told to try another
// way, and after which it is let go.
const (
	StallWarning = 5
	StallLimit   = 10
)

// Outcomes: why persistent completion of a session is over for good.
const (
	AllComplete   = "all-tasks-complete"
	OutOfTurns    = "max-iterations"
	OutOfTime     = "timeout"
	OutOfTokens   = "budget"
	WithoutGain   = "stalled"
	failedTasks   = "failed-tasks" // status of an episode that is complete, but not well
	allSuccessful = "completed"    // status of one that is
)

// Criteria say when the tasks count as complete.
const (
	AllDone      = "all-tasks-done"      // every task is terminal, failed ones too
	AllSucceeded = "all-tasks-succeeded" // a failed task counts as open
)

// Settings bound how long an agent is sent on.
type Settings struct {
	MaxIterations  int      `json:"maxIterations"`  // 1..1000
	TimeoutMinutes int      `json:"timeoutMinutes"` // 1..1440, from the moment of enabling
	TaskSources    []string `json:"taskSources"`
	Criteria       string   `json:"completionCriteria"`
	MaxTokens      int64    `json:"maxTokens"`         // estimated from the transcript; 0 is no limit
	LogFile        string   `json:"logFile,omitempty"` // of the events, relative to the repository; empty for the state folder
}

// State is one session under persistent completion, or, without a session, the
// settings for the next one.
type State struct {
	SessionID  string `json:"sessionId"` // of Claude Code; empty while none is bound
	Enabled    bool   `json:"enabled"`
	StartTime  int64  `json:"startTime"` // milliseconds since 1970; 0 before it was ever enabled
	Iterations int    `json:"iterations"`
	Settings
	LastCheck *int64  `json:"lastCheck"` // milliseconds since 1970
	History   []Point `json:"history"`   // the last 50
	Stalled   int     `json:"stalled"`   // iterations in a row without a further completed task
	// Best is the highest number of completed tasks since enabling, Progressed the
	// iterations there had been when it was reached.
	Best       int      `json:"best"`
	Progressed int      `json:"progressed"`
	Blocks     int      `json:"blocks"` // in a row, as Claude Code counts them
	Tokens     int64    `json:"tokens"` // estimated
	Offset     int64    `json:"transcriptOffset"`
	Learned    []string `json:"learned"` // what earlier episodes recommend, for the prompt
	// Confidence is that of the recommendations, 0..1.
	Confidence float64 `json:"confidence"`
	// Chosen are the settings a person has changed; only in the state without session.
	Chosen *Change `json:"chosen,omitempty"`
}

// Point is one check after which the agent was sent on.
type Point struct {
	TS        int64 `json:"ts"` // milliseconds since 1970
	Iteration int   `json:"iteration"`
	Completed int   `json:"completed"`
	Total     int   `json:"total"`
	Tokens    int64 `json:"tokens,omitempty"` // since the check before
}

// Event is one line of the event log: ts in milliseconds since 1970, event, and
// the fields of that event. Numbers of events that were read are json.Number, so
// that they are shown as they stand in the log.
type Event map[string]any

// Decision is the answer to the question whether the agent may stop.
type Decision struct {
	AllowStop    bool   `json:"allowStop"`
	Reason       string `json:"reason"`
	ContinueWith string `json:"continueWith,omitempty"`
	// Outcome names why the work is over for good; empty while it goes on.
	Outcome string `json:"outcome,omitempty"`
	// Events are to be logged, and Episode, if there is one, is to be remembered.
	Events  []Event          `json:"-"`
	Episode *episode.Episode `json:"-"`
}

// Change is what a person changes in the settings; nil leaves a setting as it is.
type Change struct {
	MaxIterations  *int     `json:"maxIterations,omitempty"`
	TimeoutMinutes *int     `json:"timeoutMinutes,omitempty"`
	TaskSources    []string `json:"taskSources,omitempty"`
	Criteria       *string  `json:"completionCriteria,omitempty"`
	MaxTokens      *int64   `json:"maxTokens,omitempty"`
}

// Status is the state with what the tasks say.
type Status struct {
	Enabled        bool       `json:"enabled"`
	SessionID      string     `json:"sessionId"`
	Iterations     int        `json:"iterations"`
	MaxIterations  int        `json:"maxIterations"`
	TimeoutMinutes int        `json:"timeoutMinutes"`
	ElapsedMS      int64      `json:"elapsedMs"` // since it was enabled; 0 when it is not
	Tasks          task.Count `json:"tasks"`
	TaskSources    []string   `json:"taskSources"`
	Stalled        int        `json:"stalled"`
	Tokens         int64      `json:"tokens"`
	// Remaining are the first of the tasks that are not terminal.
	Remaining []task.Task `json:"remaining"`
	// Waiting is set when it is enabled and no session is bound yet.
	Waiting bool `json:"waiting"`
	// Broken are places of tasks, and states of sessions, that cannot be read.
	Broken []task.Fault `json:"broken"`
	// Warning is what went wrong beside what was asked for.
	Warning string `json:"warning,omitempty"`
	// Others are further sessions of the project under persistent completion.
	Others []string `json:"otherSessions"`
}

// Progress is how far each source is.
type Progress struct {
	Overall  task.Count                `json:"overall"`
	BySource map[string]SourceProgress `json:"bySource"`
}

// SourceProgress is how far one source is.
type SourceProgress struct {
	task.Count
	Tasks []task.Task `json:"tasks"`
}

// ReEngagement is all that an agent which is sent on is told.
type ReEngagement struct {
	episode.Advice
	RemainingTasks  []task.Task `json:"remainingTasks"`
	CompletedTasks  int         `json:"completedTasks"`
	TotalTasks      int         `json:"totalTasks"`
	ProgressPercent int         `json:"progressPercent"`
}

// Report is what an agent says about its own work.
type Report struct {
	Summary     string   `json:"summary"`
	Completed   []string `json:"completed,omitempty"`
	CarriedOver []string `json:"carried_over,omitempty"`
	NextSteps   []string `json:"next_steps,omitempty"`
	NeedsPerson string   `json:"needs_person,omitempty"`
}
