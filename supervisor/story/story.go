package story

import (
	"time"

	"autopilot/supervisor/killswitch"
)

// Kind says what a story does.
type Kind string

// Kinds of stories.
const (
	Goal      Kind = "goal"      // a goal in words
	Increment Kind = "increment" // a folder below .specweave/increments
)

// Story is a piece of work for a supervisor of its own.
type Story struct {
	// ID is unique in a cohort, of letters, digits, '.', '_' and '-', at most 64, and does
	// not begin with a dot or a minus. It names the work tree and the branch.
	ID       string   `json:"id"`
	Kind     Kind     `json:"kind"`
	Title    string   `json:"title"`            // one line of at most 80 characters
	Goal     string   `json:"goal,omitempty"`   // of kind Goal, the whole of it
	After    []string `json:"after,omitempty"`  // stories that have to be done before
	Paths    []string `json:"paths,omitempty"`  // patterns below the repository that it may change; empty for all
	Verify   []string `json:"verify,omitempty"` // commands that must succeed
	Priority int      `json:"priority,omitempty"`
	Item     string   `json:"item,omitempty"`  // of the queue that it came from
	Issue    int      `json:"issue,omitempty"` // that it came from; 0 for none
	URL      string   `json:"url,omitempty"`   // of that issue
}

// Status is how a story stands.
type Status string

// Statuses of a story.
const (
	Waiting Status = "waiting"
	Running Status = "running"
	Done    Status = "done"
	Failed  Status = "failed"  // its supervisor gave up, or a kill-switch for trouble fired
	Person  Status = "person"  // a person is needed
	Stopped Status = "stopped" // asked to stop, or at a limit; it can be continued
	Shut    Status = "shut"    // what it waits for did not come to be done, or is missing
)

// Over reports whether nothing more is done about a story in this cohort unless a person
// continues it.
func (s Status) Over() bool { return s != Waiting && s != Running }

// Member is a story of a cohort and how it stands.
type Member struct {
	Story
	Status Status `json:"status"`
	Why    string `json:"why,omitempty"` // it is not waiting, running or done

	Worktree string   `json:"worktree,omitempty"` // path; the repository itself without isolation
	Branch   string   `json:"branch,omitempty"`
	Base     string   `json:"base,omitempty"` // commit that the branch began at
	Lane     []string `json:"lane,omitempty"` // patterns that it has to itself while it runs, in a shared tree
	Folder   string   `json:"folder"`         // what coordinator and supervisor share

	Runs      []string  `json:"runs,omitempty"` // ids of its supervisors' runs, the last one last
	PID       int       `json:"pid,omitempty"`  // of the process that guards its supervisor
	Start     uint64    `json:"start,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Crashes   int       `json:"crashes,omitempty"` // supervisors that were killed

	KillSwitch killswitch.Reason `json:"kill_switch,omitempty"` // of its last run
	Cause      string            `json:"cause,omitempty"`       // of its last run's end
	ExitCode   int               `json:"exit_code"`
	Sessions   int               `json:"sessions"`
	Spent      killswitch.Spend  `json:"spent"`
	Commits    int               `json:"commits"`          // on its branch since Base
	Draft      string            `json:"draft,omitempty"`  // URL of its draft pull or merge request
	Kept       string            `json:"kept,omitempty"`   // why its work tree was kept; empty when it is gone
	Answer     string            `json:"answer,omitempty"` // of a person to what it asked last
}

// Version is the version of the cohort's file.
const Version = 1

// File is the name of the cohort's file in the folder of its run.
const File = "cohort.json"

// Cohort is what a coordinator knows. It is written to disk before each of its effects.
type Cohort struct {
	Version   int       `json:"version"`
	RunID     string    `json:"run_id"`
	StartedAt time.Time `json:"started_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Isolation Isolation `json:"isolation"`
	Max       int       `json:"max_stories"` // at once
	Agents    int       `json:"agents"`      // of all stories at once on a green machine
	Members   []Member  `json:"members"`     // in the order in which they are begun when nothing stands against it
	Tier      string    `json:"tier"`        // of the machine, damped
	Cap       int       `json:"cap"`         // of all stories together
	Stop      *Stop     `json:"stop,omitempty"`
}

// Isolation says where the stories of a cohort work.
type Isolation string

// Values of Isolation, as other programs know them.
const (
	Worktree Isolation = "worktree" // each in a work tree of its own
	None     Isolation = "none"     // all in the one tree, each with paths of its own
)

// Stop is the decision to begin nothing more and to have what runs end after its session.
type Stop struct {
	Reason  string    `json:"reason"` // a kill-switch, or one of the words below
	Detail  string    `json:"detail"`
	Aborted bool      `json:"aborted"` // it went wrong twice in the same way
	At      time.Time `json:"at"`
}

// Reasons to stop a cohort beside the kill-switches.
const (
	ReasonDone   = "work-done"       // no story is left that can be begun
	ReasonSignal = "signal"          // the coordinator was told to end
	ReasonPerson = "person"          // every story that is left waits for a person
	ReasonError  = "internal-error"  // something of the coordinator's own went wrong
	ReasonFailed = "stories-failed"  // every story is over, and some have failed
	ReasonTwice  = "twice-the-same-" // followed by the reason that two stories ended for
)

// Spent is what all stories of the cohort have used up.
func (c Cohort) Spent() killswitch.Spend {
	var sum killswitch.Spend
	for _, m := range c.Members {
		sum.Tokens += m.Spent.Tokens
		sum.CostUSD += m.Spent.CostUSD
	}
	return sum
}
