package nightly

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/schedule"
)

// TestTimesWhileItWasOn: systemd and launchd start nothing while the one before is on, which
// is no reason to wake anybody.
func TestTimesWhileItWasOn(t *testing.T) {
	t.Parallel()
	at := func(hour, minute int) time.Time { return time.Date(2026, 2, 10, hour, minute, 0, 0, time.UTC) }
	x := &execution{Night: Night{Root: t.TempDir(), Std: outside.Stdio{}}, entry: schedule.Entry{Name: "hourly"}}
	history := []Firing{{State: Ended, Nominal: at(6, 0), Begun: at(6, 1), At: at(8, 50)}, {State: Failed, Nominal: at(5, 0), At: at(5, 1)}}
	got := x.withoutBusy(history, []time.Time{at(5, 30), at(7, 0), at(8, 0), at(9, 0)})
	if diff := cmp.Diff([]time.Time{at(5, 30), at(9, 0)}, got); diff != "" {
		t.Errorf("missed (-want +got):\n%s", diff)
	}
	noted, err := LoadHistory(x.Root, "hourly")
	if err != nil || len(noted) != 2 || noted[0].State != Skipped || !noted[1].Nominal.Equal(at(8, 0)) {
		t.Errorf("history %+v, %v", noted, err)
	}
}

// TestAClockThatWasWrong: what it decided for tonight does not cost tonight.
func TestAClockThatWasWrong(t *testing.T) {
	t.Parallel()
	tonight := time.Now().Add(-time.Minute)
	wrong := []Firing{{State: Missed, Nominal: tonight, At: time.Now().Add(12 * time.Hour)}}
	if last := LastTime(wrong, tonight.Add(-time.Hour)); !last.Equal(tonight.Add(-time.Hour)) {
		t.Errorf("the last time is %v", last)
	}
	ran := []Firing{{State: Ended, Nominal: tonight, At: time.Now().Add(12 * time.Hour)}}
	if last := LastTime(ran, tonight.Add(-time.Hour)); !last.Equal(tonight) {
		t.Errorf("a run that ended was forgotten: %v", last)
	}
}
