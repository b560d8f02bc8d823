package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/tdd"
)

const (
	lockWait = 5 * time.Second // for another writer
	newMark  = ".new-"         // a run that is being created
	goneMark = ".gone-"        // one that is being removed
)

// Store is the place of the runs of one work tree. Dir need not exist.
type Store struct {
	Dir string

	reached func(point string) // for tests that stop there
}

func (s Store) at(point string) {
	if s.reached != nil {
		s.reached(point)
	}
}

// Lock makes the caller the only writer of the store, until Release. It waits for
// another one for five seconds, and for less when ctx ends before that: then it is a
// *statedir.HeldError. All methods that write need it; those that read do not.
func (s Store) Lock(ctx context.Context) (*statedir.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	return statedir.Acquire(ctx, filepath.Join(s.Dir, "lock"), statedir.Holder{})
}

// Scratch is a folder of the store, created when missing, for files that mean nothing
// after a command. Nothing in it is ever read or removed here.
func (s Store) Scratch() (string, error) {
	dir := filepath.Join(s.Dir, "scratch")
	return dir, statedir.MakeDir(dir)
}

// NewID is ID for a run that is not there yet: where two begin in one millisecond, the
// second gets the next one.
func (s Store) NewID(tag, taskID string, now time.Time) string {
	for ; ; now = now.Add(time.Millisecond) {
		id := ID(tag, taskID, now)
		if _, err := os.Lstat(s.Folder(id)); err != nil {
			return id
		}
	}
}

// Create begins a run: its folder appears with the state in it, or not at all. It is
// refused while a run is not over or broken, and with fs.ErrExist when the folder is
// there. Errors are those of Save.
func (s Store) Create(st tdd.State) error {
	if err := errors.Join(check(st), follows(tdd.State{}, st)); err != nil {
		return fmt.Errorf("create run %s: %w", st.RunID, err)
	}
	switch now, err := s.Peek(); {
	case err == nil && !now.Status.Over():
		return fmt.Errorf("create run %s: run %s is not over", st.RunID, now.RunID)
	case err != nil && !errors.Is(err, ErrNoRun):
		return fmt.Errorf("create run %s: %w", st.RunID, err)
	}
	if err := s.place(st); err != nil {
		return fmt.Errorf("create run %s: %w", st.RunID, statedir.Full(s.Dir, err))
	}
	s.at("state")
	return s.settle(st, true)
}

// place makes the folder under another name, so that a kill leaves no run without a
// state.
func (s Store) place(st tdd.State) error {
	folder := s.Folder(st.RunID)
	if _, err := os.Lstat(folder); err == nil {
		return &fs.PathError{Op: "mkdir", Path: folder, Err: fs.ErrExist}
	}
	if err := s.sweep(); err != nil {
		return err
	}
	fresh := filepath.Join(s.Folder(""), newMark+st.RunID)
	if err := statedir.MakeDir(fresh); err != nil {
		return err
	}
	if err := statedir.ReplaceJSON(filepath.Join(fresh, stateName), st); err != nil {
		return err
	}
	s.at("folder")
	if err := os.Rename(fresh, folder); err != nil {
		return err
	}
	return statedir.SyncDir(s.Folder(""))
}

// sweep removes what killed calls of Create and Remove have left.
func (s Store) sweep() error {
	entries, err := os.ReadDir(s.Folder(""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), newMark) || strings.HasPrefix(e.Name(), goneMark) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.Folder(""), e.Name())))
		}
	}
	return err
}

// Save puts a new state in the place of the one on disk. When it returns nil, all
// files of the run are up to date. The Outbox may hold events that are in the log; it
// has to hold those that are new. With an *UnsettledError the state is saved; with any
// other error the old one is there, except that after a failed sync either may be.
//
// The run becomes the current one, unless it is over, or the current one is not.
func (s Store) Save(st tdd.State) error {
	if err := s.replace(st); err != nil {
		return fmt.Errorf("save run %s: %w", st.RunID, err)
	}
	return s.settle(st, false)
}

func (s Store) replace(st tdd.State) error {
	if err := check(st); err != nil {
		return err
	}
	old, err := s.PeekRun(st.RunID)
	if err != nil {
		return err
	}
	if err := follows(old, st); err != nil {
		return err
	}
	// Who saved the old state may have been killed: its events are nowhere else.
	if err := s.log(old, without(old.Outbox, st.Outbox)); err != nil {
		return err
	}
	if err := statedir.ReplaceJSON(s.file(st.RunID, stateName), st); err != nil {
		return err
	}
	s.at("state")
	return nil
}

// Load reads the current run for writing: what a kill has left undone is done first.
// Errors are those of Peek, and *UnsettledError, with which the state comes.
func (s Store) Load() (tdd.State, error) {
	st, err := s.Peek()
	if err != nil {
		return tdd.State{}, err
	}
	s.tidy(st)
	return st, s.settle(st, true)
}

// LoadRun is Load for any run. Like Save it makes the run the current one only when it
// is not over, and no other one is in progress.
func (s Store) LoadRun(id string) (tdd.State, error) {
	st, err := s.PeekRun(id)
	if err != nil {
		return tdd.State{}, err
	}
	s.tidy(st)
	return st, s.settle(st, false)
}

// tidy removes the temporary files of killed processes. What it cannot remove is in
// nobody's way.
func (s Store) tidy(st tdd.State) {
	now := time.Now()
	for _, dir := range []string{s.Dir, s.Folder(st.RunID), s.file(st.RunID, resultsName), filepath.Dir(s.tagFile(st.Tag))} {
		_ = statedir.CleanTemp(dir, now)
	}
}

// PeekRun reads the state of a run, as it is. A run that is not there is ErrNoRun, a
// state that is of no use a *BrokenError.
func (s Store) PeekRun(id string) (tdd.State, error) {
	if _, ok := began(id); !ok {
		return tdd.State{}, fmt.Errorf("run %q: %w", id, ErrNoRun)
	}
	file := s.file(id, stateName)
	var st tdd.State
	err := statedir.LoadJSON(file, &st)
	if err == nil {
		if err = check(st); err == nil && st.RunID != id {
			err = fmt.Errorf("it is that of run %s", st.RunID)
		}
		if err == nil {
			return st, nil
		}
		err = fmt.Errorf("check %s: %w", file, err)
	}
	if _, gone := os.Lstat(s.Folder(id)); errors.Is(gone, fs.ErrNotExist) {
		return tdd.State{}, fmt.Errorf("run %s: %w", id, ErrNoRun)
	}
	return tdd.State{}, &BrokenError{RunID: id, Path: file, Err: err}
}

// without returns the events of list whose numbers are not among those of other.
func without(list, other []tdd.Activity) []tdd.Activity {
	known := map[int64]bool{}
	for _, a := range other {
		known[a.Seq] = true
	}
	var left []tdd.Activity
	for _, a := range list {
		if !known[a.Seq] {
			left = append(left, a)
		}
	}
	return left
}

// encode is v as the files of a run have it.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
