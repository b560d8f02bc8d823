package samples_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/samples"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := time.Date(2026, 1, 31, 3, 0, 0, 0, time.UTC)
	want := []samples.Sample{
		{At: at, Tier: "green", Cap: new(6), AvailableGB: new(12.5), SwapGB: new(0.0), Peers: new(1)},
		{At: at.Add(time.Hour), Tier: "critical", Suspended: 3540.5},
	}
	for _, s := range want {
		if err := samples.Append(dir, s); err != nil {
			t.Fatal(err)
		}
	}
	got, err := samples.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	info, err := os.Stat(filepath.Join(dir, samples.Name))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; others may not read it", info.Mode(), err)
	}
}

func TestTornLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `{"at":"2026-01-31T03:00:00Z","tier":"green"}
{"at":"2026-01-31T03:0
nonsense
{"tier":"warn"}
{"at":"2026-01-31T03:01:00Z","tier":"warn"}
{"at":"2026-01-31T03:02:00Z","tie`
	if err := os.WriteFile(filepath.Join(dir, samples.Name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := samples.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Tier != "green" || got[1].Tier != "warn" {
		t.Errorf("got %+v, want the two whole lines", got)
	}
}

func TestNone(t *testing.T) {
	t.Parallel()
	if got, err := samples.Load(t.TempDir()); err != nil || got != nil {
		t.Errorf("got %v, %v for a run without samples", got, err)
	}
	if err := samples.Append(filepath.Join(t.TempDir(), "gone"), samples.Sample{}); err == nil {
		t.Error("no error for a folder that is not there")
	}
}
