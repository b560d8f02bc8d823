package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// GroupKeep is the group of the options for what is kept of ended runs.
const GroupKeep = "keep"

// Keep says how long what was written down is kept.
type Keep struct {
	Days          int           // runs that ended within so many days
	Runs          int           // the latest runs of a project
	CompressAfter time.Duration // after the end of a run; less than zero for never
}

const (
	mostKeepDays = 36500
	mostKeepRuns = 1_000_000
	never        = "never"
)

// keepOptions refuse what they cannot take: what is moved to a bound could remove a run that
// somebody meant to keep. A repository says nothing about them.
func keepOptions() []Option {
	days := exactly("keep-days", "30", mostKeepDays, "'gc' keeps runs that ended within so many days", func(c *Config, n int) { c.Keep.Days = n })
	runs := exactly("keep-runs", "20", mostKeepRuns, "'gc' keeps the latest so many runs of a work tree", func(c *Config, n int) { c.Keep.Runs = n })
	after := Option{Key: "compress-after", Default: "7d", Bounds: "0s or more, or " + never, Help: "'gc' compresses the messages of runs that ended so long ago, as 7d or 36h", apply: func(c *Config, raw []string) (moved, error) {
		s, err := one(raw)
		if err != nil {
			return moved{}, err
		}
		d, err := parseAge(s)
		if err == nil {
			c.Keep.CompressAfter = d
		}
		return moved{}, err
	}}
	all := []Option{days, runs, after}
	for i := range all {
		all[i] = grouped(GroupKeep, all[i])
		all[i].NotInRepo = true
	}
	return all
}

// exactly is a whole number from 0 that is taken as it is, or refused.
func exactly(key, def string, most int, help string, set func(*Config, int)) Option {
	return Option{Key: key, Default: def, Bounds: fmt.Sprintf("0..%d", most), Help: help, apply: func(c *Config, raw []string) (moved, error) {
		s, err := one(raw)
		if err != nil {
			return moved{}, err
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > most {
			return moved{}, fmt.Errorf("%q is not a whole number from 0 to %d", s, most)
		}
		set(c, n)
		return moved{}, nil
	}}
}

// parseAge reads "7d", "36h" or "never", which is less than zero. A number without a unit
// could be days as well as seconds and is refused.
func parseAge(s string) (time.Duration, error) {
	const day = 24 * time.Hour
	bad := fmt.Errorf("%q is no length of time such as 7d or 36h, and not %s", s, never)
	if s == never {
		return -1, nil
	}
	if n, ok := strings.CutSuffix(s, "d"); ok {
		days, err := strconv.ParseUint(n, 10, 32)
		switch {
		case errors.Is(err, strconv.ErrRange) || err == nil && days > math.MaxInt64/uint64(day):
			return 0, fmt.Errorf("%q is too long", s)
		case err != nil:
			return 0, bad
		}
		return time.Duration(days) * day, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || strings.Trim(s, "0123456789") == "" {
		return 0, bad
	}
	return d, nil
}
