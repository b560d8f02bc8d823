package gate

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	maxHashed = 64 << 20 // bytes of a file of which a digest is made
	maxWalked = 10_000   // entries of a folder that are looked at
)

// proof looks for a file, a folder or the matches of a glob and says in words what
// there is. A path is taken as it is written first: names hold brackets, too.
func proof(dir, name string) (bool, string) {
	c, err := ParseFile(name)
	if err != nil {
		return false, "not looked at: " + err.Error()
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false, fmt.Sprintf("the repository cannot be read: %v", fact(err))
	}
	if _, err := os.Lstat(filepath.Join(root, c.File)); err == nil || !strings.ContainsAny(c.File, `*?[\`) {
		return single(root, c.File)
	}
	names, err := fs.Glob(os.DirFS(root), c.File)
	if err != nil {
		return false, "does not exist, and is no valid pattern"
	}
	return several(root, names)
}

// several says how many of the matches of a glob hold, and what the first of them
// is. One that holds is enough.
func several(root string, names []string) (bool, string) {
	good, found, first := 0, 0, ""
	failed := ""
	for _, name := range names {
		if inGit(name) {
			continue
		}
		found++
		ok, words := single(root, name)
		switch {
		case ok && good == 0:
			good, first = 1, fmt.Sprintf("%s %s", name, words)
		case ok:
			good++
		case failed == "":
			failed = fmt.Sprintf("%s %s", name, words)
		}
	}
	switch {
	case found == 0:
		return false, "nothing matches"
	case good == 0:
		return false, fmt.Sprintf("none of %d matches holds: %s", found, failed)
	}
	return true, fmt.Sprintf("%d of %d matches hold: %s", good, found, first)
}

// single says what one path leads to. It must not lead out of the repository.
func single(root, name string) (bool, string) {
	whole := filepath.Join(root, name)
	real, err := filepath.EvalSymlinks(whole)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(whole); err == nil {
			return false, "is a symbolic link to nothing"
		}
		return false, "does not exist"
	}
	if err != nil {
		return false, fmt.Sprintf("cannot be read: %v", fact(err))
	}
	rel, err := filepath.Rel(root, real)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return false, "leads out of the repository"
	case rel == ".":
		return false, "leads to the repository itself"
	case inGit(filepath.ToSlash(rel)):
		return false, "leads into git's own folder"
	}
	// A pipe must not make us wait for a writer.
	f, err := os.OpenFile(real, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false, fmt.Sprintf("cannot be read: %v", fact(err))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return false, fmt.Sprintf("cannot be read: %v", fact(err))
	case info.IsDir():
		return folder(real)
	case !info.Mode().IsRegular():
		return false, "is no ordinary file"
	case info.Size() == 0:
		return false, "is empty"
	case info.Size() > maxHashed:
		return true, fmt.Sprintf("exists, %d bytes", info.Size())
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, maxHashed))
	if err != nil {
		return false, fmt.Sprintf("cannot be read: %v", fact(err))
	}
	return true, fmt.Sprintf("exists, %d bytes, sha256 %.4x…", n, sum.Sum(nil))
}

// folder says whether there is a file with content in or below a folder. Symbolic
// links in it are not followed, and a repository's own data in it does not count.
func folder(name string) (bool, string) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return false, fmt.Sprintf("cannot be read: %v", fact(err))
	}
	if len(entries) == 0 {
		return false, "is an empty folder"
	}
	walked, found := 0, false
	err = filepath.WalkDir(name, func(p string, d fs.DirEntry, err error) error {
		walked++
		switch {
		case walked > maxWalked:
			return fs.SkipAll
		case err != nil:
			return nil // what cannot be read proves nothing; something else may
		case p != name && strings.EqualFold(d.Name(), gitName):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() > 0 {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case found:
		return true, fmt.Sprintf("is a folder with %d entries", len(entries))
	case err == nil && walked > maxWalked:
		return false, fmt.Sprintf("is a folder without a file with content among the first %d entries", maxWalked)
	}
	return false, "is a folder without a file with content"
}

// fact is what the system says, without the name of the file.
func fact(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
