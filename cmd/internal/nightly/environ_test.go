package nightly_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/nightly"
	"autopilot/cmd/internal/outside"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	here := []string{
		"PATH=/usr/bin:/bin", "HOME=/home/someone", "LANG=C.UTF-8", "XDG_STATE_HOME=/home/someone/state", "TERM=xterm", "PWD=/srv/app", "EMPTY=", "TMPDIR=",
		"SSH_AUTH_SOCK=/run/agent", "XDG_RUNTIME_DIR=/run/user/1000", "CLAUDE_CONFIG_DIR=/home/someone/.claude-work", "CLAUDECODE=1",
		"AUTOPILOT_MAX_TOKENS=5000", "AUTOPILOT_USE_API_KEY=true", "AUTOPILOT_WEBHOOK_SECRET=0123456789", "AUTOPILOT_NOTIFY=ntfy://ntfy.example/topic", "AUTONOMOUS_MODE=continuous",
		"ANTHROPIC_API_KEY=made-up", "CLAUDE_CODE_OAUTH_TOKEN=made-up", "GITHUB_TOKEN=made-up",
		"HTTPS_PROXY=http://me:word@proxy.example:3128", "http_proxy=http://proxy.example:3128", "NODE_EXTRA_CA_CERTS=/etc/ca.pem", "MY_THING=1", "OTHER=2",
	}
	env, left, err := nightly.Environment(here, []string{"MY_THING", "STAGE=night=1"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"AUTONOMOUS_MODE=continuous", "AUTOPILOT_INHIBIT_SLEEP=true", "AUTOPILOT_MAX_TOKENS=5000", "AUTOPILOT_USE_API_KEY=true", "CLAUDE_CONFIG_DIR=/home/someone/.claude-work",
		"HOME=/home/someone", "LANG=C.UTF-8", "MY_THING=1", "NODE_EXTRA_CA_CERTS=/etc/ca.pem", "PATH=/usr/bin:/bin", "STAGE=night=1", "XDG_STATE_HOME=/home/someone/state", "http_proxy=http://proxy.example:3128",
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment: -want +got\n%s", diff)
	}
	wantLeft := []string{"ANTHROPIC_API_KEY", "AUTOPILOT_NOTIFY", "AUTOPILOT_WEBHOOK_SECRET", "CLAUDE_CODE_OAUTH_TOKEN", "GITHUB_TOKEN", "HTTPS_PROXY"}
	if diff := cmp.Diff(wantLeft, left); diff != "" {
		t.Errorf("left out: -want +got\n%s", diff)
	}
}

func TestSleepIsAPersonsChoice(t *testing.T) {
	t.Parallel()
	for _, given := range [][2][]string{{{"AUTOPILOT_INHIBIT_SLEEP=false"}, nil}, {nil, {"AUTOPILOT_INHIBIT_SLEEP=false"}}} {
		env, _, err := nightly.Environment(given[0], given[1])
		if want := []string{"AUTOPILOT_INHIBIT_SLEEP=false"}; err != nil || !slices.Equal(env, want) {
			t.Errorf("%q: got %q, %v, want %q", given, env, err, want)
		}
	}
}

func TestEnvironmentRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		here, further []string
		want          string
	}{
		{"a secret by name", nil, []string{"MY_TOKEN=abc"}, "MY_TOKEN looks like a secret"},
		{"a secret by value", nil, []string{"THING=sk-ant-0123456789"}, "THING looks like a secret"},
		{"a secret taken from here", []string{"DB_PASSWORD=abc"}, []string{"DB_PASSWORD"}, "DB_PASSWORD looks like a secret"},
		{"an address with a password", nil, []string{"DB=postgres://me:word@db.example/x"}, "DB looks like a secret"},
		{"not set here", nil, []string{"NOWHERE"}, "it is not set here"},
		{"no name", nil, []string{"=x"}, "no name of a variable"},
		{"a name with a space", nil, []string{"A B=x"}, "no name of a variable"},
		{"a digit first", nil, []string{"1A=x"}, "no name of a variable"},
		{"a line end", nil, []string{"A=x\ny"}, "the value of A has a line end"},
		{"a line end that was here", []string{"LANG=C\n* * * * * evil"}, nil, "the value of LANG has a line end"},
	} {
		_, _, err := nightly.Environment(tt.here, tt.further)
		if err == nil || !strings.Contains(err.Error(), tt.want) || outside.HintOf(err) == "" {
			t.Errorf("%s: got %v with %q, want %q and a way out", tt.name, err, outside.HintOf(err), tt.want)
		}
		if err != nil && (strings.Contains(err.Error(), "0123456789") || strings.Contains(err.Error(), "word")) {
			t.Errorf("%s: the error tells the secret: %v", tt.name, err)
		}
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, value string
		want        bool
	}{
		{"ANTHROPIC_AUTH_TOKEN", "x", true},
		{"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "64000", false},
		{"AUTOPILOT_MAX_TOKENS", "1", false},
		{"AUTOPILOT_USE_API_KEY", "true", false},
		{"AUTOPILOT_REFLECT_KEY", "x", true},
		{"AUTOPILOT_REFLECT_URL", "https://me:word@llm.example/v1", true},
		{"AUTOPILOT_REFLECT_URL", "https://llm.example/v1", false},
		{"AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/token", false},
		{"GOOGLE_APPLICATION_CREDENTIALS", "/home/someone/gcp.json", false},
		{"GOOGLE_APPLICATION_CREDENTIALS", `{"private":1}`, true},
		{"MONKEY", "x", false},
		{"secret_sauce", "x", true},
		{"GIT_AUTHOR_EMAIL", "me@example.org", false},
		{"NO_PROXY", "localhost,me@example.org", false},
	} {
		if got := nightly.Secret(tt.name, tt.value); got != tt.want {
			t.Errorf("Secret(%s, %s) = %v, want %v", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestInside(t *testing.T) {
	t.Parallel()
	process := []string{"PATH=/cron/bin", "NOTIFY_SOCKET=/run/n", "INVOCATION_ID=1", "WATCHDOG_USEC=5", "JOURNAL_STREAM=1:2", "MAILTO=root", "XDG_RUNTIME_DIR=/run/user/7", "LD_PRELOAD=x"}
	got := nightly.Inside(process, []string{"A=1", "PATH=/usr/bin", "XDG_RUNTIME_DIR=/run/user/8"}, []string{"KEY=s", "A=2"})
	slices.Sort(got)
	want := []string{"A=2", "INVOCATION_ID=1", "JOURNAL_STREAM=1:2", "KEY=s", "NOTIFY_SOCKET=/run/n", "PATH=/usr/bin", "WATCHDOG_USEC=5", "XDG_RUNTIME_DIR=/run/user/8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
