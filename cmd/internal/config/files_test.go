package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// in is a value as the tests' file gives it.
func in(line int, key string, raw ...string) Value {
	return Value{Key: key, Raw: raw, Origin: fmt.Sprintf("f.yaml:%d", line), InRepo: true}
}

func TestParseFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []Value
	}{
		{"empty", "", nil},
		{"blank", "\n \n\n", nil},
		{"comments alone", "# one\n# two\n", nil},
		{"an empty document", "---\n", nil},
		{"null", "~\n", nil},
		{"plain", "max-sessions: 3\nmodel: opus # the big one\n", []Value{in(1, "max-sessions", "3"), in(2, "model", "opus")}},
		{"no newline at the end", "model: opus", []Value{in(1, "model", "opus")}},
		{"byte-order mark", "\ufeffmax-sessions: 3\n", []Value{in(1, "max-sessions", "3")}},
		{"windows line ends", "max-sessions: 3\r\n\r\nmax-hours: 2\r\n", []Value{in(1, "max-sessions", "3"), in(3, "max-hours", "2")}},
		{"lists", "allowed-tools: [Read, Edit]\nlifecycle-steps:\n  - /session {mode}\n  - /go\n", []Value{in(1, "allowed-tools", "Read", "Edit"), in(2, "lifecycle-steps", "/session {mode}", "/go")}},
		{"an empty list", "allowed-tools: []\n", []Value{in(1, "allowed-tools")}},
		{"a list as one text", "allowed-tools: Read, Edit\n", []Value{in(1, "allowed-tools", "Read, Edit")}},
		{"numbers as they are written", "a: 1_000\nb: 0x10\nc: 1e1\nd: 012\ne: .inf\n", []Value{in(1, "a", "1_000"), in(2, "b", "0x10"), in(3, "c", "1e1"), in(4, "d", "012"), in(5, "e", ".inf")}},
		{"null is empty", "model:\na: ~\nb: null\nc: 'null'\n", []Value{in(1, "model", ""), in(2, "a", ""), in(3, "b", ""), in(4, "c", "null")}},
		{"flow", "{max-sessions: 3,\n max-hours: 2}", []Value{in(1, "max-sessions", "3"), in(2, "max-hours", "2")}},
		{"quotes keep blanks", "model: ' x '\n", []Value{in(1, "model", " x ")}},
		{"an unknown key is for Resolve", "nope: 1\n", []Value{in(1, "nope", "1")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseFile("f.yaml", []byte(tt.text), true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseFileRefuses(t *testing.T) {
	t.Parallel()
	const good = "# limits\nmax-sessions: 3\n" // two lines
	tests := []struct{ name, text, want string }{
		{"a key twice", good + "max-hours: 1\nmax-sessions: 4\n", "f.yaml:4: max-sessions stands there twice, also in line 2"},
		{"a key twice, the same value", "model: a\nmodel: a\n", "f.yaml:2: model stands there twice, also in line 1"},
		{"nested", good + "limits:\n  max-hours: 2\n", "f.yaml:3: limits: want a plain value or a list of them"},
		{"nested flow", "limits: {max-hours: 2}\n", "f.yaml:1: limits: want a plain value or a list of them"},
		{"a list of lists", good + "allowed-tools: [a, [b]]\n", "f.yaml:3: allowed-tools: want a list of plain values"},
		{"a list of maps", good + "allowed-tools:\n  - a: b\n", "f.yaml:3: allowed-tools: want a list of plain values"},
		{"an alias", "max-sessions: &n 3\npeer-abort: *n\n", "f.yaml:2: peer-abort: want a plain value or a list of them"},
		{"a list at the top", "# x\n- max-sessions: 3\n", "f.yaml:2: want keys with values, as in 'max-sessions: 3'"},
		{"a word at the top", "max-sessions 3\n", "f.yaml:1: want keys with values, as in 'max-sessions: 3'"},
		{"a list as a key", "? [a]\n: 1\n", "f.yaml:1: want a plain word as the key"},
		{"a second document", good + "---\nmax-hours: 2\n", "f.yaml:3: want one document, a second one begins here"},
		{"text behind the document", good + "...\nmax-hours: 2\nx\n", "f.yaml:4: "},
		{"broken in line 1", "a: b: c\nmax-hours: 2\n", "f.yaml:1: mapping values are not allowed in this context"},
		{"broken further down", good + "a: b: c\nmax-hours: 2\n", "f.yaml:3: mapping values are not allowed in this context"},
		{"a tab", good + "\tmax-hours: 2\n", "f.yaml:3: "},
		{"an open list", good + "allowed-tools: [a\nmax-hours: 2\n", "f.yaml:3: "},
		{"an open list at the end", good + "allowed-tools: [a\n", "f.yaml:3: "},
		{"an open quote", good + "model: \"x\nmax-hours: 2\n", "f.yaml:3: found unexpected end of stream"},
		{"an open list, no newline", good + "allowed-tools: [a", "f.yaml:3: "},
		{"an unknown anchor", good + "model: *x\nmax-hours: 2\n", "f.yaml:3: unknown anchor 'x' referenced"},
		{"a list before the error", "allowed-tools: [\n a,\n]\nx: y: z\n", "f.yaml:4: mapping values are not allowed in this context"},
		{"a control character", good + "model: \x01\n", "f.yaml:3: control characters are not allowed"},
		{"not UTF-8", good + "model: \xff\n", "f.yaml:3: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseFile("f.yaml", []byte(tt.text), true)
			if want := "read configuration " + tt.want; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if err != nil && strings.Contains(err.Error(), "yaml: ") {
				t.Errorf("%v names the library", err)
			}
			if got != nil {
				t.Errorf("got values %v beside an error", got)
			}
		})
	}
}

// TestBrokenLineOfALongFile has the error far behind what is searched for it.
func TestBrokenLineOfALongFile(t *testing.T) {
	t.Parallel()
	_, err := ParseFile("f.yaml", []byte(strings.Repeat("# comment\n", 5*maxLineSearch)+"a: b: c\n"), false)
	if want := fmt.Sprintf("read configuration f.yaml:%d: ", 5*maxLineSearch+1); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// sc is a value as the tests' section gives it.
func sc(line int, key string, raw ...string) Value {
	return Value{Key: key, Raw: raw, Origin: fmt.Sprintf("CLAUDE.md:%d Session Config", line), InRepo: true}
}

func TestParseSessionConfig(t *testing.T) {
	t.Parallel()
	const head = "## Session Config\n"
	byMode := agentsPerWaveByMode
	tests := []struct {
		name, text string
		want       []Value
		found      bool
	}{
		{"empty file", "", nil, false},
		{"no section", "# Project\n\nagents-per-wave: 4\n", nil, false},
		{"an empty section", head, nil, true},
		{
			"the three forms", head + "agents-per-wave: 4\n- persistence: false\n- **agents-per-wave:** 5\n",
			[]Value{sc(2, "agents-per-wave", "4"), sc(3, "persistence", "false"), sc(4, "agents-per-wave", "5")},
			true,
		},
		{"behind other sections", "# P\nagents-per-wave: 1\n\n" + head + "\nagents-per-wave: 4\n", []Value{sc(6, "agents-per-wave", "4")}, true},
		{"ended by a heading", head + "agents-per-wave: 4\n## Other\nagents-per-wave: 5\n", []Value{sc(2, "agents-per-wave", "4")}, true},
		{"ended by the top heading", head + "agents-per-wave: 4\n# Other\nagents-per-wave: 5\n", []Value{sc(2, "agents-per-wave", "4")}, true},
		{"a sub-heading belongs to it", head + "### Waves\nagents-per-wave: 5\n", []Value{sc(3, "agents-per-wave", "5")}, true},
		{"two sections", head + "agents-per-wave: 4\n## Other\n" + head + "agents-per-wave: 5\n", []Value{sc(2, "agents-per-wave", "4"), sc(5, "agents-per-wave", "5")}, true},
		{"comments", head + "agents-per-wave: 4 # as many as fit\n- **persistence:** true  # kept\n", []Value{sc(2, "agents-per-wave", "4"), sc(3, "persistence", "true")}, true},
		{"a hash without a blank is no comment", head + "autopilot:\n  model: a#b\n", []Value{sc(3, "model", "a#b")}, true},
		{"quotes", head + "persistence: \"false\"\nagents-per-wave: '3'\n", []Value{sc(2, "persistence", "false"), sc(3, "agents-per-wave", "3")}, true},
		{"by mode", head + "agents-per-wave: 6 (deep: 18)\n", []Value{sc(2, "agents-per-wave", "6"), sc(2, byMode, "deep: 18")}, true},
		{"by several modes", head + "- **agents-per-wave:** 6 (deep: 18, feature: 4) # both\n", []Value{sc(2, "agents-per-wave", "6"), sc(2, byMode, "deep: 18", "feature: 4")}, true},
		{"by no mode", head + "agents-per-wave: 6 ()\n", []Value{sc(2, "agents-per-wave", "6"), sc(2, byMode)}, true},
		{
			"block", head + "autopilot:\n  max-sessions: 3\n\n  - max-hours: 2\n  - **stall-timeout:** 20m\n",
			[]Value{sc(3, "max-sessions", "3"), sc(5, "max-hours", "2"), sc(6, "stall-timeout", "20m")},
			true,
		},
		{"block as a list entry", head + "- **autopilot:** # ours\n  - **max-sessions:** 3\n", []Value{sc(3, "max-sessions", "3")}, true},
		{"block with tabs", head + "autopilot:\n\tmax-sessions: 3\n", []Value{sc(3, "max-sessions", "3")}, true},
		{"block ended by a key", head + "autopilot:\n  max-sessions: 3\nwaves: 5\n  max-hours: 2\n", []Value{sc(3, "max-sessions", "3")}, true},
		{"block ended by a sub-heading", head + "autopilot:\n  max-sessions: 3\n### x\nother:\n  max-hours: 2\n", []Value{sc(3, "max-sessions", "3")}, true},
		{"block ended by another section", head + "autopilot:\n## Other\n" + head + "  max-hours: 2\n", nil, true},
		{"an autopilot key with a value is no block", head + "autopilot: on\n  max-sessions: 3\n", nil, true},
		{"an unknown key of the block is for Resolve", head + "autopilot:\n  nope: 3\n", []Value{sc(3, "nope", "3")}, true},
		{"keys of the block with names of their own", head + "autopilot:\n  bg-isolation: worktree\n  autopilot-peer-abort: 9\n", []Value{sc(3, "bg-isolation", "worktree"), sc(4, "peer-abort", "9")}, true},
		{"the dial", head + "dispatcher-autonomy:\n  autonomy: Autonomous-Gated\n  confidence-floor: 0.7\nwaves: 5\n", []Value{sc(3, "autonomy", "autonomous-gated"), sc(4, "confidence-floor", "0.7")}, true},
		{"a dial that is none", head + "dispatcher-autonomy:\n  autonomy: full\n  confidence-floor: 7\n", nil, true},
		{"how learnings age", head + "evolve:\n  decay-enabled: false\n  decay-half-life-days: 30\n  decay-floor-factor: 0.2\n", []Value{sc(3, "learning-decay", "false"), sc(4, "learning-half-life", "30"), sc(5, "learning-decay-floor", "0.2")}, true},
		{"decay that is none", head + "evolve:\n  decay-half-life-days: soon\n  other: 1\n", nil, true},
		{"peer abort outside the block", head + "autopilot-peer-abort: 9\n", []Value{sc(2, "peer-abort", "9")}, true},
		{
			"lists of the block", head + "autopilot:\n  lifecycle-steps: /session {mode}, /go\n  allowed-tools: Read\n",
			[]Value{sc(3, "lifecycle-steps", "/session {mode}", "/go"), sc(4, "allowed-tools", "Read")},
			true,
		},
		{"other programs' keys", head + "waves: 5\nmax-sessions: 3\nenforcement: strict\nbg-isolation: none\n", nil, true},
		{"prose", head + "Some words, and a note: with a colon.\nSee also: that\n", nil, true},
		{"heading with a blank behind", "## Session Config  \t\r\nagents-per-wave: 4\r\n", []Value{sc(2, "agents-per-wave", "4")}, true},
		{"heading with more words", "## Session Config (old)\nagents-per-wave: 4\n", nil, false},
		{"heading in other letters", "## session config\nagents-per-wave: 4\n", nil, false},
		{"heading with two blanks", "##  Session Config\nagents-per-wave: 4\n", nil, false},
		{"heading of another level", "# Session Config\nagents-per-wave: 4\n", nil, false},
		{"heading of a lower level", "### Session Config\nagents-per-wave: 4\n", nil, false},
		{"heading indented", " ## Session Config\nagents-per-wave: 4\n", nil, false},
		{"byte-order mark", "\ufeff## Session Config\nagents-per-wave: 4\n", []Value{sc(2, "agents-per-wave", "4")}, true},
		{"a very long line before it", strings.Repeat("x", 3<<20) + "\n" + head + "agents-per-wave: 4\n", []Value{sc(3, "agents-per-wave", "4")}, true},
		{"an empty value", head + "agents-per-wave:\n", []Value{sc(2, "agents-per-wave", "")}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, found := ParseSessionConfig("CLAUDE.md", []byte(tt.text))
			if found != tt.found {
				t.Errorf("found %v, want %v", found, tt.found)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSessionConfigResolved(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       func(*Config)
		err        string
	}{
		{"the last one wins", "agents-per-wave: 2\nagents-per-wave: 3\n- **agents-per-wave:** 4\n", func(c *Config) { c.AgentsPerWave = 4 }, ""},
		{"the last one wins in the block too", "autopilot:\n  max-hours: 2\nautopilot:\n  max-hours: 3\n", func(c *Config) { c.MaxHours = 3 }, ""},
		{"the last peer abort wins", "autopilot-peer-abort: 3\nautopilot:\n  peer-abort: 4\n  autopilot-peer-abort: 5\n", func(c *Config) { c.PeerAbort = 5 }, ""},
		{"a last one without modes has none", "agents-per-wave: 6 (deep: 18)\nagents-per-wave: 4\n", func(c *Config) { c.AgentsPerWave = 4 }, ""},
		{"modes", "agents-per-wave: 4\nagents-per-wave: 6 (deep: 18, plan-retro: 0)\n", func(c *Config) { c.AgentsPerWaveMode = map[string]int{"deep": 18, "plan-retro": 0} }, ""},
		{"a broken one that is overridden", "agents-per-wave: many\nagents-per-wave: 4\n", func(c *Config) { c.AgentsPerWave = 4 }, ""},
		{"persistence off", "persistence: false\n", func(c *Config) { c.Persistence = false }, ""},
		{"a broken number", "agents-per-wave: many\n", nil, `agents-per-wave: "many" is not a number (CLAUDE.md:2 Session Config)`},
		{"an empty value", "agents-per-wave:\n", nil, `agents-per-wave: "" is not a number (CLAUDE.md:2 Session Config)`},
		{"a broken mode", "agents-per-wave: 6 (deep 18)\n", nil, `agents-per-wave: "deep 18" is not 'mode: number' (CLAUDE.md:2 Session Config)`},
		{"a negative number for a mode", "agents-per-wave: 6 (deep: -1)\n", nil, `agents-per-wave: "deep: -1" is not 'mode: number' (CLAUDE.md:2 Session Config)`},
		{"an unknown key of the block", "autopilot:\n  max-session: 1\n", nil, "max-session: unknown key (CLAUDE.md:3 Session Config); did you mean max-sessions?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			values, _ := ParseSessionConfig("CLAUDE.md", []byte("## Session Config\n"+tt.text))
			r, err := Resolve(nil, values)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := defaults()
			tt.want(&want)
			if diff := cmp.Diff(want, r.Config); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestModesAreClampedAndNoted(t *testing.T) {
	t.Parallel()
	values, _ := ParseSessionConfig("CLAUDE.md", []byte("## Session Config\nagents-per-wave: 200 (deep: 999, feature: 100)\n"))
	r := resolve(t, values)
	if got := [2]int{r.AgentsFor("deep"), r.AgentsFor("feature")}; got != [2]int{100, 100} {
		t.Errorf("got %v, want both at the bound", got)
	}
	want := []string{
		"agents-per-wave: 200 is above 100, using 100 (CLAUDE.md:2 Session Config)",
		"agents-per-wave: deep: 999 is above 100, using 100 (CLAUDE.md:2 Session Config)",
	}
	if diff := cmp.Diff(want, r.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if got, want := setting(t, r, "agents-per-wave").Value, "100 (deep: 100, feature: 100)"; got != want {
		t.Errorf("shown as %q, want %q", got, want)
	}
}

func TestLoadSessionConfig(t *testing.T) {
	t.Parallel()
	const with, without = "## Session Config\nagents-per-wave: %d\n", "# Project\n"
	tests := []struct {
		name           string
		claude, agents string
		want           string // origin of agents-per-wave
	}{
		{"none", "", "", ""},
		{"CLAUDE.md", fmt.Sprintf(with, 1), "", "CLAUDE.md:2 Session Config"},
		{"AGENTS.md alone", "", fmt.Sprintf(with, 2), "AGENTS.md:2 Session Config"},
		{"CLAUDE.md goes first", fmt.Sprintf(with, 1), fmt.Sprintf(with, 2), "CLAUDE.md:2 Session Config"},
		{"CLAUDE.md has no section", without, fmt.Sprintf(with, 2), "AGENTS.md:2 Session Config"},
		{"CLAUDE.md has an empty section", "## Session Config\n", fmt.Sprintf(with, 2), ""},
		{"neither has one", without, without, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := t.TempDir()
			for name, text := range map[string]string{"CLAUDE.md": tt.claude, "AGENTS.md": tt.agents} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			values, err := LoadSessionConfig(repo)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(values) > 0 {
				got = values[0].Origin
			}
			if got != tt.want {
				t.Errorf("from %q, want %q", got, tt.want)
			}
		})
	}
	repo := t.TempDir()
	if err := os.Mkdir(filepath.Join(repo, "CLAUDE.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadSessionConfig(repo); err == nil || !strings.Contains(err.Error(), "read Session Config: ") {
		t.Errorf("a folder: got %v, want an error that says what was read", err)
	}
}

// checkHeld fails when a repository's files reached what is not theirs, or a
// value lies outside its bounds.
func checkHeld(t *testing.T, values []Value) {
	t.Helper()
	for _, v := range values {
		if !v.InRepo || v.Origin == "" {
			t.Fatalf("%+v does not say where it is from", v)
		}
	}
	r, err := Resolve(values)
	if err != nil {
		return
	}
	if r.Claude != "claude" || r.UseAPIKey || r.PermissionMode == BypassPermissions {
		t.Fatalf("a repository decided claude %q, API key %v, mode %s", r.Claude, r.UseAPIKey, r.PermissionMode)
	}
	if r.MaxSessions < 1 || r.MaxSessions > 50 || !(r.MaxHours >= 0.5 && r.MaxHours <= 24) || !(r.ConfidenceThreshold >= 0 && r.ConfidenceThreshold <= 1) ||
		r.MaxTokens < 0 || !(r.MaxCostUSD >= 0) || r.StallTimeout < 1e9 || r.AgentsPerWave < 0 || r.AgentsPerWave > 100 || r.MetricsDir == "" || len(r.LifecycleSteps) == 0 {
		t.Fatalf("out of bounds: %+v", r.Config)
	}
	for mode, n := range r.AgentsPerWaveMode {
		if n < 0 || n > 100 {
			t.Fatalf("%d agents for %s", n, mode)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	for _, s := range []string{
		"", "max-sessions: 3\n", "a: [b, {c: d}]\n", "permission-mode: ' bypassPermissions'\n", "a: b: c", "- x", "? [a]\n: *b", "---\n---\n", "\ufeffclaude: x",
		"max-hours: 1e400\nmax-tokens: -1e400\nstall-timeout: 1e300\n", "\xff\xfea\x00", "a: |\n  b\n\tc", "lifecycle-steps: ['', ' ']\n", "agents-per-wave by mode: ['deep: 5']\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := ParseFile("f.yaml", data, true)
		if err != nil {
			var line int // YAML knows more line ends than the newline
			if _, scan := fmt.Sscanf(err.Error(), "read configuration f.yaml:%d", &line); scan != nil || line < 1 || line > len(data)+1 {
				t.Fatalf("%v does not name a line of the file", err)
			}
			return
		}
		checkHeld(t, values)
	})
}

func FuzzParseSessionConfig(f *testing.F) {
	const head = "## Session Config\n"
	for _, s := range []string{
		"", head, head + "agents-per-wave: 6 (deep: 18)\n", head + "- **autopilot:**\n  - max-sessions: 3\n", head + "autopilot:\n  claude: x\n  permission-mode: '\" bypassPermissions\"'\n",
		head + ":\n- :\n**:**\n(((", head + "agents-per-wave: (((deep: 99999999999)\n", "\ufeff" + head + "\r\n\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, found := ParseSessionConfig("CLAUDE.md", data)
		if !found && len(values) > 0 {
			t.Fatalf("values %v without a section", values)
		}
		checkHeld(t, values)
	})
}

func TestUserFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ xdg, home, want string }{
		{"/x", "/home/u", "/x/autopilot/config.yaml"},
		{"", "/home/u", "/home/u/.config/autopilot/config.yaml"},
		{"relative", "/home/u", "/home/u/.config/autopilot/config.yaml"},
		{"", "", ""},
		{"", "relative", ""},
		{"relative", "", ""},
	} {
		got := UserFile(func(name string) string { return map[string]string{"XDG_CONFIG_HOME": tt.xdg, "HOME": tt.home}[name] })
		if got != tt.want {
			t.Errorf("XDG %q, HOME %q: got %q, want %q", tt.xdg, tt.home, got, tt.want)
		}
	}
	if values, err := LoadFile("", false); values != nil || err != nil {
		t.Errorf("no file: got %v, %v, want an empty layer", values, err)
	}
}

func TestLoadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, RepoFile)
	if values, err := LoadFile(name, true); values != nil || err != nil {
		t.Errorf("missing file: got %v, %v, want an empty layer", values, err)
	}
	if err := os.WriteFile(name, []byte("# ours\n\nmax-hours: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := LoadFile(name, true)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Value{{Key: "max-hours", Raw: []string{"2"}, Origin: name + ":3", InRepo: true}}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if _, err := LoadFile(dir, true); err == nil || !strings.Contains(err.Error(), "read configuration: ") {
		t.Errorf("a folder: got %v, want an error that says what was read", err)
	}
}
