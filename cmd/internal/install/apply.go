package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"autopilot/metrics/statedir"
)

const (
	newFileMode os.FileMode = 0o644 // these are the person's versioned files
	newDirMode  os.FileMode = 0o755
)

// Apply makes the changes. Nothing is written when a file is no longer what it
// was when the changes were planned. Each file is replaced as a whole and keeps
// its mode; new files get 0644 and new folders 0755. An error, or a kill, in the
// middle leaves a state from which both init and uninstall can be run again.
// Temporary files that a killed Apply has left beside the files of this one are
// removed when they are older than a minute.
func (c Changes) Apply() error {
	for _, e := range c.edits {
		if err := c.check(e); err != nil {
			return fmt.Errorf("apply changes: %w", err)
		}
	}
	c.removeLeftovers(time.Now())
	steps := []func() error{c.writeRecord, c.writeFiles}
	if c.undo { // the record goes when it is needed no more
		steps = []func() error{c.writeFiles, c.removeFolders, c.writeRecord}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("apply changes: %w", err)
		}
	}
	return nil
}

// check refuses a file that somebody has changed since it was planned.
func (c Changes) check(e edit) error {
	now := state{exists: true}
	var err error
	now.data, err = os.ReadFile(c.full(e.path))
	if errors.Is(err, os.ErrNotExist) {
		now, err = state{}, nil
	}
	if err != nil {
		return err
	}
	if !now.same(e.from) {
		return fmt.Errorf("%s has changed in the meantime", e.path)
	}
	return nil
}

func (c Changes) full(path string) string { return filepath.Join(c.repo, filepath.FromSlash(path)) }

func (c Changes) writeRecord() error {
	if c.recordNow.same(c.recordTo) {
		return nil
	}
	if !c.recordTo.exists {
		return remove(c.recordPath)
	}
	if err := statedir.MakeDir(filepath.Dir(c.recordPath)); err != nil {
		return err
	}
	return statedir.Replace(c.recordPath, c.recordTo.data)
}

func (c Changes) writeFiles() error {
	for _, e := range c.edits {
		if err := c.check(e); err != nil {
			return err
		}
		if err := c.write(e); err != nil {
			return err
		}
	}
	return nil
}

func (c Changes) write(e edit) error {
	name := c.full(e.path)
	if !e.to.exists {
		return remove(name)
	}
	if e.from.exists {
		return statedir.Replace(name, e.to.data)
	}
	if err := makeDir(filepath.Dir(name)); err != nil {
		return err
	}
	if err := statedir.Replace(name, e.to.data); err != nil {
		return err
	}
	return os.Chmod(name, newFileMode)
}

// makeDir creates a folder of the repository when it is missing.
func makeDir(name string) error {
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Mkdir(name, newDirMode); err != nil {
		return err
	}
	if err := os.Chmod(name, newDirMode); err != nil { // whatever the umask is
		return err
	}
	return statedir.SyncDir(filepath.Dir(name))
}

// removeFolders leaves a folder in which something else has been put since.
func (c Changes) removeFolders() error {
	for _, folder := range c.folders {
		name := c.full(folder)
		if entries, err := os.ReadDir(name); err == nil && len(entries) == 0 {
			if err := remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return statedir.SyncDir(filepath.Dir(name))
}
