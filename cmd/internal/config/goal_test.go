package config

import (
	"strings"
	"testing"
	"time"
)

func TestModeChangesDefaults(t *testing.T) {
	t.Parallel()
	type values struct {
		sessions, errors, every int
		hours                   float64
		tokens                  int64
	}
	of := func(r Resolved) values {
		return values{r.MaxSessions, r.MaxErrors, r.ReflectEvery, r.MaxHours, r.MaxTokens}
	}
	tests := []struct {
		name string
		env  []string
		args []string
		want values
	}{
		{"fixed", nil, nil, values{5, 1, 0, 4, 0}},
		{"continuous", nil, []string{"mode", "continuous"}, values{200, 5, 3, 2, 500_000}},
		{"continuous by variable", []string{"AUTONOMOUS_MODE=continuous"}, nil, values{200, 5, 3, 2, 500_000}},
		{"given values stay", []string{"AUTOPILOT_MAX_TOKENS=7"}, []string{"mode", "continuous", "max-sessions", "900", "max-hours", "0.01"}, values{900, 5, 3, 0.01, 7}},
		{"wider bounds end somewhere", nil, []string{"mode", "continuous", "max-sessions", "5000", "max-hours", "9000"}, values{1000, 5, 3, 720, 500_000}},
		{"fixed keeps its bounds", nil, []string{"max-sessions", "900", "max-hours", "0.01"}, values{50, 1, 0, 0.5, 0}},
		{
			"all thirteen variables but the mode", []string{
				"AUTONOMOUS_REFLECTION_INTERVAL=7", "AUTONOMOUS_MAX_WALL_TIME_MS=5400000", "AUTONOMOUS_MAX_ITERATIONS=9", "AUTONOMOUS_MAX_TOKENS=11",
				"AUTONOMOUS_MAX_CONSECUTIVE_ERRORS=3", "AUTONOMOUS_REFLECTION_MODEL=core",
			}, nil, values{9, 3, 7, 1.5, 11},
		},
		{"AUTOPILOT_ over AUTONOMOUS_", []string{"AUTOPILOT_MAX_SESSIONS=3", "AUTONOMOUS_MAX_ITERATIONS=9"}, nil, values{3, 1, 0, 4, 0}},
		{"others' variables", []string{"AUTONOMOUS_VEHICLE=yes", "AUTONOMOUS_MAX_TOKENS="}, nil, values{5, 1, 0, 4, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := Resolve(FromEnv(tt.env), flags(tt.args...))
			if err != nil {
				t.Fatal(err)
			}
			if got := of(r); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	r := resolve(t, flags("mode", "continuous"))
	if got := setting(t, r, "max-hours"); got.Origin != "default of mode continuous" || got.Value != "2" {
		t.Errorf("max-hours is shown as %+v", got)
	}
}

func TestAutonomousVariables(t *testing.T) {
	t.Parallel()
	r, err := Resolve(FromEnv([]string{
		"AUTONOMOUS_REFLECTION_MODEL=small", "AUTONOMOUS_REFLECTION_TEMPERATURE=0.2", "AUTONOMOUS_REFLECTION_TOP_P=0.9",
		"AUTONOMOUS_REQUIRE_CONCRETE_GOALS=false", "AUTONOMOUS_AUTO_REFINE_GOALS=true", "AUTONOMOUS_CHECKPOINT_INTERVAL=10", "AUTONOMOUS_CHECKPOINT_DIR=.points",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.ReflectModel, want.ReflectTemperature, want.ReflectTopP = "small", 0.2, 0.9
	want.RequireConcreteGoals, want.AutoRefineGoals, want.CheckpointInterval, want.CheckpointDir = false, true, 10, ".points"
	if r.ReflectModel != want.ReflectModel || r.ReflectTemperature != want.ReflectTemperature || r.ReflectTopP != want.ReflectTopP ||
		r.RequireConcreteGoals || !r.AutoRefineGoals || r.CheckpointInterval != 10 || r.CheckpointDir != ".points" {
		t.Errorf("got %+v", r.Config)
	}
	if len(autonomous()) != 13 {
		t.Errorf("%d variables, want 13", len(autonomous()))
	}
	for name, e := range autonomous() {
		if !Known(e.key) {
			t.Errorf("AUTONOMOUS_%s names the unknown key %s", name, e.key)
		}
	}
}

func TestGuardrailsAreNotSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"MAX_WALL_TIME_MS", "MAX_ITERATIONS", "MAX_TOKENS", "MAX_CONSECUTIVE_ERRORS", "REFLECTION_INTERVAL", "CHECKPOINT_INTERVAL"} {
		for _, value := range []string{"0", "-1", "0.0"} {
			_, err := Resolve(FromEnv([]string{"AUTONOMOUS_" + name + "=" + value}))
			if err == nil || !strings.Contains(err.Error(), "environment AUTONOMOUS_"+name) || !strings.Contains(err.Error(), "above 0") {
				t.Errorf("%s=%s: %v, want a refusal that names it", name, value, err)
			}
		}
	}
	for _, key := range []string{"max-sessions", "max-hours", "max-tokens", "max-consecutive-errors"} {
		if _, err := Resolve(flags("mode", "continuous", key, "0")); err == nil || !strings.HasPrefix(err.Error(), key+": 0 would switch a guardrail off") {
			t.Errorf("%s 0 in continuous mode: %v", key, err)
		}
		if _, err := Resolve(flags("mode", "continuous", key, "1")); err != nil {
			t.Errorf("%s 1 in continuous mode: %v", key, err)
		}
	}
	if r, err := Resolve(flags("max-tokens", "0")); err != nil || r.MaxTokens != 0 {
		t.Errorf("max-tokens 0 in fixed mode: %d, %v, want no limit", r.MaxTokens, err)
	}
}

func TestBadGoalSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  []string
		args []string
		want string
	}{
		{[]string{"AUTONOMOUS_MODE=forever"}, nil, `mode: "forever" is none of fixed, continuous (environment AUTONOMOUS_MODE)`},
		{[]string{"AUTONOMOUS_MAX_ITERATION=3"}, nil, "AUTONOMOUS_MAX_ITERATION: unknown variable; did you mean AUTONOMOUS_MAX_ITERATIONS? (environment AUTONOMOUS_MAX_ITERATION)"},
		{[]string{"AUTONOMOUS_MAX_WALL_TIME_MS=2h"}, nil, `max-hours: "2h" is not a number (environment AUTONOMOUS_MAX_WALL_TIME_MS)`},
		{nil, []string{"reflector", "gpt"}, `reflector: "gpt" is none of auto, openai, claude, rules (flag --reflector)`},
		{nil, []string{"matrix", "loose"}, `matrix: "loose" is none of extended, strict (flag --matrix)`},
	} {
		if _, err := Resolve(FromEnv(tt.env), flags(tt.args...)); err == nil || err.Error() != tt.want {
			t.Errorf("%v %v: got %v, want %s", tt.env, tt.args, err, tt.want)
		}
	}
	if _, err := Resolve([]Value{{Key: "reflect-url", Raw: []string{"http://x"}, Origin: "autopilot.yaml:1", InRepo: true}}); err == nil {
		t.Error("a repository may say where its sessions are sent to")
	}
}

func TestVerifyIsSplitByLines(t *testing.T) {
	t.Parallel()
	r, err := Resolve(FromEnv([]string{"AUTOPILOT_VERIFY=go test -run 'A,B' ./...\nmake lint", "AUTOPILOT_VERIFY_TIMEOUT=90"}), nil)
	if err != nil || len(r.Verify) != 2 || r.Verify[0] != "go test -run 'A,B' ./..." || r.VerifyTimeout != 90*time.Second {
		t.Errorf("got %q, %v, %v", r.Verify, r.VerifyTimeout, err)
	}
}
