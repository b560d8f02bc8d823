package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const masterTasks = ".taskmaster/tasks/tasks.json"

func withMaster(p *place) *place {
	p.write(masterTasks, `{"master":{"tasks":[]}}`)
	return p
}

func TestInitWithTaskMaster(t *testing.T) {
	t.Parallel()
	p := withMaster(newPlace(t))
	before := readTree(t, p.Repo)
	p.init()
	want := tree{
		".claude":               "drwxr-xr-x",
		".claude/settings.json": "-rw-r--r-- " + wholeSettings,
		".mcp.json":             "-rw-r--r-- " + wholeServers,
		"autopilot.yaml":        "-rw-r--r-- " + template(),
		"CLAUDE.md":             "-rw-r--r-- " + taskSection() + "\n",
		".gitignore":            "-rw-r--r-- # autopilot:begin\n.taskmaster/state/\n.taskmaster/reports/\n# autopilot:end\n",
	}
	for name, what := range before {
		want[name] = what
	}
	p.same("after Apply", want)
	if c := p.plan(); !c.Empty() || len(c.Notes) > 0 {
		t.Errorf("second Plan = %v, notes %q\n%s", c.Files(), c.Notes, c.Diff())
	}
	p.uninstall()
	p.same("after uninstall", before)
	if c := p.planUninstall(); !c.Empty() {
		t.Errorf("second PlanUninstall = %v", c.Files())
	}
}

func TestTaskMasterComesAndGoes(t *testing.T) {
	t.Parallel()
	for _, record := range []bool{true, false} {
		t.Run(fmt.Sprintf("record %v", record), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			if !record {
				p.Record = ""
			}
			p.write("CLAUDE.md", "# us")
			p.write(ignoreFile, "*.log\r\n")
			before := readTree(t, p.Repo)
			p.init()
			plain := readTree(t, p.Repo)
			if got := p.read(ignoreFile); got != "*.log\r\n" {
				t.Errorf("without Task Master: %q", got)
			}
			withMaster(p)
			c := p.init()
			if diff := cmp.Diff([]string{"CLAUDE.md", ignoreFile}, c.Files()); diff != "" {
				t.Errorf("when Task Master came (-want +got):\n%s", diff)
			}
			if got, want := p.read("CLAUDE.md"), "# us\n\n"+taskSection(); got != want {
				t.Errorf("CLAUDE.md = %q, want %q", got, want)
			}
			if c := p.plan(); !c.Empty() {
				t.Errorf("third Plan = %v", c.Files())
			}
			if err := os.RemoveAll(p.path(masterFolder)); err != nil {
				t.Fatal(err)
			}
			// The section is what it was; lines that ignore nothing harm nobody.
			if c := p.init(); strings.Join(c.Files(), " ") != "CLAUDE.md" || "-rw-r--r-- "+p.read("CLAUDE.md") != plain["CLAUDE.md"] {
				t.Errorf("when Task Master went: %v, %q", c.Files(), p.read("CLAUDE.md"))
			}
			p.uninstall()
			if !record { // and then a template is the person's
				delete(before, "autopilot.yaml")
				before[".claude"] = "drwxr-xr-x"
			}
			p.same("after uninstall", before)
		})
	}
}

// TestIgnore is about texts of .gitignore and what init makes of them.
func TestIgnore(t *testing.T) {
	t.Parallel()
	crlf := strings.ReplaceAll(ignoreBlock, "\n", "\r\n")
	tests := []struct{ name, in, want string }{
		{"empty", "", ignoreBlock + "\n"},
		{"lines", "*.log\n", "*.log\n\n" + ignoreBlock + "\n"},
		{"no line end", "*.log", "*.log\n\n" + ignoreBlock},
		{"windows", "*.log\r\n", "*.log\r\n\r\n" + crlf + "\r\n"},
		{"a byte-order mark", "\ufeffx\n", "\ufeffx\n\n" + ignoreBlock + "\n"},
		{"both lines", ".taskmaster/state/\nx\n.taskmaster/reports/", ".taskmaster/state/\nx\n.taskmaster/reports/"},
		{"both lines in another form", "/.taskmaster/state  \r\n.taskmaster/reports\r\n", "/.taskmaster/state  \r\n.taskmaster/reports\r\n"},
		{"the whole folder", "/.taskmaster/\n", "/.taskmaster/\n"},
		{"one line", ".taskmaster/state/\n", ".taskmaster/state/\n\n" + ignoreBlock + "\n"},
		{"a line that is taken back", "!.taskmaster/state/\n#.taskmaster/reports/\n", "!.taskmaster/state/\n#.taskmaster/reports/\n\n" + ignoreBlock + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := withMaster(newPlace(t))
			p.write(ignoreFile, tt.in)
			p.chmod(ignoreFile, 0o600)
			before := readTree(t, p.Repo)
			p.init()
			if diff := cmp.Diff(tt.want, p.read(ignoreFile)); diff != "" {
				t.Errorf("after init (-want +got):\n%s", diff)
			}
			if c := p.plan(); !c.Empty() {
				t.Errorf("second Plan changes %v:\n%s", c.Files(), c.Diff())
			}
			p.uninstall()
			p.same("after uninstall", before)
		})
	}
}

func TestIgnoreIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	p := withMaster(newPlace(t))
	p.write(ignoreFile, "a\r\n# autopilot:begin\r\nold\r\n# autopilot:end\r\n.taskmaster/state/\r\n.taskmaster/reports/\r\n")
	p.init()
	want := "a\r\n" + strings.ReplaceAll(ignoreBlock, "\n", "\r\n") + "\r\n.taskmaster/state/\r\n.taskmaster/reports/\r\n"
	if got := p.read(ignoreFile); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUninstallKeepsEditsOfIgnore(t *testing.T) {
	t.Parallel()
	const gone = "(no file)"
	tests := []struct {
		name, before string
		edit         func(p *place)
		want         string
	}{
		{"lines behind", "a\n", func(p *place) { p.write(ignoreFile, p.read(ignoreFile)+"b\n") }, "a\nb\n"},
		{"lines in front", "a", func(p *place) { p.replace(ignoreFile, "a", "b\nc") }, "b\nc"},
		{"lines within", "a\n", func(p *place) { p.replace(ignoreFile, "reports/", "reports/\nx") }, "a\n"},
		{"a file of ours that is used", gone, func(p *place) { p.write(ignoreFile, "b\n\n"+p.read(ignoreFile)) }, "b\n"},
		{"no block any more", gone, func(p *place) { p.write(ignoreFile, "b\n") }, "b\n"},
		{"nothing", gone, func(*place) {}, gone},
		{"Task Master is gone", "a\r\n", func(p *place) {
			if err := os.RemoveAll(p.path(masterFolder)); err != nil {
				p.t.Fatal(err)
			}
			p.replace(ignoreFile, "a", "b")
		}, "b\r\n"},
	}
	for _, tt := range tests {
		for _, record := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, record %v", tt.name, record), func(t *testing.T) {
				t.Parallel()
				p := withMaster(newPlace(t))
				if tt.before != gone {
					p.write(ignoreFile, tt.before)
				}
				p.init()
				tt.edit(p)
				if !record {
					p.forget()
				}
				p.uninstall()
				got := gone
				if p.exists(ignoreFile) {
					got = p.read(ignoreFile)
				}
				if got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		}
	}
}

// A block that was there before the first init is the person's.
func TestUninstallLeavesAnIgnoreOfBefore(t *testing.T) {
	t.Parallel()
	p := withMaster(newPlace(t))
	p.write(ignoreFile, ignoreBlock)
	before := readTree(t, p.Repo)
	p.init()
	p.write(ignoreFile, p.read(ignoreFile)+"\nx\n")
	before[ignoreFile] += "\nx\n"
	p.uninstall()
	p.same("after uninstall", before)
}

func TestIgnoreCanBeLeftOut(t *testing.T) {
	t.Parallel()
	p := withMaster(newPlace(t))
	p.NoIgnore = true
	if c := p.init(); p.exists(ignoreFile) {
		t.Errorf("init has written %v", c.Files())
	}
	p.NoIgnore = false
	p.init()
	p.NoIgnore = true
	p.uninstall()
	if !p.exists(ignoreFile) {
		t.Error("uninstall has removed what was left out")
	}
	p.NoIgnore = false
	before := tree{".taskmaster": "drwxr-xr-x", ".taskmaster/tasks": "drwxr-xr-x", masterTasks: "-rw-r--r-- " + p.read(masterTasks)}
	p.uninstall()
	p.same("after the rest of uninstall", before)
}

func TestIgnoreRefusesOnlyWithTaskMaster(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		set  func(p *place)
		want string
	}{
		{"a mark without end", func(p *place) { p.write(ignoreFile, "a\n# autopilot:begin\n") }, "plan init: read .gitignore: line 2: # autopilot:begin has no end"},
		{"a mark without beginning", func(p *place) { p.write(ignoreFile, "# autopilot:end\n") }, "plan init: read .gitignore: line 1: # autopilot:end has no beginning"},
		{"a folder", func(p *place) { p.write(ignoreFile+"/x", "") }, "plan init: read .gitignore: not a regular file"},
		{"a link to nothing", func(p *place) { p.link(ignoreFile, "gone") }, "plan init: read .gitignore: .gitignore is a link to nothing"},
		{"read-only", func(p *place) { p.write(ignoreFile, ""); p.chmod(ignoreFile, 0o444) }, "plan init: write .gitignore: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			tt.set(p)
			before := readTree(t, p.Repo)
			p.init()
			p.uninstall()
			p.same("without Task Master", before)
			withMaster(p)
			if _, err := Plan(p.Options); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("with Task Master: %v, want %s", err, tt.want)
			}
		})
	}
}

// A file of that name, or a link to nothing, is no Task Master.
func TestTaskMasterIsAFolder(t *testing.T) {
	t.Parallel()
	for _, set := range []func(p *place){
		func(p *place) { p.write(masterFolder, "") },
		func(p *place) { p.link(masterFolder, "gone") },
	} {
		p := newPlace(t)
		set(p)
		p.init()
		if p.exists(ignoreFile) || p.read("CLAUDE.md") != section+"\n" {
			t.Errorf("CLAUDE.md = %q, .gitignore there: %v", p.read("CLAUDE.md"), p.exists(ignoreFile))
		}
	}
}

func TestTaskSectionSays(t *testing.T) {
	t.Parallel()
	own := strings.TrimPrefix(taskSection(), strings.TrimSuffix(section, sectionEnd))
	own = strings.TrimSuffix(own, sectionEnd)
	if n := strings.Count(own, "\n"); n > 25 || !strings.HasSuffix(taskSection(), "\n"+sectionEnd) {
		t.Errorf("%d lines more, want 25 at most:\n%s", n, own)
	}
	for _, want := range []string{
		"autopilot tdd start <taskId>", "autopilot tdd next --json", "autopilot tdd complete red <id> --results failed:3,passed:0",
		"autopilot tdd complete green <id> --results passed:3,failed:0 --coverage 92", "autopilot tdd commit <id>", "never commit yourself",
		"autopilot tdd finalize", "`complete`", "`paused`", "a person is needed", "autopilot tdd resume", "runs the tests again",
		"autopilot_start", "autopilot_next", "autopilot_complete_phase", "autopilot_commit", "autopilot_finalize", "autopilot_status", "autopilot_resume", "autopilot_abort",
	} {
		if !strings.Contains(own, want) {
			t.Errorf("it says nothing of %q", want)
		}
	}
	for line := range strings.Lines(own) {
		if len(line) > 121 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

// A kill between two files, with every file of init taking part.
func TestKilledWithTaskMaster(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} { // Task Master came after the first init
		set := func(t *testing.T) *place {
			p := newPlace(t)
			p.write("CLAUDE.md", "# us\r\n")
			p.write(ignoreFile, "*.log")
			if later {
				p.init()
			}
			return withMaster(p)
		}
		p := set(t)
		p.init()
		after := readTree(t, p.Repo)
		p.uninstall()
		before := readTree(t, p.Repo)
		if got := before["CLAUDE.md"] + before[ignoreFile]; got != "-rw-r--r-- # us\r\n-rw-r--r-- *.log" {
			t.Errorf("after uninstall: %q", got)
		}
		for done := range 6 {
			t.Run(fmt.Sprintf("later %v, %d", later, done), func(t *testing.T) {
				t.Parallel()
				p := set(t)
				c := p.plan()
				c.edits = c.edits[:min(done, len(c.edits))]
				p.apply(c)
				p.init()
				p.same("init again", after)
				p.uninstall()
				p.same("init again and uninstall", before)

				p = set(t)
				c = p.plan()
				c.edits = c.edits[:min(done, len(c.edits))]
				p.apply(c)
				p.uninstall()
				p.same("uninstall of a half", before)

				p = set(t)
				p.init()
				c = p.planUninstall()
				c.edits = c.edits[:min(done, len(c.edits))]
				if err := c.writeFiles(); err != nil {
					t.Fatal(err)
				}
				p.uninstall()
				p.same("uninstall again", before)
			})
		}
	}
}

func TestIgnoreRoundTrip(t *testing.T) {
	t.Parallel()
	line := rapid.SampledFrom([]string{"", "*.log", "# x", "!a", "\t", "\r", "ä", ".taskmaster/state/", "/.taskmaster/reports", ".taskmaster "})
	part := ignorePart()
	rapid.Check(t, func(rt *rapid.T) {
		eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "eol")
		text := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(rt, "mark") + strings.Join(rapid.SliceOfN(line, 0, 5).Draw(rt, "lines"), eol)
		before := state{exists: true, data: []byte(text)}
		after, _, err := part.put(before)
		if err != nil {
			rt.Fatal(err)
		}
		if _, own := splitMark(after.data); !ignoresAll(own) {
			rt.Fatalf("put %q = %q, which does not ignore all", text, after.data)
		}
		if again, _, err := part.put(after); err != nil || !again.same(after) {
			rt.Fatalf("second put of %q = %q, %v", after.data, again.data, err)
		}
		if back, _, err := part.cut(after, &before); err != nil || !back.same(before) {
			rt.Fatalf("cut = %q, %v, want %q", back.data, err, text)
		}
	})
}

// What git makes of the lines.
func TestGitIgnoresWhatIsLeftBehind(t *testing.T) {
	t.Parallel()
	p := withMaster(newPlace(t))
	p.write(ignoreFile, "*.log\r\n")
	p.init()
	p.write(".taskmaster/state/x", "")
	p.write(".taskmaster/reports/x", "")
	git := func(args ...string) string {
		t.Helper()
		return runGit(t, p.Repo, args...)
	}
	git("init", "-q")
	got := git("status", "--porcelain", "-uall", "--", ".taskmaster")
	if want := "?? " + filepath.ToSlash(masterTasks) + "\n"; got != want {
		t.Errorf("git sees %q, want %q", got, want)
	}
}

func FuzzIgnore(f *testing.F) {
	for _, s := range []string{"", "a", "a\n", "a\r\nb", "\r", ignoreBlock, "x\n" + ignoreBlock + "\ny", ignoreBegin, ".taskmaster\n"} {
		f.Add([]byte(s))
	}
	part := ignorePart()
	f.Fuzz(func(t *testing.T, data []byte) {
		before := state{exists: true, data: data}
		after, _, err := part.put(before)
		if err != nil {
			return
		}
		if again, _, err := part.put(after); err != nil || !again.same(after) {
			t.Fatalf("second put of %q = %q, %v", after.data, again.data, err)
		}
		_, text := splitMark(data)
		if _, _, found, _ := ignoreMarks().find(text); found {
			return
		}
		if back, _, err := part.cut(after, &before); err != nil || !back.same(before) {
			t.Fatalf("cut %q = %q, %v, want %q", after.data, back.data, err, data)
		}
	})
}
