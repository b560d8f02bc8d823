package approval

import (
	"time"

	"autopilot/sessions/approval/rule"
)

// Status is how a gate stands.
type Status string

// Statuses of a gate.
const (
	Pending  Status = "pending"  // waits for a person
	Approved Status = "approved" // the call may be made once
	Denied   Status = "denied"   // a person has refused the call
	Expired  Status = "expired"  // nobody answered in time, or the approval was not used in time
	Used     Status = "used"     // the call was let through
)

// Gate is one tool call that is, or was, held for a person. Texts are without secrets
// and control characters.
type Gate struct {
	ID          string         `json:"id"`          // short, to be typed by a person
	Fingerprint string         `json:"fingerprint"` // what makes two calls the same
	RunID       string         `json:"run_id,omitempty"`
	SessionID   string         `json:"session_id,omitempty"`
	LastSession string         `json:"last_session_id,omitempty"` // that tried the call last
	Tool        string         `json:"tool"`
	Subject     string         `json:"subject"` // what the call would do: one line
	Input       string         `json:"input"`   // arguments as JSON text, at most 16 KiB
	Dir         string         `json:"dir"`
	Rules       []rule.Finding `json:"rules"`
	Diff        string         `json:"diff,omitempty"` // what a person may want to see, at most 64 KiB
	AskedAt     time.Time      `json:"asked_at"`
	ExpiresAt   time.Time      `json:"expires_at"` // of the question
	Asked       int            `json:"asked"`      // how often the call was tried
	Status      Status         `json:"status"`
	DecidedAt   time.Time      `json:"decided_at,omitzero"`
	By          string         `json:"by,omitempty"`
	Because     string         `json:"because,omitempty"`
	UsedAt      time.Time      `json:"used_at,omitzero"`
	// Seal tells a decision that a person has made by this program from one that was
	// written into the file: a keyed hash over what was decided, in hexadecimal.
	Seal string `json:"seal,omitempty"`
}

// Who makes a call.
type Who struct{ RunID, SessionID string }

// Verdict is what becomes of a call.
type Verdict struct {
	Allow  bool
	Gate   Gate
	Reason string // for the agent where the call is refused
}

// Desk is where gates are kept and decided.
type Desk struct {
	Dir string // the folder of the gates; made when the first is held
	// Timeout is how long a person has to answer; 0 is half an hour.
	Timeout time.Duration
	// Advance are the names of rules whose findings a person has approved beforehand.
	Advance []string
	// Key is the file with the key that decisions are sealed with, outside of Dir and where
	// no session may write; made with the first decision. Empty seals nothing, and believes
	// what the files say.
	Key string
}

// File is a file that was read to judge a call, as it was then.
type File struct {
	Path string
	Text []byte // the beginning, where the file is long
	Sum  string // of all of it
}

// Look is what belongs to a call beside its arguments.
type Look struct {
	// Files are what the call would run or use; with other contents it is another call.
	Files []File
	// Diff says what a person may want to see; called for a new gate only, may be nil.
	Diff func() string
}
