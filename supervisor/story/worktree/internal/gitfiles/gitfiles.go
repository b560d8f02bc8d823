package gitfiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Entry returns git's own folder of the work tree at a path, or nothing. common is the
// folder that all work trees share.
func Entry(common, path string) (string, error) {
	list := filepath.Join(common, "worktrees")
	names, err := os.ReadDir(list)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the list of work trees: %w", err)
	}
	for _, n := range names {
		dir := filepath.Join(list, n.Name())
		if Pointer(dir, "gitdir", "") == filepath.Join(path, ".git") {
			return dir, nil
		}
	}
	return "", nil
}

// Pointer reads a path out of one of git's files, which may be relative to the folder of
// the file.
func Pointer(dir, name, prefix string) string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	to, ok := strings.CutPrefix(strings.TrimSuffix(string(data), "\n"), prefix)
	if !ok || to == "" {
		return ""
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	return filepath.Clean(to)
}

// Linked reports whether the folder of a tree says that it belongs to an entry.
func Linked(path, entry string) bool {
	to := Pointer(path, ".git", "gitdir: ")
	if to == "" || entry == "" {
		return false
	}
	a, aerr := os.Stat(to)
	b, berr := os.Stat(entry)
	return aerr == nil && berr == nil && os.SameFile(a, b)
}

// There reports whether something is at a path.
func There(path string) (bool, error) {
	if _, err := os.Lstat(path); err == nil {
		return true, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	return false, nil
}

// Unfinished tells by git's files what is under way in a tree.
func Unfinished(entry string) (string, error) {
	for _, mark := range []struct{ file, what string }{
		{"rebase-merge", "rebase"},
		{"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"sequencer", "cherry-pick or revert"},
		{"BISECT_LOG", "bisect"},
	} {
		if ok, err := There(filepath.Join(entry, mark.file)); ok || err != nil {
			return mark.what, err
		}
	}
	return "", nil
}

// Modules reports whether git's folder of a tree holds repositories of submodules.
func Modules(entry string) (bool, error) {
	names, err := os.ReadDir(filepath.Join(entry, "modules"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("look for submodules: %w", err)
	}
	return len(names) > 0, nil
}

// Locked returns why a tree is locked, which may be empty, and whether it is.
func Locked(entry string) (why string, locked bool, err error) {
	data, err := os.ReadFile(filepath.Join(entry, "locked"))
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("look at the lock of a work tree: %w", err)
	}
	return strings.TrimSpace(string(data)), true, nil
}
