package morning

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// longestSince is how far a digest may go back.
const longestSince = 100 * 365 * 24 * time.Hour

// ParseSince reads from when on a digest is wanted: a time back from now (7d, 36h, 90m,
// 1d12h), a day (2026-11-01, in the zone of now), or a moment as RFC 3339 writes it.
func ParseSince(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	at, ok := time.Time{}, false
	if d, err := parseBack(s); err == nil {
		if d <= 0 || d > longestSince {
			return at, fmt.Errorf("%q is not a time that lies back", s)
		}
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			at, ok = t, true
			break
		}
	}
	switch {
	case !ok:
		return at, fmt.Errorf("%q is neither a time such as 7d or 36h nor a day such as 2026-11-01", s)
	case at.After(now):
		return at, fmt.Errorf("%s lies in the future", s)
	case now.Sub(at) > longestSince:
		return at, fmt.Errorf("%s lies too far back", s)
	}
	return at, nil
}

// parseBack reads a duration that may begin with days or weeks.
func parseBack(s string) (time.Duration, error) {
	const day = 24 * time.Hour
	var sum time.Duration
	for _, unit := range []struct {
		letter string
		size   time.Duration
	}{{"w", 7 * day}, {"d", day}} {
		n, rest, found := strings.Cut(s, unit.letter)
		if !found {
			continue
		}
		v, err := strconv.ParseUint(n, 10, 16)
		if err != nil {
			return 0, err
		}
		sum, s = sum+time.Duration(v)*unit.size, rest
		if s == "" {
			return sum, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err == nil && sum > 0 && d <= 0 {
		err = errors.New("goes back and forth")
	}
	return sum + d, err
}
