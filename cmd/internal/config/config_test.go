package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"autopilot/supervisor/notice"

	"github.com/google/go-cmp/cmp"
)

// flags makes a layer as the command line gives it.
func flags(pairs ...string) []Value {
	var out []Value
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, Value{Key: pairs[i], Raw: []string{pairs[i+1]}, Origin: "flag --" + pairs[i]})
	}
	return out
}

func resolve(t *testing.T, layers ...[]Value) Resolved {
	t.Helper()
	r, err := Resolve(layers...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func setting(t *testing.T, r Resolved, key string) Setting {
	t.Helper()
	i := slices.IndexFunc(r.Settings, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		t.Fatalf("%s is not among the settings", key)
	}
	return r.Settings[i]
}

func defaults() Config {
	return Config{
		Mode: ModeFixed, MaxErrors: 1, Reflector: ReflectorAuto, ReflectTemperature: 0.7, ReflectTopP: 0.6, ReflectTimeout: 2 * time.Minute,
		Matrix: MatrixExtended, RequireConcreteGoals: true, VerifyTimeout: 10 * time.Minute, CheckpointInterval: 1,
		TaskSources: []string{"team-tasks", "swarm-tasks", "file-checklist"}, TaskFiles: []string{"PLAN.md", "TODO.md"}, EpisodesKept: 10000,
		MaxSessions: 5, MaxHours: 4, ConfidenceThreshold: 0.85, StallTimeout: 10 * time.Minute, ToolStallTimeout: 30 * time.Minute,
		ExitGrace: time.Minute, LimitMargin: time.Minute, BackoffInitial: 30 * time.Second, BackoffMax: 10 * time.Minute,
		ProbeInterval: 15 * time.Second, PeerAbort: 6, CarryoverThreshold: 0.5, AgentsPerWave: 6, Claude: "claude",
		PermissionMode: "acceptEdits", Source: "auto", LifecycleSteps: []string{"/session {mode}", "/go", "/close"},
		MetricsDir: ".orchestrator/metrics", LogFormat: "auto", Persistence: true,
		TDD: tddDefaults(), Night: nightDefaults(),
		Stories: Stories{
			Max: 3, Authors: "collaborators", Isolation: "worktree", Base: "local", Draft: "off", Conflict: "refuse", Floor: 0.5, Decay: true, HalfLife: 90, DecayFloor: 0.1,
		},
		Notify: Notify{Events: notice.Kinds(), Interval: 5 * time.Minute, Hourly: 20}, Telemetry: Telemetry{Interval: time.Minute},
		Keep: Keep{Days: 30, Runs: 20, CompressAfter: 7 * 24 * time.Hour},
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	r := resolve(t)
	if diff := cmp.Diff(defaults(), r.Config); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if r.Notes != nil {
		t.Errorf("notes %q, want none", r.Notes)
	}
	for _, s := range r.Settings {
		if s.Origin != "default" || s.Note != "" {
			t.Errorf("%+v, want a default without a note", s)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	want := [][4]string{
		{"mode", "fixed", "fixed, continuous", "AUTOPILOT_MODE"},
		{"max-sessions", "5", "1..50; in continuous mode 1..1000", "AUTOPILOT_MAX_SESSIONS"},
		{"max-hours", "4.0", "0.5..24; in continuous mode 0.0001..720", "AUTOPILOT_MAX_HOURS"},
		{"confidence-threshold", "0.85", "0..1", "AUTOPILOT_CONFIDENCE_THRESHOLD"},
		{"max-tokens", "0", "0 or more", "AUTOPILOT_MAX_TOKENS"},
		{"max-cost-usd", "0", "0 or more", "AUTOPILOT_MAX_COST_USD"},
		{"max-consecutive-errors", "1", "1..100", "AUTOPILOT_MAX_CONSECUTIVE_ERRORS"},
		{"peer-abort", "6", "0..1000", "AUTOPILOT_PEER_ABORT"},
		{"carryover-threshold", "0.5", "0..1", "AUTOPILOT_CARRYOVER_THRESHOLD"},
		{"agents-per-wave", "6", "0..100", "AUTOPILOT_AGENTS_PER_WAVE"},
		{"stall-timeout", "600s", "1s..24h", "AUTOPILOT_STALL_TIMEOUT"},
		{"tool-stall-timeout", "30m", "1s..24h", "AUTOPILOT_TOOL_STALL_TIMEOUT"},
		{"session-timeout", "0s", "0s..24h", "AUTOPILOT_SESSION_TIMEOUT"},
		{"exit-grace", "60s", "1s..1h", "AUTOPILOT_EXIT_GRACE"},
		{"limit-margin", "60s", "0s..1h", "AUTOPILOT_LIMIT_MARGIN"},
		{"backoff-initial", "30s", "1ms..1h", "AUTOPILOT_BACKOFF_INITIAL"},
		{"backoff-max", "10m", "1ms..6h", "AUTOPILOT_BACKOFF_MAX"},
		{"probe-interval", "15s", "100ms..1h", "AUTOPILOT_PROBE_INTERVAL"},
		{"claude", "claude", "", "AUTOPILOT_CLAUDE"},
		{"model", "", "", "AUTOPILOT_MODEL"},
		{"permission-mode", "acceptEdits", "acceptEdits, auto, bypassPermissions, default, dontAsk, plan", "AUTOPILOT_PERMISSION_MODE"},
		{"allowed-tools", "", "", "AUTOPILOT_ALLOWED_TOOLS"},
		{"source", "auto", "auto, lifecycle, goal, tasks, tdd, queue", "AUTOPILOT_SOURCE"},
		{"lifecycle-steps", "/session {mode}, /go, /close", "", "AUTOPILOT_LIFECYCLE_STEPS"},
		{"use-api-key", "false", "", "AUTOPILOT_USE_API_KEY"},
		{"require-concrete-goals", "true", "", "AUTOPILOT_REQUIRE_CONCRETE_GOALS"},
		{"auto-refine-goals", "false", "", "AUTOPILOT_AUTO_REFINE_GOALS"},
		{"proceed-with-time-limit", "false", "", "AUTOPILOT_PROCEED_WITH_TIME_LIMIT"},
		{"verify", "", "", "AUTOPILOT_VERIFY"},
		{"expect-file", "", "", "AUTOPILOT_EXPECT_FILE"},
		{"verify-timeout", "10m", "1s..6h", "AUTOPILOT_VERIFY_TIMEOUT"},
		{"checkpoint-interval", "1", "1..1000", "AUTOPILOT_CHECKPOINT_INTERVAL"},
		{"checkpoint-dir", "", "", "AUTOPILOT_CHECKPOINT_DIR"},
		{"reflect-every", "0", "0..100", "AUTOPILOT_REFLECT_EVERY"},
		{"reflector", "auto", "auto, openai, claude, rules", "AUTOPILOT_REFLECTOR"},
		{"reflect-model", "", "", "AUTOPILOT_REFLECT_MODEL"},
		{"reflect-url", "", "", "AUTOPILOT_REFLECT_URL"},
		{"reflect-temperature", "0.7", "0..2", "AUTOPILOT_REFLECT_TEMPERATURE"},
		{"reflect-top-p", "0.6", "0..1", "AUTOPILOT_REFLECT_TOP_P"},
		{"reflect-timeout", "2m", "1s..1h", "AUTOPILOT_REFLECT_TIMEOUT"},
		{"matrix", "extended", "extended, strict", "AUTOPILOT_MATRIX"},
		{"task-sources", "team-tasks, swarm-tasks, file-checklist", "", "AUTOPILOT_TASK_SOURCES"},
		{"task-files", "PLAN.md, TODO.md", "", "AUTOPILOT_TASK_FILES"},
		{"task-list", "", "", "AUTOPILOT_TASK_LIST"},
		{"task", "", "", "AUTOPILOT_TASK"},
		{"task-tag", "", "", "AUTOPILOT_TASK_TAG"},
		{"no-mcp", "false", "", "AUTOPILOT_NO_MCP"},
		{"no-learning", "false", "", "AUTOPILOT_NO_LEARNING"},
		{"episodes-kept", "10000", "100..1000000", "AUTOPILOT_EPISODES_KEPT"},
		{"increments", "", "", "AUTOPILOT_INCREMENTS"},
		{"all-backlog", "false", "", "AUTOPILOT_ALL_BACKLOG"},
		{"max-active", "3", "0..100", "AUTOPILOT_MAX_ACTIVE"},
		{"completion-promise", "", "", "AUTOPILOT_COMPLETION_PROMISE"},
		{"enabled", "true", "", "AUTOPILOT_ENABLED"},
		{"human-gates", "true", "", "AUTOPILOT_HUMAN_GATES"},
		{"gate", "", "", "AUTOPILOT_GATE"},
		{"pre-approve", "", "", "AUTOPILOT_PRE_APPROVE"},
		{"gate-timeout", "30m", "1s..168h", "AUTOPILOT_GATE_TIMEOUT"},
		{"test-gate", "auto", "auto, on, off", "AUTOPILOT_TEST_GATE"},
		{"integration-command", "", "", "AUTOPILOT_INTEGRATION_COMMAND"},
		{"end-to-end-command", "", "", "AUTOPILOT_END_TO_END_COMMAND"},
		{"sync", "", "", "AUTOPILOT_SYNC"},
		{"sync-interval", "300s", "1s..24h", "AUTOPILOT_SYNC_INTERVAL"},
		{"breaker-threshold", "3", "1..100", "AUTOPILOT_BREAKER_THRESHOLD"},
		{"breaker-reset", "5m", "1s..24h", "AUTOPILOT_BREAKER_RESET"},
		{"multi-story", "false", "", "AUTOPILOT_MULTI_STORY"},
		{"max-stories", "3", "1..10", "AUTOPILOT_MAX_STORIES"},
		{"stories", "", "", "AUTOPILOT_STORIES"},
		{"issues", "", "", "AUTOPILOT_ISSUES"},
		{"issue-authors", "collaborators", "collaborators, anyone", "AUTOPILOT_ISSUE_AUTHORS"},
		{"bg-isolation", "worktree", "worktree, none", "AUTOPILOT_BG_ISOLATION"},
		{"deconflict-paths", "", "", "AUTOPILOT_DECONFLICT_PATHS"},
		{"story-base", "local", "local, remote", "AUTOPILOT_STORY_BASE"},
		{"worktree-dir", "", "", "AUTOPILOT_WORKTREE_DIR"},
		{"story-setup", "", "", "AUTOPILOT_STORY_SETUP"},
		{"draft-pr", "off", "off, on-start, on-green", "AUTOPILOT_DRAFT_PR"},
		{"on-conflict", "refuse", "refuse, wait, worktree", "AUTOPILOT_ON_CONFLICT"},
		{"no-suitability", "false", "", "AUTOPILOT_NO_SUITABILITY"},
		{"learning-decay", "true", "", "AUTOPILOT_LEARNING_DECAY"},
		{"learning-half-life", "90", "0.01..10000", "AUTOPILOT_LEARNING_HALF_LIFE"},
		{"learning-decay-floor", "0.1", "0..1", "AUTOPILOT_LEARNING_DECAY_FLOOR"},
		{"autonomy", "", "", "AUTOPILOT_AUTONOMY"},
		{"confidence-floor", "0.5", "0..1", "AUTOPILOT_CONFIDENCE_FLOOR"},
		{"tdd", "true", "", "AUTOPILOT_TDD"},
		{"clean-tree", "true", "", "AUTOPILOT_CLEAN_TREE"},
		{"commit-template", "{type}({scope}): {msg} (task {taskId})", "", "AUTOPILOT_COMMIT_TEMPLATE"},
		{"commit-type", "feat", "feat, fix, test, refactor, docs, chore", "AUTOPILOT_COMMIT_TYPE"},
		{"max-attempts", "3", "1..100", "AUTOPILOT_MAX_ATTEMPTS"},
		{"test-command", "auto", "", "AUTOPILOT_TEST_COMMAND"},
		{"test-runner", "auto", "auto, go, jest, vitest, node, pytest, cargo, tap, exit", "AUTOPILOT_TEST_RUNNER"},
		{"test-timeout", "5m", "1s..6h", "AUTOPILOT_TEST_TIMEOUT"},
		{"test-pattern", "", "", "AUTOPILOT_TEST_PATTERN"},
		{"coverage-lines", "0", "0..100", "AUTOPILOT_COVERAGE_LINES"},
		{"coverage-branches", "0", "0..100", "AUTOPILOT_COVERAGE_BRANCHES"},
		{"coverage-functions", "0", "0..100", "AUTOPILOT_COVERAGE_FUNCTIONS"},
		{"coverage-statements", "0", "0..100", "AUTOPILOT_COVERAGE_STATEMENTS"},
		{"branch-pattern", "{tag}/task-{id}-{slug}", "", "AUTOPILOT_BRANCH_PATTERN"},
		{"remote", "origin", "", "AUTOPILOT_REMOTE"},
		{"already-implemented", "false", "", "AUTOPILOT_ALREADY_IMPLEMENTED"},
		{"tdd-storage", "", "", "AUTOPILOT_TDD_STORAGE"},
		{"metrics-dir", ".orchestrator/metrics", "", "AUTOPILOT_METRICS_DIR"},
		{"log-format", "auto", "auto, text, json", "AUTOPILOT_LOG_FORMAT"},
		{"persistence", "true", "", "AUTOPILOT_PERSISTENCE"},
		{"until", "", "", "AUTOPILOT_UNTIL"},
		{"inhibit-sleep", "false", "", "AUTOPILOT_INHIBIT_SLEEP"},
		{"notify", "", "", "AUTOPILOT_NOTIFY"},
		{"notify-events", "needs-person, kill-switch, not-started, finished, budget, limit-reached, limit-over", "", "AUTOPILOT_NOTIFY_EVENTS"},
		{"notify-interval", "5m", "0s..24h", "AUTOPILOT_NOTIFY_INTERVAL"},
		{"notify-hourly", "20", "0..1000", "AUTOPILOT_NOTIFY_HOURLY"},
		{"metrics-textfile", "", "", "AUTOPILOT_METRICS_TEXTFILE"},
		{"otlp-endpoint", "", "", "AUTOPILOT_OTLP_ENDPOINT"},
		{"otlp-interval", "60s", "1s..1h", "AUTOPILOT_OTLP_INTERVAL"},
		{"keep-days", "30", "0..36500", "AUTOPILOT_KEEP_DAYS"},
		{"keep-runs", "20", "0..1000000", "AUTOPILOT_KEEP_RUNS"},
		{"compress-after", "7d", "0s or more, or never", "AUTOPILOT_COMPRESS_AFTER"},
	}
	var got [][4]string
	for _, o := range Options() {
		got = append(got, [4]string{o.Key, o.Default, o.Bounds, o.Env()})
		if o.Help == "" {
			t.Errorf("%s has no help", o.Key)
		}
		if !Known(o.Key) {
			t.Errorf("%s is not known", o.Key)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if Known(agentsPerWaveByMode) || Known("") {
		t.Error("an internal key is known as an option")
	}
}

// numberCase is an input of a number: what holds then, with which note, or the
// refusal.
type numberCase struct{ raw, value, note, err string }

func refused() []numberCase {
	var out []numberCase
	for _, raw := range []string{"", "abc", "NaN", "nan", "Inf", "-Inf", "+inf", "infinity", "0x10", "0X10", "1_000", "0x1p3", "5 6", "5s", "1e", "1,5", "--5"} {
		out = append(out, numberCase{raw: raw, err: fmt.Sprintf("%q is not a number", raw)})
	}
	return out
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	tests := map[string][]numberCase{
		"max-sessions": {
			{"1", "1", "", ""},
			{"50", "50", "", ""},
			{" 7 ", " 7 ", "", ""},
			{"+7", "+7", "", ""},
			{"1e1", "1e1", "", ""},
			{"7.0", "7.0", "", ""},
			{"0", "1", "0 is below 1, using 1", ""},
			{"51", "50", "51 is above 50, using 50", ""},
			{"-3", "1", "-3 is below 1, using 1", ""},
			{"1e9", "50", "1e9 is above 50, using 50", ""},
			{"2.7", "2", "2.7 is rounded down to 2", ""},
			{"0.9", "1", "0.9 is below 1, using 1", ""},
			{"50.7", "50", "50.7 is rounded down to 50", ""},
			{"1e400", "50", "1e400 is above 50, using 50", ""},
			{"-1e400", "1", "-1e400 is below 1, using 1", ""},
		},
		"max-hours": {
			{"0.5", "0.5", "", ""},
			{"24", "24", "", ""},
			{"2.7", "2.7", "", ""},
			{"1e1", "1e1", "", ""},
			{".75", ".75", "", ""},
			{"0", "0.5", "0 is outside 0.5..24, using 0.5", ""},
			{"51", "24", "51 is outside 0.5..24, using 24", ""},
			{"-3", "0.5", "-3 is outside 0.5..24, using 0.5", ""},
			{"1e9", "24", "1e9 is outside 0.5..24, using 24", ""},
			{"0.4999", "0.5", "0.4999 is outside 0.5..24, using 0.5", ""},
			{"1e400", "24", "1e400 is outside 0.5..24, using 24", ""},
		},
		"confidence-threshold": {
			{"0", "0", "", ""}, {"1", "1", "", ""}, {"0.5", "0.5", "", ""}, {"2.7", "1", "2.7 is outside 0..1, using 1", ""}, {"-3", "0", "-3 is outside 0..1, using 0", ""},
		},
		"carryover-threshold": {
			{"0", "0", "", ""}, {"1", "1", "", ""}, {"1.01", "1", "1.01 is outside 0..1, using 1", ""}, {"-0.1", "0", "-0.1 is outside 0..1, using 0", ""},
		},
		"max-tokens": {
			{"0", "0", "", ""},
			{"500000", "500000", "", ""},
			{"1e9", "1e9", "", ""},
			{"-3", "", "", "-3 would mean no limit; write 0 if that is meant"},
			{"0.5", "", "", "0.5 would mean no limit; write 0 if that is meant"},
			{"2.7", "2", "2.7 is rounded down to 2", ""},
			{"1e30", "9223372036854775807", "1e30 is above 9223372036854775807, using 9223372036854775807", ""},
		},
		"max-cost-usd": {
			{"0", "0", "", ""}, {"2.7", "2.7", "", ""}, {"1e9", "1e9", "", ""}, {"-3", "", "", "-3 would mean no limit; write 0 if that is meant"},
		},
		"peer-abort": {
			{"0", "0", "", ""}, {"1000", "1000", "", ""}, {"1001", "1000", "1001 is above 1000, using 1000", ""}, {"-3", "0", "-3 is below 0, using 0", ""}, {"2.7", "2", "2.7 is rounded down to 2", ""},
		},
		"agents-per-wave": {
			{"0", "0", "", ""}, {"100", "100", "", ""}, {"101", "100", "101 is above 100, using 100", ""}, {"-3", "0", "-3 is below 0, using 0", ""}, {"2.7", "2", "2.7 is rounded down to 2", ""},
		},
	}
	held := map[string]func(Config) float64{
		"max-sessions": func(c Config) float64 { return float64(c.MaxSessions) }, "max-hours": func(c Config) float64 { return c.MaxHours },
		"confidence-threshold": func(c Config) float64 { return c.ConfidenceThreshold }, "carryover-threshold": func(c Config) float64 { return c.CarryoverThreshold },
		"max-tokens": func(c Config) float64 { return float64(c.MaxTokens) }, "max-cost-usd": func(c Config) float64 { return c.MaxCostUSD },
		"peer-abort": func(c Config) float64 { return float64(c.PeerAbort) }, "agents-per-wave": func(c Config) float64 { return float64(c.AgentsPerWave) },
	}
	for key, cases := range tests {
		for _, tt := range append(cases, refused()...) {
			t.Run(key+"="+tt.raw, func(t *testing.T) {
				t.Parallel()
				r, err := Resolve(flags(key, tt.raw))
				if tt.err != "" {
					if want := fmt.Sprintf("%s: %s (flag --%s)", key, tt.err, key); err == nil || err.Error() != want {
						t.Errorf("got %v, want %s", err, want)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				want := Setting{Key: key, Value: tt.value, Origin: "flag --" + key, Note: tt.note}
				if diff := cmp.Diff(want, setting(t, r, key)); diff != "" {
					t.Errorf("setting (-want +got):\n%s", diff)
				}
				if v, err := parseNumber(strings.TrimSpace(tt.value)); err != nil || held[key](r.Config) != v {
					t.Errorf("the configuration holds %v, the setting says %v, %v", held[key](r.Config), v, err)
				}
				var notes []string
				if tt.note != "" {
					notes = []string{fmt.Sprintf("%s: %s (flag --%s)", key, tt.note, key)}
				}
				if diff := cmp.Diff(notes, r.Notes); diff != "" {
					t.Errorf("notes (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		key, raw string
		want     time.Duration
		note     string
	}{
		{"stall-timeout", "90s", 90 * time.Second, ""},
		{"stall-timeout", "1h30m", 90 * time.Minute, ""},
		{"stall-timeout", "600", 10 * time.Minute, ""},
		{"stall-timeout", "2.7", 2700 * time.Millisecond, ""},
		{"stall-timeout", "1e1", 10 * time.Second, ""},
		{"stall-timeout", "1s", time.Second, ""},
		{"stall-timeout", "24h", 24 * time.Hour, ""},
		{"stall-timeout", "0", time.Second, "0 is outside 1s..24h, using 1s"},
		{"stall-timeout", "-3", time.Second, "-3 is outside 1s..24h, using 1s"},
		{"stall-timeout", "999ms", time.Second, "999ms is outside 1s..24h, using 1s"},
		{"stall-timeout", "25h", 24 * time.Hour, "25h is outside 1s..24h, using 24h"},
		{"stall-timeout", "1e9", 24 * time.Hour, "1e9 is outside 1s..24h, using 24h"},
		{"stall-timeout", "1e300", 24 * time.Hour, "1e300 is outside 1s..24h, using 24h"},
		{"stall-timeout", "-1e300", time.Second, "-1e300 is outside 1s..24h, using 1s"},
		{"tool-stall-timeout", "2h", 2 * time.Hour, ""},
		{"session-timeout", "0", 0, ""},
		{"session-timeout", "3h", 3 * time.Hour, ""},
		{"exit-grace", "2h", time.Hour, "2h is outside 1s..1h, using 1h"},
		{"limit-margin", "0s", 0, ""},
		{"backoff-initial", "1us", time.Millisecond, "1us is outside 1ms..1h, using 1ms"},
		{"backoff-max", "7h", 6 * time.Hour, "7h is outside 1ms..6h, using 6h"},
		{"probe-interval", "0", 100 * time.Millisecond, "0 is outside 100ms..1h, using 100ms"},
	}
	held := map[string]func(Config) time.Duration{
		"stall-timeout": func(c Config) time.Duration { return c.StallTimeout }, "tool-stall-timeout": func(c Config) time.Duration { return c.ToolStallTimeout },
		"session-timeout": func(c Config) time.Duration { return c.SessionTimeout }, "exit-grace": func(c Config) time.Duration { return c.ExitGrace },
		"limit-margin": func(c Config) time.Duration { return c.LimitMargin }, "backoff-initial": func(c Config) time.Duration { return c.BackoffInitial },
		"backoff-max": func(c Config) time.Duration { return c.BackoffMax }, "probe-interval": func(c Config) time.Duration { return c.ProbeInterval },
	}
	for _, tt := range tests {
		t.Run(tt.key+"="+tt.raw, func(t *testing.T) {
			t.Parallel()
			r := resolve(t, flags(tt.key, tt.raw))
			if got := held[tt.key](r.Config); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			if got := setting(t, r, tt.key).Note; got != tt.note {
				t.Errorf("note %q, want %q", got, tt.note)
			}
		})
	}
	if _, err := Resolve(flags("session-timeout", "-3s")); err == nil || !strings.Contains(err.Error(), "-3s would mean no limit") {
		t.Errorf("session-timeout=-3s: %v, want a refusal", err)
	}
	for key := range held {
		for _, raw := range []string{"", "abc", "NaN", "Inf", "0x10", "1_000", "10 m", "5x"} {
			_, err := Resolve(flags(key, raw))
			want := fmt.Sprintf("%s: %q is not a duration such as 90s, 10m or 1h30m (flag --%s)", key, raw, key)
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		key string
		raw []string
		get func(Config) any
		ok  any    // what holds
		err string // or the refusal
	}{
		{"claude", []string{" /opt/claude "}, func(c Config) any { return c.Claude }, "/opt/claude", ""},
		{"claude", []string{""}, nil, nil, "is empty"},
		{"claude", []string{"a", "b"}, nil, nil, "takes one value, got 2"},
		{"model", []string{""}, func(c Config) any { return c.Model }, "", ""},
		{"model", []string{"opus"}, func(c Config) any { return c.Model }, "opus", ""},
		{"metrics-dir", []string{" "}, nil, nil, "is empty"},
		{"metrics-dir", []string{"/var/m"}, func(c Config) any { return c.MetricsDir }, "/var/m", ""},
		{"permission-mode", []string{"bypassPermissions"}, func(c Config) any { return c.PermissionMode }, "bypassPermissions", ""},
		{"permission-mode", []string{"manual"}, nil, nil, `"manual" is none of acceptEdits, auto, bypassPermissions, default, dontAsk, plan`},
		{"permission-mode", []string{"AcceptEdits"}, nil, nil, `"AcceptEdits" is none of acceptEdits, auto, bypassPermissions, default, dontAsk, plan`},
		{"source", []string{"lifecycle"}, func(c Config) any { return c.Source }, "lifecycle", ""},
		{"source", []string{"queues"}, nil, nil, `"queues" is none of auto, lifecycle, goal, tasks, tdd, queue`},
		{"log-format", []string{"json"}, func(c Config) any { return c.LogFormat }, "json", ""},
		{"log-format", []string{"xml"}, nil, nil, `"xml" is none of auto, text, json`},
		{"persistence", []string{"False"}, func(c Config) any { return c.Persistence }, false, ""},
		{"persistence", []string{"0"}, func(c Config) any { return c.Persistence }, false, ""},
		{"persistence", []string{"no"}, nil, nil, `"no" is neither true nor false`},
		{"persistence", []string{""}, nil, nil, `"" is neither true nor false`},
		{"use-api-key", []string{"tRUE"}, func(c Config) any { return c.UseAPIKey }, true, ""},
		{"use-api-key", []string{"2"}, nil, nil, `"2" is neither true nor false`},
		{"allowed-tools", []string{"Bash(git log:*)", " ", "Read "}, func(c Config) any { return c.AllowedTools }, []string{"Bash(git log:*)", "Read"}, ""},
		{"allowed-tools", []string{""}, func(c Config) any { return c.AllowedTools }, []string(nil), ""},
		{"lifecycle-steps", []string{" /session deep"}, func(c Config) any { return c.LifecycleSteps }, []string{"/session deep"}, ""},
		{"lifecycle-steps", []string{""}, nil, nil, "is empty"},
		{"lifecycle-steps", nil, nil, nil, "is empty"},
		{"max-sessions", []string{"3", "4"}, nil, nil, "takes one value, got 2"},
		{"max-sessions", nil, nil, nil, "takes one value, got 0"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.key, tt.raw), func(t *testing.T) {
			t.Parallel()
			r, err := Resolve([]Value{{Key: tt.key, Raw: tt.raw, Origin: "here"}})
			if tt.err != "" {
				if want := fmt.Sprintf("%s: %s (here)", tt.key, tt.err); err == nil || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.ok, tt.get(r.Config)); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

// sixLayers sets max-sessions to its number in each layer but the defaults.
func sixLayers(t *testing.T) [][]Value {
	t.Helper()
	user, err := ParseFile("/home/u/.config/autopilot/config.yaml", []byte("max-sessions: 11\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	session, _ := ParseSessionConfig("CLAUDE.md", []byte("## Session Config\nautopilot:\n  max-sessions: 12\n"))
	repo, err := ParseFile("autopilot.yaml", []byte("model: opus\nmax-sessions: 13\n"), true)
	if err != nil {
		t.Fatal(err)
	}
	return [][]Value{user, session, repo, FromEnv([]string{"AUTOPILOT_MAX_SESSIONS=14"}), flags("max-sessions", "15")}
}

// TestPrecedence takes every subset of the layers: the last one that is there
// decides, and is named as the origin.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	origins := []string{"/home/u/.config/autopilot/config.yaml:1", "CLAUDE.md:3 Session Config", "autopilot.yaml:2", "environment AUTOPILOT_MAX_SESSIONS", "flag --max-sessions"}
	all := sixLayers(t)
	for subset := range 1 << len(all) {
		layers := make([][]Value, len(all))
		want, origin := 5, "default"
		for i := range all {
			if subset>>i&1 == 1 {
				layers[i], want, origin = all[i], 11+i, origins[i]
			}
		}
		r := resolve(t, layers...)
		if got := setting(t, r, "max-sessions"); r.MaxSessions != want || got.Origin != origin {
			t.Errorf("layers %05b: got %d from %q, want %d from %q", subset, r.MaxSessions, got.Origin, want, origin)
		}
		if r.MaxHours != 4 {
			t.Errorf("layers %05b changed max-hours to %v", subset, r.MaxHours)
		}
	}
}

// TestPrecedenceOfAgents: the number of a later layer also replaces the
// overrides by mode that stood behind an earlier one.
func TestPrecedenceOfAgents(t *testing.T) {
	t.Parallel()
	session, _ := ParseSessionConfig("CLAUDE.md", []byte("## Session Config\nagents-per-wave: 6 (deep: 18, feature: 4)\n"))
	tests := []struct {
		name   string
		layers [][]Value
		want   [3]int // deep, feature, housekeeping
		value  string
	}{
		{"alone", [][]Value{session}, [3]int{18, 4, 6}, "6 (deep: 18, feature: 4)"},
		{"under the repository", [][]Value{session, {{Key: "agents-per-wave", Raw: []string{"3"}, InRepo: true}}}, [3]int{3, 3, 3}, "3"},
		{"under the environment", [][]Value{session, nil, FromEnv([]string{"AUTOPILOT_AGENTS_PER_WAVE=2"})}, [3]int{2, 2, 2}, "2"},
		{"under a flag", [][]Value{session, nil, nil, flags("agents-per-wave", "1")}, [3]int{1, 1, 1}, "1"},
		{"over the person's file", [][]Value{flags("agents-per-wave", "1"), session}, [3]int{18, 4, 6}, "6 (deep: 18, feature: 4)"},
		{"none", nil, [3]int{6, 6, 6}, "6"},
	}
	for _, tt := range tests {
		r := resolve(t, tt.layers...)
		if got := [3]int{r.AgentsFor("deep"), r.AgentsFor("feature"), r.AgentsFor("housekeeping")}; got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
		if got := setting(t, r, "agents-per-wave").Value; got != tt.value {
			t.Errorf("%s: shown as %q, want %q", tt.name, got, tt.value)
		}
	}
}

func TestUnknownKeyInEveryLayer(t *testing.T) {
	t.Parallel()
	user, err1 := ParseFile("config.yaml", []byte("max-sesions: 3\n"), false)
	repo, err2 := ParseFile("autopilot.yaml", []byte("\nstall_timeout: 3\n"), true)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	session, _ := ParseSessionConfig("AGENTS.md", []byte("## Session Config\nautopilot:\n  carryover: 3\n"))
	_, err := Resolve(user, session, repo, FromEnv([]string{"AUTOPILOT_MAX_HOUR=3", "AUTOPILOT_=1"}), flags("modle", "x", "zzzzzzzz", "1"))
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"max-sesions: unknown key (config.yaml:1); did you mean max-sessions?",
		"carryover: unknown key (AGENTS.md:3 Session Config); 'autopilot config' lists them",
		"stall_timeout: unknown key (autopilot.yaml:2); did you mean stall-timeout?",
		"max-hour: unknown key (environment AUTOPILOT_MAX_HOUR); did you mean max-hours?",
		": unknown key (environment AUTOPILOT_); 'autopilot config' lists them",
		"modle: unknown key (flag --modle); did you mean model?",
		"zzzzzzzz: unknown key (flag --zzzzzzzz); 'autopilot config' lists them",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Resolve(flags("max-sessions", "abc", "nope-at-all", "1"), []Value{{Key: "max-hours", Raw: []string{"x"}, Origin: "a.yaml:2"}, {Key: "claude", Raw: []string{"x"}, Origin: "a.yaml:3", InRepo: true}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`max-sessions: "abc" is not a number (flag --max-sessions)`, "nope-at-all: unknown key", `max-hours: "x" is not a number (a.yaml:2)`, "claude: may not be set to this by a repository (a.yaml:3)"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

func TestRepositoryMayNot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ line, key string }{
		{"claude: ./evil", "claude"},
		{"use-api-key: true", "use-api-key"},
		{"use-api-key: false", "use-api-key"},
		{"permission-mode: bypassPermissions", "permission-mode"},
		{`permission-mode: " bypassPermissions "`, "permission-mode"},
		{"permission-mode: [bypassPermissions]", "permission-mode"},
		{"permission-mode: [plan, bypassPermissions]", "permission-mode"},
		{"permission-mode: |\n    bypassPermissions", "permission-mode"},
	} {
		repo, err := ParseFile("autopilot.yaml", []byte(tt.line+"\n"), true)
		if err != nil {
			t.Fatal(err)
		}
		session, found := ParseSessionConfig("CLAUDE.md", []byte("## Session Config\nautopilot:\n  "+tt.line+"\n"))
		if !found {
			t.Fatal("no section")
		}
		own, err := ParseFile("config.yaml", []byte(tt.line+"\n"), false)
		if err != nil {
			t.Fatal(err)
		}
		want := tt.key + ": may not be set to this by a repository (%s); use a flag, AUTOPILOT_" + strings.ToUpper(strings.ReplaceAll(tt.key, "-", "_")) + " or your own config.yaml"
		over := flags(tt.key, map[string]string{"claude": "claude", "use-api-key": "true", "permission-mode": "plan"}[tt.key])
		for origin, layer := range map[string][]Value{"autopilot.yaml:1": repo, "CLAUDE.md:3 Session Config": session} {
			if strings.ContainsAny(tt.line, "[|") && strings.HasPrefix(origin, "CLAUDE") {
				continue // no such form there
			}
			for _, layers := range [][][]Value{{layer}, {layer, over}} {
				if _, err := Resolve(layers...); err == nil || err.Error() != fmt.Sprintf(want, origin) {
					t.Errorf("%q: got %v, want %s", tt.line, err, fmt.Sprintf(want, origin))
				}
			}
		}
		if _, err := Resolve(own); err != nil && !strings.Contains(tt.line, "[plan") {
			t.Errorf("%q in the person's own file: %v", tt.line, err)
		}
	}
	// A bypass may be taken back by the repository, and other modes are its to choose.
	repo, err := ParseFile("autopilot.yaml", []byte("permission-mode: plan\n"), true)
	if err != nil {
		t.Fatal(err)
	}
	if r := resolve(t, flags("permission-mode", "bypassPermissions"), repo); r.PermissionMode != "plan" {
		t.Errorf("got %s, want plan", r.PermissionMode)
	}
}
