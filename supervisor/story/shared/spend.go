package shared

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/killswitch"
)

const spendFile = "spend.json"

// Spend is what a story has used so far, over all runs of its supervisors.
type Spend struct {
	RunID     string    `json:"run_id"` // of the run that wrote it
	Tokens    int64     `json:"tokens"`
	CostUSD   float64   `json:"cost_usd"`
	Sessions  int       `json:"sessions"`
	Reserved  float64   `json:"reserved_usd,omitempty"` // that the session which runs may spend
	UpdatedAt time.Time `json:"updated_at"`
}

// SaveSpend writes what a story has used into its folder, which must exist. When it has
// returned nil the numbers survive a power cut: they are money. A full disk is a
// *statedir.FullError.
func SaveSpend(folder string, s Spend) error {
	if err := s.check(); err != nil {
		return fmt.Errorf("save spending in %s: %w", folder, err)
	}
	if err := statedir.ReplaceJSON(filepath.Join(folder, spendFile), s); err != nil {
		return fmt.Errorf("save spending: %w", err)
	}
	return nil
}

// LoadSpend reads what the story in a folder has used. The error wraps fs.ErrNotExist
// when nothing was written yet; any other means that the file is broken.
func LoadSpend(folder string) (Spend, error) {
	return load(folder, spendFile, "spending", Spend.check)
}

// Sum is what several stories have used, and what their running sessions may still spend.
type Sum struct {
	killswitch.Spend
	Reserved float64 // US dollars
	Holders  int     // stories with a session that may
}

// Others returns what the other stories of a cohort have used, as each has written it
// last; with an empty story it is what all have used. A story that has written nothing
// yet counts as nothing. The error names each file that could not be read; the sum then
// is that of the others and may be too small.
func Others(cohortFolder, story string) (Sum, error) {
	entries, err := os.ReadDir(cohortFolder)
	if err != nil {
		return Sum{}, fmt.Errorf("add up spending: %w", err)
	}
	var sum Sum
	var bad []error
	for _, e := range entries {
		if !e.IsDir() || e.Name() == story {
			continue
		}
		s, err := LoadSpend(filepath.Join(cohortFolder, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && s.Tokens > math.MaxInt64-sum.Tokens {
			err = fmt.Errorf("more tokens in %s than can be counted", e.Name())
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		sum.Tokens += s.Tokens
		sum.CostUSD += s.CostUSD
		if s.Reserved > 0 {
			sum.Reserved += s.Reserved
			sum.Holders++
		}
	}
	if err := errors.Join(bad...); err != nil {
		return sum, fmt.Errorf("add up spending: %w", err)
	}
	return sum, nil
}

func (s Spend) check() error {
	switch {
	case s.UpdatedAt.IsZero():
		return errors.New("it has no time")
	case s.Tokens < 0 || s.CostUSD < 0 || s.Sessions < 0 || s.Reserved < 0:
		return errors.New("a number is negative")
	}
	return nil
}
