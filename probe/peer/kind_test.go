package peer

import (
	"strings"
	"testing"
)

func TestRunsCLI(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args string
		want bool
	}{
		{"node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js -p", true},
		{"node /x/@anthropic-ai/claude-code/cli-wrapper.cjs", true},
		{"node @anthropic-ai/claude-code/cli.js", true},
		{"node /usr/local/bin/claude --resume", true},
		{"node claude", true},
		{"bun run /x/@anthropic-ai/claude-code/cli.js", true},
		{"/opt/bun/bun /x/@anthropic-ai/claude-code/cli.js", true},
		{"node --max-old-space-size=4096 /x/@anthropic-ai/claude-code/cli.js", true},
		{"node -r ./hook.js --no-warnings /usr/bin/claude", true},
		{"claude", true},
		{"claude      ", true},

		{"", false},
		{"node", false},
		{"node server.js --name claude", false},
		{"node server.js /x/@anthropic-ai/claude-code/cli.js", false},
		{"node -e claude", false},
		{"node -p claude", false},
		{"node -r claude server.js", false},
		{"node /home/claude/server.js", false},
		{"node claude.js", false},
		{"node /x/evil@anthropic-ai/claude-code/cli.js", false},
		{"node /x/@anthropic-ai/claude-code/cli.js.map", false},
		{"node /x/cli.js", false},
		{"node run /usr/bin/claude", false},
		{"claude server.js", false},
	}
	for _, tt := range tests {
		args := strings.Split(tt.args, " ")
		if strings.HasSuffix(tt.args, "  ") {
			args = []string{tt.args}
		}
		if got := runsCLI(args); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.args, got, tt.want)
		}
	}
	if !runsCLI([]string{"claude", "", "  "}) {
		t.Error("a title followed by blanks must count")
	}
	if runsCLI(nil) {
		t.Error("no command line must not count")
	}
}

func TestShortCommandKeepsNoArguments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		comm string
		args []string
		want string
	}{
		{"claude", []string{"/opt/bin/claude", "-p", "a secret"}, "/opt/bin/claude"},
		{"claude", []string{"claude             "}, "claude"},
		{"claude", []string{"claude -p a secret"}, "claude"},
		{"claude", nil, "claude"},
		{"claude", []string{""}, "claude"},
		{"node", []string{"node", "--inspect", "/x/cli-wrapper.cjs", "-p", "a secret"}, "node /x/cli-wrapper.cjs"},
		{"node", []string{"node", "-e", "a secret"}, "node"},
		{"claude", []string{"/" + strings.Repeat("x", 500)}, "/" + strings.Repeat("x", maxCommand-1)},
		{"claude", []string{"/bin/\xffclaude"}, "/bin/?claude"},
	}
	for _, tt := range tests {
		if got := shortCommand(tt.comm, tt.args); got != tt.want {
			t.Errorf("%s %q: got %q, want %q", tt.comm, tt.args, got, tt.want)
		}
	}
}
