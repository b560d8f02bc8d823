package shared

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/probe"
)

const allotmentFile = "allotment.json"

// Allotment is what the coordinator grants to a story at the moment.
type Allotment struct {
	At       time.Time      `json:"at"`                 // when it was decided
	Tier     string         `json:"tier"`               // of the machine, damped
	Cap      int            `json:"cap"`                // agents that this story may run at once; 0 for its own session alone
	Hold     bool           `json:"hold"`               // no further session for now
	HoldWhy  string         `json:"hold_why,omitempty"` // empty without Hold
	Among    int            `json:"among,omitempty"`    // running stories, this one included, which divide what is left of the budgets
	Stop     string         `json:"stop,omitempty"`     // why to stop after the session that runs; empty to go on
	Aborted  bool           `json:"aborted"`            // the cohort stops because it went wrong twice in the same way
	Snapshot probe.Snapshot `json:"snapshot"`           // the coordinator's last look at the machine
}

// SaveAllotment writes the allotment of a story into its folder, which must exist. It
// syncs nothing. A full disk is a *statedir.FullError.
func SaveAllotment(folder string, a Allotment) error {
	if err := a.check(); err != nil {
		return fmt.Errorf("save allotment in %s: %w", folder, err)
	}
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("save allotment in %s: %w", folder, err)
	}
	if err := statedir.Swap(filepath.Join(folder, allotmentFile), append(data, '\n')); err != nil {
		return fmt.Errorf("save allotment: %w", err)
	}
	return nil
}

// LoadAllotment reads the allotment in the folder of a story. The error wraps
// fs.ErrNotExist when there is none yet; any other means that it is broken.
func LoadAllotment(folder string) (Allotment, error) {
	return load(folder, allotmentFile, "allotment", Allotment.check)
}

func (a Allotment) check() error {
	switch {
	case a.At.IsZero():
		return errors.New("it has no time")
	case a.Cap < 0:
		return fmt.Errorf("a cap of %d", a.Cap)
	}
	return nil
}
