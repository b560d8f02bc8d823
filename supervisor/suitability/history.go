package suitability

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"autopilot/metrics/plainfile"
	"autopilot/supervisor/killswitch"
)

const (
	// DefaultRuns is how many runs RecentRuns returns at most when it is not told.
	DefaultRuns = 50
	// HistoryAge is how long the end of a run is remembered.
	HistoryAge = 7 * 24 * time.Hour

	maxTail     = 8 << 20 // bytes at the end of a ledger that are looked at
	coordinator = "multi-story-coordinator"
)

// Run is the part of a run's record that is weighed. The JSON names are those of the
// ledger.
type Run struct {
	ID              string    `json:"autopilot_run_id,omitempty"`
	Kind            string    `json:"kind,omitempty"` // empty for a run
	KillSwitch      string    `json:"kill_switch,omitempty"`
	DryRun          bool      `json:"dry_run,omitempty"`
	AbortedByCohort bool      `json:"aborted_by_cohort,omitempty"`
	CompletedAt     time.Time `json:"completed_at,omitzero"`
}

// Fired reports whether trouble ended the run. The limits on sessions and hours are ends
// that were wished for. A person's stop is none either: it says that somebody was there and
// wanted something else, not that the repository is unfit to be worked on unasked, and
// counting it would punish those who look after their runs. A stop that came from the
// coordinator of several stories is recorded under the same name and is trouble, because a
// cohort is stopped for what went wrong twice.
func (r Run) Fired() bool {
	switch reason := killswitch.Reason(r.KillSwitch); {
	case reason == "", reason.Graceful():
		return false
	case reason == killswitch.UserAbort:
		return r.AbortedByCohort
	}
	return true
}

// counts reports whether the record is part of the history: in a dry run nothing happened,
// and what a coordinator writes repeats the runs of its stories.
func (r Run) counts() bool { return !r.DryRun && r.Kind != coordinator }

// RecentRuns returns the last runs in the ledger at path, the newest last: at most limit of
// them, or DefaultRuns when limit is not positive. Dry runs, records of coordinators, and
// runs that ended more than HistoryAge before now are left out before they are counted; a
// record that does not say when it ended stays. Without the age a history that once went
// bad would stay bad for ever where nobody starts runs by hand.
//
// It never fails: a ledger that is missing or cannot be read has no runs, lines that hold
// no JSON object are skipped. Only the last 8 MiB of the file are read, which bounds time
// and memory.
func RecentRuns(path string, limit int, now time.Time) []Run {
	if limit <= 0 {
		limit = DefaultRuns
	}
	block, err := readEnd(path)
	if err != nil {
		return nil
	}
	var out []Run
	for len(block) > 0 && len(out) < limit {
		start := bytes.LastIndexByte(block, '\n') + 1
		r, ok := parseRun(block[start:])
		block = block[:max(0, start-1)]
		if ok && r.counts() && (r.CompletedAt.IsZero() || now.Sub(r.CompletedAt) <= HistoryAge) {
			out = append(out, r)
		}
	}
	slices.Reverse(out)
	return out
}

// readEnd returns the whole lines at the end of a regular file. It never waits for a pipe.
func readEnd(path string) ([]byte, error) {
	f, info, err := plainfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	from := max(0, info.Size()-maxTail)
	block := make([]byte, info.Size()-from)
	n, err := f.ReadAt(block, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	block = block[:n]
	if from > 0 { // it begins inside a line
		block = block[bytes.IndexByte(block, '\n')+1:]
	}
	return block, nil
}

// parseRun reads one record; a field of the wrong type is absent.
func parseRun(text []byte) (Run, bool) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	var members map[string]json.RawMessage
	if !bytes.HasPrefix(text, []byte("{")) || json.Unmarshal(text, &members) != nil {
		return Run{}, false
	}
	var r Run
	read(members, "autopilot_run_id", &r.ID)
	read(members, "kind", &r.Kind)
	read(members, "kill_switch", &r.KillSwitch)
	read(members, "dry_run", &r.DryRun)
	read(members, "aborted_by_cohort", &r.AbortedByCohort)
	read(members, "completed_at", &r.CompletedAt)
	return r, true
}

func read[T any](members map[string]json.RawMessage, key string, into *T) {
	var v T
	if json.Unmarshal(members[key], &v) == nil {
		*into = v
	}
}
