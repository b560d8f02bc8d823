package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"autopilot/metrics/statedir"
)

// gitFile ties a work tree to its repository.
const gitFile = ".git"

// ChangedError is returned when something is not as it was when it was looked at.
type ChangedError struct {
	Path string // below the folder
}

// Error names what has changed.
func (e *ChangedError) Error() string { return fmt.Sprintf("%q came or was changed meanwhile", e.Path) }

// Survey is what lies in a folder at one moment, by the paths below it.
type Survey struct {
	Files  map[string]fs.FileInfo // all that is no folder, but for the link to the repository
	Dirs   []string               // each before what is in it
	Nested string                 // a repository inside, where the walk ended; empty for none
}

// Walk looks through the folder of a work tree. It follows no symbolic link.
func Walk(top string) (Survey, error) {
	s := Survey{Files: map[string]fs.FileInfo{}}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, path)
		if err != nil || rel == "." || rel == gitFile {
			return err
		}
		if d.Name() == gitFile {
			s.Nested = filepath.Dir(rel)
			return fs.SkipAll
		}
		if d.IsDir() {
			s.Dirs = append(s.Dirs, rel)
			return nil
		}
		info, err := d.Info()
		if err == nil {
			s.Files[rel] = info
		}
		return err
	})
	if err != nil {
		return s, fmt.Errorf("look through %q: %w", top, err)
	}
	return s, nil
}

// Erase deletes the folder of a work tree, file by file, the link to its repository last.
// Tracked files have to be as surveyed; the others may have changed. What was not
// surveyed is not deleted: then, and for a tracked file that has changed, the error is a
// *ChangedError, and part of the files is gone.
func (s Survey) Erase(top string, tracked map[string]bool) error {
	root, err := os.OpenRoot(top)
	if err != nil {
		return fmt.Errorf("delete %q: %w", top, err)
	}
	defer func() { _ = root.Close() }()
	for rel, then := range s.Files {
		now, err := root.Lstat(rel)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("delete %q: %w", top, err)
		}
		if tracked[rel] && !alike(then, now) || now.IsDir() {
			return &ChangedError{Path: rel}
		}
		if err := force(root, rel, root.Remove); err != nil {
			return fmt.Errorf("delete %q: %w", top, err)
		}
	}
	for _, rel := range slices.Backward(s.Dirs) {
		if err := rmdir(root, filepath.Join(top, rel), rel); err != nil {
			return occupied(top, rel, err)
		}
	}
	names, err := os.ReadDir(top)
	if err != nil {
		return fmt.Errorf("delete %q: %w", top, err)
	}
	for _, n := range names {
		if n.Name() != gitFile {
			return &ChangedError{Path: n.Name()}
		}
	}
	if err := force(root, gitFile, root.Remove); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %q: %w", top, err)
	}
	if err := os.Remove(top); err != nil {
		return occupied(top, ".", err)
	}
	return statedir.SyncDir(filepath.Dir(top))
}

// occupied names what keeps a folder from being deleted.
func occupied(top, rel string, err error) error {
	if !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EEXIST) && !errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("delete %q: %w", top, err)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return &ChangedError{Path: rel}
	}
	if names, rerr := os.ReadDir(filepath.Join(top, rel)); rerr == nil && len(names) > 0 {
		rel = filepath.Join(rel, names[0].Name())
	}
	return &ChangedError{Path: rel}
}

// rmdir deletes an empty folder, and nothing that has taken its place.
func rmdir(root *os.Root, path, rel string) error {
	return force(root, rel, func(string) error { return syscall.Rmdir(path) })
}

// force has something deleted, also out of a folder that is not to be written.
func force(root *os.Root, rel string, remove func(string) error) error {
	err := remove(rel)
	if !errors.Is(err, fs.ErrPermission) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	dir := filepath.Dir(rel)
	info, serr := root.Stat(dir)
	if serr != nil || root.Chmod(dir, info.Mode().Perm()|0o700) != nil {
		return err
	}
	return remove(rel)
}

// alike reports whether a file is the one that was looked at.
func alike(then, now fs.FileInfo) bool {
	return os.SameFile(then, now) && then.Mode() == now.Mode() && then.Size() == now.Size() && then.ModTime().Equal(now.ModTime())
}
