package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/launch"
)

func TestFromEnv(t *testing.T) {
	t.Parallel()
	got := FromEnv([]string{
		"PATH=/bin", "AUTOPILOT_RUN_ID=run", "AUTOPILOT_SESSION_ID=id", "AUTOPILOT_MODEL=", "AUTOPILOT_MAX_HOURS=2", "AUTOPILOT_ALLOWED_TOOLS=Read, Bash(a=b) ,,",
		"AUTOPILOT_USE_API_KEY=true", "XAUTOPILOT_MODEL=x", "AUTOPILOT_NO_EQUALS", "AUTOPILOT_PEER_ABORT=1=2",
	})
	want := []Value{
		{Key: "max-hours", Raw: []string{"2"}, Origin: "environment AUTOPILOT_MAX_HOURS"},
		{Key: "allowed-tools", Raw: []string{"Read", "Bash(a=b)"}, Origin: "environment AUTOPILOT_ALLOWED_TOOLS"},
		{Key: "use-api-key", Raw: []string{"true"}, Origin: "environment AUTOPILOT_USE_API_KEY"},
		{Key: "peer-abort", Raw: []string{"1=2"}, Origin: "environment AUTOPILOT_PEER_ABORT"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	// What a session's environment carries must not be taken for a typing mistake.
	if got := FromEnv([]string{launch.RunVar + "=r", launch.TokenVar + "=t", launch.SessionVar + "=s"}); got != nil {
		t.Errorf("variables handed down to sessions are read as options: %+v", got)
	}
	if got := FromEnv([]string{launch.CapVar + "=2"}); len(got) != 1 || got[0].Key != agentsPerWave {
		t.Errorf("%s: got %+v, want the option", launch.CapVar, got)
	}
	for _, o := range Options() {
		if got := FromEnv([]string{o.Env() + "=1"}); len(got) != 1 || got[0].Key != o.Key {
			t.Errorf("%s: got %+v", o.Env(), got)
		}
	}
}
