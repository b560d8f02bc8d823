package cohort

import (
	"context"
	"log/slog"
	"time"

	"autopilot/probe"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/story"
)

// Process is the supervisor of a story, or its guard.
type Process interface {
	PID() int
	// Wait waits for its end and returns its exit status. It is called once.
	Wait() int
	// End tells it to end: in order, and at once when that is not the first time.
	End()
	// Kill ends it and its supervisor whatever they do.
	Kill()
}

// Standing is how the last run of a story stands, as its files say.
type Standing struct {
	RunID      string
	Begun      bool // it has a record of its own
	Cause      string
	KillSwitch killswitch.Reason
	Detail     string
	ExitCode   int
	Item       story.Status // of its piece of work; empty when that cannot be told
	Why        string       // of that status
	Sessions   int
	Spent      killswitch.Spend
	Beat       time.Time // last sign of life
	Words      string    // last that the supervisor printed
}

// Stage is where stories are worked on: their work trees and processes.
type Stage interface {
	// Prepare makes the work tree of a story, which may take minutes, and fills in
	// Worktree, Branch and Base.
	Prepare(ctx context.Context, m *story.Member, after []story.Member) error
	// Launch starts the supervisor of a story, or has it go on with its last run.
	Launch(ctx context.Context, m story.Member) (Process, error)
	// Look reads how a story stands.
	Look(m story.Member) Standing
	// Leave is called when nothing more is done about a story in this cohort. It says how
	// many commits its branch has and why its work tree was kept.
	Leave(ctx context.Context, m *story.Member)
}

// Share is what a story is given by the coordinator.
type Share struct {
	Member   story.Member
	Tier     string
	Cap      int
	Hold     bool
	HoldWhy  string
	Stop     string // why it is to stop after its session; empty for going on
	Aborted  bool
	Among    int
	Snapshot probe.Snapshot
}

// Options are what a cohort is made of.
type Options struct {
	Stage  Stage
	Limits killswitch.Limits // of the cohort
	Lanes  [][]string        // patterns for stories without paths of their own
	Probe  func(context.Context) probe.Snapshot
	Every  time.Duration // between two looks at the machine
	// Silence is how long a supervisor may give no sign of life before it counts as hung.
	Silence time.Duration
	// Room reports whether another work tree may be made; nil when it always may.
	Room func() bool
	// Limited says until when the account is under a usage limit, and why.
	Limited func(now time.Time) (until time.Time, why string)
	// Give hands a story its share.
	Give func(Share) error
	// Save writes the cohort down. A cohort that cannot be written begins nothing more.
	Save func(story.Cohort) error
	// Draft opens the draft request of a story, or returns the one that is open, and nothing
	// while there is nothing to show; nil when none is wanted. Early has it opened at the
	// first commit, else it is opened when the story is done.
	Draft func(context.Context, story.Member) (url string, err error)
	Early bool
	// Tell is called when a story has begun or is over; nil for nobody.
	Tell func(story.Member)
	// StopRequested says why the cohort is to stop, or nothing; Poke has it looked at.
	StopRequested func() string
	Poke          <-chan struct{}
	Log           *slog.Logger
}
