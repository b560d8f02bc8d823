package install

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Options say where autopilot is put in and what is left out. What is left out is
// not touched by uninstall either.
type Options struct {
	Repo    string // top of the repository, absolute
	Command string // the program for the hooks and the MCP server: a name in PATH, or an absolute path

	NoHooks        bool // leave .claude/settings.json alone
	NoMCP          bool // leave .mcp.json alone
	NoInstructions bool // leave CLAUDE.md alone
	NoConfig       bool // leave autopilot.yaml alone
	NoIgnore       bool // leave .gitignore alone

	// Record is the file, outside the repository, that remembers what was put in.
	// Empty keeps no record.
	Record string
}

// Changes is what would be done to a repository. The zero value does nothing.
type Changes struct {
	// Notes are facts the person should know, one sentence each. They say the same
	// when there is nothing to change.
	Notes []string

	repo    string
	edits   []edit
	folders []string // relative; removed when they are empty
	targets []string // absolute, without links: every file that takes part, and the record
	undo    bool     // the record is written last instead of first

	recordPath          string
	recordNow, recordTo state
}

// edit is one file before and after.
type edit struct {
	path     string // relative to the repository, with slashes
	from, to state
}

// Plan finds out what has to change so that autopilot works in the repository.
// It writes nothing. The error names the file, and the line where there is one.
func Plan(o Options) (Changes, error) {
	p, err := look(o)
	if err != nil {
		return Changes{}, fmt.Errorf("plan init: %w", err)
	}
	for _, part := range p.parts() {
		if err := p.put(part); err != nil {
			return Changes{}, fmt.Errorf("plan init: %w", err)
		}
	}
	if !o.NoHooks {
		p.noteHooksOff()
	}
	p.notePath()
	return p.finish()
}

// PlanUninstall finds out what has to change so that nothing of autopilot is left
// in the repository. It writes nothing. The error names the file, and the line
// where there is one.
func PlanUninstall(o Options) (Changes, error) {
	p, err := look(o)
	if err != nil {
		return Changes{}, fmt.Errorf("plan uninstall: %w", err)
	}
	p.undo = true
	for _, part := range p.parts() {
		if err := p.take(part); err != nil {
			return Changes{}, fmt.Errorf("plan uninstall: %w", err)
		}
	}
	p.dropFolders()
	return p.finish()
}

// Empty reports whether Apply has nothing to do.
func (c Changes) Empty() bool {
	return len(c.edits) == 0 && len(c.folders) == 0 && c.recordNow.same(c.recordTo)
}

// Files are the paths of the files that would change, relative to the repository.
func (c Changes) Files() []string {
	var out []string
	for _, e := range c.edits {
		out = append(out, e.path)
	}
	return out
}

// Diff shows every file that would change as a unified diff that patch -p1 and
// git apply accept. It is empty when no file would change.
func (c Changes) Diff() string {
	var out strings.Builder
	for _, e := range c.edits {
		from, to := "a/"+e.path, "b/"+e.path
		if !e.from.exists {
			from = "/dev/null"
		}
		if !e.to.exists {
			to = "/dev/null"
		}
		// The first line is the call of a diff command, which nobody made.
		_, text, _ := strings.Cut(string(diff.Diff(from, e.from.data, to, e.to.data)), "\n")
		out.WriteString(text)
	}
	return out.String()
}

// put plans one part of init.
func (p *planner) put(part part) error {
	now, err := p.start(part)
	if err != nil {
		return err
	}
	next, notes, err := part.put(now)
	if err != nil {
		return fmt.Errorf("read %s: %w", part.path, err)
	}
	p.note(part.path, notes)
	if p.runs(part, next) {
		p.running = append(p.running, part.path)
	}
	if next.same(now) {
		return nil
	}
	original, err := p.original(part, now)
	if err != nil {
		return fmt.Errorf("read %s: %w", part.path, err)
	}
	p.record.set(newEntry(part.path, now, next, original))
	p.recordFolder(part.path)
	return p.edit(part.path, now, next)
}

// original is what uninstall shall make of a file that is about to change.
func (p *planner) original(part part, now state) (state, error) {
	e, recorded := p.record.find(part.path)
	if recorded && e.knows(now) {
		return e.original(), nil
	}
	var before *state
	switch {
	case recorded:
		o := e.original()
		before = &o
	case !part.marked:
		return now, nil
	}
	next, _, err := part.cut(now, before)
	return next, err
}

// take plans one part of uninstall. A file that a record does not name had
// everything before init, so nothing was put in.
func (p *planner) take(part part) error {
	now, err := p.start(part)
	if err != nil {
		return err
	}
	var next state
	var notes []string
	e, named := p.record.find(part.path)
	original := e.original()
	switch {
	case named && e.knows(now):
		next = original
	case named:
		next, notes, err = part.cut(now, &original)
	case p.recorded:
		next, notes, err = part.cut(now, &now)
	default:
		next, notes, err = part.cut(now, nil)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", part.path, err)
	}
	p.note(part.path, notes)
	p.record.drop(part.path)
	if next.same(now) {
		return nil
	}
	return p.edit(part.path, now, next)
}

func (p *planner) note(path string, notes []string) {
	for _, n := range notes {
		p.Notes = append(p.Notes, path+" "+n)
	}
}

func (p *planner) edit(path string, from, to state) error {
	if err := p.writable(path); err != nil {
		return err
	}
	p.edits = append(p.edits, edit{path: path, from: from, to: to})
	return nil
}

// dropFolders plans the removal of the folders that init created and in which
// nothing of ours stays.
func (p *planner) dropFolders() {
	p.record.Folders = slices.DeleteFunc(p.record.Folders, func(folder string) bool {
		for _, e := range p.record.Files {
			if strings.HasPrefix(e.Path, folder+"/") {
				return false
			}
		}
		p.folders = append(p.folders, folder)
		return true
	})
}

// finish adds what becomes of the record.
func (p *planner) finish() (Changes, error) {
	p.recordTo = p.recordNow
	if p.recordPath == "" {
		return p.Changes, nil
	}
	switch {
	case p.undo && len(p.record.Files) == 0:
		p.recordTo = state{}
	case p.undo || len(p.edits) > 0:
		var err error
		if p.recordTo, err = p.record.encode(); err != nil {
			return Changes{}, err
		}
	}
	return p.Changes, nil
}
