package fleet

import (
	"context"
	"time"

	"autopilot/probe/peer"
)

// Kind says what a row is about.
type Kind string

// Kinds of rows.
const (
	KindRun    Kind = "run"
	KindCohort Kind = "cohort" // a run that coordinates stories
	KindStory  Kind = "story"  // a story of a cohort, begun or not
	KindPeer   Kind = "peer"   // a Claude Code session that is nobody's of ours
)

// State is how a row stands.
type State string

// States of runs, of cohorts, of stories and, StateRunning alone, of peers.
const (
	StateStarting   State = "starting"            // there is a process, and no session yet
	StateRunning    State = "running"             // a session runs, or the next one is about to
	StateWaiting    State = "waiting for a limit" // the note says for which, and until when
	StatePerson     State = "needs a person"
	StateLooking    State = "looking back"   // between two sessions towards a goal
	StateStopping   State = "stopping"       // it ends after its session
	StateOpen       State = "ended-but-open" // its supervisor is gone and its records are not written
	StateUnreadable State = "unreadable"     // its state cannot be read; it may be on

	StateQueued      State = "waiting" // a story that was not begun yet
	StateDone        State = "done"
	StateFailed      State = "failed"
	StateStopped     State = "stopped"
	StateShut        State = "shut"        // a story whose turn cannot come
	StateInterrupted State = "interrupted" // a person ended it, or it was killed
	StateEnded       State = "ended"       // how is not written down
)

// Row is one run, cohort, story or peer.
type Row struct {
	Kind     Kind   `json:"kind"`
	RunID    string `json:"run_id,omitempty"`     // of a story, its last run; unique in a repository only
	Story    string `json:"story,omitempty"`      // its id, unique in its cohort
	Parent   string `json:"parent,omitempty"`     // run of the cohort that this belongs to
	Repo     string `json:"repository,omitempty"` // path of the work tree, of a story that of its cohort; of a peer its working directory
	Worktree string `json:"worktree,omitempty"`   // path, when it is not the repository's first
	Branch   string `json:"branch,omitempty"`     // of a story
	PID      int    `json:"pid,omitempty"`        // of the supervisor, or of a peer
	State    State  `json:"state"`

	Iteration   int      `json:"iteration"`    // sessions begun, those of the runs that it continues included
	MaxSessions int      `json:"max_sessions"` // 0 when there is no such limit
	Percent     *float64 `json:"percent"`      // of the goals, 0..100; nil when nobody knows
	Tier        string   `json:"tier,omitempty"`
	Cap         *int     `json:"cap"`      // sub-agents at once, of a cohort all stories together; nil when not known
	Tokens      int64    `json:"tokens"`   // as budgets count them, of a running session as far as it is known
	CostUSD     float64  `json:"cost_usd"` // likewise; of a cohort, tokens and cost are those of its stories

	Started    time.Time `json:"started_at,omitzero"`
	AgeSeconds int64     `json:"age_seconds"` // since Started; 0 when that is not known
	Note       string    `json:"note,omitempty"`
}

// Options say where to look.
type Options struct {
	Root string // state root, absolute
	// Peers lists the Claude Code sessions of this machine, ours among them. Nil looks for
	// none.
	Peers func(context.Context) ([]peer.Session, error)
	Now   time.Time
	All   bool // also what ended within the 24 hours before Now
}

// Sessions lists all Claude Code sessions of this machine, for [Options]. It fails when
// the processes cannot be listed.
func Sessions(ctx context.Context) ([]peer.Session, error) {
	r, err := peer.Count(ctx, peer.Options{Self: nobody})
	return r.Sessions, err
}

// nobody has no descendants, so that no session counts as one of this process.
const nobody = -1
