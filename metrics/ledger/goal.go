package ledger

// Status of a run that ended, in Termination.Status.
const (
	Completed   = "completed"   // every goal is reached
	Paused      = "paused"      // a person is needed
	Stopped     = "stopped"     // a limit or a kill-switch ended it
	Interrupted = "interrupted" // somebody ended it, or it was killed
)

// Guardrails, in Termination.Guard.
const (
	GuardTimeout    = "TIMEOUT"
	GuardIterations = "MAX_ITERATIONS"
	GuardCost       = "COST_LIMIT" // tokens or money
	GuardErrors     = "ERROR_THRESHOLD"
	GuardInterrupt  = "USER_INTERRUPT"
)

// Termination says how a run ended and what a person can do next.
type Termination struct {
	Status            string        `json:"status"`
	Reason            string        `json:"reason"`          // lower case, such as goal_achieved, stuck, timeout, user_stop
	Guard             string        `json:"guard,omitempty"` // the guardrail that was hit
	Summary           string        `json:"summary"`
	Progress          string        `json:"progress,omitempty"` // such as "67% complete"
	Iterations        int           `json:"iterations"`         // sessions, those of the runs that this one continues included
	TimeElapsed       string        `json:"timeElapsed"`        // such as "1h 23m", likewise
	Outcomes          Outcomes      `json:"outcomes"`
	Deliverables      []Deliverable `json:"deliverables"`
	Suggestions       []string      `json:"suggestions,omitempty"`
	Question          string        `json:"question,omitempty"`
	Options           []string      `json:"options,omitempty"`
	AwaitingUserInput bool          `json:"awaitingUserInput"`
	NextSteps         []string      `json:"nextSteps,omitempty"`
	Partial           bool          `json:"partial,omitempty"` // part of the goal is reached
	CheckpointSaved   bool          `json:"checkpointSaved"`
	Resumable         bool          `json:"resumable"`
}

// Outcomes counts sessions by how they ended.
type Outcomes struct {
	Successes int `json:"successes"`
	Failures  int `json:"failures"`
}

// Deliverable is something that a goal asked for, with the proof that was seen.
type Deliverable struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Proof string `json:"proof"`
}

// States of a goal, in Goal.Status.
const (
	GoalAchieved = "achieved"
	GoalPartial  = "partial"
	GoalOpen     = "open"
	GoalPaused   = "paused"   // a person is needed to go on with it
	GoalGivenUp  = "given-up" // going on was of no use
)

// Goal is one goal of a run and how far it came.
type Goal struct {
	Text         string        `json:"text"`
	Status       string        `json:"status"`
	Percent      float64       `json:"percent"` // 0..100, of the last reflection
	Iterations   int           `json:"iterations"`
	FalseStops   int           `json:"false_stops"` // times it was said to be reached while a check failed
	Deliverables []Deliverable `json:"deliverables"`
}

// Reflections sums up the reflections of a run. Judged are those whose words
// could be compared with what came after, Correct those that were right.
type Reflections struct {
	Count   int            `json:"count"`
	Failed  int            `json:"failed"` // came to nothing
	Judged  int            `json:"judged"`
	Correct int            `json:"correct"`
	Score   float64        `json:"score"` // mean of the judged, 0..1
	By      map[string]int `json:"by"`    // by reflector
	Tokens  int64          `json:"tokens"`
	CostUSD float64        `json:"cost_usd"`
}

// Forecast is what a run was expected to take, over all of its goals.
type Forecast struct {
	Runs     int   `json:"runs"` // earlier runs that it is made from
	Sessions Range `json:"sessions"`
	Seconds  Range `json:"seconds"`
	Tokens   Range `json:"tokens"`
	CostUSD  Range `json:"cost_usd"`
}

// Range is an expectation with the bounds within which most cases lie.
type Range struct {
	Low    float64 `json:"low"`
	Likely float64 `json:"likely"`
	High   float64 `json:"high"`
}
