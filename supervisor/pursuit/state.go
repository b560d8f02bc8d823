package pursuit

import (
	"slices"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/logs"
	"autopilot/reflector"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

const (
	keptSessions    = 10
	keptCalls       = 40
	keptAssessments = 3
	keptPoints      = 60
	trustDerived    = 2 // false stops by derived checks alone that are believed
)

// Goal is one goal of a run and all that is known about it.
type Goal struct {
	Text       string                `json:"text"` // as it is written down, without secrets
	Words      string                `json:"-"`    // as the person said it; empty in a state that was read back
	Criteria   []string              `json:"criteria,omitempty"`
	Milestones []reflector.Milestone `json:"milestones,omitempty"`
	Checks     []gate.Check          `json:"-"` // come from the settings, not from the state
	Size       int                   `json:"size"`
	Status     string                `json:"status"`         // as in the run ledger
	Base       string                `json:"base,omitempty"` // commit at which it was begun

	Sessions []reflector.Session `json:"sessions,omitempty"` // the last ones
	Calls    []reflector.Call    `json:"calls,omitempty"`    // the last ones
	Past     []prompt.Past       `json:"past,omitempty"`     // what the last sessions reported
	Totals   reflector.Totals    `json:"totals"`

	Series      reflector.Series       `json:"series"`
	Since       int                    `json:"since"` // sessions since the last reflection
	Assessments []reflector.Assessment `json:"assessments,omitempty"`
	Points      []Point                `json:"points,omitempty"`
	FalseStops  int                    `json:"false_stops"`
	Unproven    int                    `json:"unproven"` // false stops by derived checks alone
	Proof       []ledger.Deliverable   `json:"proof,omitempty"`

	First    []string  `json:"first,omitempty"` // what the next session has to see to first
	Steps    []string  `json:"steps,omitempty"` // what the last reflection proposes
	Question *Question `json:"question,omitempty"`
	Answer   string    `json:"answer,omitempty"` // of a person, for the next session
	Asked    string    `json:"asked,omitempty"`  // the question that was answered
}

// Point is how far a goal was at a moment.
type Point struct {
	Sessions int           `json:"sessions"` // of the goal so far
	Active   time.Duration `json:"active_ns"`
	Percent  float64       `json:"percent"`
}

// Question is what a person is asked.
type Question struct {
	Text    string    `json:"text"`
	Options []string  `json:"options"`
	Reason  string    `json:"reason"` // stuck, too_slow, question
	At      time.Time `json:"at"`
	// Session is the conversation in which the question arose.
	Session string `json:"session,omitempty"`
}

// State is all that is known about the goals of a run.
type State struct {
	Goals    []Goal             `json:"goals"`
	Interval int                `json:"interval"` // base of the reflection interval; 0 is off
	Tally    ledger.Reflections `json:"tally"`
}

// Begin is the state of a run before its first session.
func Begin(goals []Goal, interval int) State {
	s := State{Interval: interval, Tally: ledger.Reflections{By: map[string]int{}}}
	for _, g := range goals {
		g.Words, g.Text = g.Text, logs.Redact(g.Text)
		g.Status, g.Series.Interval = ledger.GoalOpen, interval
		g.Criteria, g.Milestones = slices.Clone(g.Criteria), slices.Clone(g.Milestones) // the caller keeps its own
		for j := range g.Criteria {
			g.Criteria[j] = logs.Redact(g.Criteria[j])
		}
		for j := range g.Milestones {
			g.Milestones[j].Text = logs.Redact(g.Milestones[j].Text)
		}
		s.Goals = append(s.Goals, g)
	}
	return s
}

// Wording is the goal as sessions are told it.
func (g *Goal) Wording() string {
	if g.Words != "" {
		return g.Words
	}
	return g.Text
}

// Refresh takes over from the settings what is not part of a state that was read
// back.
func (s *State) Refresh(goals []Goal) {
	for i := range min(len(s.Goals), len(goals)) {
		s.Goals[i].Checks = goals[i].Checks
		if logs.Redact(goals[i].Text) == s.Goals[i].Text {
			s.Goals[i].Words = goals[i].Text
		}
	}
}

// SetInterval changes the base of the reflection interval, for all goals.
func (s *State) SetInterval(n int) {
	if n == s.Interval {
		return
	}
	s.Interval = n
	for i := range s.Goals {
		s.Goals[i].Series.Interval = n
	}
}

// Current is the goal that is worked on, or nil when none is open.
func (s *State) Current() *Goal {
	for i := range s.Goals {
		if s.Goals[i].Status == ledger.GoalOpen {
			return &s.Goals[i]
		}
	}
	return nil
}

// Goal is the first goal, whatever has become of it, or nil when there is none.
func (s *State) Goal() *Goal {
	if len(s.Goals) == 0 {
		return nil
	}
	return &s.Goals[0]
}

// Asked is the first goal that waits for a person, or nil.
func (s *State) Asked() *Goal {
	for i := range s.Goals {
		if g := &s.Goals[i]; g.Status == ledger.GoalPaused {
			return g
		}
	}
	return nil
}

// Records are the goals as the run ledger has them.
func (s *State) Records() []ledger.Goal {
	var out []ledger.Goal
	for _, g := range s.Goals {
		out = append(out, ledger.Goal{
			Text: g.Text, Status: g.Status, Percent: g.Series.Percent, Iterations: g.Totals.Sessions,
			FalseStops: g.FalseStops, Deliverables: append([]ledger.Deliverable{}, g.Proof...),
		})
	}
	return out
}

// Session counts one session of the current goal.
func (s *State) Session(x reflector.Session, calls []reflector.Call, past prompt.Past, used Used) {
	g := s.Current()
	if g == nil {
		return
	}
	g.Since++
	g.Sessions = last(append(g.Sessions, x), keptSessions)
	g.Calls = last(append(g.Calls, calls...), keptCalls)
	g.Past = last(append(g.Past, past), keptSessions)
	if x.Worked { // one that broke may not have heeded them
		g.First, g.Answer, g.Asked = nil, "", ""
	}
	t := &g.Totals
	t.Sessions++
	if x.Worked {
		t.Successes++
	} else {
		t.Failures++
	}
	if t.Tools == nil {
		t.Tools = map[string]int{}
	}
	for name, n := range used.Tools {
		t.Tools[name] += n
	}
	t.Elapsed += x.Duration
	t.Tokens += used.Tokens
	t.CostUSD += x.CostUSD
	t.Files += x.Files
	t.Commits += x.Commits
}

// Used is what a session used up.
type Used struct {
	Tokens int64
	Tools  map[string]int // calls by tool
}

func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }
