package reflector

import (
	"fmt"
	"math"
	"time"
)

// Action is what follows from a reflection.
type Action string

// The three actions.
const (
	ActionStop     Action = "STOP"
	ActionAsk      Action = "ASK_USER"
	ActionContinue Action = "CONTINUE"
)

// Matrix is the set of rules that Decide uses.
type Matrix string

// The two sets.
const (
	Strict   Matrix = "strict"   // the basic rules alone
	Extended Matrix = "extended" // with the rules that close their holes
)

const (
	nearlyDone     = 90 // percent
	slowUntilAsked = 3  // reflections in a row
	stuckUntilAsk  = 2  // reflections in a row
	idleUntilAsk   = 2  // sessions in a row

	mostSessions = 1_000_000 // more is no estimate
)

// Context is what Decide takes into account beside the assessment.
type Context struct {
	// Slow and Stuck count the reflections in a row, this one included, that found
	// progress slow or worse, and stuck.
	Slow, Stuck  int
	LoopSeen     bool     // the tool calls themselves repeat
	Idle         int      // sessions in a row without any effect
	AtLimit      bool     // no further session is allowed
	FailedChecks []string // checks of the goal that do not hold
	// Velocity is percent per session, and PerSession the mean time of one; zero
	// when unknown. They serve the estimate alone.
	Velocity   float64
	PerSession time.Duration
}

// Decision is what a reflection leads to.
type Decision struct {
	Action Action `json:"action"`
	Reason string `json:"reason"`
	// Graceful is set when the run ends because nothing is left to do.
	Graceful bool `json:"graceful,omitempty"`
	// Guidance is what the next session or the person should look at.
	Guidance []string  `json:"guidance,omitzero"`
	Estimate *Estimate `json:"estimate,omitempty"`
	// Refinement asks for a goal in other words.
	Refinement bool     `json:"refinement,omitempty"`
	Options    []string `json:"options,omitzero"` // to choose from
	// Monitor asks for a closer look at what comes next.
	Monitor bool   `json:"monitor,omitempty"`
	Partial bool   `json:"partial,omitempty"` // part of the goal is reached
	Rule    string `json:"rule"`              // name of the rule that decided
	// Extension is set when the rule is none of the basic ones.
	Extension bool `json:"extension,omitempty"`
}

// Estimate says what is left.
type Estimate struct {
	PercentRemaining float64 `json:"percentRemaining"`
	Sessions         int     `json:"sessions,omitempty"` // at the velocity so far; 0 when unknown
	Seconds          int64   `json:"seconds,omitempty"`  // the same as time
}

// rule is one row of the table.
type rule struct {
	name      string
	extension bool
	holds     func(Assessment, Context) bool
	decide    func(Assessment, Context) Decision
}

// rules is the whole table. The first rule that holds decides; the last one
// always does.
func rules() []rule {
	return []rule{
		{"checks-failed", true, func(a Assessment, c Context) bool { return a.GoalAchieved == Yes && len(c.FailedChecks) > 0 }, func(_ Assessment, c Context) Decision {
			return Decision{Action: ActionContinue, Reason: "The goal is said to be reached, and its checks fail", Guidance: c.FailedChecks}
		}},
		{"achieved", false, func(a Assessment, _ Context) bool { return a.GoalAchieved == Yes }, func(Assessment, Context) Decision {
			return Decision{Action: ActionStop, Reason: "Goal achieved", Graceful: true}
		}},
		{"stop-recommended", true, func(a Assessment, _ Context) bool { return a.Recommendation == Stop }, func(a Assessment, _ Context) Decision {
			return Decision{Action: ActionStop, Reason: orElse(a.Reasoning, "Going on is of no use"), Guidance: a.NextSteps, Partial: a.GoalAchieved == Partial}
		}},
		{"stuck-in-loop", false, func(a Assessment, _ Context) bool { return a.LoopDetected && a.Progress == Stuck }, func(a Assessment, _ Context) Decision {
			return Decision{Action: ActionAsk, Reason: "Stuck in loop", Guidance: a.NextSteps}
		}},
		{"stuck-twice", true, func(a Assessment, c Context) bool { return a.Progress == Stuck && c.Stuck >= stuckUntilAsk }, func(a Assessment, c Context) Decision {
			return Decision{Action: ActionAsk, Reason: fmt.Sprintf("Stuck in %d reflections in a row", c.Stuck), Guidance: a.NextSteps}
		}},
		{"loop-without-effect", true, func(_ Assessment, c Context) bool { return c.LoopSeen && c.Idle >= idleUntilAsk }, func(a Assessment, c Context) Decision {
			return Decision{Action: ActionAsk, Reason: fmt.Sprintf("The same calls again and again, and %d sessions without effect", c.Idle), Guidance: a.NextSteps}
		}},
		{"partial-at-limit", true, func(a Assessment, c Context) bool { return a.GoalAchieved == Partial && c.AtLimit }, func(a Assessment, _ Context) Decision {
			return Decision{Action: ActionStop, Reason: "Part of the goal is reached, and the limit as well", Guidance: a.NextSteps, Partial: true}
		}},
		{"good", false, func(a Assessment, _ Context) bool { return a.Progress == Good && a.PercentComplete < nearlyDone }, func(a Assessment, c Context) Decision {
			return Decision{Action: ActionContinue, Reason: "Making progress", Estimate: estimate(a, c)}
		}},
		{"slow", false, func(a Assessment, c Context) bool { return a.Progress == Slow && c.Slow >= slowUntilAsked }, func(Assessment, Context) Decision {
			return Decision{Action: ActionAsk, Reason: "Progress too slow", Refinement: true}
		}},
		{"asked", false, func(a Assessment, _ Context) bool { return a.Recommendation == AskUser }, func(a Assessment, _ Context) Decision {
			return Decision{Action: ActionAsk, Reason: orElse(a.Reasoning, "A person is needed"), Options: a.NextSteps}
		}},
		{"nearly-done", true, func(a Assessment, _ Context) bool { return a.Progress == Good }, func(a Assessment, c Context) Decision {
			return Decision{Action: ActionContinue, Reason: "Nearly done", Estimate: estimate(a, c), Monitor: true}
		}},
		{"default", false, func(Assessment, Context) bool { return true }, func(Assessment, Context) Decision {
			return Decision{Action: ActionContinue, Reason: "Progress detected", Monitor: true}
		}},
	}
}

// Decide returns what follows from an assessment.
func Decide(a Assessment, c Context, m Matrix) Decision {
	for _, r := range rules() {
		if r.extension && m == Strict || !r.holds(a, c) {
			continue
		}
		d := r.decide(a, c)
		d.Rule, d.Extension = r.name, r.extension
		return d
	}
	return Decision{}
}

// estimate says what is left at the velocity so far.
func estimate(a Assessment, c Context) *Estimate {
	e := &Estimate{PercentRemaining: 100 - a.PercentComplete}
	if c.Velocity <= 0 {
		return e
	}
	if n := math.Ceil(e.PercentRemaining / c.Velocity); n <= mostSessions {
		e.Sessions, e.Seconds = int(n), int64(n*c.PerSession.Seconds())
	}
	return e
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
