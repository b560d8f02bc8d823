package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/supervisor/publish"
)

// resolved is a configuration of values that were typed, or stand in the repository.
func resolvedWith(t *testing.T, inRepo bool, kv ...string) (Resolved, error) {
	t.Helper()
	var values []Value
	for i := 0; i < len(kv); i += 2 {
		values = append(values, Value{Key: kv[i], Raw: strings.Split(kv[i+1], "|"), Origin: "test", InRepo: inRepo})
	}
	return Resolve(values)
}

func nightDefaults() Night {
	return Night{
		Enabled: true, MaxActive: 3, HumanGates: true, GateTimeout: 30 * time.Minute, TestGate: "auto",
		SyncInterval: 5 * time.Minute, BreakerThreshold: 3, BreakerReset: 5 * time.Minute,
	}
}

func TestNightDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := Resolve()
	if err != nil {
		t.Fatal(err)
	}
	n := cfg.Night
	if !n.Enabled || !n.HumanGates || n.GateTimeout != 30*time.Minute || n.MaxActive != 3 || n.TestGate != TestGateAuto ||
		n.SyncInterval != 5*time.Minute || n.BreakerThreshold != 3 || n.BreakerReset != 5*time.Minute || len(n.Sync)+len(n.GateRules)+len(n.PreApprove)+len(n.Increments) > 0 {
		t.Errorf("the defaults are %+v", n)
	}
}

// What a repository says may make a run more careful, and not less.
func TestNightInARepository(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		key, value string
		ok         bool
	}{
		{"human-gates", "true", true},
		{"human-gates", "TRUE", true},
		{"human-gates", "false", false},
		{"human-gates", "0", false},
		{"gate", "command: terraform plan", true},
		{"gate", "off: deploy", false},
		{"gate", "command: terraform plan| off: deploy", false},
		{"pre-approve", "deploy", false},
		{"sync", "file:docs/progress.md", true},
		{"sync", "webhook:https://example.org/x", false},
		{"sync", "file:a.md|github:o/r#1", false},
		{"enabled", "false", true},
		{"increments", "0001,0002", true},
	} {
		if _, err := resolvedWith(t, true, tt.key, tt.value); (err == nil) != tt.ok {
			t.Errorf("%s: %s in the repository: %v", tt.key, tt.value, err)
		}
		if _, err := resolvedWith(t, false, tt.key, tt.value); err != nil {
			t.Errorf("%s: %s typed by a person: %v", tt.key, tt.value, err)
		}
	}
}

func TestNightRefused(t *testing.T) {
	t.Parallel()
	for _, kv := range [][2]string{
		{"gate", "whatever"},
		{"gate", "off: force-push"},
		{"gate", "off: nothing"},
		{"pre-approve", "force-push"},
		{"pre-approve", "nothing"},
		{"sync", "github:o/r"},
		{"sync", "webhook:http://example.org"},
		{"sync", "file:/etc/x.md"},
		{"sync", "file:../x.md"},
		{"sync", "jira:7"},
		{"test-gate", "maybe"},
	} {
		if _, err := resolvedWith(t, false, kv[0], kv[1]); err == nil || !strings.Contains(err.Error(), kv[0]) {
			t.Errorf("%s: %s: %v", kv[0], kv[1], err)
		}
	}
}

func TestNightValues(t *testing.T) {
	t.Parallel()
	cfg, err := resolvedWith(t, false, "increments", "0001, 0002-b", "sync", "jira:AB-7|jira:AB-7|azure:org/My Project#3", "completion-promise", "ALL DONE")
	if err != nil {
		t.Fatal(err)
	}
	n := cfg.Night
	if strings.Join(n.Increments, ";") != "0001;0002-b" || n.Promise != "ALL DONE" || len(n.Sync) != 2 {
		t.Errorf("got %+v", n)
	}
	if n.Sync[1] != (publish.Target{Service: publish.Azure, Owner: "org", Project: "My Project", Number: 3}) {
		t.Errorf("the second target is %+v", n.Sync[1])
	}
}

func TestSpecWeave(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	if got, err := LoadSpecWeave(repo); err != nil || len(got) > 0 {
		t.Errorf("without a file: %v, %v", got, err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(repo, ".specweave"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(repo, ".specweave", "config.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"version": "2", "auto": {"enabled": true, "maxIterations": 40, "maxHours": 12.5, "completionPromise": "DONE", "testCommand": "npm test", "coverageThreshold": 80,
		"requireTests": true, "humanGated": {"timeout": 600, "patterns": ["deploy"]}, "circuitBreakers": {"failureThreshold": 5, "resetTimeout": 300000}, "sync": {"batchInterval": 60, "forceOnComplete": true}}}`)
	values, err := LoadSpecWeave(repo)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := Resolve(values)
	if err != nil {
		t.Fatal(err)
	}
	n := cfg.Night
	if cfg.MaxSessions != 40 || cfg.MaxHours != 12.5 || n.Promise != "DONE" || cfg.TDD.TestCommand != "npm test" || *cfg.TDD.Thresholds.Lines != 80 || n.TestGate != TestGateOn ||
		n.GateTimeout != 10*time.Minute || n.BreakerThreshold != 5 || n.BreakerReset != 5*time.Minute || n.SyncInterval != time.Minute {
		t.Errorf("got %+v, %+v", cfg.Config, n)
	}
	for text, want := range map[string]string{
		`{"auto": {"maxHourz": 3}}`:                                  "did you mean auto.maxHours",
		`{"auto": {"maxHours": "soon"}}`:                             "auto.maxHours",
		`{"auto": {"requireTests": "often"}}`:                        "neither true nor false",
		`{"auto": 3}`:                                                "auto is no object",
		`{"auto": {"circuitBreakers": {"resetTimeout": "a while"}}}`: "auto.circuitBreakers.resetTimeout",
	} {
		write(text)
		values, err := LoadSpecWeave(repo)
		if err == nil {
			_, err = Resolve(values)
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ".specweave/config.json:1") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	write(`{"auto": {"circuitBreakers": {"resetTimeout": 120}, "enabled": false}}`)
	values, err = LoadSpecWeave(repo)
	if err != nil {
		t.Fatal(err)
	}
	if cfg, err = Resolve(values); err != nil || cfg.Night.BreakerReset != 2*time.Minute || cfg.Night.Enabled {
		t.Errorf("seconds: %v, %+v", err, cfg.Night)
	}
}
