package gate

import (
	"time"

	"autopilot/metrics/ledger"
)

// Result is what a check has shown.
type Result struct {
	Check
	OK bool `json:"ok"`
	// Detail says in one line what was seen, such as "exit status 1 after 2.3s: FAIL",
	// "exists, 1234 bytes, sha256 ab12cd34…" or "does not exist". It holds at most 500
	// characters, and neither secrets nor control characters.
	Detail string `json:"detail"`
	// Output is the end of what a command printed to stdout and stderr, in at most
	// 8 KiB. It is valid UTF-8 without secrets, escape sequences and control
	// characters other than line end and tab. It begins with … when there was more.
	Output   string        `json:"output,omitempty"`
	Took     time.Duration `json:"took_ns"`             // wall-clock time
	TimedOut bool          `json:"timed_out,omitempty"` // it was ended because its time was over
	// Exit is the exit status of a command that ended by itself; -1 for everything else.
	Exit int `json:"-"`
}

// Deliverables returns the results in the form in which the ledger has them, in
// the same order. It never returns nil.
func Deliverables(results []Result) []ledger.Deliverable {
	out := make([]ledger.Deliverable, 0, len(results))
	for _, r := range results {
		out = append(out, ledger.Deliverable{Name: r.Name(), OK: r.OK, Proof: r.Detail})
	}
	return out
}
