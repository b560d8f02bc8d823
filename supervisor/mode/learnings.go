package mode

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const leastLearningConfidence = 0.3

// surface returns the n learnings that deserve most trust at now, best first. A learning's score is its confidence,
// decayed by the time since it was last confirmed. Learnings at or below confidence 0.3 and expired ones are left out,
// whatever the decay: it orders, it does not exclude. Of equal scores the later created goes first.
func surface(all []Learning, now time.Time, n int, decay Decay) []Learning {
	type scored struct {
		Learning
		score   float64
		created int64
	}
	var live []scored
	for _, l := range all {
		if expiry, ok := parseTime(l.ExpiresAt, now); ok && !expiry.After(now) || !(l.Confidence > leastLearningConfidence) {
			continue
		}
		s := scored{Learning: l, score: trust(l, now, decay)}
		if created, ok := parseTime(l.CreatedAt, now); ok {
			s.created = created.UnixMilli()
		}
		live = append(live, s)
	}
	slices.SortStableFunc(live, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.created, a.created))
	})
	out := make([]Learning, 0, min(n, len(live)))
	for _, s := range live[:min(n, len(live))] {
		out = append(out, s.Learning)
	}
	return out
}

// trust is a learning's decayed confidence. One without a readable time does not age; one from the future is new.
func trust(l Learning, now time.Time, decay Decay) float64 {
	if !decay.Enabled {
		return l.Confidence
	}
	for _, text := range []string{l.LastReinforced, l.LastAccessed, l.UpdatedAt, l.CreatedAt} {
		if at, ok := parseTime(text, now); ok {
			days := math.Max(0, float64(now.Sub(at))/float64(24*time.Hour))
			return math.Max(l.Confidence*math.Pow(0.5, days/decay.HalfLifeDays), l.Confidence*decay.FloorFactor)
		}
	}
	return l.Confidence
}

// parseTime reads the ISO 8601 forms that JavaScript's Date.parse reads: a bare date is UTC, a time without a zone is
// local, which here is the zone of now.
func parseTime(text string, now time.Time) (time.Time, bool) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, true
	}
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime,
	} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
