package nightly

import (
	"os"
	"path/filepath"
	"time"

	"autopilot/metrics/telemetry"
	"autopilot/supervisor/schedule/host"
)

// patience is how long after its time a schedule may begin before it counts as missed: a
// machine that wakes up takes a while.
const patience = 15 * time.Minute

// Known is how the schedules below the root of the state folders are, for monitoring. One
// that cannot be read is left out.
func Known(root string, now time.Time) []telemetry.Schedule {
	names, err := filepath.Glob(host.EntryFile(root, "*"))
	if err != nil {
		return nil
	}
	var out []telemetry.Schedule
	for _, file := range names {
		e, err := host.Load(root, filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		history, err := LoadHistory(root, e.Name)
		if err != nil && !os.IsNotExist(err) {
			continue
		}
		s := telemetry.Schedule{Name: e.Name}
		s.NextStart, _ = e.Spec.Next(now)
		for _, f := range history {
			if f.Begun.After(s.LastStart) {
				s.LastStart = f.Begun
			}
		}
		due, ever := e.Spec.Last(now.Add(-patience))
		missed := ever && due.After(LastTime(history, e.CreatedAt))
		if f, ok := LastFiring(history); ok && !missed {
			missed = f.State == Failed || f.State == Missed
		}
		s.Missed = &missed
		out = append(out, s)
	}
	return out
}
