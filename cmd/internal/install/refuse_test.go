package install

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	settings := func(text string) func(*place) { return func(p *place) { p.write(settingsFile, text) } }
	servers := func(text string) func(*place) { return func(p *place) { p.write(serverFile, text) } }
	claude := func(text string) func(*place) { return func(p *place) { p.write("CLAUDE.md", text) } }
	tests := []struct {
		name string
		set  func(*place)
		want string
	}{
		{"broken JSON", settings("{\n  \"a\": 1\n  \"b\": 2\n}\n"), `read .claude/settings.json: line 3, column 3: invalid character '"' after object value`},
		{"the last of the JSON files", servers("{\n\n\n"), "read .mcp.json: line 4, column 1: parsing value: unexpected EOF"},
		{"comments alone", settings("// nothing\n"), "read .claude/settings.json: line 2, column 1: parsing value: unexpected EOF"},
		{"an open comment", settings("{} /* x"), "read .claude/settings.json: line 1"},
		{"UTF-16", settings("\xff\xfe{\x00}\x00"), "read .claude/settings.json: line 1, column 1: invalid character"},
		{"nested too deep", settings("{\n\"a\": " + strings.Repeat("[", 1<<20)), "read .claude/settings.json: line 2: nested more than 1000 deep"},
		{"no object", settings("\n[]"), "read .claude/settings.json: line 2: the file is an array, want an object"},
		{"hooks is an array", settings("{\n\"hooks\": []}"), "read .claude/settings.json: line 2: hooks is an array, want an object"},
		{"hooks is null", settings("{\"hooks\": null}"), "read .claude/settings.json: line 1: hooks is null, want an object"},
		{"Stop is an object", settings("{\"hooks\": {\n\n\"Stop\": {}}}"), "read .claude/settings.json: line 3: hooks.Stop is an object, want an array"},
		{"SessionStart is null", settings("{\"hooks\": {\"Stop\": [],\n\n\"SessionStart\": null}}"), "read .claude/settings.json: line 3: hooks.SessionStart is null, want an array"},
		{"SessionStart is a string, with both others there", settings("{\"claudeFlow\": {\"autopilot\": {}}, \"hooks\": {\"Stop\": [{\"hooks\": [" + ourHook + "]}], \"SessionStart\": \"x\"}}"), "read .claude/settings.json: line 1: hooks.SessionStart is a string, want an array"},
		{"SessionStart twice", settings("{\"hooks\": {\"SessionStart\": [],\n\"SessionStart\": []}}"), "read .claude/settings.json: line 2: hooks.SessionStart stands there twice"},
		{"hooks twice", settings("{\"hooks\": {},\n\"hooks\": {}}"), "read .claude/settings.json: line 2: hooks stands there twice"},
		{"hooks twice in two spellings", settings("{\"hooks\": {},\n\"h\\u006foks\": {}}"), "read .claude/settings.json: line 2: hooks stands there twice"},
		{"Stop twice", settings("{\"hooks\": {\"Stop\": [],\n\"Stop\": []}}"), "read .claude/settings.json: line 2: hooks.Stop stands there twice"},
		{"claudeFlow is a string", settings("{\"claudeFlow\": \"1\"}"), "read .claude/settings.json: line 1: claudeFlow is a string, want an object"},
		{"the limits are a boolean", settings("{\"claudeFlow\": {\"autopilot\": true}}"), "read .claude/settings.json: line 1: claudeFlow.autopilot is a boolean, want an object"},
		{"servers are a number", servers("{\"mcpServers\": 1}"), "read .mcp.json: line 1: mcpServers is a number, want an object"},
		{"a marker without end", claude("a\n<!-- autopilot:begin -->\nb\n"), "read CLAUDE.md: line 2: <!-- autopilot:begin --> has no end"},
		{"a marker without beginning", claude("a\n<!-- autopilot:end -->\n"), "read CLAUDE.md: line 2: <!-- autopilot:end --> has no beginning"},
		{"two sections", claude(section + "\n" + section), "stands there twice, also in line 1"},
		{"a read-only file", func(p *place) { p.write(serverFile, "{}"); p.chmod(serverFile, 0o444) }, "write .mcp.json: REPO/.mcp.json is read-only: permission denied"},
		{"a read-only folder", func(p *place) { p.write(settingsFile, "{}"); p.chmod(".claude", 0o555) }, "write .claude/settings.json: REPO/.claude is read-only: permission denied"},
		{"a read-only repository", func(p *place) { p.chmod(".", 0o555) }, "write .claude/settings.json: REPO is read-only: permission denied"},
		{"a folder", func(p *place) { p.write("CLAUDE.md/x", "") }, "read CLAUDE.md: not a regular file"},
		{"a pipe", func(p *place) {
			if err := syscall.Mkfifo(p.path("CLAUDE.md"), 0o600); err != nil {
				p.t.Fatal(err)
			}
		}, "read CLAUDE.md: not a regular file"},
		{"a giant", func(p *place) { p.write("CLAUDE.md", strings.Repeat("x", maxFile+1)) }, "read CLAUDE.md: 4194305 bytes are more than the 4194304 that are read"},
		{"a file in the place of the folder", func(p *place) { p.write(".claude", "") }, "read .claude/settings.json:"},
		{"a link to outside", func(p *place) { p.write("../out.json", "{}"); p.link(settingsFile, "../../out.json") }, "read .claude/settings.json: .claude/settings.json is a link that leads out of the repository, to BASE/out.json"},
		{"a folder that leads outside", func(p *place) { p.write("../out/x", ""); p.link(".claude", "../out") }, "read .claude/settings.json: .claude is a link that leads out of the repository, to BASE/out"},
		{"a link to nothing", func(p *place) { p.link(serverFile, "gone.json") }, "read .mcp.json: .mcp.json is a link to nothing"},
		{"a link in a circle", func(p *place) { p.link(serverFile, serverFile) }, "read .mcp.json:"},
		{"a relative repository", func(p *place) { p.Repo = "repo" }, `the repository "repo" is not an absolute path`},
		{"no repository", func(p *place) { p.Repo = filepath.Join(p.Repo, "gone") }, "no such file or directory"},
		{"no command", func(p *place) { p.Command = " " }, `" " cannot be the command of a hook`},
		{"two lines of command", func(p *place) { p.Command = "a\nb" }, `"a\nb" cannot be the command of a hook`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			repo := p.Repo
			tt.set(p)
			before := readTree(t, repo)
			_, err := Plan(p.Options)
			want := strings.NewReplacer("REPO", repo, "BASE", filepath.Dir(repo)).Replace(tt.want)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Plan = %v, want %q", err, want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "plan init: ") {
				t.Errorf("Plan = %v, want the operation first", err)
			}
			if after := readTree(t, repo); len(after) != len(before) {
				t.Errorf("files = %v, want %v", after, before)
			}
		})
	}
}

func TestUninstallRefuses(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.init()
	p.replace(settingsFile, `"Stop": [`, `"Stop": [,`)
	before := readTree(t, p.Repo)
	_, err := PlanUninstall(p.Options)
	if want := "plan uninstall: read .claude/settings.json: line 3, column 14: invalid character ','"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("PlanUninstall = %v, want %q", err, want)
	}
	p.same("after the refusal", before)
}

// The line is that of the file as it is, and is named once.
func TestUninstallRefusesNamesThatStandThereTwice(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"SessionStart, behind a Stop hook that goes", "{\n\"hooks\": {\"Stop\": [\n{\"hooks\": [" + ourHook + "]}\n],\n\"SessionStart\": [], \"SessionStart\": []}}", "line 5: hooks.SessionStart stands there twice"},
		{"hooks", "{\"hooks\": {},\n\"hooks\": {}}", "line 2: hooks stands there twice"},
		{"limits, behind hooks that go", "{\"hooks\": {\"SessionStart\": [\n{\"hooks\": [" + startHook + "]}\n]},\n\"claudeFlow\": 1, \"claudeFlow\": 1}", "line 4: claudeFlow stands there twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write(settingsFile, tt.text)
			_, err := PlanUninstall(p.Options)
			if want := "plan uninstall: read .claude/settings.json: " + tt.want; err == nil || err.Error() != want {
				t.Errorf("PlanUninstall = %v, want %q", err, want)
			}
		})
	}
}

func TestApplyRefusesWhatHasChanged(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("CLAUDE.md", "# us\n")
	c := p.plan()
	p.write("CLAUDE.md", "# us and them\n") // the last file of all
	before := readTree(t, p.Repo)
	if err := c.Apply(); err == nil || err.Error() != "apply changes: CLAUDE.md has changed in the meantime" {
		t.Errorf("Apply = %v", err)
	}
	p.same("after the refusal", before)
	if _, err := os.Stat(p.Record); err == nil {
		t.Error("a record was written")
	}
}

// When a write fails, the record is there already.
func TestAWriteThatFails(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.plan()
	p.link(".claude", "gone") // no folder can be created there
	if err := c.Apply(); err == nil || !strings.HasPrefix(err.Error(), "apply changes: ") {
		t.Errorf("Apply = %v", err)
	}
	if err := os.Remove(p.path(".claude")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.Record); err != nil {
		t.Errorf("record: %v", err)
	}
	p.uninstall()
	p.same("after uninstall", tree{})
}

// The record goes last.
func TestARecordThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.init()
	c := p.planUninstall()
	p.forget()
	p.write("../state/p/installed.json/x", "a folder where the record should be")
	if err := c.Apply(); err == nil {
		t.Error("no error")
	}
	p.same("after Apply", tree{})
}

func TestARecordThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("../state", "a file where the folder should be")
	c, err := Plan(p.Options)
	if err == nil {
		err = c.Apply()
	}
	if err == nil {
		t.Error("no error")
	}
	p.same("after the refusal", tree{})
}
