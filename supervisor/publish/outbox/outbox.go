package outbox

import (
	"log/slog"
	"time"

	"autopilot/supervisor/breaker"
	"autopilot/supervisor/publish"
)

// Outbox is what is to be told by one project. It is a value; all with the same folder
// are the same outbox, in this process and in others.
type Outbox struct {
	Dir string       // state folder of the project; the outbox is its folder "outbox"
	Max int          // entries that are kept; 1,000 when zero or less
	Log *slog.Logger // for what is dropped, refused or broken; nil for none
}

// Entry is an update that waits for its target, or was refused by it.
type Entry struct {
	ID      string         `json:"id"`
	Refused time.Time      `json:"refused_at,omitzero"` // set when a person has to mend something first; near the begin, for Counts
	Key     string         `json:"key"`                 // the same whenever the same update goes to the same target
	Target  publish.Target `json:"target"`
	Update  publish.Update `json:"update"`
	Seq     int64          `json:"seq"` // order within a subject at a target
	PutAt   time.Time      `json:"put_at"`
	Tries   int            `json:"tries"`               // that failed in a row
	NextAt  time.Time      `json:"next_at,omitzero"`    // not tried before, unless forced
	RetryAt time.Time      `json:"retry_at,omitzero"`   // not tried before, even when forced: the target said so, or may still be at work on a call
	Why     string         `json:"last_error,omitzero"` // of the last try, one line without secrets
}

// Taken is what a target has taken last of a subject.
type Taken struct {
	Target  publish.Target  `json:"target"`
	Subject string          `json:"subject"`
	RunID   string          `json:"run_id"`
	Key     string          `json:"key"`
	Seq     int64           `json:"seq"`
	Final   bool            `json:"final,omitempty"`
	At      time.Time       `json:"at"`
	Receipt publish.Receipt `json:"receipt"`
}

// Kept is an entry that Deliver left for later.
type Kept struct {
	ID      string         `json:"id"`
	Target  publish.Target `json:"target"`
	Subject string         `json:"subject"`
	Why     string         `json:"why"`
	Until   time.Time      `json:"until,omitzero"` // when trying again makes sense; zero when that is not known
	// Batched is set when nothing is wrong: the one before was sent a moment ago.
	Batched bool `json:"batched,omitempty"`
}

// Result is what a delivery came to. Its lists are never nil.
type Result struct {
	Sent    []Taken `json:"sent"`
	Kept    []Kept  `json:"kept"`
	Refused []Entry `json:"refused"` // by this delivery
	// Busy is set when another process was delivering, and this one did nothing.
	Busy bool `json:"busy,omitempty"`
}

// Senders finds the sender for a target. An error keeps the entries of the target, or
// sets them aside when it is a permanent *publish.SendError.
type Senders func(publish.Target) (publish.Sender, error)

// Options of a delivery.
type Options struct {
	// Force sends what waits for the end of its batch, or for another try after a
	// failure, and waits for another delivery to end instead of leaving the work to it.
	// What a target asked for itself, an open breaker, and the rest of a call that was cut
	// off are obeyed.
	Force bool
	// Only picks the targets that are told; nil for all. What is for others is not in the
	// result.
	Only func(publish.Target) bool
	// Batch is the shortest time between two updates of one subject at one target. An
	// update with Final does not wait. 0 is 5 minutes, less than that is none.
	Batch time.Duration
	Limit time.Duration // for one call; 15 s when zero or less
	Now   time.Time     // at the start; zero is the present
	// Breakers keep calls away from services that do not work; nil for none. What an error
	// means to them is decided here, not by their settings.
	Breakers *breaker.Set
}

// Standing is what an outbox holds.
type Standing struct {
	Pending []Entry `json:"pending"` // the oldest first
	Refused []Entry `json:"refused"` // the oldest first
	Taken   []Taken `json:"taken"`   // the newest first
	Dropped int     `json:"dropped"` // that had to go because there were too many
	Broken  int     `json:"broken"`  // files that are no entries; they are left where they are
	// BrokenFiles are the names of those, for Drop.
	BrokenFiles []string `json:"broken_files"`
}

// at is the entry with the waits that still hold at a moment. One further away than any
// that is ever set comes of a clock that has jumped back.
func (e Entry) at(now time.Time) Entry {
	if !e.NextAt.After(now) || e.NextAt.Sub(now) > longestWait*5/4 {
		e.NextAt = time.Time{}
	}
	if !e.RetryAt.After(now) || e.RetryAt.Sub(now) > longestAsked {
		e.RetryAt = time.Time{}
	}
	return e
}

func (e Entry) pending() bool { return e.Refused.IsZero() }

// slot is everything about one subject at one target, in order.
type slot struct {
	entries []Entry
	taken   *Taken
}

// compact parts the entries of a slot into those that stand and those for which a later
// one stands.
func (s slot) compact() (keep, gone []Entry) {
	for i, e := range s.entries {
		over := s.taken != nil && e.Seq <= s.taken.Seq && (e.pending() || s.taken.Final || !e.Update.Final)
		for _, later := range s.entries[i+1:] {
			over = over || later.pending() == e.pending() && (later.Update.Final || !e.Update.Final)
		}
		if over {
			gone = append(gone, e)
		} else {
			keep = append(keep, e)
		}
	}
	return keep, gone
}

// first is the entry that is to be sent next.
func (s slot) first() (Entry, bool) {
	keep, _ := s.compact()
	for _, e := range keep {
		if e.pending() {
			return e, true
		}
	}
	return Entry{}, false
}
