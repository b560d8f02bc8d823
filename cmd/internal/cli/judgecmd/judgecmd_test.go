package judgecmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/judgecmd"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/mode"
	"autopilot/supervisor/suitability"
)

// ran is what a command printed and how it ended.
type ran struct {
	out, err string
	code     int
}

// run executes one command as the program would, with text on standard input.
func run(t *testing.T, live judgecmd.Live, in string, args ...string) ran {
	t.Helper()
	var out, words bytes.Buffer
	std := outside.Stdio{In: strings.NewReader(in), Out: &out, Err: &words}
	root := &cobra.Command{Use: "autopilot", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(judgecmd.Commands(std, live)...)
	root.SetArgs(args)
	code := outside.Report(std, root.ExecuteContext(t.Context()))
	return ran{out.String(), words.String(), code}
}

const (
	good     = `{"confidence":0.9,"recentRuns":[{},{},{},{},{"kill_switch":"max-sessions-reached"}],"ci":{"status":"green"},"resourceVerdict":"green","dial":"autonomous-gated"}`
	red      = `{"confidence":0.9,"ci":{"status":"red"},"dial":"autonomous-gated"}`
	feature  = `{"recommendedMode":"feature","completionRate":1,"carryoverRatio":0.25,"bootstrapLock":{"tier":"standard"}}`
	looksBad = `{"completionRate":0.2}`
)

func TestSuitabilityForAPerson(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		code     int
		want     string
	}{
		{"suitable", good, 0, `suitable: a run may begin without asking

GATE         RESULT  DETAIL
confidence   ok      0.9 >= 0.5
kill-switch  ok      fired in 0 of 5 runs (0)
ci           ok      green
resource     ok      green
dial         -       autonomous-gated
`},
		{"suitable, and a person is asked", strings.Replace(good, "autonomous-gated", "advisory", 1), 0, `suitable; the dial is advisory

GATE         RESULT  DETAIL
confidence   ok      0.9 >= 0.5
kill-switch  ok      fired in 0 of 5 runs (0)
ci           ok      green
resource     ok      green
dial         -       advisory
`},
		{"not suitable", red, 3, `not suitable: at a terminal a run asks first, elsewhere it begins and says so; with --autonomy autonomous-gated it is refused

GATE         RESULT  DETAIL
confidence   ok      0.9 >= 0.5
kill-switch  ok      skipped (0<5 runs)
ci           FAIL    red
resource     ok      absent
dial         -       autonomous-gated
warning: history skipped: 0 of at least 5 runs
warning: resource signal absent
`},
	}
	for _, tt := range tests {
		got := run(t, judgecmd.Live{}, tt.in, "suitability", "--signals", "-")
		if diff := cmp.Diff(tt.want, got.out); diff != "" || got.code != tt.code || got.err != "" {
			t.Errorf("%s: exit %d, want %d; stderr %q; output (-want +got):\n%s", tt.name, got.code, tt.code, got.err, diff)
		}
	}
}

func TestSuitabilityJSON(t *testing.T) {
	t.Parallel()
	got := run(t, judgecmd.Live{}, red, "suitability", "--signals", "-", "--json")
	want := `{
  "suitable": false,
  "confidence": 0.9,
  "floor": 0.5,
  "rationale": "suitable=false; FORCED: CI red; confidence 0.9 >= 0.5 ok; kill-switch skipped (0<5 runs) ok; CI red FAIL; resource absent ok",
  "gates": [
    {
      "name": "confidence",
      "passed": true,
      "detail": "0.9 >= 0.5"
    },
    {
      "name": "kill-switch",
      "passed": true,
      "detail": "skipped (0<5 runs)"
    },
    {
      "name": "ci",
      "passed": false,
      "detail": "red"
    },
    {
      "name": "resource",
      "passed": true,
      "detail": "absent"
    }
  ],
  "warnings": [
    "history skipped: 0 of at least 5 runs",
    "resource signal absent"
  ],
  "dial": "autonomous-gated",
  "autonomous": false
}
`
	if diff := cmp.Diff(want, got.out); diff != "" || got.code != 3 {
		t.Errorf("exit %d, want 3; output (-want +got):\n%s", got.code, diff)
	}
}

func TestModeForAPerson(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"weighed", feature, `mode              feature
confidence        0.50
why               feature is recommended: tier +0.1, carryover -0.1
context pressure  low

SIGNAL     SHARE  WHY
base       +0.5   feature is the mode being weighed
tier       +0.1   bootstrap tier standard stands for feature
carryover  -0.1   carryover ratio is 0.25, from 0.20 on it speaks for deep

ALTERNATIVE   CONFIDENCE
deep          0.40
housekeeping  0.30
discovery     0.30

missing: recentSessions, learnings, topPriorities
`},
		{"not one that is run", looksBad, `mode              plan-retro  (mode "plan-retro" is not one that /session runs (housekeeping, feature, deep))
confidence        0.80
why               completion rate 0.20 is below 0.50: look back before going on
context pressure  low

SIGNAL           SHARE  WHY
completion-rate  +0.8   completion rate 0.20 is below 0.50: look back before going on

ALTERNATIVE  CONFIDENCE
feature      0.30
discovery    0.25
`},
		{"nothing known", `{}`, `mode              feature
confidence        0.00
why               no mode is recommended
context pressure  low

missing: recommendedMode, completionRate, carryoverRatio
`},
	}
	for _, tt := range tests {
		got := run(t, judgecmd.Live{}, tt.in, "mode", "--signals", "-")
		if diff := cmp.Diff(tt.want, got.out); diff != "" || got.code != 0 || got.err != "" {
			t.Errorf("%s: exit %d, stderr %q; output (-want +got):\n%s", tt.name, got.code, got.err, diff)
		}
	}
}

func TestModeJSON(t *testing.T) {
	t.Parallel()
	got := run(t, judgecmd.Live{}, looksBad, "mode", "--signals", "-", "--json")
	want := `{
  "mode": "plan-retro",
  "confidence": 0.8,
  "rationale": "completion rate 0.20 is below 0.50: look back before going on",
  "alternatives": [
    {
      "mode": "feature",
      "confidence": 0.3
    },
    {
      "mode": "discovery",
      "confidence": 0.25
    }
  ],
  "context_pressure": "low",
  "parts": [
    {
      "name": "completion-rate",
      "value": 0.8,
      "why": "completion rate 0.20 is below 0.50: look back before going on"
    }
  ],
  "missing": [],
  "runnable": false,
  "warnings": []
}
`
	if diff := cmp.Diff(want, got.out); diff != "" || got.code != 0 {
		t.Errorf("exit %d; output (-want +got):\n%s", got.code, diff)
	}
}

func TestSignalsInAFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "signals.json")
	if err := os.WriteFile(name, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	// What stands on standard input is not looked at.
	if got := run(t, judgecmd.Live{}, red, "suitability", "--signals", name); got.code != 0 {
		t.Errorf("exit %d, want 0: %s%s", got.code, got.out, got.err)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing, bad := filepath.Join(dir, "missing"), filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte(`{"confidance":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := "the keys are confidence, floor, recentRuns, ci, resourceVerdict, dial"
	tests := []struct {
		in   string
		args []string
		want string
	}{
		{`{"confidance":1}`, []string{"suitability", "--signals", "-"}, "autopilot: --signals: standard input: parse signals: unknown key \"confidance\"\nhint: did you mean \"confidence\"?\n"},
		{`{"recent_runs":[]}`, []string{"suitability", "--signals", "-"}, "autopilot: --signals: standard input: parse signals: unknown key \"recent_runs\"\nhint: did you mean \"recentRuns\"?\n"},
		{`{"quite another":1}`, []string{"suitability", "--signals", "-"}, "autopilot: --signals: standard input: parse signals: unknown key \"quite another\"\nhint: " + keys + "\n"},
		{"", []string{"suitability", "--signals", bad, "--json"}, "autopilot: --signals: " + bad + ": parse signals: unknown key \"confidance\"\nhint: did you mean \"confidence\"?\n"},
		{"", []string{"suitability", "--signals", missing}, "autopilot: --signals: open " + missing + ": no such file or directory\n"},
		{"", []string{"suitability", "--signals", dir}, "autopilot: --signals: read " + dir + ": is a directory\n"},
		{"", []string{"suitability", "--signals", "-"}, "autopilot: --signals: standard input: parse signals: unexpected end of JSON input\n"},
		{"", []string{"suitability", "--signals="}, "autopilot: --signals needs the name of a file\nhint: '-' stands for standard input\n"},
		{"", []string{"suitability"}, "autopilot: there are no signals to judge\nhint: name a file with --signals\n"},
		{"", []string{"suitability", "deep"}, "autopilot: suitability takes no argument, got \"deep\"\nhint: see 'autopilot suitability --help'\n"},
		{strings.Repeat(" ", 32<<20+1), []string{"suitability", "--signals", "-"}, "autopilot: --signals: standard input has more than 33554432 bytes\n"},
		{`{"recommended-mode":"deep"}`, []string{"mode", "--signals", "-"}, "autopilot: --signals: standard input: parse signals: unknown key \"recommended-mode\"\nhint: did you mean \"recommendedMode\"?\n"},
		{`{"carryoverRatio":"0.2"}`, []string{"mode", "--signals", "-"}, "autopilot: --signals: standard input: parse signals: carryoverRatio is a string, want a finite number\n"},
		{"", []string{"mode"}, "autopilot: there are no signals to judge\nhint: name a file with --signals\n"},
	}
	for _, tt := range tests {
		got := run(t, judgecmd.Live{}, tt.in, tt.args...)
		if got.code != 2 || got.err != tt.want || got.out != "" {
			t.Errorf("%v: exit %d, want 2; stdout %q; stderr\n%swant\n%s", tt.args, got.code, got.out, got.err, tt.want)
		}
	}
}

func TestLiveSignals(t *testing.T) {
	t.Parallel()
	confidence, tier := 0.7, "green"
	live := judgecmd.Live{
		Suitability: func(context.Context) (suitability.Signals, []string, error) {
			return suitability.Signals{Confidence: &confidence, ResourceVerdict: &tier, CI: &suitability.CI{Status: "green"}, Dial: suitability.Advisory}, []string{"sessions.jsonl\x1b[2J: cut"}, nil
		},
		Mode: func(context.Context) (*mode.Signals, []string, error) {
			return nil, []string{"backlog: gh\nfailed"}, nil
		},
	}
	var v suitability.Verdict
	if got := run(t, live, "", "suitability", "--json"); got.code != 0 || json.Unmarshal([]byte(got.out), &v) != nil {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	if want := []string{"history skipped: 0 of at least 5 runs", "sessions.jsonl?[2J: cut"}; !cmp.Equal(want, v.Warnings) {
		t.Errorf("warnings %q, want %q", v.Warnings, want)
	}
	if got := run(t, live, "", "mode"); got.code != 0 || !strings.Contains(got.out, "there are no signals") || !strings.HasSuffix(got.out, "\nwarning: backlog: gh failed\n") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	// Signals in a file take the place of the live ones.
	if got := run(t, live, red, "suitability", "--signals", "-"); got.code != 3 {
		t.Errorf("exit %d, want 3: %s", got.code, got.out)
	}

	broken := judgecmd.Live{
		Suitability: func(context.Context) (suitability.Signals, []string, error) {
			return suitability.Signals{}, nil, errors.New("no repository")
		},
		Mode: func(context.Context) (*mode.Signals, []string, error) {
			return nil, nil, outside.Usage("no repository")
		},
	}
	if got := run(t, broken, "", "suitability"); got.code != 1 || got.err != "autopilot: no repository\n" || got.out != "" {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	if got := run(t, broken, "", "mode"); got.code != 2 || got.err != "autopilot: no repository\n" || got.out != "" {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
}

// TestTextsOfStrangers puts what moves a cursor, ends a line or turns text around into every
// place that takes a text.
func TestTextsOfStrangers(t *testing.T) {
	t.Parallel()
	const evil = `a\u001b[2Jb\nc\td\u202ee\u0085f\rg\u2028h`
	tests := []struct {
		lines int
		in    string
		args  []string
	}{
		{14, `{"confidence":0.9,"floor":"` + evil + `","ci":{"status":"` + evil + `"},"resourceVerdict":"` + evil + `","dial":"` + evil + `"}`, []string{"suitability"}},
		{4, `{"recommendedMode":"` + evil + `","completionRate":1,"carryoverRatio":0,"previousRationale":"` + evil + `"}`, []string{"mode"}},
		{18, `{"recommendedMode":"evolve","completionRate":1,"carryoverRatio":0,"topPriorities":[],"bootstrapLock":{"tier":"` + evil + `"},
			"recentSessions":[{"mode":"` + evil + `"},{"mode":"` + evil + `"},{"mode":"` + evil + `"}],"learnings":[{"type":"effective-sizing","subject":"` + evil + `"}]}`, []string{"mode"}},
		{0, `{"` + evil + `":1}`, []string{"mode"}},
		{0, `{"` + evil + `":1}`, []string{"suitability"}},
	}
	for _, tt := range tests {
		shown := run(t, judgecmd.Live{}, tt.in, append(slices.Clone(tt.args), "--signals", "-")...)
		if unsafe(shown.out) || unsafe(shown.err) {
			t.Errorf("%v: %q %q", tt.args, shown.out, shown.err)
		}
		if n := strings.Count(shown.out, "\n"); n != tt.lines {
			t.Errorf("%v: got %d lines, want %d:\n%s", tt.args, n, tt.lines, shown.out)
		}
		got := run(t, judgecmd.Live{}, tt.in, append(slices.Clone(tt.args), "--signals", "-", "--json")...)
		if got.code == 2 {
			continue
		}
		var answer any
		if err := json.Unmarshal([]byte(got.out), &answer); err != nil {
			t.Errorf("%v: %v in %s", tt.args, err, got.out)
		}
		if text := fmt.Sprint(answer); unsafe(text) || strings.Contains(text, "\n") {
			t.Errorf("%v: %q", tt.args, text)
		}
	}
}

// unsafe reports whether a text holds more than words and ends of lines.
func unsafe(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
	})
}
