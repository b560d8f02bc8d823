package episode

import "time"

// Episode is one piece of work from its beginning to its end.
type Episode struct {
	ID         string    `json:"id"` // UUID; given by Append when empty
	At         time.Time `json:"ts"` // of the end
	SessionID  string    `json:"sessionId,omitempty"`
	RunID      string    `json:"runId,omitempty"`
	Source     string    `json:"source"` // goal, lifecycle, tasks, queue, session
	Task       string    `json:"task"`   // what was to be done, in words
	Status     string    `json:"status"` // completed, or what kept it from being completed
	Success    bool      `json:"success"`
	Reward     float64   `json:"reward"` // 0..1; 0 for a failure
	Iterations int       `json:"iterations"`
	DurationMS int64     `json:"durationMs"`
	Critique   string    `json:"critique,omitempty"` // of a failure: what it left, and the pattern of its stall
	Tags       []string  `json:"tags,omitempty"`
	Tokens     int64     `json:"tokens"`
	CostUSD    float64   `json:"costUsd"`
	Steps      []Step    `json:"trajectory,omitempty"` // the last ones, oldest first
}

// Step is one iteration of an episode.
type Step struct {
	At        time.Time `json:"ts,omitzero"`
	Iteration int       `json:"iteration"`
	Completed int       `json:"completed"`
	Total     int       `json:"total"`
	Progress  float64   `json:"progress"`          // 0..1
	Signals   []string  `json:"signals,omitempty"` // what was amiss: "no-progress", "error"
	Tokens    int64     `json:"tokens,omitempty"`
	CostUSD   float64   `json:"costUsd,omitempty"`
}

// Match is an episode that is like what was asked for.
type Match struct {
	Episode
	Score float64 `json:"score"` // above 0; comparable within one answer only
}

// Pattern is something that successful episodes had in common.
type Pattern struct {
	Pattern   string  `json:"pattern"`
	Frequency int     `json:"frequency"`
	AvgReward float64 `json:"avgReward"`
}

// Past is one earlier episode in short.
type Past struct {
	Task     string  `json:"task"`
	Critique string  `json:"critique,omitempty"`
	Reward   float64 `json:"reward"`
}

// Advice is what earlier episodes say about work that lies ahead.
type Advice struct {
	PastFailures    []Past    `json:"pastFailures"`
	PastSuccesses   []Past    `json:"pastSuccesses"`
	Patterns        []Pattern `json:"patterns"`
	Recommendations []string  `json:"recommendations"` // one line each
	Confidence      float64   `json:"confidence"`      // 0..1; 0 without evidence
}

// Learned is what all episodes together say.
type Learned struct {
	Episodes     int       `json:"episodes"`
	Successes    int       `json:"successes"`
	Failures     int       `json:"failures"`
	Trajectories int       `json:"trajectories"` // episodes with more than one step
	AvgReward    float64   `json:"avgReward"`
	Patterns     []Pattern `json:"patterns"`
	// FailurePatterns are what failures had in common; their mean reward is 0.
	FailurePatterns []Pattern `json:"failurePatterns"`
	Recommendations []string  `json:"recommendations"`
	Confidence      float64   `json:"confidence"`
}

// Prediction is the next thing to do.
type Prediction struct {
	Action       string        `json:"action"`
	Confidence   float64       `json:"confidence"`
	Reason       string        `json:"reason"`
	Remaining    int           `json:"remaining"`
	Alternatives []Alternative `json:"alternatives"`
}

// Alternative is another thing that could be done next.
type Alternative struct {
	Action string  `json:"action"`
	Reward float64 `json:"expectedReward"`
}
