package nightly

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/statedir"
	"autopilot/metrics/telemetry"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

func TestKnown(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 2, day, hour, minute, 0, 0, time.UTC) }
	for name, last := range map[string]Firing{
		"fine":   {State: Ended, Nominal: at(10, 22, 0), Begun: at(10, 22, 1)},
		"silent": {State: Ended, Nominal: at(9, 22, 0), Begun: at(9, 22, 0)},
		"failed": {State: Failed, Nominal: at(10, 22, 0)},
		"new":    {},
	} {
		e := schedule.Entry{
			Version: schedule.Version, Name: name, Backend: schedule.Cron, Overlap: schedule.Skip, Dir: "/srv/shop", Program: "/usr/bin/autopilot", Args: []string{"run"}, Logs: "/srv/logs",
			Spec: schedule.Spec{Cron: []string{"0 22 * * *"}, Zone: "UTC", Until: "06:00"}, CreatedAt: at(1, 12, 0),
		}
		if name == "new" {
			e.CreatedAt = at(11, 8, 0)
		}
		file := host.EntryFile(root, name)
		if err := statedir.MakeDir(filepath.Dir(file)); err != nil {
			t.Fatal(err)
		}
		if err := statedir.ReplaceJSON(file, e); err != nil {
			t.Fatal(err)
		}
		if last.State == "" {
			continue
		}
		if err := note(root, name, last); err != nil {
			t.Fatal(err)
		}
	}
	next := at(11, 22, 0)
	want := []telemetry.Schedule{
		{Name: "failed", NextStart: next, Missed: new(true)},
		{Name: "fine", LastStart: at(10, 22, 1), NextStart: next, Missed: new(false)},
		{Name: "new", NextStart: next, Missed: new(false)},
		{Name: "silent", LastStart: at(9, 22, 0), NextStart: next, Missed: new(true)},
	}
	if diff := cmp.Diff(want, Known(root, at(11, 9, 0))); diff != "" {
		t.Errorf("schedules (-want +got):\n%s", diff)
	}
}
