package gate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"autopilot/sessions/launch"
	"autopilot/supervisor/gate"
)

// note writes the id of a shell into the test's file.
const note = "echo $$ >> $P; "

func TestCommands(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command string
		ok            bool
		detail        string // a regular expression for the whole
		output        string
	}{
		{"true", note + "true", true, `exit status 0 after [0-9.]+m?s`, ""},
		{"words on stderr", note + "echo warning >&2", true, `exit status 0 after [0-9.]+m?s: warning`, "warning\n"},
		{"both in order", note + "echo 1; echo 2 >&2; echo 3", true, `exit status 0 after [0-9.]+m?s: 3`, "1\n2\n3\n"},
		{"false", note + "echo FAIL; exit 3", false, `exit status 3 after [0-9.]+m?s: FAIL`, "FAIL\n"},
		{"status 128 and more", note + "exit 255", false, `exit status 255 after [0-9.]+m?s`, ""},
		{"last line that is not blank", note + `printf 'a\nlast one  \n\n \n'; false`, false, `exit status 1 after [0-9.]+m?s: last one`, "a\nlast one  \n\n \n"},
		{"no line end", note + "printf end; exit 1", false, `exit status 1 after [0-9.]+m?s: end`, "end"},
		{"binary", note + `printf '\000\377\376a\033[1mb\r\nc'; exit 1`, false, `exit status 1 after [0-9.]+m?s: c`, "\uFFFDab\nc"},
		{"a secret", note + "echo API_KEY=hunter2hunter2; exit 1", false, `exit status 1 after [0-9.]+m?s: \[redacted\]`, "[redacted]\n"},
		{"killed", note + "kill -9 $$", false, `killed by SIGKILL after [0-9.]+m?s`, ""},
		{"terminated by itself", note + "kill $$", false, `killed by SIGTERM after [0-9.]+m?s`, ""},
		{"not found", note + "no-such-command-here", false, `exit status 127 after [0-9.]+m?s: .*no-such-command-here.*`, ""},
		{"no shell", "(" + note, false, `exit status \d+ after [0-9.]+m?s: .*`, ""},
		{"begins like an option", "-x; " + note + "exit 1", false, `exit status 1 after [0-9.]+m?s: .*-x.*`, ""},
		{"stdin is empty", note + "read x && exit 1; wc -c", true, `exit status 0 after [0-9.]+m?s: 0`, "0\n"},
		{"no terminal", note + "(: < /dev/tty) 2>/dev/null && exit 1; ! [ -t 0 ] && ! [ -t 1 ] && ! [ -t 2 ]", true, `exit status 0 after [0-9.]+m?s`, ""},
		{"several lines", note + "\nset -e\nfalse\necho not here", false, `exit status 1 after [0-9.]+m?s`, ""},
		{"a pipe", note + "yes | head -1", true, `exit status 0 after [0-9.]+m?s: y`, "y\n"},
		{"tail of much", note + "seq 100000", true, `exit status 0 after .*: 100000`, "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			got := p.run(tt.command)
			if got.OK != tt.ok || !regexp.MustCompile("^(?:"+tt.detail+")$").MatchString(got.Detail) {
				t.Errorf("got %v, %q; want %v, %q", got.OK, got.Detail, tt.ok, tt.detail)
			}
			if tt.output != "-" && tt.output != "" && got.Output != tt.output {
				t.Errorf("output is %q, want %q", got.Output, tt.output)
			}
			if got.TimedOut || got.Took <= 0 || got.Command != tt.command {
				t.Errorf("timed out %v, took %v, command %q", got.TimedOut, got.Took, got.Command)
			}
			p.nothingLeft(strings.Count(tt.command, note) - strings.Count(tt.command, "("+note))
		})
	}
}

func TestCannotBeStarted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	tests := []struct {
		name   string
		runner gate.Runner
		check  gate.Check
		detail string
	}{
		{"no folder", gate.Runner{Dir: filepath.Join(p.Dir, "missing")}, gate.Check{Kind: gate.Command, Command: "true"}, "cannot be started: stat .*/missing: no such file or directory"},
		{"no shell", gate.Runner{Dir: p.Dir, Shell: "/no/shell"}, gate.Check{Kind: gate.Command, Command: "true"}, "cannot be started: .*/no/shell: no such file or directory"},
		{"too long", gate.Runner{Dir: p.Dir}, gate.Check{Kind: gate.Command, Command: "true" + strings.Repeat(" ", 4<<20)}, "cannot be started: .*argument list too long"},
		{"nothing", gate.Runner{Dir: p.Dir}, gate.Check{Kind: gate.Command, Command: " "}, "not run: command is empty"},
		{"a zero byte", gate.Runner{Dir: p.Dir}, gate.Check{Kind: gate.Command, Command: "true\x00"}, "not run: command holds a zero byte"},
		{"no kind", gate.Runner{Dir: p.Dir}, gate.Check{}, `not run: "" is no kind of check`},
	}
	for _, tt := range tests {
		got := tt.runner.Run(t.Context(), []gate.Check{tt.check})[0]
		if got.OK || !regexp.MustCompile("^(?:"+tt.detail+")$").MatchString(got.Detail) {
			t.Errorf("%s: got %v, %q; want %q", tt.name, got.OK, got.Detail, tt.detail)
		}
	}
}

func TestMuchOutput(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"lines":              note + "yes 0123456789 | head -c 10000000; echo; echo end",
		"one line":           note + "head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end",
		"bytes":              note + "head -c 10000000 /dev/urandom; echo; echo end",
		"secrets everywhere": note + "yes TOKEN=hunter2hunter2 | head -c 10000000; echo; echo end",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			got := p.run(command)
			if !got.OK || !strings.HasSuffix(got.Output, "\nend\n") || !strings.HasSuffix(got.Detail, ": end") {
				t.Errorf("got %v, %q, and the end of the output %q", got.OK, got.Detail, got.Output[max(0, len(got.Output)-40):])
			}
			if len(got.Output) > 8<<10 || len(got.Output) < 4<<10 || !strings.HasPrefix(got.Output, "…") {
				t.Errorf("output has %d bytes and begins with %.20q", len(got.Output), got.Output)
			}
			if strings.Contains(got.Output, "hunter2") {
				t.Errorf("a secret is shown")
			}
			p.nothingLeft(1)
		})
	}
}

// TestManyChecks is not parallel: it counts what this process has open.
func TestManyChecks(t *testing.T) {
	p := newPlace(t)
	files := openFiles(t)
	var checks []gate.Check
	for i := range 100 {
		checks = append(checks,
			gate.Check{Kind: gate.Command, Command: fmt.Sprintf(note+"echo %d; : > f%d; echo x > g%d; exit %d", i, i, i, i%3)},
			gate.Check{Kind: gate.File, File: fmt.Sprintf("%c%d", "fg"[i%2], i)})
	}
	results := p.Run(t.Context(), checks)
	if len(results) != len(checks) {
		t.Fatalf("%d results, want %d", len(results), len(checks))
	}
	for i, r := range results {
		n := i / 2
		if r.Check != checks[i] || r.OK != (i%2 == 0 && n%3 == 0 || i%2 == 1 && n%2 == 1) {
			t.Errorf("%d: got %+v", i, r)
		}
		if want := strconv.Itoa(n) + "\n"; i%2 == 0 && r.Output != want {
			t.Errorf("%d: output is %q, want %q", i, r.Output, want)
		}
	}
	p.nothingLeft(100)
	if got := openFiles(t); got > files {
		t.Errorf("%d files are open, %d before", got, files)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.Environ = append(p.Environ, "ANTHROPIC_API_KEY=k", "CLAUDECODE=1", "HELLO=a b", launch.SessionVar+"=old")
	const show = note + `echo "$AUTOPILOT_RUN_ID,$AUTOPILOT_RUN_TOKEN,${AUTOPILOT_AGENTS_PER_WAVE-unset},${ANTHROPIC_API_KEY-unset},${CLAUDECODE-unset},$HELLO,${CI-unset},$TERM"; pwd; env | grep -c ^AUTOPILOT_SESSION_ID=check-`
	dir, err := filepath.EvalSymlinks(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	ci := "unset"
	if s, ok := os.LookupEnv("CI"); ok {
		ci = s
	}
	lines := func(cap, key string) string {
		return fmt.Sprintf("run,%s,%s,%s,unset,a b,%s,dumb\n%s\n1\n", p.pids, cap, key, ci, dir)
	}
	if got, want := p.run(show).Output, strings.ReplaceAll(lines("unset", "unset"), "TOKEN", ""); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.APIKey, p.Environ = true, append(p.Environ, launch.CapVar+"=3")
	if got, want := p.run(show).Output, lines("3", "k"); got != want {
		t.Errorf("with a key and a cap: got %q, want %q", got, want)
	}
	p.nothingLeft(2)
}
