package queue

import (
	"strings"
	"time"

	"autopilot/sessions/prompt"
)

// Kind says what an item is.
type Kind string

// Kinds of items.
const (
	Increment Kind = "increment" // a folder below .specweave/increments
	Goal      Kind = "goal"      // a goal in words
)

// Status is how an item stands.
type Status string

// Statuses of an item. The last four are over for a run; a person can put all but done
// back with Retry.
const (
	Waiting    Status = "waiting"
	InProgress Status = "in-progress"
	NeedsHuman Status = "needs-human"
	Failed     Status = "failed"
	Skipped    Status = "skipped" // the increment was given up or finished elsewhere
	Done       Status = "done"
)

// Over reports whether nothing more is done about an item unless a person asks for it.
func (s Status) Over() bool { return s != Waiting && s != InProgress }

// Item is one piece of work in the queue.
type Item struct {
	ID       string    `json:"id"` // the increment's folder, or goal-N
	Kind     Kind      `json:"kind"`
	Title    string    `json:"title"`              // of a goal the whole of it, which may be several lines
	Priority int       `json:"priority"`           // 1 is done first; 0 when none was given, done last
	After    []string  `json:"after,omitempty"`    // items, or increments that need not be in the queue, that have to be done before
	Type     string    `json:"type,omitempty"`     // of an increment: feature, hotfix, ...
	Verify   []string  `json:"verify,omitempty"`   // commands of a goal that must succeed
	Estimate int       `json:"estimate,omitempty"` // sessions it is expected to take
	AddedAt  time.Time `json:"added_at"`

	Status    Status    `json:"status"`
	Why       string    `json:"why,omitempty"`    // it is not waiting, in progress or done
	RunID     string    `json:"run_id,omitempty"` // of the run that began it, or went on with it, last
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Sessions  int       `json:"sessions"`          // that were spent on it
	Stalled   int       `json:"stalled"`           // of those, in a row, after which no more of it was done
	Best      int       `json:"best"`              // most of its tasks that were done at once
	Fixes     int       `json:"fixes"`             // sessions in a row that were to repair a red test gate
	Claimed   bool      `json:"claimed,omitempty"` // a session said that all of it is done
	Errors    int       `json:"errors,omitempty"`  // sessions in a row that went wrong
	Most      int       `json:"most,omitempty"`    // most tasks that it had
	Passed    bool      `json:"passed,omitempty"`  // its checks have passed; only its status is left to be written
}

// Short is the title on one line of at most 80 characters.
func (i Item) Short() string { return prompt.Cut(strings.Join(strings.Fields(i.Title), " "), 80) }

// Queue is what is to be done, in the order in which it was put by a person. The zero
// value is an empty queue.
type Queue struct {
	Version int    `json:"version"`
	Next    int    `json:"next_goal"` // number of the next goal
	Items   []Item `json:"items"`
}

// Facts are what a choice depends on beside the queue.
type Facts struct {
	// Increments are the statuses of all increments on disk, by id. An increment that is
	// not among them cannot be begun.
	Increments map[string]string
	// Types are their types, by id. They count more than what an item says.
	Types map[string]string
	// Active is how many increments may be active at once; 0 is no limit.
	Active int
	// PerType is that for increments of a type; one that is not named, or with 0, has no
	// limit of its own.
	PerType map[string]int
	// Only are the items that count; empty for all.
	Only []string
}

// Held is an item that cannot be begun now, and why.
type Held struct {
	ID  string `json:"id"`
	Why string `json:"why"`
	// Shut is set when that cannot change by itself: what it waits for has failed, is
	// missing, or waits for it.
	Shut bool `json:"shut,omitempty"`
}

// Choice is what to do next.
type Choice struct {
	// Item is a copy of the item in progress, or of the one to begin; nil when there is
	// neither.
	Item *Item
	// Held are the waiting items that could not be begun whatever the others, in their
	// order. All of them are Shut when Item is nil.
	Held []Held
}

// Place is where an item is moved to. Exactly one of its fields is set.
type Place struct {
	Before, After string // ids of other items
	First, Last   bool
	Position      int // in the list, from 1; beyond its end is the end
}

// Summary counts items by how they stand.
type Summary struct {
	Total      int `json:"total"`
	Done       int `json:"done"`
	Failed     int `json:"failed"`
	NeedsHuman int `json:"needs_human"`
	Skipped    int `json:"skipped"`
	Waiting    int `json:"waiting"` // with those that are held
	InProgress int `json:"in_progress"`
	Held       int `json:"held"` // of those waiting
}
