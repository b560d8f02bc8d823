package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/tdd"
)

const asideLayout = "20060102T150405.000Z"

// Abort gives the current run up, whatever its files look like. Where its state can be
// read, that becomes the one of an aborted run, and all else follows. Where it cannot,
// state.json is renamed to state.json.broken-<time>, the manifest gets a note, and the
// pointers say that the run is aborted; the state that is returned then has only what
// the manifest knows. There is no current run then, or one that is aborted.
//
// No run, and one that is over, is ErrNoRun. With other errors as much as possible was
// done, and the run is named in the state that is returned; a second Abort tries again.
func (s Store) Abort(now time.Time) (tdd.State, error) {
	st, err := s.Peek()
	if broken, ok := errors.AsType[*BrokenError](err); ok {
		return s.putAside(broken, now)
	}
	if err != nil {
		return tdd.State{}, err
	}
	if st.Status.Over() {
		return tdd.State{}, fmt.Errorf("run %s is %s: %w", st.RunID, st.Status, ErrNoRun)
	}
	st.Abort(now)
	if err := statedir.ReplaceJSON(s.file(st.RunID, stateName), st); err != nil {
		return st, fmt.Errorf("abort run %s: %w", st.RunID, err)
	}
	s.at("state")
	return st, s.settle(st, true)
}

// putAside ends a run whose state is of no use. The pointers come last: as long as they
// do not say that the run is over, it can be aborted again.
func (s Store) putAside(broken *BrokenError, now time.Time) (tdd.State, error) {
	id, now := broken.RunID, now.UTC()
	files, err := s.pointersTo(id)
	bad := []error{err}
	m := s.remembered(id, files)
	m.Status, m.EndTime = tdd.Aborted, &now
	aside := broken.Path + ".broken-" + now.Format(asideLayout)
	_, gone := os.Lstat(broken.Path)
	if !errors.Is(gone, fs.ErrNotExist) {
		m.Note = fmt.Sprintf("%v; it was put aside as %s", broken, filepath.Base(aside))
	} else if m.Note == "" {
		m.Note = broken.Error()
	}
	bad = append(bad, update(s.file(id, manifestName), m))
	s.at("note")
	if !errors.Is(gone, fs.ErrNotExist) {
		bad = append(bad, os.Rename(broken.Path, aside), statedir.SyncDir(s.Folder(id)))
		s.at("aside")
	}
	if m.Tag != "" {
		bad = append(bad, statedir.MakeDir(filepath.Dir(s.tagFile(m.Tag))))
		files = append(files, s.tagFile(m.Tag))
	}
	for _, file := range append(files, s.pointerFile()) {
		bad = append(bad, update(file, pointerTo(m)))
	}
	st := tdd.State{
		RunID: id, TaskID: m.TaskID, Tag: m.Tag, Branch: m.Branch, ProjectRoot: m.ProjectRoot, StartTime: m.StartTime, EndTime: now,
		Status: tdd.Aborted, CompletedSubtasks: m.SubtasksCompleted, CurrentSubtask: m.CurrentSubtask, Why: m.Note,
	}
	if err := errors.Join(bad...); err != nil {
		return st, fmt.Errorf("abort run %s: %w", id, err)
	}
	return st, nil
}

// remembered is what is known of a run without its state: by its manifest, else by what
// points to it.
func (s Store) remembered(id string, pointers []string) Manifest {
	if m, _ := s.brief(id); m.RunID != "" {
		return m
	}
	m := Manifest{RunID: id, SubtasksCompleted: []string{}, SubtasksFailed: []string{}}
	for _, file := range pointers {
		if p, ok := pointer(file); ok {
			m.TaskID, m.Tag, m.StartTime = p.TaskID, p.Tag, p.StartTime
		}
	}
	return m
}

// Remove deletes a run and what points to it. The run is gone as a whole, also when the
// process is killed. What is not the name of a run is ErrNoRun, and so is a run that is
// not there.
func (s Store) Remove(id string) error {
	folder := s.Folder(id)
	if _, ok := began(id); !ok {
		return fmt.Errorf("remove run %q: %w", id, ErrNoRun)
	}
	gone := filepath.Join(s.Folder(""), goneMark+id)
	err := errors.Join(os.RemoveAll(gone), os.Rename(folder, gone))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrNoRun, err)
	}
	if err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	s.at("gone")
	bad := []error{statedir.SyncDir(s.Folder(""))}
	files, err := s.pointersTo(id)
	bad = append(bad, err)
	for _, file := range files {
		bad = append(bad, os.Remove(file), statedir.SyncDir(filepath.Dir(file)))
	}
	bad = append(bad, os.RemoveAll(gone))
	if err := errors.Join(bad...); err != nil {
		return fmt.Errorf("remove run %s: %w", id, err)
	}
	return nil
}

// pointersTo lists the pointers that name a run.
func (s Store) pointersTo(id string) ([]string, error) {
	tags, err := os.ReadDir(filepath.Join(s.Dir, "tags"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list tags: %w", err)
	}
	files := []string{s.pointerFile()}
	for _, tag := range tags {
		files = append(files, filepath.Join(s.Dir, "tags", tag.Name(), pointerName))
	}
	var found []string
	for _, file := range files {
		if p, ok := pointer(file); ok && p.RunID == id {
			found = append(found, file)
		}
	}
	return found, nil
}
