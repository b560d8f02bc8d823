package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

const crontabName = "crontab"

// Plan is what has to be done to install an entry, in place of what there is of its name,
// whatever starts that. A file in the way that is not ours is a *NotOursError.
func (h Host) Plan(ctx context.Context, e schedule.Entry) (Change, error) {
	if err := e.Check(); err != nil {
		return Change{}, err
	}
	if !h.fits(e.Backend) {
		return Change{}, &schedule.InvalidError{
			Fact: fmt.Sprintf("%s starts nothing on %s", e.Backend, h.GOOS),
			Way:  "leave --backend out, and what is there is taken",
		}
	}
	c := Change{name: e.Name, entry: &e}
	var err error
	if c.record, err = h.recordEdit(e); err != nil {
		return Change{}, err
	}
	if err := h.planUnits(&c, e); err != nil {
		return Change{}, err
	}
	if err := h.planCrontab(ctx, &c, e); err != nil {
		return Change{}, err
	}
	changed := false
	for _, p := range c.put {
		changed = changed || !p.nothing()
	}
	if e.Backend != schedule.Cron && (changed || !h.look(ctx, e).on) {
		c.up = e.Backend
	}
	return c, h.idle(ctx, c)
}

func (h Host) recordEdit(e schedule.Entry) (edit, error) {
	path := EntryFile(h.Root, e.Name)
	old, err := read(path)
	if err != nil {
		return edit{}, fmt.Errorf("read entry of %s: %w", e.Name, err)
	}
	text, err := recordOf(e)
	return edit{path: path, old: old, new: text}, err
}

// planUnits compares the files of an entry with those that are there, and finds those of its
// name that are for another backend.
func (h Host) planUnits(c *Change, e schedule.Entry) error {
	want, err := unit.Files(e, h.ServiceZone)
	if err != nil {
		return err
	}
	for _, b := range []schedule.Backend{schedule.Systemd, schedule.Launchd} {
		there, err := h.files(b, e.Name)
		if err != nil {
			return err
		}
		if b != e.Backend {
			c.drop(b, there)
			continue
		}
		for i, f := range there {
			if f.foreign != nil {
				return f.foreign
			}
			c.put = append(c.put, edit{path: f.path, old: f.text, new: want[i].Text})
		}
	}
	return nil
}

// drop plans to remove the files that are ours.
func (c *Change) drop(b schedule.Backend, files []found) {
	t := takedown{backend: b}
	for _, f := range files {
		if f.text != nil && f.foreign == nil {
			t.files = append(t.files, edit{path: f.path, old: f.text})
		}
	}
	if len(t.files) > 0 {
		c.down = append(c.down, t)
	}
}

// found is a file with a name of ours.
type found struct {
	path    string
	text    []byte // nil when there is none
	foreign error  // why it is not ours
}

// files are the files that a schedule has with a backend, in the order of unit.Names.
func (h Host) files(b schedule.Backend, name string) ([]found, error) {
	var out []found
	for _, n := range unit.Names(name, b) {
		f := found{path: filepath.Join(h.folder(b), n)}
		info, err := os.Lstat(f.path)
		if errors.Is(err, os.ErrNotExist) {
			out = append(out, f)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for units of %s: %w", name, err)
		}
		if info.Mode()&os.ModeSymlink != 0 {
			f.text, f.foreign = []byte{}, &NotOursError{Path: f.path, Link: true}
			out = append(out, f)
			continue
		}
		if f.text, err = read(f.path); err != nil {
			return nil, fmt.Errorf("look for units of %s: %w", name, err)
		}
		if _, ours := unit.Of(unit.File{Name: n, Text: f.text}); !ours {
			f.foreign = &NotOursError{Path: f.path}
		}
		out = append(out, f)
	}
	return out, nil
}

// planCrontab puts the lines of an entry into the crontab, or takes those out that an earlier
// one of its name has left.
func (h Host) planCrontab(ctx context.Context, c *Change, e schedule.Entry) error {
	var block []string
	if e.Backend == schedule.Cron {
		var err error
		if block, err = unit.Block(e, h.ServiceZone); err != nil {
			return err
		}
	} else if h.backendOf(e.Name) != schedule.Cron {
		return nil
	}
	return h.editCrontab(ctx, c, block)
}

// editCrontab plans to put lines into the crontab in place of those of the schedule.
func (h Host) editCrontab(ctx context.Context, c *Change, block []string) error {
	text, err := h.readCrontab(ctx)
	if notFound(err) && block == nil {
		return nil // where there is no crontab, nothing is left in it
	}
	if err != nil {
		return fmt.Errorf("read the crontab: %w", err)
	}
	t := edit{path: crontabName, old: text, new: unit.Splice(text, c.name, block)}
	if !bytes.Equal(t.old, t.new) {
		c.table = &t
	}
	return nil
}

// backendOf is what starts a schedule by its entry, also by one that cannot be used any more.
func (h Host) backendOf(name string) schedule.Backend {
	text, err := read(EntryFile(h.Root, name))
	if err != nil {
		return ""
	}
	var e struct {
		Backend schedule.Backend `json:"backend"`
	}
	if json.Unmarshal(text, &e) != nil {
		return ""
	}
	return e.Backend
}

// PlanRemoval is what has to be done to take a schedule away, whatever starts it, also when its
// entry is gone or broken. The error is os.ErrNotExist when there is nothing of that name, and
// a *NotOursError when there is something that is not ours. What else is in the folder of the
// schedule, such as its logs, stays.
func (h Host) PlanRemoval(ctx context.Context, name string) (Change, error) {
	if err := schedule.CheckName(name); err != nil {
		return Change{}, err
	}
	c := Change{name: name, record: edit{path: EntryFile(h.Root, name)}}
	var err error
	if c.record.old, err = read(c.record.path); err != nil {
		return Change{}, fmt.Errorf("read entry of %s: %w", name, err)
	}
	backend := h.backendOf(name)
	for _, b := range []schedule.Backend{schedule.Systemd, schedule.Launchd} {
		there, err := h.files(b, name)
		if err != nil {
			return Change{}, err
		}
		known := len(c.down)
		c.drop(b, there)
		for _, f := range there {
			if f.foreign != nil && (backend == b || backend == "" || len(c.down) > known) {
				return Change{}, f.foreign
			}
		}
	}
	if backend == schedule.Cron || backend == "" {
		if err := h.editCrontab(ctx, &c, nil); err != nil && backend == schedule.Cron {
			return Change{}, err
		}
	}
	if c.Empty() {
		return Change{}, fmt.Errorf("schedule %s: %w", name, os.ErrNotExist)
	}
	return c, h.idle(ctx, c)
}

// idle refuses a change of an agent that is running: launchd could not make it without ending
// what runs.
func (h Host) idle(ctx context.Context, c Change) error {
	touched := c.up == schedule.Launchd
	for _, d := range c.down {
		touched = touched || d.backend == schedule.Launchd
	}
	if !touched {
		return nil
	}
	if _, running := h.agent(ctx, c.name); running {
		return &schedule.InvalidError{
			Fact: "schedule " + c.name + " is running, and launchd would end it",
			Way:  "wait for its end, or end it with 'autopilot stop'",
		}
	}
	return nil
}

// readCrontab is the person's crontab; empty when there is none.
func (h Host) readCrontab(ctx context.Context) ([]byte, error) {
	text, err := h.run(ctx, crontabName, "-l")
	if err == nil {
		return text, nil
	}
	if said, ok := errors.AsType[*ProgramError](err); ok && nobodysCrontab(said.Said) {
		return nil, nil
	}
	return nil, err
}

// nobodysCrontab tells that a person has no crontab from the ways to say so of the programs that
// are around. None of them says it by its exit code.
func nobodysCrontab(said string) bool {
	said = strings.ToLower(said)
	return strings.Contains(said, "no crontab for") ||
		strings.Contains(said, "can't open") && strings.Contains(said, "no such file")
}
