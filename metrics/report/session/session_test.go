package session_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/report/session"
)

func day(hour int) time.Time { return time.Date(2026, 11, 20, hour, 30, 0, 123_456_789, time.UTC) }

// ends are all ways in which a run can end, as in the table of the package.
func ends() []struct {
	end    session.End
	status session.Status
	reason string
} {
	const completed, failed, paused, person, cancelled = session.Completed, session.Failed, session.Paused, session.NeedsHuman, session.Cancelled
	return []struct {
		end    session.End
		status session.Status
		reason string
	}{
		{session.End{KillSwitch: "user-abort", Cause: "user-abort", ExitCode: 130}, cancelled, "user_abort"},
		{session.End{KillSwitch: "user-abort", Cause: "user-abort", ExitCode: 143}, cancelled, "user_abort"},
		{session.End{KillSwitch: "max-sessions-reached", Cause: "max-sessions-reached"}, completed, "max_iterations"},
		{session.End{KillSwitch: "max-hours-exceeded", Cause: "max-hours-exceeded"}, completed, "max_hours"},
		{session.End{KillSwitch: "token-budget-exceeded", Cause: "token-budget-exceeded", ExitCode: 6}, paused, "token_budget_exceeded"},
		{session.End{KillSwitch: "resource-overload", Cause: "resource-overload", ExitCode: 5}, paused, "resource_overload"},
		{session.End{KillSwitch: "low-confidence-fallback", Cause: "low-confidence-fallback", ExitCode: 4}, person, "low_confidence_fallback"},
		{session.End{KillSwitch: "stall-timeout", Cause: "stall-timeout", ExitCode: 3}, failed, "stall_timeout"},
		{session.End{KillSwitch: "spiral", Cause: "spiral", ExitCode: 3}, failed, "spiral"},
		{session.End{KillSwitch: "failed-wave", Cause: "failed-wave", ExitCode: 3}, failed, "failed_wave"},
		{session.End{KillSwitch: "carryover-too-high", Cause: "carryover-too-high", ExitCode: 3}, failed, "carryover_too_high"},
		{session.End{Cause: "work-done"}, completed, "work_done"},
		{session.End{Cause: "no-tasks"}, completed, "no_tasks"},
		{session.End{Cause: "manual-fallback", ExitCode: 4}, person, "manual_fallback"},
		{session.End{Cause: "needs-person", ExitCode: 4}, person, "needs_person"},
		{session.End{Cause: "given-up", ExitCode: 3}, failed, "given_up"},
		{session.End{Cause: "failed-tasks", ExitCode: 3}, failed, "failed_tasks"},
		{session.End{Cause: "no-progress", ExitCode: 3}, failed, "no_progress"},
		{session.End{Cause: "killed", ExitCode: 137}, failed, "killed"},
		{session.End{Cause: "error", ExitCode: 1}, failed, "error"},
		// The kill-switch comes before the cause, both before the exit code.
		{session.End{KillSwitch: "spiral", Cause: "work-done"}, failed, "spiral"},
		{session.End{Cause: "work-done", ExitCode: 1}, completed, "work_done"},
		{session.End{KillSwitch: "unheard-of", Cause: "given-up"}, failed, "given_up"},
		// The exit code alone.
		{session.End{}, completed, "exit_0"},
		{session.End{ExitCode: 1}, failed, "exit_1"},
		{session.End{Cause: "unheard-of", ExitCode: 2}, failed, "exit_2"},
		{session.End{ExitCode: 3}, failed, "exit_3"},
		{session.End{ExitCode: 4}, person, "exit_4"},
		{session.End{ExitCode: 5}, paused, "exit_5"},
		{session.End{ExitCode: 6}, paused, "exit_6"},
		{session.End{ExitCode: 7}, failed, "exit_7"},
		{session.End{ExitCode: 129}, cancelled, "exit_129"},
		{session.End{ExitCode: 130}, cancelled, "exit_130"},
		{session.End{ExitCode: 137}, failed, "exit_137"},
		{session.End{ExitCode: 143}, cancelled, "exit_143"},
		{session.End{ExitCode: -1}, failed, "exit_-1"},
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	waits := []session.Gate{{ID: "g", Status: "pending"}}
	for _, c := range ends() {
		v := session.Of(session.Facts{Over: true, Ended: day(23), End: c.end, Iteration: 3, Waiting: true})
		if v.Status != c.status || v.EndReason == nil || *v.EndReason != c.reason || v.EndTime == nil {
			t.Errorf("%+v: %s, want %s because %s", c.end, v.Status, c.status, c.reason)
		}
		want := c.status
		if want == session.Completed || want == session.Paused {
			want = session.NeedsHuman
		}
		if got := session.Of(session.Facts{Over: true, End: c.end, Gates: waits}).Status; got != want {
			t.Errorf("%+v while a gate waits: %s, want %s", c.end, got, want)
		}
	}
	if got := session.EndReason(session.End{Cause: "work-done"}, true); got != "completion_promise" {
		t.Errorf("the promised words were seen: %s", got)
	}
	if got := session.EndReason(session.End{Cause: "given-up"}, true); got != "given_up" {
		t.Errorf("given up behind the promised words: %s", got)
	}
}

// TestTheTableIsAllThatEnds has every kill-switch and cause that the supervisor writes
// in the table above and in the package's description of it. They are read from its
// sources, which this package does not import.
func TestTheTableIsAllThatEnds(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range ends() {
		known[c.end.KillSwitch], known[c.end.Cause] = true, true
	}
	for file, mark := range map[string]string{"../../../supervisor/killswitch/killswitch.go": "Reason = \"", "../../../supervisor/ending/ending.go": "Cause"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(source)) {
			line = strings.TrimSpace(line)
			name, value, ok := strings.Cut(line, "= \"")
			if !ok || !strings.Contains(line, mark) || mark == "Cause" && !strings.HasPrefix(name, mark) {
				continue
			}
			value, _, _ = strings.Cut(value, `"`)
			n++
			if !known[value] || !strings.Contains(string(doc), value) {
				t.Errorf("%s has %q, which the table has not", file, value)
			}
		}
		if n < 9 {
			t.Errorf("%s: found %d names", file, n)
		}
	}
}

func TestWhileItIsOn(t *testing.T) {
	t.Parallel()
	gate := func(status string) []session.Gate { return []session.Gate{{ID: "g", Status: status}} }
	for _, c := range []struct {
		name  string
		facts session.Facts
		want  session.Status
	}{
		{"before the first session", session.Facts{}, session.Initializing},
		{"in it", session.Facts{Iteration: 1}, session.Running},
		{"waits for a limit", session.Facts{Iteration: 1, Waiting: true}, session.Paused},
		{"waits before the first session", session.Facts{Waiting: true}, session.Paused},
		{"waits for a person", session.Facts{Iteration: 1, Waiting: true, Gates: gate("pending")}, session.NeedsHuman},
		{"was answered", session.Facts{Iteration: 1, Gates: gate("approved")}, session.Running},
	} {
		v := session.Of(c.facts)
		if v.Status != c.want || v.EndTime != nil || v.EndReason != nil {
			t.Errorf("%s: %s, want %s", c.name, v.Status, c.want)
		}
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	got, err := json.MarshalIndent(session.Of(session.Facts{
		RunID: "main-1", Started: day(1), LastActivity: day(2).In(time.FixedZone("X", 3600)), Iteration: 4, MaxIterations: 100, MaxHours: 24,
		Promise: "DONE", Prompt: "make it\nwork, token=abcdefgh123",
		Items:       []session.Item{{"0001-a", "done"}, {"0002-b", "in-progress"}, {"0003-c", "failed"}, {"0004-d", "skipped"}, {"0005-e", "waiting"}, {"0006-f", "needs-human"}},
		Gates:       []session.Gate{{"g1", "git push", "approved"}, {"g2", "rm", "denied"}, {"g3", "deploy", "expired"}, {"g4", "migrate", "pending"}, {"g5", "x", "pending"}, {"g6", "push", "used"}},
		Breakers:    []session.Breaker{{"azure", "half-open", 2}, {"webhook", "open", 3}},
		Checkpoints: []session.Checkpoint{{day(2), 3, 40.5}, {time.Time{}, 4, math.NaN()}},
	}), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "sessionId": "main-1",
  "status": "needs_human",
  "startTime": "2026-11-20T01:30:00.123Z",
  "endTime": null,
  "iteration": 4,
  "maxIterations": 100,
  "maxHours": 24,
  "completionPromise": "DONE",
  "originalPrompt": "make it\nwork, [redacted]",
  "incrementQueue": [
    "0005-e",
    "0006-f"
  ],
  "currentIncrement": "0002-b",
  "completedIncrements": [
    "0001-a"
  ],
  "failedIncrements": [
    "0003-c"
  ],
  "humanGates": {
    "pending": "g4: migrate",
    "approved": [
      "g1: git push",
      "g6: push"
    ],
    "denied": [
      "g2: rm",
      "g3: deploy"
    ]
  },
  "circuitBreakers": {
    "ado": {
      "state": "half_open",
      "failures": 2
    },
    "github": {
      "state": "closed",
      "failures": 0
    },
    "jira": {
      "state": "closed",
      "failures": 0
    },
    "webhook": {
      "state": "open",
      "failures": 3
    }
  },
  "checkpoints": [
    {
      "at": "2026-11-20T02:30:00.123Z",
      "iteration": 3,
      "percent": 40.5
    },
    {
      "at": null,
      "iteration": 4,
      "percent": 0
    }
  ],
  "lastActivity": "2026-11-20T02:30:00.123Z",
  "endReason": null
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingIsNull(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(session.Of(session.Facts{MaxHours: math.Inf(1), Iteration: -3, Prompt: strings.Repeat("x", 1<<20) + "\xff"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"incrementQueue":[]`, `"completedIncrements":[]`, `"failedIncrements":[]`, `"approved":[]`, `"denied":[]`, `"checkpoints":[]`, `"maxHours":0`, `"iteration":0`, `"pending":null`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if len(got) > 20_000 || !utf8.Valid(got) {
		t.Errorf("%d bytes", len(got))
	}
}
