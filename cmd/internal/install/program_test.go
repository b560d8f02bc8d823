package install

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRunsHook(t *testing.T) {
	t.Parallel()
	us := program{"/opt/pilot", "old"}
	stop, start := events()[0], events()[1]
	tests := map[string]bool{
		"autopilot hook stop":                     true,
		"  autopilot   hook\tstop ":               true,
		"/usr/local/bin/autopilot hook stop":      true,
		"'/opt/my tools/autopilot' hook stop":     true,
		`"$HOME/go bin/autopilot" hook stop`:      true,
		`/opt/my\ tools/autopilot hook stop`:      true,
		"A=1 B= autopilot hook stop":              true,
		"autopilot --log-format json hook stop":   true,
		"/opt/pilot hook stop":                    true,
		"old hook stop":                           true,
		"":                                        false,
		"hook stop":                               false,
		"autopilot hook":                          false,
		"autopilot hook stop x":                   false,
		"autopilot hook stop; true":               false,
		"autopilot status":                        false,
		"my-autopilot hook stop":                  false,
		"autopilot-old hook stop":                 false,
		"/opt/autopilot/run hook stop":            false,
		"echo autopilot hook stop":                false,
		"npx claude-flow hooks autopilot-check":   false,
		"'autopilot hook stop'":                   false,
		"pilot hook stop":                         false,
		"1-=x autopilot hook stop":                false,
		"autopilot 'hook stop'":                   false,
		"autopilot hook stop \\":                  false,
		"autopilot hook sto''p":                   true,
		"\"autopilot\" \"hook\" \"stop\"":         true,
		"autopilot hook stop #":                   false,
		"autopilot\nhook\nstop":                   true,
		"PATH=/x:$PATH /y/autopilot hook stop   ": true,
	}
	for line, want := range tests {
		if got := us.runsHook(line, stop); got != want {
			t.Errorf("runsHook(%q, Stop) = %v, want %v", line, got, want)
		}
		if us.runsHook(line, start) {
			t.Errorf("runsHook(%q, SessionStart) = true", line)
		}
	}
	for line, want := range map[string]bool{
		"autopilot hook session-start": true, "X=1 '/opt/my tools/autopilot' --log-format json hook session-start": true,
		"autopilot session-start": false, "autopilot hook session-start x": false, "pilot hook session-start": false, "autopilot hook session-stop": false,
	} {
		if got := us.runsHook(line, start); got != want {
			t.Errorf("runsHook(%q, SessionStart) = %v, want %v", line, got, want)
		}
		if us.runsHook(line, stop) {
			t.Errorf("runsHook(%q, Stop) = true", line)
		}
	}
	if (program{"autopilot", ""}).is("") {
		t.Error("no command is ours")
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"autopilot": "autopilot", "/usr/bin/autopilot-1.2": "/usr/bin/autopilot-1.2", "/opt/ä/autopilot": "/opt/ä/autopilot",
		"/my tools/autopilot": "'/my tools/autopilot'", "a'b": `'a'\''b'`, "$x": "'$x'", "~/x": "'~/x'", "a;b": "'a;b'",
	} {
		if got := quote(s); got != want {
			t.Errorf("quote(%q) = %s, want %s", s, got, want)
		}
	}
}

// The shell reads the line as the words that were meant, and so do we.
func TestQuoteSurvivesTheShell(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.StringMatching(`[ -~ä]{1,12}`).Draw(rt, "command")
		for _, e := range events() {
			if diff := cmp.Diff([]string{s, "hook", e.subcommand}, words(e.line(s))); diff != "" {
				rt.Fatalf("words (-want +got):\n%s", diff)
			}
		}
	})
	for _, s := range []string{"a b", "a'b", `a\b`, "$HOME", "`x`", "a\"b", "*", "!x", "#a"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf '%s' "+quote(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("sh reads %s as %q, %v", quote(s), out, err)
		}
	}
	if got := strings.Join(words(`a "b \" c" 'd \' e\ f`), "|"); got != `a|b " c|d \|e f` {
		t.Errorf("words = %s", got)
	}
}
