package launch

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const id = "0b6f2c9e-8f1c-4f0e-9a55-1d5b5a1f0c11"

func TestArgs(t *testing.T) {
	t.Parallel()
	base := []string{"-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"}
	const off = "ScheduleWakeup,Monitor,CronCreate"
	alone := []string{
		"--tools", "", "--strict-mcp-config", "--setting-sources", "user", "--settings", `{"disableAllHooks":true,"outputStyle":"default"}`,
		"--permission-mode", "dontAsk", "--no-session-persistence", "--max-turns", "4",
	}
	tests := []struct {
		name  string
		o     Options
		args  []string // behind the first five
		stdin string
	}{
		{
			"the least",
			Options{SessionID: id, Prompt: "do it", Permission: "acceptEdits"},
			[]string{"--session-id", id, "--permission-mode", "acceptEdits", "--disallowedTools", off},
			"do it",
		},
		{
			"resumed",
			Options{SessionID: id, Resume: true, Prompt: "go on", Permission: "plan"},
			[]string{"--resume", id, "--permission-mode", "plan", "--disallowedTools", off},
			"go on",
		},
		{
			"a slash command",
			Options{SessionID: id, Prompt: "/session deep", AsArgument: true, Permission: "plan"},
			[]string{"--session-id", id, "--permission-mode", "plan", "--disallowedTools", off, "--", "/session deep"},
			"",
		},
		{
			"a resumed slash command",
			Options{SessionID: id, Resume: true, Prompt: "/close", AsArgument: true, Permission: "plan"},
			[]string{"--resume", id, "--permission-mode", "plan", "--disallowedTools", off, "--", "/close"},
			"",
		},
		{
			"an argument that looks like a flag",
			Options{SessionID: id, Prompt: "--help", AsArgument: true, Permission: "plan"},
			[]string{"--session-id", id, "--permission-mode", "plan", "--disallowedTools", off, "--", "--help"},
			"",
		},
		{"everything", Options{
			SessionID: id, Prompt: "do it", SystemPrompt: "be brief", Settings: "/s/settings.json", Schema: `{"type":"object"}`, Model: "opus",
			Permission: "dontAsk", AllowedTools: []string{"Bash(git log:*)", "Read"}, MaxBudgetUSD: 1.5, Extra: []string{"--max-turns", "40"},
		}, []string{
			"--session-id", id, "--settings", "/s/settings.json", "--append-system-prompt", "be brief", "--permission-mode", "dontAsk", "--model", "opus",
			"--allowedTools", "Bash(git log:*),Read", "--disallowedTools", off, "--json-schema", `{"type":"object"}`, "--max-budget-usd", "1.500000", "--max-turns", "40",
		}, "do it"},
		{
			"a variadic flag of the person before a slash command",
			Options{SessionID: id, Prompt: "/go", AsArgument: true, Permission: "plan", Extra: []string{"--add-dir", "/a", "/b"}},
			[]string{"--session-id", id, "--permission-mode", "plan", "--disallowedTools", off, "--add-dir", "/a", "/b", "--", "/go"},
			"",
		},
		{
			"without tools",
			Options{SessionID: id, Prompt: "judge it", NoTools: true},
			append([]string{"--session-id", id}, alone...),
			"judge it",
		},
		{"without tools, everything", Options{
			SessionID: id, Prompt: "/session judge it", AsArgument: true, SystemPrompt: "you judge", Settings: "/s/settings.json", Schema: `{"type":"object"}`,
			Model: "opus", Permission: "bypassPermissions", AllowedTools: []string{"Bash"}, MaxBudgetUSD: 1.5, Extra: []string{"--mcp-config", "m.json"}, NoTools: true,
		}, slices.Concat([]string{"--session-id", id}, alone, []string{
			"--system-prompt", "you judge", "--model", "opus", "--json-schema", `{"type":"object"}`, "--max-budget-usd", "1.500000",
		}), " /session judge it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			extra := slices.Clone(tt.o.Extra)
			args, stdin := Args(tt.o)
			if diff := cmp.Diff(append(slices.Clone(base), tt.args...), args); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if stdin != tt.stdin {
				t.Errorf("stdin %q, want %q", stdin, tt.stdin)
			}
			if diff := cmp.Diff(extra, tt.o.Extra); diff != "" {
				t.Errorf("the caller's arguments were changed:\n%s", diff)
			}
		})
	}
}

// TestBudget has amounts that print as what the CLI takes: a number above 0.
func TestBudget(t *testing.T) {
	t.Parallel()
	for usd, want := range map[float64]string{0: "", -1: "", 1e-9: "0.000001", 0.0000014: "0.000001", 0.25: "0.250000", 12: "12.000000", 1e7: "10000000.000000"} {
		args, _ := Args(Options{SessionID: id, MaxBudgetUSD: usd})
		got := ""
		if i := slices.Index(args, "--max-budget-usd"); i >= 0 {
			got = args[i+1]
		}
		if got != want {
			t.Errorf("%v: got %q, want %q", usd, got, want)
		}
	}
}

// TestPromptIsNeverRead makes sure that no prompt can become a flag, and that it
// goes exactly one way.
func TestPromptIsNeverRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := Options{SessionID: id, Permission: "plan", Prompt: rapid.String().Draw(t, "prompt"), AsArgument: rapid.Bool().Draw(t, "argument")}
		args, stdin := Args(o)
		if !o.AsArgument {
			if stdin != o.Prompt || slices.Contains(args, "--") {
				t.Fatalf("got stdin %q and %q", stdin, args)
			}
			return
		}
		if n := len(args); stdin != "" || args[n-2] != "--" || args[n-1] != o.Prompt {
			t.Fatalf("got stdin %q and %q", stdin, args)
		}
	})
}

// TestOwnArgumentsAreReserved: what a run sets itself may not be handed over.
func TestOwnArgumentsAreReserved(t *testing.T) {
	t.Parallel()
	full := Options{SessionID: id, SystemPrompt: "s", Settings: "f", Schema: "{}", Model: "m", Permission: "p", MaxBudgetUSD: 1}
	shared := []string{"--disallowedTools"} // the CLI adds up what it is given
	for _, resume := range []bool{false, true} {
		full.Resume = resume
		args, _ := Args(full)
		for _, a := range args {
			if strings.HasPrefix(a, "-") && !slices.Contains(shared, a) && RefusedExtra([]string{a}) == nil {
				t.Errorf("%s is set by a run and can be handed over", a)
			}
		}
	}
}

func TestRefusedExtra(t *testing.T) {
	t.Parallel()
	plain := func(flag string) string {
		return flag + " is set by autopilot and cannot be handed to claude: leave it out"
	}
	tests := []struct {
		extra []string
		want  string
	}{
		{nil, ""},
		{[]string{"--max-turns", "40"}, ""},
		{[]string{"--add-dir", "/x", "--mcp-config", "m.json", "--strict-mcp-config"}, ""},
		{[]string{"--allowedTools", "Read"}, ""},
		{[]string{"-d", "api"}, ""},
		{[]string{"-n", "name"}, ""},
		{[]string{"--effort=high"}, ""},
		{[]string{"-"}, ""},
		{[]string{""}, ""},
		{[]string{"--model", "opus"}, "--model is set by autopilot and cannot be handed to claude: use autopilot's own --model"},
		{[]string{"--model=opus"}, "--model is set by autopilot and cannot be handed to claude: use autopilot's own --model"},
		{[]string{"--permission-mode", "plan"}, "--permission-mode is set by autopilot and cannot be handed to claude: use autopilot's own --permission-mode"},
		{[]string{"--max-budget-usd=1"}, "--max-budget-usd is set by autopilot and cannot be handed to claude: use autopilot's --max-cost-usd"},
		{[]string{"--settings", "{}"}, "--settings is set by autopilot and cannot be handed to claude: put the settings into .claude/settings.json"},
		{[]string{"--max-turns", "4", "--output-format", "text"}, plain("--output-format")},
		{[]string{"--resume", "--model"}, plain("--resume")},
		{[]string{"-p"}, plain("-p")},
		{[]string{"-c"}, plain("-c")},
		{[]string{"-r" + id}, plain("-r")},
		{[]string{"-wname"}, plain("-w")},
		{[]string{"-pc"}, plain("-p")},
		{[]string{"--max-turns", "4", "--", "x"}, "what follows a second -- would be taken for the prompt: leave it out"},
	}
	for _, f := range []string{
		"--print", "--input-format", "--verbose", "--include-partial-messages", "--session-id", "--continue", "--fork-session", "--append-system-prompt",
		"--json-schema", "--no-session-persistence", "--worktree", "--bg", "--background", "--bare", "--safe-mode", "--help", "--version", "-h", "-v",
	} {
		tests = append(tests, struct {
			extra []string
			want  string
		}{[]string{f}, plain(f)})
	}
	for _, tt := range tests {
		got := ""
		if err := RefusedExtra(tt.extra); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.extra, got, tt.want)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	const command = `'/opt/auto pilot' hook agent-cap '/s/a "cap".json' && <x>`
	agents := []any{map[string]any{"matcher": "Agent|Task", "hooks": []any{map[string]any{"type": "command", "command": command, "timeout": 30.0}}}}
	hooks := map[string]any{"PreToolUse": agents, "PostToolUse": agents, "PostToolUseFailure": agents}
	for _, stop := range []string{"", "autopilot hook stop '/s/desk'"} {
		if stop != "" {
			hooks["Stop"] = []any{map[string]any{"matcher": "", "hooks": []any{map[string]any{"type": "command", "command": stop, "timeout": 30.0}}}}
		}
		data, err := Settings(Hooks{Agents: command, Stop: stop})
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(map[string]any{"disableAllHooks": false, "hooks": hooks}), got); diff != "" {
			t.Errorf("settings with stop hook %q (-want +got):\n%s", stop, diff)
		}
	}
}

// TestGateSeesEveryTool has the hook that holds calls asked before all others, for any
// tool.
func TestGateSeesEveryTool(t *testing.T) {
	t.Parallel()
	data, err := Settings(Hooks{Agents: "cap", Gate: "gate || exit 2"})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct{ Command string }
		}
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	pre := got.Hooks["PreToolUse"]
	if len(pre) != 2 || pre[0].Matcher != "*" || pre[0].Hooks[0].Command != "gate || exit 2" || pre[1].Hooks[0].Command != "cap" {
		t.Errorf("before a tool: %+v", pre)
	}
	if post := got.Hooks["PostToolUse"]; len(post) != 1 || post[0].Hooks[0].Command != "cap" {
		t.Errorf("after a tool: %+v", post)
	}
}

// TestServer gives a session the tool server and lets its tools run without asking.
func TestServer(t *testing.T) {
	t.Parallel()
	o := Options{SessionID: id, Prompt: "p", Permission: "acceptEdits", AllowedTools: []string{"Bash(go test *)"}}
	without, _ := Args(o)
	o.Server = []string{"/opt/auto pilot", "mcp", `/s/"desk"`}
	with, _ := Args(o)
	if slices.Contains(without, "--mcp-config") || strings.Contains(strings.Join(without, " "), "mcp__") {
		t.Errorf("a session without server is started with %q", without)
	}
	i, j := slices.Index(with, "--mcp-config"), slices.Index(with, "--allowedTools")
	if i < 0 || j < 0 {
		t.Fatalf("arguments are %q", with)
	}
	if want := `{"mcpServers":{"autopilot":{"command":"/opt/auto pilot","args":["mcp","/s/\"desk\""]}}}`; with[i+1] != want {
		t.Errorf("server is %s, want %s", with[i+1], want)
	}
	if want := "Bash(go test *),mcp__autopilot"; with[j+1] != want {
		t.Errorf("allowed tools are %q, want %q", with[j+1], want)
	}
	if len(o.AllowedTools) != 1 {
		t.Error("the caller's list has changed")
	}
	o.NoTools = true
	if bare, _ := Args(o); slices.Contains(bare, "--mcp-config") {
		t.Error("a session without tools has a server")
	}
}

// TestQuote asks a real shell what it makes of the words.
func TestQuote(t *testing.T) {
	t.Parallel()
	words := []string{
		"", "plain", "two words", "it's", "'", "''", `"double"`, "$HOME", "`id`", "$(id)", `back\slash`, `\`, "a\nb", "\t", "*", "~", "!x", "#", "-n", "--", "a;b&c|d>e<f", "ünï→", "\x01\x7f", "%s%d",
	}
	rapid.Check(t, func(t *rapid.T) {
		words := append(slices.Clone(words), rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("a '\"\\$`\n!*")), 0, 12, -1), 20, 20).Draw(t, "words")...)
		var script, want strings.Builder
		script.WriteString(`printf '%s\0'`)
		for _, w := range words {
			fmt.Fprintf(&script, " %s", Quote(w))
			want.WriteString(w + "\x00")
		}
		got, err := exec.Command("sh", "-c", script.String()).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		if diff := cmp.Diff(want.String(), string(got)); diff != "" {
			t.Fatalf("words (-want +got):\n%s", diff)
		}
	})
}

func unattended() []string {
	return []string{
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS=60000", "CLAUDE_CODE_STARTUP_FAILURE_RESULTS=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "TERM=dumb",
	}
}

func markers() []string {
	return []string{"AUTOPILOT_RUN_ID=run-1", "AUTOPILOT_RUN_TOKEN=token-1", "AUTOPILOT_SESSION_ID=" + id, "AUTOPILOT_AGENTS_PER_WAVE=4"}
}

func TestEnv(t *testing.T) {
	t.Parallel()
	const (
		keyNote   = "ANTHROPIC_API_KEY is set and not handed to claude, which would bill it; --use-api-key hands it on"
		outerNote = "variables of a surrounding Claude Code session are not handed on: "
	)
	all := slices.Concat(markers(), unattended())
	without := func(name string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	tests := []struct {
		name    string
		environ []string
		key     bool
		kept    []string // of the environment, in its order
		set     []string
		notes   []string
	}{
		{"nothing", nil, false, nil, all, nil},
		{"what is the person's stays", []string{"PATH=/bin", "HOME=/h", "EMPTY=", "ODD", "A=b=c", "PATH=/usr/bin"}, false, []string{"PATH=/bin", "HOME=/h", "EMPTY=", "ODD", "A=b=c", "PATH=/usr/bin"}, all, nil},
		{"markers are not doubled", []string{"AUTOPILOT_RUN_ID=old", "AUTOPILOT_RUN_TOKEN=old", "AUTOPILOT_SESSION_ID=old", "AUTOPILOT_AGENTS_PER_WAVE=9", "AUTOPILOT_RUN_ID=older"}, false, nil, all, nil},
		{"names are exact", []string{"AUTOPILOT_RUN_ID2=x", "autopilot_run_id=x", "XCLAUDECODE=1", "CLAUDECODES=1"}, false, []string{"AUTOPILOT_RUN_ID2=x", "autopilot_run_id=x", "XCLAUDECODE=1", "CLAUDECODES=1"}, all, nil},
		{"an API key is taken away", []string{"ANTHROPIC_API_KEY=sk-1", "B=2"}, false, []string{"B=2"}, all, []string{keyNote}},
		{"an API key is kept", []string{"ANTHROPIC_API_KEY=sk-1", "B=2"}, true, []string{"ANTHROPIC_API_KEY=sk-1", "B=2"}, all, nil},
		{"an empty API key bills nobody", []string{"ANTHROPIC_API_KEY="}, false, nil, all, nil},
		{"other credentials stay", []string{"CLAUDE_CODE_OAUTH_TOKEN=t", "ANTHROPIC_BASE_URL=u"}, false, []string{"CLAUDE_CODE_OAUTH_TOKEN=t", "ANTHROPIC_BASE_URL=u"}, all, nil},
		{"a surrounding session", []string{"CLAUDECODE=1", "X=1", "CLAUDE_PID=7"}, false, []string{"X=1"}, all, []string{outerNote + "CLAUDECODE, CLAUDE_PID"}},
		{"both notes", []string{"CLAUDECODE=1", "ANTHROPIC_API_KEY=k"}, false, nil, all, []string{keyNote, outerNote + "CLAUDECODE"}},
		{
			"a person's own value of ours",
			[]string{"DISABLE_AUTOUPDATER=0"},
			false,
			[]string{"DISABLE_AUTOUPDATER=0"},
			without("DISABLE_AUTOUPDATER"),
			[]string{"DISABLE_AUTOUPDATER=0 is yours; autopilot would set 1 (the binary stays the one that was checked)"},
		},
		{"a person's own value that is the same", []string{"DISABLE_AUTOUPDATER=1"}, false, []string{"DISABLE_AUTOUPDATER=1"}, without("DISABLE_AUTOUPDATER"), nil},
		{"an empty one is none", []string{"DISABLE_AUTOUPDATER="}, false, nil, all, nil},
		{"the terminal is never handed on", []string{"TERM=xterm-256color"}, false, nil, all, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env, notes := Env(tt.environ, Identity{RunID: "run-1", Token: "token-1", SessionID: id, Cap: 4, UseAPIKey: tt.key})
			if diff := cmp.Diff(slices.Concat(tt.kept, tt.set), env); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEnvOfANestedSession takes the variables that both pinned versions of the
// CLI were seen to give to a tool, a hook or a server.
func TestEnvOfANestedSession(t *testing.T) {
	t.Parallel()
	var environ []string
	for name := range strings.FieldsSeq(`AI_AGENT CLAUDECODE CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_EXECPATH CLAUDE_CODE_SESSION_ID
		CLAUDE_EFFORT CLAUDE_CODE_CHILD_NOTES_DIR CLAUDE_CODE_MESSAGING_SOCKET CLAUDE_CODE_MESSAGING_TOKEN CLAUDE_CODE_SESSION_ATTENDED CLAUDE_PID
		CLAUDE_PROJECT_DIR CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS CLAUDE_ENV_FILE`) {
		environ = append(environ, name+"=1")
	}
	env, notes := Env(environ, Identity{RunID: "run-1", Token: "token-1", SessionID: id, Cap: 4})
	if diff := cmp.Diff(slices.Concat(markers(), unattended()), env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if len(notes) != 1 {
		t.Errorf("notes %q, want one for all", notes)
	}
}

// TestEnvSaysEachThingOnce holds for any environment: what a run sets stands
// there once, so that no reader has to choose.
func TestEnvSaysEachThingOnce(t *testing.T) {
	t.Parallel()
	names := []string{RunVar, TokenVar, SessionVar, CapVar, apiKeyVar, "PATH", "CLAUDECODE", "AI_AGENT"}
	for _, v := range Unattended() {
		names = append(names, v.Name)
	}
	rapid.Check(t, func(t *rapid.T) {
		environ := rapid.SliceOf(rapid.Map(rapid.SampledFrom(names), func(n string) string { return n + "=x" })).Draw(t, "environ")
		env, _ := Env(environ, Identity{RunID: "r", Token: "t", SessionID: "s", Cap: 0})
		count := map[string]int{}
		for _, kv := range env {
			name, _, _ := strings.Cut(kv, "=")
			count[name]++
		}
		for name, value := range map[string]string{RunVar: "r", TokenVar: "t", SessionVar: "s", CapVar: "0", "TERM": "dumb"} {
			if count[name] != 1 || Lookup(env, name) != value {
				t.Fatalf("%s stands there %d times as %q, want %q", name, count[name], Lookup(env, name), value)
			}
		}
		if count[apiKeyVar]+count["CLAUDECODE"]+count["AI_AGENT"] > 0 {
			t.Fatalf("handed on: %v", count)
		}
		for _, v := range Unattended() {
			if Lookup(env, v.Name) == "" {
				t.Fatalf("%s is not set", v.Name)
			}
		}
	})
}

// TestEnvWithoutTools: no memory is put before the prompt of a judge, whatever a
// person has set.
func TestEnvWithoutTools(t *testing.T) {
	t.Parallel()
	for _, environ := range [][]string{nil, {"CLAUDE_CODE_DISABLE_CLAUDE_MDS=0"}} {
		for _, noTools := range []bool{false, true} {
			want := Lookup(environ, "CLAUDE_CODE_DISABLE_CLAUDE_MDS")
			if noTools {
				want = "1"
			}
			env, _ := Env(environ, Identity{NoTools: noTools})
			if got := Lookup(env, "CLAUDE_CODE_DISABLE_CLAUDE_MDS"); got != want {
				t.Errorf("%q, no tools %v: got %q, want %q", environ, noTools, got, want)
			}
		}
	}
}

func TestUnattendedSaysWhy(t *testing.T) {
	t.Parallel()
	var got []string
	for _, v := range Unattended() {
		got = append(got, v.Name+"="+v.Value)
		if v.Why == "" {
			t.Errorf("%s has no reason", v.Name)
		}
	}
	if diff := cmp.Diff(unattended(), got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	environ := []string{"A=1", "B=x=y", "A=2", "C=", "AB=3", "D", "A"}
	for name, want := range map[string]string{"A": "2", "B": "x=y", "C": "", "D": "", "E": "", "": "", "AB": "3"} {
		if got := Lookup(environ, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
