package worktree

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"autopilot/metrics/statedir"
)

const (
	version   = 1
	recordExt = ".json"
	lockExt   = ".lock"
)

// phase is how far a tree is.
type phase string

// Phases of a tree. What is made stays made while its folder is gone.
const (
	making   phase = "making"   // for the first time; nobody has been told of it
	remaking phase = "remaking" // its folder was gone; nobody has been told of the new one
	made     phase = "made"     // somebody may work in it
	removing phase = "removing" // all that is missing there is what we have deleted
)

// record says what is ours. It is written before the effects.
type record struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
	Repo    string `json:"repository"` // its shared git folder
	Branch  string `json:"branch"`
	Base    string `json:"base"`
	Phase   phase  `json:"phase"`
	Merging string `json:"merging,omitempty"` // commit that is being merged into the tree
	Before  string `json:"before,omitempty"`  // commit at which the branch was then
}

func (s site) recordPath(id string) string { return filepath.Join(s.root, recordsDir, id+recordExt) }

// lockPath is the lock of one tree.
func (s site) lockPath(id string) string { return filepath.Join(s.root, recordsDir, id+lockExt) }

// load reads the record of a tree; found is false when there is none.
func (s site) load(id string) (r record, found bool, err error) {
	path := s.recordPath(id)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, fmt.Errorf("read the record of work tree %s: %w", id, err)
	}
	if err := json.Unmarshal(data, &r); err != nil || r.Version != version || r.Branch == "" || r.ID == "" {
		return record{}, false, &RefusedError{
			What: fmt.Sprintf("the record of work tree %s, %s, cannot be read", id, shown(path)),
			Way:  fmt.Sprintf("look after %s and its branch by hand, then delete the record", shown(s.path(id))),
		}
	}
	return r, true, nil
}

func (s site) save(r record) error {
	r.Version = version
	if err := statedir.ReplaceJSON(s.recordPath(r.ID), r); err != nil {
		return fmt.Errorf("write the record of work tree %s: %w", r.ID, err)
	}
	return nil
}

// drop deletes the record of a tree of which nothing is left.
func (s site) drop(id string) error {
	if err := os.Remove(s.recordPath(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("delete the record of work tree %s: %w", id, err)
	}
	return nil
}

// records reads all records of this repository, in the order of their ids. Those that
// cannot be read are in the error; the others are returned with it.
func (s site) records() ([]record, error) {
	if s.root == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(filepath.Join(s.root, recordsDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the records of the work trees: %w", err)
	}
	var (
		out  []record
		errs []error
	)
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), recordExt)
		if !ok || checkID(id) != nil {
			continue
		}
		r, found, err := s.load(id)
		if err != nil {
			errs = append(errs, err)
		}
		if found && r.Repo == s.name() && r.ID == id {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b record) int { return strings.Compare(a.ID, b.ID) })
	return out, errors.Join(errs...)
}

// begun reports whether nobody has been told yet of the folder that may be there.
func (r record) begun() bool { return r.Phase == making || r.Phase == remaking }

func (s site) tree(r record) Tree {
	return Tree{Path: s.path(r.ID), Branch: r.Branch, Base: r.Base}
}
