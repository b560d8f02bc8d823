package stream_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/stream"
)

func TestToolUses(t *testing.T) {
	t.Parallel()
	r := readRecording(t, "testdata/2.1.330/agents.txtar")
	events, _ := decode(t, stream.Limits{}, r.printed())
	var names []string
	parents := map[string]int{}
	answered := map[string]bool{}
	agents := map[string]bool{}
	for _, e := range events {
		for _, use := range e.ToolUses() {
			names = append(names, use.Name)
			parents[use.Parent]++
			if !json.Valid(use.Input) {
				t.Errorf("input of %s is %s", use.ID, use.Input)
			}
			if stream.AgentTool(use.Name) {
				agents[use.ID] = true
			}
			answered[use.ID] = false
		}
		for _, result := range e.ToolResults() {
			if _, ok := answered[result.ID]; !ok || result.IsError || result.Text == "" {
				t.Errorf("result %+v, want one without error for a call made before", result)
			}
			answered[result.ID] = true
		}
		if e.SubAgentStarted() && !agents[e.ToolUseID] {
			t.Errorf("sub-agent %s started by %q, want a call of the Agent tool", e.TaskID, e.ToolUseID)
		}
	}
	if diff := cmp.Diff([]string{"Agent", "Agent", "Bash", "Bash"}, names); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"": 2, "toolu_0001": 1, "toolu_0002": 1}, parents); diff != "" {
		t.Errorf("calls by parent (-want +got):\n%s", diff)
	}
	for id, done := range answered {
		if !done {
			t.Errorf("call %s has no result", id)
		}
	}
}

func TestAgentTool(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"Agent": true, "Task": true, "TaskCreate": false, "Bash": false, "": false, "agent": false} {
		if got := stream.AgentTool(name); got != want {
			t.Errorf("AgentTool(%q) = %v, want %v", name, got, want)
		}
	}
}

// facts lists what an event says of itself.
func facts(e *stream.Event) []string {
	var said []string
	for _, fact := range []struct {
		name string
		is   bool
	}{
		{"init", e.IsInit()},
		{"result", e.IsResult()},
		{"succeeded", e.Succeeded()},
		{"retry", e.IsRetry()},
		{"requesting", e.Requesting()},
		{"compacting", e.Compacting()},
		{"agent started", e.SubAgentStarted()},
		{"task ended", e.TaskEnded()},
	} {
		if fact.is {
			said = append(said, fact.name)
		}
	}
	return said
}

func TestFacts(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"plain":                {"init", "requesting", "result", "succeeded"},
		"interrupt-request":    {"init", "requesting"},
		"interrupt-tool":       {"init", "requesting", "result"},
		"unreachable":          {"init", "requesting", "retry", "result"},
		"limit":                {"init", "requesting", "result"},
		"compact":              {"compacting", "init", "result"},
		"resume-unknown":       {"result"},
		"agent-failed":         {"init", "requesting", "agent started", "task ended", "requesting", "result", "succeeded"},
		"background-bash":      {"init", "requesting", "requesting", "result", "succeeded", "task ended", "init", "requesting", "result", "succeeded"},
		"2.1.330/long-tool":    {"init", "requesting", "task ended", "requesting", "result", "succeeded"},
		"2.1.330/max-turns":    {"init", "requesting", "requesting", "result"},
		"2.1.330/start-failed": {"result"},
		"2.1.197/start-failed": nil,
	}
	for name, want := range tests {
		paths := []string{"testdata/" + name + ".txtar"}
		if name[0] != '2' {
			paths = []string{"testdata/2.1.197/" + name + ".txtar", "testdata/2.1.330/" + name + ".txtar"}
		}
		for _, path := range paths {
			events, _ := decode(t, stream.Limits{}, readRecording(t, path).printed())
			var got []string
			for _, e := range events {
				got = append(got, facts(&e)...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		}
	}
}

func TestSucceeded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		want bool
	}{
		{`{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed"}`, true},
		{`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"completed"}`, false},
		{`{"type":"result","subtype":"success","is_error":false,"terminal_reason":"hook_stopped"}`, false},
		{`{"type":"result","subtype":"success","is_error":false}`, false},
		{`{"type":"result","subtype":"error_max_turns","is_error":false,"terminal_reason":"completed"}`, false},
		{`{"type":"user","subtype":"success","terminal_reason":"completed"}`, false},
	}
	for _, tt := range tests {
		events, _ := decode(t, stream.Limits{}, []byte(tt.line))
		if got := events[0].Succeeded(); got != tt.want {
			t.Errorf("%s: Succeeded = %v, want %v", tt.line, got, tt.want)
		}
	}
}

func TestLimitReached(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line  string
		reset time.Time
		want  bool
	}{
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795265583}}`, time.Unix(1795265583, 0), true},
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795265583.25}}`, time.Unix(1795265584, 0), true},
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}`, time.Time{}, true},
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1795265583}}`, time.Time{}, false},
		{`{"type":"rate_limit_event"}`, time.Time{}, false},
		{`{"type":"other","rate_limit_info":{"status":"rejected","resetsAt":1795265583}}`, time.Time{}, false},
	}
	for _, tt := range tests {
		events, _ := decode(t, stream.Limits{}, []byte(tt.line))
		reset, got := events[0].LimitReached()
		if got != tt.want || !reset.Equal(tt.reset) {
			t.Errorf("%s: LimitReached = %v, %v, want %v, %v", tt.line, reset, got, tt.reset, tt.want)
		}
	}
}
