package board

import (
	"context"
	"time"

	"autopilot/metrics/samples"
	"autopilot/probe/peer"
	"autopilot/supervisor/fleet"
)

// Options say where to look.
type Options struct {
	Root    string   // state root, absolute
	Environ []string // tells where Claude Code keeps its conversations
	Now     time.Time
	// Peers lists the Claude Code sessions of this machine; nil looks for none.
	Peers func(context.Context) ([]peer.Session, error)
	Past  int // ended runs that are wanted at most, the latest first
	// Cache keeps what was read from one look to the next; nil reads everything anew.
	Cache *Cache
}

// Ref names a run on this machine.
type Ref struct {
	Project string `json:"project"` // slug of the project's folder below the state root
	Run     string `json:"run"`
}

// Overview is what is on, and what was, on this machine.
type Overview struct {
	At        time.Time `json:"at"`
	Active    []Row     `json:"active"` // as the fleet orders them, stories below their cohort; peers last
	Past      []Row     `json:"past"`   // ended runs, the latest first
	Questions []Need    `json:"needs"`  // what waits for a person, over all runs
	Problems  []string  `json:"problems"`
}

// Row is a run, cohort, story or peer in a list.
type Row struct {
	fleet.Row
	Ref      Ref       `json:"ref,omitzero"` // zero of a peer and of a story that has not begun
	Goal     string    `json:"goal,omitempty"`
	Source   string    `json:"source,omitempty"`
	Cause    string    `json:"cause,omitempty"` // why it ended
	ExitCode int       `json:"exit_code"`
	Ended    time.Time `json:"ended_at,omitzero"`
	Reward   *float64  `json:"reward"` // 0..1 of the run's episode; nil when there is none
}

// Need is something that waits for a person.
type Need struct {
	Ref     Ref       `json:"ref"`
	Repo    string    `json:"repository"`
	Kind    NeedKind  `json:"kind"`
	ID      string    `json:"id,omitempty"`      // of the gate, the queue's item or the story
	Text    string    `json:"text"`              // the question, or the call that is held
	Options []string  `json:"options,omitempty"` // of a question, each beginning with its letter
	Why     string    `json:"why,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Until   time.Time `json:"until,omitzero"` // after which it is too late; zero for never
	Command string    `json:"command"`        // what a person would type, in the repository
}

// NeedKind says how a need is answered.
type NeedKind string

// Kinds of needs.
const (
	NeedAnswer NeedKind = "answer" // a question; 'answer TEXT' continues the run
	NeedGate   NeedKind = "gate"   // a held call; 'approve ID' or 'deny ID'
	NeedRetry  NeedKind = "retry"  // an item that was put aside; 'queue retry ID'
	NeedResume NeedKind = "resume" // a run that stopped half-way
)

// Run is one run in full.
type Run struct {
	Row
	Mode      string           `json:"mode,omitempty"`
	Folder    string           `json:"folder"`        // of its state; empty when it is gone
	Dir       string           `json:"dir,omitempty"` // in which its sessions work
	Updated   time.Time        `json:"updated_at,omitzero"`
	MaxHours  float64          `json:"max_hours"`
	Waiting   *Waiting         `json:"waiting,omitempty"`
	Current   *Session         `json:"current,omitempty"` // that runs now
	Goals     []Goal           `json:"goals"`
	Progress  Progress         `json:"progress"`
	Sessions  []Session        `json:"sessions"`          // ended ones, in their order; at most 1,000, the latest
	Caps      []Cap            `json:"caps"`              // at most 1,000, the latest
	Samples   []samples.Sample `json:"samples"`           // at most 1,000, evenly chosen
	Stories   []Row            `json:"stories,omitempty"` // of a cohort
	Needs     []Need           `json:"needs"`
	Stopping  string           `json:"stopping,omitempty"` // why it ends after its session
	Resumable string           `json:"not_resumable_because,omitempty"`
	Summary   string           `json:"summary,omitempty"` // how it ended, in a sentence
	Problems  []string         `json:"problems"`
}

// Waiting is a wait for the API or for another run.
type Waiting struct {
	Until time.Time `json:"until"`
	Why   string    `json:"why"`
}

// Goal is one goal of a run.
type Goal struct {
	Text    string  `json:"text"`
	Status  string  `json:"status"`
	Percent float64 `json:"percent"` // 0..100
}

// Progress is how far the goals or tasks are. What is not known is zero or nil.
type Progress struct {
	Percent    *float64      `json:"percent"` // 0..100
	Velocity   float64       `json:"percent_per_session"`
	PerHour    float64       `json:"percent_per_hour"`
	Sessions   int           `json:"sessions_left"`
	Left       time.Duration `json:"left_ns"` // estimate
	Milestones []Milestone   `json:"milestones"`
	Points     []Point       `json:"points"` // oldest first
	Last       string        `json:"last_look,omitempty"`
}

// Milestone is a step towards a goal.
type Milestone struct {
	Text string `json:"text"`
	Done bool   `json:"done"`
}

// Point is how far a run was at a moment.
type Point struct {
	At      time.Time `json:"at"`
	Session int       `json:"session"`
	Percent float64   `json:"percent"`
}

// Session is one session of a run.
type Session struct {
	Number  int       `json:"number"` // iteration, from 1
	ID      string    `json:"id"`
	Talk    string    `json:"conversation,omitempty"` // when it is kept under another id
	Mode    string    `json:"mode,omitempty"`
	Work    string    `json:"work,omitempty"` // what it was for
	Model   string    `json:"model,omitempty"`
	Started time.Time `json:"started_at,omitzero"`
	Ended   time.Time `json:"ended_at,omitzero"`
	Ending  string    `json:"ending,omitempty"`
	Cause   string    `json:"cause,omitempty"`
	Tier    string    `json:"tier,omitempty"` // that held at its end
	Cap     *int      `json:"cap"`
	Tokens  int64     `json:"tokens"` // as budgets count them
	CostUSD float64   `json:"cost_usd"`
	Files   int       `json:"files"`
	Commits int       `json:"commits"`
	Summary string    `json:"summary,omitempty"`
}

// Cap is a cap on sub-agents that held from a moment on.
type Cap struct {
	At     time.Time `json:"at"`
	Tier   string    `json:"tier"`
	Cap    int       `json:"cap"`
	Signal string    `json:"signal,omitempty"`
}

// Event is a line of what happens in a run: of its log, or of the conversation of the
// session that runs.
type Event struct {
	At    time.Time `json:"at"`
	Kind  string    `json:"kind"`            // log, prompt, text, tool, result, error
	Level string    `json:"level,omitempty"` // of a log line: DEBUG, INFO, WARN, ERROR
	Text  string    `json:"text"`            // one or several lines of clean text, cut, without secrets
}

// Cursor is a place in the events of a run; the zero Cursor is near their end, so that a
// first look shows the latest 100.
type Cursor struct {
	Log     int64  `json:"log"`     // bytes of the log that were read
	Session string `json:"session"` // whose conversation
	Talk    int64  `json:"talk"`    // bytes of it that were read
}
