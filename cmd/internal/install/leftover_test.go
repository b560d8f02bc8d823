package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"autopilot/metrics/statedir"
)

const number = "8234567890123456789" // as in the name of a temporary file

// leave writes a file of an age.
func (p *place) leave(name string, age time.Duration) {
	p.t.Helper()
	p.write(name, "{")
	then := time.Now().Add(-age)
	if err := os.Chtimes(p.path(name), then, then); err != nil {
		p.t.Fatal(err)
	}
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	const old = time.Hour
	tests := []struct {
		name string
		age  time.Duration
		gone bool
	}{
		{".claude/.settings.json" + number, old, true},
		{".claude/.settings.json100000000000000", 61 * time.Second, true},
		{"..mcp.json" + number, old, true},
		{".CLAUDE.md" + number, old, true},
		{".autopilot.yaml" + number, old, true},
		{"../state/p/.installed.json" + number, old, true},

		{".claude/.settings.json1" + number[1:], 30 * time.Second, false},
		{".claude/.settings.json", old, false},
		{".claude/.settings.json2", old, false},
		{".claude/.settings.json20241121193000", old, false},
		{".claude/.settings.json0" + number[1:], old, false},
		{".claude/.settings.json-" + number[1:], old, false},
		{".claude/.settings.json+" + number[1:], old, false},
		{".claude/.settings.json1" + number, old, false},
		{".claude/.settings.json" + number + "~", old, false},
		{".claude/.settings.json." + number, old, false},
		{".claude/settings.json" + number, old, false},
		{".claude/" + number, old, false},
		{".claude/.settings.local.json" + number, old, false},
		{".claude/x/.settings.json" + number, old, false},
		{".claude/.CLAUDE.md" + number, old, false},
		{".mcp.json" + number, old, false},
		{".settings.json" + number, old, false},
		{".other.json" + number, old, false},
		{"../state/p/.other.json" + number, old, false},
	}
	for _, undo := range []bool{false, true} {
		p := newPlace(t)
		if undo {
			p.init()
		}
		for _, tt := range tests {
			p.leave(tt.name, tt.age)
		}
		p.link(".claude/.settings.json6"+number[1:], "x")
		if err := os.Mkdir(p.path(".claude/.settings.json7"+number[1:]), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, digit := range []string{"6", "7"} {
			then := []unix.Timeval{{Sec: 1}, {Sec: 1}}
			if err := unix.Lutimes(p.path(".claude/.settings.json"+digit+number[1:]), then); err != nil {
				t.Fatal(err)
			}
		}
		before := readTree(t, p.Repo)
		c := p.plan()
		if undo {
			c = p.planUninstall()
		}
		p.same("after the plan", before)
		p.apply(c)
		for _, tt := range tests {
			if gone := !p.exists(tt.name); gone != tt.gone {
				t.Errorf("undo %v: %s: gone = %v, want %v", undo, tt.name, gone, tt.gone)
			}
		}
		for _, digit := range []string{"6", "7"} {
			if name := ".claude/.settings.json" + digit + number[1:]; !p.exists(name) {
				t.Errorf("undo %v: %s is gone, which is no file", undo, name)
			}
		}
	}
}

// A kill inside the replacement of the first file has left a new folder with
// nothing in it but that.
func TestLeftoversGoBeforeTheirFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := p.plan()
	c.edits = nil
	p.apply(c)
	p.leave(".claude/.settings.json"+number, time.Hour)
	p.uninstall()
	p.same("after uninstall", tree{})
}

func TestLeftoversStay(t *testing.T) {
	t.Parallel()
	const name = ".mcp.json" + number
	tests := []struct {
		name string
		set  func(*place, *Changes)
	}{
		{"beside a file that is left out", func(p *place, c *Changes) {
			p.NoMCP = true
			*c = p.plan()
		}},
		{"where Apply refuses", func(p *place, _ *Changes) { p.write("CLAUDE.md", "# new\n") }},
		{"beside a link", func(p *place, c *Changes) {
			p.write("shared/servers.json", "{}\n")
			p.link(".mcp.json", "shared/servers.json")
			*c = p.plan()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.leave("."+name, time.Hour)
			c := p.plan()
			tt.set(p, &c)
			err := c.Apply()
			if refused := err != nil; refused != strings.HasPrefix(tt.name, "where") {
				t.Errorf("Apply = %v", err)
			}
			if !p.exists("." + name) {
				t.Error("it is gone")
			}
		})
	}
}

// Behind a link the temporary file is beside the file that the link leads to.
func TestLeftoversBehindLinks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("shared/claude/settings.json", "{}\n")
	p.write("shared/servers.json", "{}\n")
	p.link(".claude", "shared/claude")
	p.link(".mcp.json", p.path("shared/servers.json"))
	before := readTree(t, p.Repo)
	p.leave("shared/claude/.settings.json"+number, time.Hour)
	p.leave("shared/.servers.json"+number, time.Hour)
	p.init()
	p.uninstall()
	p.same("after uninstall", before)
}

// The names that are looked for are those that the replacement of a file gives.
func TestLeftoversAreNamedAsTemporaryFilesAre(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "settings.json")
	data := make([]byte, 1<<20)
	ended := make(chan error, 1)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		go func() { ended <- statedir.Replace(target, data) }()
		var seen string
		for running := true; running; {
			select {
			case err := <-ended:
				if err != nil {
					t.Fatal(err)
				}
				running = false
			default:
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					if e.Name() != "settings.json" {
						seen = e.Name()
					}
				}
			}
		}
		if seen == "" {
			continue
		}
		if !isLeftover(seen, "settings.json") {
			t.Errorf("isLeftover(%q) = false", seen)
		}
		return
	}
	t.Error("no temporary file was seen")
}
