package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"autopilot/supervisor/story/worktree/internal/folder"
)

const gitFile = ".git"

// raze deletes the files of a commit, and the folder of the tree when nothing else is in it.
func raze(top string, files []string) error {
	all, err := folder.Walk(top)
	if err != nil {
		return err
	}
	if all.Nested != "" {
		return fmt.Errorf("%s holds a repository", shown(all.Nested))
	}
	known := map[string]bool{}
	for _, f := range files {
		known[f] = true
	}
	for rel := range all.Files {
		if !known[rel] {
			return fmt.Errorf("%s is of somebody else", shown(rel))
		}
	}
	return all.Erase(top, known)
}

// link writes the file that ties the folder of a tree to its repository, unless there is one.
func link(path, entry string) error {
	f, err := os.OpenFile(filepath.Join(path, gitFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString("gitdir: " + entry + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("link %s to its repository: %w", shown(path), err)
	}
	return nil
}
