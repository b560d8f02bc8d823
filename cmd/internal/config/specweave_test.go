package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func specWeave(t *testing.T, text string) (Config, error) {
	t.Helper()
	repo := t.TempDir()
	path := filepath.Join(repo, SpecWeaveFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	values, err := LoadSpecWeave(repo)
	if err != nil {
		return Config{}, err
	}
	r, err := Resolve(values)
	return r.Config, err
}

func TestSpecWeaveResetTimeout(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{
		60: time.Minute, 900: 15 * time.Minute, 1800: 30 * time.Minute, 9999: 9999 * time.Second, 10_000: 10 * time.Second, 300_000: 5 * time.Minute,
	} {
		cfg, err := specWeave(t, fmt.Sprintf(`{"auto": {"circuitBreakers": {"resetTimeout": %d}}}`, n))
		if err != nil || cfg.Night.BreakerReset != want {
			t.Errorf("%d: %v, %v, want %v", n, cfg.Night.BreakerReset, err, want)
		}
	}
}

func TestSpecWeaveCoverageIsPercent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"0.8": "want percent, as 80", "0.125": "as 12.5", "0": "", "1": "", "80": ""} {
		_, err := specWeave(t, `{"auto": {"coverageThreshold": `+text+`}}`)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "auto.coverageThreshold")) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
