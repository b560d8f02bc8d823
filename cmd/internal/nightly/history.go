package nightly

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"autopilot/metrics/journal"
	"autopilot/metrics/statedir"
	"autopilot/supervisor/schedule/host"
)

// State is what became of one time of a schedule.
type State string

// States.
const (
	Begun   State = "begun"   // it has begun; without a later line of the same time it is on, or was killed
	Ended   State = "ended"   // with an exit code
	Skipped State = "skipped" // another run was on
	Failed  State = "failed"  // nothing began although it should have
	Missed  State = "missed"  // the machine was off, or asleep
	NotDue  State = "not-due" // it was started at a time that is none of the schedule's
)

// Firing is one line of a schedule's history.
type Firing struct {
	State   State     `json:"state"`
	At      time.Time `json:"at"`               // when the line was written
	Nominal time.Time `json:"nominal,omitzero"` // the time of the schedule; zero when a person started it
	Begun   time.Time `json:"begun,omitzero"`   // when this process began with it; tells one from another
	Until   time.Time `json:"until,omitzero"`   // when it has to be over
	Code    *int      `json:"exit_code,omitempty"`
	RunID   string    `json:"run_id,omitempty"`
	Why     string    `json:"why,omitempty"` // on one line, without secrets
}

// HistoryFile is the path of the history of a schedule below the root of the state folders.
func HistoryFile(root, name string) string {
	return filepath.Join(filepath.Dir(host.EntryFile(root, name)), "history.jsonl")
}

// LoadHistory reads the history of a schedule, oldest first, each beginning together with
// its end as one. Lines that cannot be read are left out; no file is no history.
func LoadHistory(root, name string) ([]Firing, error) {
	var all []Firing
	begun := map[int64]int{} // place of a beginning by its time
	path := HistoryFile(root, name)
	err := journal.Each(path, func(_ int, line []byte) error {
		var f Firing
		if json.Unmarshal(line, &f) != nil || f.State == "" {
			return nil
		}
		if i, ok := begun[f.Begun.UnixNano()]; ok && !f.Begun.IsZero() && all[i].State == Begun {
			all[i] = f
			return nil
		}
		if f.State == Begun {
			begun[f.Begun.UnixNano()] = len(all)
		}
		all = append(all, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read history of schedule %s: %w", name, err)
	}
	return all, nil
}

// slack is how far ahead of now a line may be written by a clock that is only a little off.
const slack = 5 * time.Minute

// LastTime is the last time of the schedule that something became of, but not before a
// moment: what was before the schedule was installed is none of its times.
func LastTime(history []Firing, installed time.Time) time.Time {
	last := installed
	for _, f := range history {
		if (f.State == Missed || f.State == Skipped) && f.At.After(time.Now().Add(slack)) {
			continue // it was decided by a clock that was wrong
		}
		if f.State != NotDue && f.Nominal.After(last) {
			last = f.Nominal
		}
	}
	return last
}

// LastFiring is what became of the schedule last, other than that it was not due. It
// reports false when there was nothing.
func LastFiring(history []Firing) (Firing, bool) {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].State != NotDue {
			return history[i], true
		}
	}
	return Firing{}, false
}

// lockFile is the path of the lock that keeps two of one schedule apart.
func lockFile(root, name string) string { return HistoryFile(root, name) + ".lock" }

// On reports whether the schedule is being executed by another process.
func On(root, name string) bool {
	_, held, err := statedir.Peek(lockFile(root, name))
	return err == nil && held
}

// note adds a line to the history.
func note(root, name string, f Firing) error {
	line, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("write history of schedule %s: %w", name, err)
	}
	w, err := journal.Open(HistoryFile(root, name), journal.Options{})
	if err != nil {
		return fmt.Errorf("write history of schedule %s: %w", name, err)
	}
	return errors.Join(w.Append(line), w.Close())
}
