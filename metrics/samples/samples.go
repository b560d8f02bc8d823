package samples

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"autopilot/metrics/journal"
)

// Name of the file in the folder of a run.
const Name = "machine.jsonl"

// Every is the least time between two samples of a run.
const Every = time.Minute

// Sample is the machine at a moment. What could not be measured is nil.
type Sample struct {
	At          time.Time `json:"at"`
	Tier        string    `json:"tier"`
	Cap         *int      `json:"cap,omitempty"`         // sub-agents at once on this machine
	AvailableGB *float64  `json:"ram_available_gb"`      // GB are 2^30 bytes
	SwapGB      *float64  `json:"swap_used_gb"`          //
	Peers       *int      `json:"peers"`                 // other Claude Code sessions
	Suspended   float64   `json:"suspended_s,omitempty"` // the machine slept so long right before
}

// Append adds a sample to those of the run in a folder. A reader never sees half a line.
func Append(folder string, s Sample) error {
	line, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write sample: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, Name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write sample: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// Load reads the samples of the run in a folder, oldest first. Lines that cannot be read
// are left out; a run without samples has none.
func Load(folder string) ([]Sample, error) {
	var out []Sample
	err := journal.Each(filepath.Join(folder, Name), func(_ int, line []byte) error {
		var s Sample
		if json.Unmarshal(line, &s) == nil && !s.At.IsZero() {
			out = append(out, s)
		}
		return nil
	})
	if os.IsNotExist(err) {
		return nil, nil
	}
	return out, err
}
