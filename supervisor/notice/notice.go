package notice

import "time"

// Kind says what a notice is about.
type Kind string

// Kinds of notices.
const (
	NeedsPerson Kind = "needs-person"  // a question, a held call, an item or a story that was put aside
	LimitHit    Kind = "limit-reached" // the run waits for a usage limit or an overloaded API
	LimitOver   Kind = "limit-over"    // it goes on
	KillSwitch  Kind = "kill-switch"   // one of the ten ended the run, other than a limit that is a normal end or a person
	Finished    Kind = "finished"      // the run ended in any other way
	Budget      Kind = "budget"        // 80 % of tokens or cost are spent
	NotStarted  Kind = "not-started"   // nothing started when it should have
	Trial       Kind = "test"          // 'autopilot notify test'
)

// Kinds returns what a person can choose from, the most pressing first. A trial is none
// of them: it is sent when it is asked for.
func Kinds() []Kind {
	return []Kind{NeedsPerson, KillSwitch, NotStarted, Finished, Budget, LimitHit, LimitOver}
}

// Urgent reports whether somebody has to do something: such a notice is not held back by
// the limit for an hour once the process ends.
func (k Kind) Urgent() bool { return k == NeedsPerson || k == KillSwitch || k == NotStarted }

// Notice is one piece of news for a person. Its texts may be raw: they are cleaned, cut
// and redacted before anything leaves the process.
type Notice struct {
	Kind     Kind      `json:"kind"`
	At       time.Time `json:"at"`
	Repo     string    `json:"repository,omitempty"` // absolute path of the work tree
	RunID    string    `json:"run_id,omitempty"`
	Schedule string    `json:"schedule,omitempty"` // name of the schedule it is about
	Title    string    `json:"title"`              // one line
	Text     string    `json:"text,omitempty"`     // a few lines
	Command  string    `json:"command,omitempty"`  // what a person would type next
	// Key tells one piece of news from another: the same key is sent once in a run.
	Key string `json:"key,omitempty"`
}
