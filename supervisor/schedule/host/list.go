package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

// Installed is a schedule with what is there of it.
type Installed struct {
	Entry schedule.Entry
	// Orphan means that there are units without an entry; of Entry only the name and the backend are
	// known.
	Orphan  bool
	Missing []string // units that are gone: paths, or crontab
	Changed []string // units that are not as they would be written now, by hand or because the machine's zone is another
	Extra   []string // units of ours that start it as well, in another way
	// Enabled is false when it is known that nothing starts it, though its units are there.
	Enabled bool
	Next    time.Time // by systemd; zero when it is not known
}

// List are the schedules of this account by name. What cannot be read is among the errors, and does
// not keep the others from being listed.
func (h Host) List(ctx context.Context) ([]Installed, []error) {
	var out []Installed
	var bad []error
	table, tableErr := h.readCrontab(ctx)
	names, err := h.names()
	if err != nil {
		bad = append(bad, err)
	}
	usesCron := false
	for _, name := range names {
		e, err := h.Load(name)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		i, err := h.installed(ctx, e, table)
		if err != nil {
			bad = append(bad, fmt.Errorf("look at schedule %s: %w", name, err))
		}
		usesCron = usesCron || e.Backend == schedule.Cron
		out = append(out, i)
	}
	if tableErr != nil && usesCron {
		bad = append(bad, fmt.Errorf("read the crontab: %w", tableErr))
		for i := range out {
			if out[i].Entry.Backend == schedule.Cron {
				out[i].Missing, out[i].Enabled = nil, true // not known
			}
		}
	}
	out = append(out, h.orphans(names, table)...)
	slices.SortFunc(out, func(a, b Installed) int { return strings.Compare(a.Entry.Name, b.Entry.Name) })
	return out, bad
}

// names are the schedules that have an entry.
func (h Host) names() ([]string, error) {
	folders, err := os.ReadDir(filepath.Join(h.Root, "schedules"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	var out []string
	for _, f := range folders {
		if !f.IsDir() || schedule.CheckName(f.Name()) != nil {
			continue
		}
		if _, err := os.Lstat(EntryFile(h.Root, f.Name())); err == nil {
			out = append(out, f.Name())
		}
	}
	return out, nil
}

func (h Host) installed(ctx context.Context, e schedule.Entry, table []byte) (Installed, error) {
	i := Installed{Entry: e, Enabled: true}
	want, err := h.Units(e)
	if err != nil {
		return i, err
	}
	lines := ours(table, e.Name)
	if e.Backend == schedule.Cron {
		i.compare(crontabName, []byte(strings.Join(lines, "\n")+"\n"), want[0].Text, len(lines) > 0)
		i.Enabled = len(lines) == 0 || slices.ContainsFunc(lines, startsAtATime)
	} else if len(lines) > 0 {
		i.Extra = append(i.Extra, crontabName)
	}
	for _, b := range []schedule.Backend{schedule.Systemd, schedule.Launchd} {
		files, err := h.files(b, e.Name)
		if err != nil {
			return i, err
		}
		for n, f := range files {
			switch {
			case b == e.Backend:
				i.compare(f.path, f.text, want[n].Text, f.text != nil)
			case f.text != nil && f.foreign == nil:
				i.Extra = append(i.Extra, f.path)
			}
		}
	}
	if e.Backend != schedule.Cron && len(i.Missing) == 0 {
		s := h.look(ctx, e)
		i.Enabled, i.Next = s.on || s.err != nil, s.next
		return i, s.err
	}
	return i, nil
}

func (i *Installed) compare(what string, got, want []byte, there bool) {
	switch {
	case !there:
		i.Missing = append(i.Missing, what)
	case !bytes.Equal(got, want):
		i.Changed = append(i.Changed, what)
	}
}

// state is whether something starts an entry.
type state struct {
	on   bool
	next time.Time
	err  error // it is not known
}

func (h Host) look(ctx context.Context, e schedule.Entry) state {
	if !h.fits(e.Backend) {
		return state{err: fmt.Errorf("%s starts nothing on %s", e.Backend, h.GOOS)}
	}
	switch e.Backend {
	case schedule.Systemd:
		t, err := h.timer(ctx, e.Name)
		return state{on: t.enabled && t.active, next: t.next, err: err}
	case schedule.Launchd:
		loaded, _ := h.agent(ctx, e.Name)
		return state{on: loaded}
	}
	return state{on: true}
}

// orphans are the units of ours that have no entry.
func (h Host) orphans(names []string, table []byte) []Installed {
	var out []Installed
	add := func(name string, b schedule.Backend) {
		known := slices.Contains(names, name) || slices.ContainsFunc(out, func(i Installed) bool { return i.Entry.Name == name })
		if !known {
			out = append(out, Installed{Entry: schedule.Entry{Name: name, Backend: b}, Orphan: true, Enabled: true})
		}
	}
	for _, b := range []schedule.Backend{schedule.Systemd, schedule.Launchd} {
		files, err := os.ReadDir(h.folder(b))
		if err != nil {
			continue // a folder that cannot be read has nothing for its manager either
		}
		for _, f := range files {
			if !strings.HasPrefix(f.Name(), "autopilot") || !f.Type().IsRegular() {
				continue
			}
			text, err := read(filepath.Join(h.folder(b), f.Name()))
			if err != nil {
				continue
			}
			if name, ok := unit.Of(unit.File{Name: f.Name(), Text: text}); ok {
				add(name, b)
			}
		}
	}
	for _, f := range unit.OfCrontab(table) {
		add(f.Name, schedule.Cron)
	}
	return out
}

// startsAtATime reports that a line of a crontab is neither off nor for the start of the machine.
func startsAtATime(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#' && line[0] != '@'
}
