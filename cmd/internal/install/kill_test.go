package install

import (
	"fmt"
	"testing"
)

// person is a repository in which every part of init has something to change.
func person(t *testing.T, kind string) *place {
	p := newPlace(t)
	switch kind {
	case "files of a person":
		p.write(settingsFile, "{\n\t\"a\": 1, // c\n}")
		p.write(serverFile, "{}")
		p.write("CLAUDE.md", "# us")
	case "an older section":
		p.write("CLAUDE.md", "# us\n")
		p.init()
		p.replace("CLAUDE.md", "Commands", "Words")
		p.replace(settingsFile, "autopilot hook stop", "true")
		p.replace(settingsFile, `"Stop"`, `"Start"`)
		p.replace(settingsFile, "autopilot hook session-start", "true")
		p.replace(settingsFile, `"SessionStart"`, `"SessionEnd"`)
		p.replace(serverFile, `"autopilot": {`, `"pilot": {`)
	case "an older version":
		older(p, settingsFile, state{}, olderSettings)
		p.write("CLAUDE.md", "# us\n")
	}
	return p
}

// A kill between two files leaves the whole record and the first files.
func TestKilledInit(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"nothing", "files of a person", "an older section", "an older version"} {
		for done := range 5 {
			t.Run(fmt.Sprintf("%s, %d", kind, done), func(t *testing.T) {
				t.Parallel()
				killed := func() *place {
					p := person(t, kind)
					c := p.plan()
					c.edits = c.edits[:min(done, len(c.edits))]
					p.apply(c)
					return p
				}
				after, before := whole(t, kind)

				p := killed()
				p.init()
				p.same("init again", after)
				p.uninstall()
				p.same("init again and uninstall", before)

				p = killed()
				p.uninstall()
				p.same("uninstall of a half", before)
				if c := p.planUninstall(); !c.Empty() {
					t.Errorf("second uninstall changes %v", c.Files())
				}
			})
		}
	}
}

func TestKilledUninstall(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"nothing", "files of a person", "an older section", "an older version"} {
		for done := range 6 {
			t.Run(fmt.Sprintf("%s, %d", kind, done), func(t *testing.T) {
				t.Parallel()
				killed := func() *place {
					p := person(t, kind)
					p.init()
					c := p.planUninstall()
					c.edits = c.edits[:min(done, len(c.edits))]
					if err := c.writeFiles(); err != nil {
						t.Fatal(err)
					}
					if done == 5 {
						if err := c.removeFolders(); err != nil {
							t.Fatal(err)
						}
					}
					return p
				}
				after, before := whole(t, kind)

				p := killed()
				if c := p.planUninstall(); c.Empty() {
					t.Error("nothing to do, although the record is there")
				}
				p.uninstall()
				p.same("uninstall again", before)

				p = killed()
				p.init()
				p.same("init after half an uninstall", after)
				p.uninstall()
				p.same("and uninstall", before)
			})
		}
	}
}

// whole is the repository after an init that nothing cut off, and after its uninstall.
func whole(t *testing.T, kind string) (after, before tree) {
	t.Helper()
	p := person(t, kind)
	p.init()
	after = readTree(t, p.Repo)
	p.uninstall()
	return after, readTree(t, p.Repo)
}
