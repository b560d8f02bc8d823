package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/config"
)

const wholeSettings = `{
  "hooks": {
    "Stop": [
      {
        "matcher": "",
        "hooks": [
          {
            "type": "command",
            "command": "autopilot hook stop",
            "timeout": 10
          }
        ]
      }
    ],
    "SessionStart": [
      {
        "matcher": "",
        "hooks": [
          {
            "type": "command",
            "command": "autopilot hook session-start",
            "timeout": 10
          }
        ]
      }
    ]
  },
  "claudeFlow": {
    "autopilot": {
      "maxIterations": 50,
      "timeoutMinutes": 240,
      "taskSources": [
        "team-tasks",
        "swarm-tasks",
        "file-checklist"
      ],
      "completionCriteria": "all-tasks-done"
    }
  }
}
`

const wholeServers = `{
  "mcpServers": {
    "autopilot": {
      "command": "autopilot",
      "args": [
        "mcp"
      ]
    }
  }
}
`

func TestInitInAnEmptyRepository(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.plan()
	p.same("after Plan", tree{})
	p.apply(c)
	p.same("after Apply", tree{
		".claude":               "drwxr-xr-x",
		".claude/settings.json": "-rw-r--r-- " + wholeSettings,
		".mcp.json":             "-rw-r--r-- " + wholeServers,
		"autopilot.yaml":        "-rw-r--r-- " + template(),
		"CLAUDE.md":             "-rw-r--r-- " + section + "\n",
	})
	if info, err := os.Stat(p.Record); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("record = %v, %v, want mode 0600", info, err)
	}
	if c := p.plan(); !c.Empty() || c.Diff() != "" || len(c.Notes) > 0 {
		t.Errorf("second Plan = %v, notes %q\n%s", c.Files(), c.Notes, c.Diff())
	}
	p.uninstall()
	p.same("after uninstall", tree{})
	if _, err := os.Stat(p.Record); !os.IsNotExist(err) {
		t.Errorf("record is still there: %v", err)
	}
	if c := p.planUninstall(); !c.Empty() {
		t.Errorf("second PlanUninstall = %v", c.Files())
	}
}

func TestInitLeavesOut(t *testing.T) {
	t.Parallel()
	all := []string{".claude/settings.json", ".mcp.json", "autopilot.yaml", "CLAUDE.md"}
	for i, set := range []func(*Options){
		func(o *Options) { o.NoHooks = true },
		func(o *Options) { o.NoMCP = true },
		func(o *Options) { o.NoConfig = true },
		func(o *Options) { o.NoInstructions = true },
	} {
		t.Run(all[i], func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			part := p.Options
			set(&part)
			c, err := Plan(part)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(slices.Delete(slices.Clone(all), i, i+1), c.Files()); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			p.init()
			c, err = PlanUninstall(part)
			if err != nil {
				t.Fatal(err)
			}
			p.apply(c)
			if !p.exists(all[i]) {
				t.Errorf("uninstall has removed what was left out")
			}
			p.uninstall()
			p.same("after the rest of uninstall", tree{})
		})
	}
}

// TestInitFollowsTheFile is about texts of .claude/settings.json and what init makes
// of them.
func TestInitFollowsTheFile(t *testing.T) {
	t.Parallel()
	const (
		stop   = `{"matcher":"","hooks":[{"type":"command","command":"autopilot hook stop","timeout":10}]}`
		start  = `{"matcher":"","hooks":[{"type":"command","command":"autopilot hook session-start","timeout":10}]}`
		both   = `{"Stop":[` + stop + `],"SessionStart":[` + start + `]}`
		limits = `{"autopilot":{"maxIterations":50,"timeoutMinutes":240,"taskSources":["team-tasks","swarm-tasks","file-checklist"],"completionCriteria":"all-tasks-done"}}`
	)
	tests := []struct{ name, in, want string }{
		{"empty", "", wholeSettings},
		{"a blank line", "\n", wholeSettings},
		{"byte-order mark alone", "\ufeff", "\ufeff" + wholeSettings},
		{"an empty object without line end", "{}", strings.TrimSuffix(wholeSettings, "\n")},
		{"an empty object on two lines", "{\n}\n", wholeSettings},
		{"one line, tight", `{"a":1}`, `{"a":1,"hooks":` + both + `,"claudeFlow":` + limits + `}`},
		{"one line with a trailing comma", `{"a":1,}`, `{"a":1,"hooks":` + both + `,"claudeFlow":` + limits + `,}`},
		{
			"one line, with blanks", `{ "a": 1 }`,
			`{ "a": 1, "hooks": {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "autopilot hook stop", "timeout": 10}]}], ` +
				`"SessionStart": [{"matcher": "", "hooks": [{"type": "command", "command": "autopilot hook session-start", "timeout": 10}]}]}, ` +
				`"claudeFlow": {"autopilot": {"maxIterations": 50, "timeoutMinutes": 240, "taskSources": ["team-tasks", "swarm-tasks", "file-checklist"], "completionCriteria": "all-tasks-done"}} }`,
		},
		{
			"comments, a comma behind the value and not behind the comment",
			"{\n  // first\n  \"a\": 1 /* one */ // more\n  // \"b\": 2\n}\n",
			"{\n  // first\n  \"a\": 1, /* one */ // more\n  // \"b\": 2\n" + strings.TrimPrefix(wholeSettings, "{\n"),
		},
		{
			"four blanks, windows line ends, byte-order mark",
			"\ufeff{\r\n    \"a\": 1\r\n}\r\n",
			"\ufeff" + strings.ReplaceAll(strings.ReplaceAll("{\n  \"a\": 1,\n"+strings.TrimPrefix(wholeSettings, "{\n"), "  ", "    "), "\n", "\r\n"),
		},
		{
			"tabs and a trailing comma",
			"{\n\t\"a\": 1,\n}\n",
			strings.ReplaceAll("{\n  \"a\": 1,\n"+strings.TrimSuffix(strings.TrimPrefix(wholeSettings, "{\n"), "\n}\n")+",\n}\n", "  ", "\t"),
		},
		{
			"other hooks and other settings of the same name",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": []}\n    ],\n    \"PreToolUse\": []\n  },\n  \"claudeFlow\": {\"x\": 1}\n}",
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": []},\n      {\n        \"matcher\": \"\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n" +
				"            \"command\": \"autopilot hook stop\",\n            \"timeout\": 10\n          }\n        ]\n      }\n    ],\n    \"PreToolUse\": [],\n" +
				"    \"SessionStart\": [\n      {\n        \"matcher\": \"\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n" +
				"            \"command\": \"autopilot hook session-start\",\n            \"timeout\": 10\n          }\n        ]\n      }\n    ]\n  },\n" +
				"  \"claudeFlow\": {\"x\": 1, \"autopilot\": {\"maxIterations\": 50, \"timeoutMinutes\": 240, \"taskSources\": [\"team-tasks\", \"swarm-tasks\", \"file-checklist\"], \"completionCriteria\": \"all-tasks-done\"}}\n}",
		},
		{"a comment at the end of the file, without line end", `{"a":1} // end`, `{"a":1,"hooks":` + both + `,"claudeFlow":` + limits + `} // end`},
		{
			"indentation that differs from object to object",
			"{\n  \"hooks\": {\n        \"PreToolUse\": []\n    },\n  \"claudeFlow\": {\"autopilot\": {}}\n}\n",
			"{\n  \"hooks\": {\n        \"PreToolUse\": [],\n        \"Stop\": [\n          {\n            \"matcher\": \"\",\n            \"hooks\": [\n              {\n" +
				"                \"type\": \"command\",\n                \"command\": \"autopilot hook stop\",\n                \"timeout\": 10\n              }\n            ]\n          }\n        ],\n" +
				"        \"SessionStart\": [\n          {\n            \"matcher\": \"\",\n            \"hooks\": [\n              {\n" +
				"                \"type\": \"command\",\n                \"command\": \"autopilot hook session-start\",\n                \"timeout\": 10\n              }\n            ]\n          }\n        ]\n    },\n" +
				"  \"claudeFlow\": {\"autopilot\": {}}\n}\n",
		},
		{
			"an object that is empty but for a line comment",
			"{\"hooks\":{// c\n},\"claudeFlow\":{\"autopilot\":{}}}",
			"{\"hooks\":{// c\n  \"Stop\": [\n    {\n      \"matcher\": \"\",\n      \"hooks\": [\n        {\n          \"type\": \"command\",\n          \"command\": \"autopilot hook stop\",\n" +
				"          \"timeout\": 10\n        }\n      ]\n    }\n  ],\n  \"SessionStart\": [\n    {\n      \"matcher\": \"\",\n      \"hooks\": [\n        {\n          \"type\": \"command\",\n" +
				"          \"command\": \"autopilot hook session-start\",\n          \"timeout\": 10\n        }\n      ]\n    }\n  ]\n},\"claudeFlow\":{\"autopilot\":{}}}",
		},
		{
			"brackets in strings and comments are not deep",
			`{"a":"\"` + strings.Repeat("[", 2000) + `\\",/*` + strings.Repeat("{", 2000) + `*/"hooks":` + both + `,"claudeFlow":{"autopilot":{}}}`,
			`{"a":"\"` + strings.Repeat("[", 2000) + `\\",/*` + strings.Repeat("{", 2000) + `*/"hooks":` + both + `,"claudeFlow":{"autopilot":{}}}`,
		},
		{
			"the hook that a session begins with is there, and it is in front",
			`{"hooks":{"SessionStart":[` + start + `,{"hooks":[]}]},"claudeFlow":{"autopilot":{}}}`,
			`{"hooks":{"SessionStart":[` + start + `,{"hooks":[]}],"Stop":[` + stop + `]},"claudeFlow":{"autopilot":{}}}`,
		},
		{
			"our lines under the other event are not ours",
			`{"hooks":{"SessionStart":[` + stop + `],"Stop":[` + start + `]},"claudeFlow":{"autopilot":{}}}`,
			`{"hooks":{"SessionStart":[` + stop + `,` + start + `],"Stop":[` + start + `,` + stop + `]},"claudeFlow":{"autopilot":{}}}`,
		},
		{"all is there", strings.ReplaceAll(wholeSettings, "50", "7"), strings.ReplaceAll(wholeSettings, "50", "7")},
		{
			"the Stop hook is there under another path",
			`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"X=1 '/opt/my tools/autopilot' hook stop"}]}]},"claudeFlow":{"autopilot":{}}}`,
			`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"X=1 '/opt/my tools/autopilot' hook stop"}]}],"SessionStart":[` + start + `]},"claudeFlow":{"autopilot":{}}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write(settingsFile, tt.in)
			p.chmod(settingsFile, 0o600)
			before := readTree(t, p.Repo)
			p.init()
			if diff := cmp.Diff(tt.want, p.read(settingsFile)); diff != "" {
				t.Errorf("after init (-want +got):\n%s", diff)
			}
			if info, err := os.Stat(p.path(settingsFile)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode = %v, %v, want 0600", info.Mode(), err)
			}
			if c := p.plan(); !c.Empty() {
				t.Errorf("second Plan changes %v:\n%s", c.Files(), c.Diff())
			}
			p.uninstall()
			p.same("after uninstall", before)
		})
	}
}

func TestInitServers(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, command, in, want, note string }{
		{"beside another one", "autopilot", "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"}\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"x\"},\n" + strings.TrimPrefix(wholeServers, "{\n  \"mcpServers\": {\n"), ""},
		{"a path with a blank is one word", "/opt/my tools/autopilot", "{\"mcpServers\":{}}", "{\"mcpServers\":{\"autopilot\":{\"command\":\"/opt/my tools/autopilot\",\"args\":[\"mcp\"]}}}", `a path of this machine, "/opt/my tools/autopilot", is written into versioned files: .claude/settings.json, .mcp.json`},
		{"ours already, in another order", "autopilot", `{"mcpServers":{"autopilot":{"args":["mcp"],"command":"autopilot"}}}`, `{"mcpServers":{"autopilot":{"args":["mcp"],"command":"autopilot"}}}`, ""},
		{"something else of that name", "autopilot", `{"mcpServers":{"autopilot":{"url":"http://x"}}}`, `{"mcpServers":{"autopilot":{"url":"http://x"}}}`, `.mcp.json has a server "autopilot" with other content: it was left as it is`},
		{"no object", "autopilot", `{"mcpServers":{"autopilot":null}}`, `{"mcpServers":{"autopilot":null}}`, `.mcp.json has a server "autopilot" with other content: it was left as it is`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.Command = tt.command
			p.write(serverFile, tt.in)
			before := readTree(t, p.Repo)
			c := p.init()
			if diff := cmp.Diff(tt.want, p.read(serverFile)); diff != "" {
				t.Errorf("after init (-want +got):\n%s", diff)
			}
			if got := strings.Join(c.Notes, "\n"); got != tt.note {
				t.Errorf("notes = %q, want %q", got, tt.note)
			}
			p.uninstall()
			p.same("after uninstall", before)
		})
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		set  func(*place)
		want []string
	}{
		{"hooks are off", func(p *place) { p.write(settingsFile, `{"disableAllHooks":true}`) }, []string{".claude/settings.json sets disableAllHooks: no hook will run"}},
		{"hooks are off for one person", func(p *place) { p.write(localSettings, "\ufeff{\"disableAllHooks\": true}") }, []string{".claude/settings.local.json sets disableAllHooks: no hook will run"}},
		{"hooks are on", func(p *place) { p.write(settingsFile, `{"disableAllHooks":false}`) }, nil},
		{"broken local settings are not ours", func(p *place) { p.write(localSettings, "{") }, nil},
		{"comments", func(p *place) { p.write(serverFile, "{} // x\n") }, []string{".mcp.json has comments or trailing commas: Claude Code ignores such a file as a whole, and with it what autopilot needs"}},
		{"another program runs the hook", func(p *place) {
			p.write(settingsFile, `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"/old/autopilot hook stop"}]}]}}`)
		}, []string{`.claude/settings.json has the hook already, as "/old/autopilot hook stop": it was left as it is`}},
		{"another program runs both hooks", func(p *place) {
			p.write(settingsFile, `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"A=1 autopilot hook session-start"}]}],"Stop":[{"hooks":[{"type":"command","command":"/old/autopilot hook stop"}]}]}}`)
		}, []string{
			`.claude/settings.json has the hook already, as "/old/autopilot hook stop": it was left as it is`,
			`.claude/settings.json has the hook already, as "A=1 autopilot hook session-start": it was left as it is`,
		}},
		{
			"a path of this machine", func(p *place) { p.Command = "/opt/pilot" },
			[]string{`a path of this machine, "/opt/pilot", is written into versioned files: .claude/settings.json, .mcp.json`},
		},
		{
			"a path for the server alone", func(p *place) { p.Command, p.NoHooks = "/opt/pilot", true },
			[]string{`a path of this machine, "/opt/pilot", is written into versioned files: .mcp.json`},
		},
		{"a path that nothing runs", func(p *place) { p.Command, p.NoHooks, p.NoMCP = "/opt/pilot", true, true }, nil},
		{"a path below the repository", func(p *place) { p.Command = "./autopilot" }, nil},
		{
			"a path for the hook that is missing", func(p *place) {
				p.Command, p.NoMCP = "/opt/pilot", true
				p.write(settingsFile, "\ufeff"+`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"autopilot hook stop"}]}]}}`)
			},
			[]string{
				`.claude/settings.json has the hook already, as "autopilot hook stop": it was left as it is`,
				`a path of this machine, "/opt/pilot", is written into versioned files: .claude/settings.json`,
			},
		},
		{
			"a path that nothing uses, as another one is there", func(p *place) {
				p.Command = "/opt/pilot"
				p.write(serverFile, `{"mcpServers":{"autopilot":{"command":"autopilot","args":["mcp"]}}}`)
				p.write(settingsFile, `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"autopilot hook session-start"}]}],"Stop":[{"hooks":[{"type":"command","command":"autopilot hook stop"}]}]}}`)
			},
			[]string{
				`.claude/settings.json has the hook already, as "autopilot hook stop": it was left as it is`,
				`.claude/settings.json has the hook already, as "autopilot hook session-start": it was left as it is`,
				`.mcp.json has a server "autopilot" with other content: it was left as it is`,
			},
		},
		{"CLAUDE.md is AGENTS.md", func(p *place) { p.write("AGENTS.md", "# us\n"); p.link("CLAUDE.md", "AGENTS.md") }, []string{"CLAUDE.md is a link to AGENTS.md, which other agents read too: no section was added"}},
		{"a broken record", func(p *place) {
			p.Record = p.path("../record")
			p.write("../record", "{")
		}, []string{"the record RECORD cannot be used (unexpected end of JSON input): entries are known by what they say"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			tt.set(p)
			before := readTree(t, p.Repo)
			c := p.plan()
			var got []string
			for _, n := range c.Notes {
				got = append(got, strings.ReplaceAll(n, p.Record, "RECORD"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			p.apply(c)
			if diff := cmp.Diff(c.Notes, p.plan().Notes); diff != "" && tt.name != "a broken record" {
				t.Errorf("notes when there is nothing to do (-first +second):\n%s", diff)
			}
			p.uninstall()
			p.same("after uninstall", before)
		})
	}
}

func TestDiffCanBeApplied(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(settingsFile, "{\n  \"a\": 1\n}")
	p.write("CLAUDE.md", "# Project\n\nWords without a line end")
	before := readTree(t, p.Repo)
	c := p.plan()
	for _, want := range []string{
		"--- a/.claude/settings.json\n+++ b/.claude/settings.json\n@@ -1,3 +1,",
		"--- /dev/null\n+++ b/.mcp.json\n@@ -0,0 +1,10 @@\n+{\n",
		"--- a/CLAUDE.md\n+++ b/CLAUDE.md\n",
	} {
		if !strings.Contains(c.Diff(), want) {
			t.Errorf("diff has no %q:\n%s", want, c.Diff())
		}
	}
	patch := func(diff string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", "apply", "--unsafe-paths", "-")
		cmd.Dir, cmd.Stdin = p.Repo, strings.NewReader(diff)
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(p.Repo))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git apply: %v\n%s\n%s", err, out, diff)
		}
	}
	patch(c.Diff())
	after := readTree(t, p.Repo)
	for _, e := range c.edits {
		p.write(e.path, string(e.from.data))
		if !e.from.exists {
			if err := os.Remove(p.path(e.path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.init()
	p.same("what git apply made", after)
	patch(p.planUninstall().Diff())
	p.same("after the diff of uninstall", before)
}

func TestInitFollowsLinksInside(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("shared/claude/settings.json", "{}\n")
	p.write("shared/mcp", "{}\n")
	p.link(".claude", "shared/claude")
	p.link(".mcp.json", p.path("shared/mcp"))
	before := readTree(t, p.Repo)
	p.init()
	if got := p.read("shared/claude/settings.json") + p.read("shared/mcp"); got != wholeSettings+wholeServers {
		t.Errorf("behind the links:\n%s", got)
	}
	if got := readTree(t, p.Repo)[".mcp.json"]; got != "-> "+p.path("shared/mcp") {
		t.Errorf(".mcp.json = %s, want the link", got)
	}
	p.uninstall()
	p.same("after uninstall", before)
}

func TestTemplateIsAValidConfiguration(t *testing.T) {
	t.Parallel()
	values, err := config.ParseFile("autopilot.yaml", []byte(template()), true)
	if err != nil || len(values) != 0 {
		t.Errorf("template = %v, %v, want no value", values, err)
	}
	var open []string
	var keys []string
	for line := range strings.Lines(template()) {
		text, _ := strings.CutPrefix(line, "# ")
		key, _, _ := strings.Cut(text, ":")
		if config.Known(key) {
			open, keys = append(open, text), append(keys, key)
		}
	}
	if len(keys) < 3 || keys[0] != "mode" {
		t.Errorf("keys = %q", keys)
	}
	values, err = config.ParseFile("autopilot.yaml", []byte(strings.Join(open, "")), true)
	if err != nil || len(values) != len(keys) {
		t.Errorf("uncommented = %v, %v", values, err)
	}
	for _, v := range values {
		if v.Key == "task-sources" && len(v.Raw) != 3 {
			t.Errorf("task-sources = %q, want a list", v.Raw)
		}
	}
}
