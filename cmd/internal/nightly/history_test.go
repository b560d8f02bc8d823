package nightly

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/statedir"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if all, err := LoadHistory(root, "nightly"); err != nil || len(all) != 0 {
		t.Errorf("before anything: %v, %v", all, err)
	}
	at := time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	lines := []Firing{
		{State: Begun, At: at, Nominal: at, Begun: at},
		{State: NotDue, At: at.Add(time.Hour), Nominal: at.Add(9 * day), Begun: at.Add(time.Hour)},
		{State: Begun, At: at.Add(2 * time.Hour), Begun: at.Add(2 * time.Hour)}, // by a person, while the other is on
		{State: Ended, At: at.Add(3 * time.Hour), Nominal: at, Begun: at, Code: code(0), RunID: "r"},
		{State: Missed, At: at.Add(3 * day), Nominal: at.Add(day)},
		{State: Missed, At: at.Add(3 * day), Nominal: at.Add(2 * day)},
	}
	if err := statedir.MakeDir(filepath.Dir(HistoryFile(root, "nightly"))); err != nil {
		t.Fatal(err)
	}
	for _, f := range lines {
		if err := note(root, "nightly", f); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.OpenFile(HistoryFile(root, "nightly"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("words\n{}\n{\"state\":\"ended\""); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	got, err := LoadHistory(root, "nightly")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Firing{lines[3], lines[1], lines[2], lines[4], lines[5]}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if last := LastTime(got, at.Add(-day)); !last.Equal(at.Add(2 * day)) {
		t.Errorf("last time %v", last)
	}
	if last := LastTime(got, at.Add(5*day)); !last.Equal(at.Add(5 * day)) {
		t.Errorf("last time of one that was installed later %v", last)
	}
	if last, ok := LastFiring(got[:3]); !ok || last.State != Begun {
		t.Errorf("last firing %+v", last)
	}
	if _, ok := LastFiring(got[1:2]); ok {
		t.Error("what was not due counts as a firing")
	}
}
