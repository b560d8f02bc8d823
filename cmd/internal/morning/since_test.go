package morning_test

import (
	"testing"
	"time"

	"autopilot/cmd/internal/morning"
)

func TestParseSince(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("XST", 2*60*60)
	now := time.Date(2026, 11, 21, 7, 30, 0, 0, zone)
	for s, want := range map[string]time.Time{
		"7d":                        now.AddDate(0, 0, -7),
		" 36h ":                     now.Add(-36 * time.Hour),
		"90m":                       now.Add(-90 * time.Minute),
		"1d12h":                     now.Add(-36 * time.Hour),
		"2w":                        now.AddDate(0, 0, -14),
		"1w1d30m":                   now.Add(-8*24*time.Hour - 30*time.Minute),
		"2026-11-01":                time.Date(2026, 11, 1, 0, 0, 0, 0, zone),
		"2026-11-21":                time.Date(2026, 11, 21, 0, 0, 0, 0, zone),
		"2026-11-20 22:00":          time.Date(2026, 11, 20, 22, 0, 0, 0, zone),
		"2026-11-20T22:00:00Z":      time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC),
		"2026-11-20T22:00:00+01:00": time.Date(2026, 11, 20, 21, 0, 0, 0, time.UTC),
	} {
		if got, err := morning.ParseSince(s, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "7", "d", "-7d", "0d", "0s", "-1h", "1d-2h", "yesterday", "2026-11-22", "2026-13-01", "2026-11-21T08:00:00+02:00", "99999999d", "36500d1h", "1000000h", "1.5d", "1d1d", "7d ago", "1500-01-01", "+7d",
	} {
		if got, err := morning.ParseSince(s, now); err == nil {
			t.Errorf("%q is taken as %v", s, got)
		}
	}
}
