package install

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	ourHook   = `{"type": "command", "command": "autopilot hook stop", "timeout": 10}`
	startHook = `{"type": "command", "command": "autopilot hook session-start", "timeout": 10}`
)

// TestUninstallKeepsEdits is about files that a person has changed after init.
func TestUninstallKeepsEdits(t *testing.T) {
	t.Parallel()
	const gone = "(no file)"
	tests := []struct {
		name, file string
		before     string // gone: no such file
		edit       func(p *place)
		want       string
		note       string
	}{
		{
			"a value elsewhere", settingsFile, "{\n  \"a\": 1 // c\n}\n",
			func(p *place) { p.replace(settingsFile, "1", "2") }, "{\n  \"a\": 2 // c\n}\n", "",
		},
		{
			"members before, between and behind ours", settingsFile, "{\n  \"a\": 1\n}\n",
			func(p *place) {
				p.replace(settingsFile, "{\n", "{\n  \"x\": 1,\n")
				p.replace(settingsFile, "\n  \"claudeFlow\"", "\n  \"y\": 2,\n  \"claudeFlow\"")
				p.replace(settingsFile, "\n  }\n}\n", "\n  },\n  \"z\": 3\n}\n")
			},
			"{\n  \"x\": 1,\n  \"a\": 1,\n  \"y\": 2,\n  \"z\": 3\n}\n", "",
		},
		{
			"the last member behind which our comma is goes", settingsFile, "{\n  \"a\": 1\n}\n",
			func(p *place) { p.replace(settingsFile, "\n  \"a\": 1,", "") }, "{\n}\n", "",
		},
		{
			"a value in an object that was empty on one line", settingsFile, "{\n  \"hooks\": {},\n  \"a\": 1\n}\n",
			func(p *place) { p.replace(settingsFile, `"a": 1`, `"a": 2`) }, "{\n  \"hooks\": {},\n  \"a\": 2\n}\n", "",
		},
		{
			"an empty array with a comment", settingsFile, "{\n  \"hooks\": {\"Stop\": [ /* none */ ]},\n  \"a\": 1\n}\n",
			func(p *place) { p.replace(settingsFile, `"a": 1`, `"a": 2`) }, "{\n  \"hooks\": {\"Stop\": [ /* none */ ]},\n  \"a\": 2\n}\n", "",
		},
		{
			"another event beside ours", settingsFile, gone,
			func(p *place) { p.replace(settingsFile, "\n    ]\n  },", "\n    ],\n    \"PreToolUse\": []\n  },") },
			"{\n  \"hooks\": {\n    \"PreToolUse\": []\n  }\n}\n", "",
		},
		{
			"a session's beginning has another hook beside ours", settingsFile, gone,
			func(p *place) {
				p.replace(settingsFile, "\"SessionStart\": [\n", "\"SessionStart\": [\n      {\"hooks\": []},\n")
			},
			"{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\"hooks\": []}\n    ]\n  }\n}\n", "",
		},
		{
			"the Stop hook is gone already", settingsFile, "{\n  \"a\": 1\n}\n",
			func(p *place) { p.replace(settingsFile, "autopilot hook stop", "true") },
			"{\n  \"a\": 1,\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"matcher\": \"\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"true\",\n" +
				"            \"timeout\": 10\n          }\n        ]\n      }\n    ]\n  }\n}\n", "",
		},
		{
			"the hook that a session begins with is gone already", settingsFile, "{\n  \"hooks\": {} // c\n}\n",
			func(p *place) {
				text := p.read(settingsFile)
				from, to := strings.Index(text, ",\n    \"SessionStart\""), strings.Index(text, "\n  }, // c")
				p.write(settingsFile, text[:from]+text[to:])
			}, "{\n  \"hooks\": {} // c\n}\n", "",
		},
		{
			"a hook beside ours in our group", settingsFile, gone,
			func(p *place) {
				p.replace(settingsFile, "\"hooks\": [\n", "\"hooks\": [\n          {\"type\": \"command\", \"command\": \"x\"},\n")
			},
			"{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"matcher\": \"\",\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"x\"}\n        ]\n      }\n    ]\n  }\n}\n", "",
		},
		{
			"ours was changed", settingsFile, "{}\n",
			func(p *place) {
				p.replace(settingsFile, `"timeout": 10`, `"timeout": 20, "async": false`)
				p.replace(settingsFile, "50", "500")
			}, "{}\n", "",
		},
		{
			"a comment in a container of ours stays, and with it the container", settingsFile, gone,
			func(p *place) { p.replace(settingsFile, "\"Stop\": [", "// mine\n    \"Stop\": [") }, "{\n  \"hooks\": {\n    // mine\n  }\n}\n", "",
		},
		{
			"a bracket that came to stand behind ours would be in a comment", settingsFile, "{\n  \"a\": 1 // c\n}\n",
			func(p *place) { p.replace(settingsFile, "\n  }\n}\n", "\n  }}\n") }, "{\n  \"a\": 1 // c\n}\n", "",
		},
		{
			"trailing commas came", settingsFile, "{\n  \"a\": 1\n}\n",
			func(p *place) { p.replace(settingsFile, "\n  }\n}\n", "\n  }, // end\n}\n") }, "{\n  \"a\": 1, // end\n}\n", "",
		},
		{
			"everything on one line", settingsFile, "{\n  \"a\": 1\n}\n",
			func(p *place) {
				p.write(settingsFile, `{"a":1,"hooks":{"Stop":[{"matcher":"","hooks":[`+ourHook+`]}],"SessionStart":[{"matcher":"","hooks":[`+startHook+`]}]},"claudeFlow":{"autopilot":{}},"b":2}`)
			}, `{"a":1,"b":2}`, "",
		},
		{
			"the hook that a session begins with was there before", settingsFile, `{"hooks":{"SessionStart":[{"hooks":[` + startHook + `]}]}}`,
			func(p *place) { p.replace(settingsFile, `10`, "11") }, strings.Replace(`{"hooks":{"SessionStart":[{"hooks":[`+startHook+`]}]}}`, "10", "11", 1),
			".claude/settings.json had the SessionStart hook before init: it stays",
		},
		{
			"the Stop hook was there before", settingsFile, `{"hooks":{"Stop":[{"hooks":[` + ourHook + `]}]}}`,
			func(p *place) { p.replace(settingsFile, `10`, "11") }, strings.Replace(`{"hooks":{"Stop":[{"hooks":[`+ourHook+`]}]}}`, "10", "11", 1),
			".claude/settings.json had the Stop hook before init: it stays",
		},
		{
			"the limits were there before", settingsFile, `{"claudeFlow":{"autopilot":{"maxIterations":1}}}`,
			func(p *place) { p.replace(settingsFile, `"maxIterations":1`, `"maxIterations":2`) }, `{"claudeFlow":{"autopilot":{"maxIterations":2}}}`, "",
		},
		{
			"a server beside ours", serverFile, gone,
			func(p *place) { p.replace(serverFile, "\n    }\n", "\n    },\n    \"x\": {}\n") }, "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}\n", "",
		},
		{
			"ours got variables", serverFile, `{"mcpServers":{}}`,
			func(p *place) { p.replace(serverFile, `"args"`, `"env":{},"args"`) }, `{"mcpServers":{}}`, "",
		},
		{
			"ours is another one now", serverFile, `{"mcpServers":{}}`,
			func(p *place) { p.replace(serverFile, `"mcp"]`, `"serve"]`) }, `{"mcpServers":{"autopilot":{"command":"autopilot","args":["serve"]}}}`,
			`.mcp.json has a server "autopilot" that runs something else: it stays`,
		},
		{
			"the file is gone", serverFile, `{"mcpServers":{}}`,
			func(p *place) {
				if err := os.Remove(p.path(serverFile)); err != nil {
					p.t.Fatal(err)
				}
			}, gone, "",
		},
		{"the file is as it was", serverFile, `{"mcpServers":{}}`, func(p *place) { p.write(serverFile, `{"mcpServers":{}}`) }, `{"mcpServers":{}}`, ""},
		{"the file is blank", serverFile, gone, func(p *place) { p.write(serverFile, "\n") }, gone, ""},
		{"text behind the section", "CLAUDE.md", "# us\n", func(p *place) { p.write("CLAUDE.md", p.read("CLAUDE.md")+"\nmore\n") }, "# us\n\nmore\n", ""},
		{"text in front of it", "CLAUDE.md", "# us", func(p *place) { p.replace("CLAUDE.md", "us", "them") }, "# them", ""},
		{"text in the section", "CLAUDE.md", "# us\n", func(p *place) { p.replace("CLAUDE.md", "Commands", "Words") }, "# us\n", ""},
		{"text around a file of ours", "CLAUDE.md", gone, func(p *place) { p.write("CLAUDE.md", "# new\n\n"+p.read("CLAUDE.md")) }, "# new\n", ""},
		{"no section any more", "CLAUDE.md", gone, func(p *place) { p.write("CLAUDE.md", "# new\n") }, "# new\n", ""},
		{"windows line ends", "CLAUDE.md", "# us\r\n\r\ntext", func(p *place) { p.replace("CLAUDE.md", "text", "words") }, "# us\r\n\r\nwords", ""},
		{"a setting", "autopilot.yaml", gone, func(p *place) { p.write("autopilot.yaml", "max-sessions: 3\n") }, "max-sessions: 3\n", "autopilot.yaml is not as init writes it: it stays"},
		{"a file of one's own", "autopilot.yaml", "max-sessions: 3\n", func(*place) {}, "max-sessions: 3\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if tt.before != gone {
				p.write(tt.file, tt.before)
			}
			p.init()
			tt.edit(p)
			c := p.uninstall()
			got := gone
			if p.exists(tt.file) {
				got = p.read(tt.file)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.file, diff)
			}
			if notes := strings.Join(c.Notes, "\n"); notes != tt.note {
				t.Errorf("notes = %q, want %q", notes, tt.note)
			}
			for name := range readTree(t, p.Repo) {
				if name != tt.file && !strings.HasPrefix(tt.file, name+"/") {
					t.Errorf("uninstall has left %s", name)
				}
			}
		})
	}
}

func TestUninstallWithoutRecord(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		set     func(*place)
		want    tree
		note    string
		command string
	}{
		{"all of it is ours", func(*place) {}, tree{".claude": "drwxr-xr-x"}, "", ""},
		{
			"a person's files", func(p *place) {
				p.write(settingsFile, "{\n  \"a\": 1\n}\n")
				p.write("CLAUDE.md", "# us")
			},
			tree{".claude": "drwxr-xr-x", settingsFile: "-rw-r--r-- {\n  \"a\": 1\n}\n", "CLAUDE.md": "-rw-r--r-- # us"},
			"", "",
		},
		{
			"limits of one's own", func(p *place) { p.write(settingsFile, `{"claudeFlow":{"autopilot":{"maxIterations":1}}}`) },
			tree{".claude": "drwxr-xr-x", settingsFile: `-rw-r--r-- {"claudeFlow":{"autopilot":{"maxIterations":1}}}`},
			".claude/settings.json has limits in claudeFlow.autopilot that are not those of init: they stay", "",
		},
		{
			"a configuration of one's own", func(p *place) { p.write("autopilot.yaml", "mode: fixed\n") },
			tree{".claude": "drwxr-xr-x", "autopilot.yaml": "-rw-r--r-- mode: fixed\n"},
			"autopilot.yaml is not as init writes it: it stays", "",
		},
		{
			"a server of one's own", func(p *place) { p.write(serverFile, `{"mcpServers":{"autopilot":{"url":"x"}}}`) },
			tree{".claude": "drwxr-xr-x", serverFile: `-rw-r--r-- {"mcpServers":{"autopilot":{"url":"x"}}}`},
			`.mcp.json has a server "autopilot" that runs something else: it stays`, "",
		},
		{"a program of another name", func(p *place) { p.Command = "/opt/x's/pilot" }, tree{".claude": "drwxr-xr-x"}, "", "/opt/x's/pilot"},
		{"a path", func(p *place) { p.Command = "/opt/my tools/autopilot" }, tree{".claude": "drwxr-xr-x"}, "", "autopilot"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			tt.set(p)
			p.init()
			p.forget()
			if tt.command != "" {
				p.Command = tt.command
			}
			c := p.uninstall()
			p.same("after uninstall", tt.want)
			if notes := strings.Join(c.Notes, "\n"); notes != tt.note {
				t.Errorf("notes = %q, want %q", notes, tt.note)
			}
			if c := p.planUninstall(); !c.Empty() {
				t.Errorf("second uninstall changes %v", c.Files())
			}
		})
	}
}

// Every hook of ours goes, and nothing that only looks like one.
func TestUninstallTakesOnlyOurHooks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ event, ours, theirs string }{
		{"Stop", ourHook, startHook},
		{"SessionStart", startHook, ourHook},
	} {
		t.Run(tt.event, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.Record = ""
			other := []string{
				strings.Replace(tt.ours, "autopilot", "echo autopilot", 1), strings.Replace(tt.ours, `"command"`, `"prompt"`, 1),
				strings.Replace(tt.ours, `", "timeout`, ` && x", "timeout`, 1), tt.theirs, `1`,
			}
			theirs := `{"hooks": {"` + tt.event + `": [{"hooks": [` + strings.Join(other, ", ") + `]}, 7, {"hooks": {}}], "SubagentStop": [{"hooks": [` + tt.ours + `]}]}}`
			text := strings.Replace(theirs, `, 7`, `, {"matcher": "x", "hooks": [`+tt.ours+`]}, 7`, 1)
			text = strings.Replace(text, other[1], tt.ours+", "+other[1], 1)
			p.write(settingsFile, text)
			p.uninstall()
			if diff := cmp.Diff(theirs, p.read(settingsFile)); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

// What a person adds between two runs of init belongs to the original.
func TestUninstallAfterTwoInits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(settingsFile, "{\n  \"a\": 1\n}\n")
	p.init()
	p.replace(settingsFile, `"a": 1`, `"a": 2`)
	p.replace(settingsFile, "autopilot hook stop", "true") // theirs now
	p.write("CLAUDE.md", "# new\n\n"+strings.Replace(p.read("CLAUDE.md"), "Commands", "Words", 1))
	if c := p.init(); strings.Join(c.Files(), " ") != ".claude/settings.json CLAUDE.md" {
		t.Errorf("second init changes %v", c.Files())
	}
	p.uninstall()
	want := strings.Replace(strings.Replace(olderSettings, "autopilot hook stop", "true", 1), "{\n", "{\n  \"a\": 2,\n", 1)
	want = want[:strings.Index(want, ",\n  \"claudeFlow\"")] + "\n}\n"
	p.same("after uninstall", tree{
		".claude": "drwxr-xr-x", settingsFile: "-rw-r--r-- " + want,
		"CLAUDE.md": "-rw-r--r-- # new\n",
	})
}

func TestUninstallLeavesAFolderThatIsUsed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.init()
	p.write(".claude/agents/x.md", "x")
	p.uninstall()
	p.same("after uninstall", tree{".claude": "drwxr-xr-x", ".claude/agents": "drwxr-xr-x", ".claude/agents/x.md": "-rw-r--r-- x"})
}
