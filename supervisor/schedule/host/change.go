package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/schedule"
)

const unitLimit = 1 << 20 // bytes of a file that may be ours

// Change is what has to be done to install or remove a schedule. It is made by Plan and
// PlanRemoval and done by Apply.
type Change struct {
	name   string
	entry  *schedule.Entry // nil when it is removed
	record edit            // the entry's own file
	put    []edit          // units to be written
	up     schedule.Backend
	down   []takedown
	table  *edit // the crontab
}

// takedown are the units of one backend that go.
type takedown struct {
	backend schedule.Backend
	files   []edit
}

// edit is what becomes of one file. No old text means that there is no file, no new text that
// there will be none.
type edit struct {
	path     string
	old, new []byte
}

func (e edit) nothing() bool { return bytes.Equal(e.old, e.new) && (e.old == nil) == (e.new == nil) }

// Name is that of the schedule.
func (c Change) Name() string { return c.name }

// Empty reports that there is nothing to do: everything is there already, and switched on.
func (c Change) Empty() bool {
	for _, e := range c.edits() {
		if !e.nothing() {
			return false
		}
	}
	return c.up == "" && len(c.down) == 0
}

// Diff is the change as a unified diff over all files that it touches, and the crontab. What is
// only switched on or off is not in it.
func (c Change) Diff() string {
	var out strings.Builder
	for _, e := range c.edits() {
		if e.nothing() {
			continue
		}
		from, to := e.path, e.path
		if e.old == nil {
			from = os.DevNull
		}
		if e.new == nil {
			to = os.DevNull
		}
		out.WriteString(udiff.Unified(from, to, string(e.old), string(e.new)))
	}
	return out.String()
}

func (c Change) edits() []edit {
	all := append([]edit{c.record}, c.put...)
	for _, d := range c.down {
		all = append(all, d.files...)
	}
	if c.table != nil {
		all = append(all, *c.table)
	}
	return all
}

// ChangedError is returned when something was changed by somebody else between Plan and Apply,
// or while a crontab was written. Nothing has been done, unless the error says more.
type ChangedError struct {
	What string // a path, or the crontab
}

// Error says what was changed.
func (e *ChangedError) Error() string {
	return e.What + " was changed by somebody else in the meantime"
}

// Hint is what to do.
func (e *ChangedError) Hint() string { return "do it again, and look at the change that is shown" }

// NotOursError is returned when a file has the name of a unit of ours but was not written by us.
type NotOursError struct {
	Path string
	Link bool // it is a link to somewhere else
}

// Error says what is in the way.
func (e *NotOursError) Error() string {
	if e.Link {
		return e.Path + " is a link and not ours"
	}
	return e.Path + " is not ours"
}

// Hint is what to do.
func (e *NotOursError) Hint() string { return "move it away, or give the schedule another name" }

// LeftError is returned when a change has failed and not all of it could be taken back.
type LeftError struct {
	Err  error    // why it failed
	Left []string // what is left, with the reason
}

// Error is why, and what is left.
func (e *LeftError) Error() string {
	return fmt.Sprintf("%v; not taken back: %s", e.Err, strings.Join(e.Left, "; "))
}

// Unwrap is why it failed.
func (e *LeftError) Unwrap() error { return e.Err }

// Hint is that of the reason, if it has one.
func (e *LeftError) Hint() string {
	var h interface{ Hint() string }
	if errors.As(e.Err, &h) {
		return h.Hint()
	}
	return ""
}

// recordOf is the file of an entry as it will be.
func recordOf(e schedule.Entry) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("write entry of %s: %w", e.Name, err)
	}
	return buf.Bytes(), nil
}

// read is the text of a file; nil when there is none.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > unitLimit {
		return nil, fmt.Errorf("%s is no file that can be read", path)
	}
	text, err := os.ReadFile(path)
	if text == nil && err == nil {
		text = []byte{}
	}
	return text, err
}

// write makes a file what it should be.
func write(path string, text []byte) error {
	if text == nil {
		err := os.Remove(path)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return statedir.SyncDir(filepath.Dir(path))
	}
	if err := statedir.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	return statedir.Replace(path, text)
}
