package reflector

import "time"

// Input is what a reflection looks at. Everything that a session said or did is
// text from outside and is bounded before it reaches a prompt.
type Input struct {
	Goal       string
	Criteria   []string
	Milestones []Milestone
	Why        Trigger
	Sessions   []Session // of this goal, oldest first
	Calls      []Call    // the last tool calls, oldest first
	Totals     Totals
	Diff       string // what changed since the goal was begun, in short
	Checks     []Check
	Claim      string // what the last session says, when it says that nothing is left to do
	Loop       string // what repeats, in words; empty when nothing does
	Earlier    []Assessment
	Left       Left
	Lessons    []string // what earlier runs teach, a line each
}

// Milestone is a part of the goal.
type Milestone struct {
	Text string `json:"text"`
	Done bool   `json:"done"`
}

// Session is what one session did.
type Session struct {
	Iteration   int           `json:"iteration"`
	Ending      string        `json:"ending"`
	Worked      bool          `json:"worked"` // it ended well
	Summary     string        `json:"summary"`
	Completed   []string      `json:"completed"`
	CarriedOver []string      `json:"carried_over"`
	NextSteps   []string      `json:"next_steps"`
	Files       int           `json:"files"`
	Commits     int           `json:"commits"`
	Calls       int           `json:"calls"`
	Duration    time.Duration `json:"duration_ns"`
	CostUSD     float64       `json:"cost_usd"`
}

// Effect reports whether the session left anything behind in the repository.
func (s Session) Effect() bool { return s.Files+s.Commits > 0 }

// Call is one tool call.
type Call struct {
	Iteration int    `json:"iteration"`
	Tool      string `json:"tool"`
	Brief     string `json:"brief"` // its most telling argument
	Failed    bool   `json:"failed,omitempty"`
	// Same is equal for two calls of the same tool with the same arguments.
	Same string `json:"same"`
}

// Totals are sums over the sessions of the goal.
type Totals struct {
	Sessions  int            `json:"sessions"`
	Successes int            `json:"successes"`
	Failures  int            `json:"failures"`
	Tools     map[string]int `json:"tools"` // calls by tool
	Elapsed   time.Duration  `json:"elapsed_ns"`
	Tokens    int64          `json:"tokens"`
	CostUSD   float64        `json:"cost_usd"`
	Files     int            `json:"files"`
	Commits   int            `json:"commits"`
}

// Check is one check of the goal that the supervisor made itself.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"` // what was seen, in short
	Given  bool   `json:"given"`  // a person asked for it; else it follows from the goal's words
}

// Left is what the limits leave.
type Left struct {
	Sessions int
	Time     time.Duration
	Tokens   int64 // negative when there is no limit
}

// FailedChecks returns the checks that do not hold, in words.
func (in Input) FailedChecks() []string {
	var out []string
	for _, c := range in.Checks {
		if !c.OK {
			out = append(out, c.Name+": "+c.Detail)
		}
	}
	return out
}

// Idle is the number of sessions in a row, up to the last, without any effect.
func (in Input) Idle() int {
	n := 0
	for i := len(in.Sessions) - 1; i >= 0 && !in.Sessions[i].Effect(); i-- {
		n++
	}
	return n
}
