package statedir

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	ownerFile   = "project.json"
	slugLimit   = 180              // bytes; leaves room for a suffix in a file name of 255
	claimWait   = 10 * time.Second // for another process that opens a project at this moment
	projectsDir = "projects"
)

// Project is the state folder of one project. Path is the absolute path of the
// working tree with symlinks resolved, Dir the absolute path of its folder.
type Project struct {
	Path string
	Dir  string
}

// RunsDir is the folder of all runs. It may not exist yet.
func (p Project) RunsDir() string { return filepath.Join(p.Dir, "runs") }

// RunDir is the folder of the run id. Characters that could lead out of RunsDir
// are replaced, so an id may come from a command line. It may not exist yet.
func (p Project) RunDir(id string) string {
	name := plain(id)
	if strings.Trim(name, ".") == "" {
		name = strings.Repeat("-", max(1, len(name)))
	}
	return filepath.Join(p.RunsDir(), name)
}

// LocksDir is the folder of the lock files. It may not exist yet; Acquire
// creates it.
func (p Project) LocksDir() string { return filepath.Join(p.Dir, "locks") }

// owner is the content of project.json.
type owner struct {
	Path string `json:"path"`
}

// Slug turns an absolute path into the name of a folder: every character
// outside [A-Za-z0-9._-] becomes "-", so /home/me/app is -home-me-app. The
// result has at most 180 bytes; a longer one is cut and ends in eight hex digits
// of the path's SHA-256. Different paths may have the same slug. A relative path
// is taken from the root folder, so the result is never "", "." or "..".
func Slug(path string) string {
	path = filepath.Clean("/" + path)
	slug := plain(path)
	if len(slug) <= slugLimit {
		return slug
	}
	suffix := "-" + shortHash(path)
	return slug[:slugLimit-len(suffix)] + suffix
}

// OpenProject returns the state folder below root for the working tree at path
// and creates it when it is missing. The folder is projects/<slug>, or
// projects/<slug>-<hash> when the first belongs to another path; project.json in
// it says whose it is. Several processes may call it at the same time. The
// working tree itself need not exist.
func OpenProject(root, path string) (Project, error) {
	path, err := canonical(path)
	if err != nil {
		return Project{}, fmt.Errorf("open state of project %s: %w", path, err)
	}
	if p, found, err := find(root, path); found || err != nil {
		return p, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimWait)
	defer cancel()
	lock, err := Acquire(ctx, filepath.Join(root, projectsDir, ".lock"), Holder{})
	if err != nil {
		return Project{}, fmt.Errorf("open state of project %s: %w", path, err)
	}
	p, err := claim(root, path)
	return p, errors.Join(err, lock.Release())
}

// FindProject is OpenProject without creating anything: found is false when path
// has no folder below root yet.
func FindProject(root, path string) (p Project, found bool, err error) {
	path, err = canonical(path)
	if err != nil {
		return Project{}, false, fmt.Errorf("find state of project %s: %w", path, err)
	}
	return find(root, path)
}

// Projects lists the projects that have a folder below root, in the order of
// their folders' names. A folder whose project.json cannot be read is left out and
// named in the error, which therefore may come together with a list. A folder
// without one is nobody's and left out in silence.
func Projects(root string) ([]Project, error) {
	entries, err := os.ReadDir(filepath.Join(root, projectsDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list projects: %w", err)
	}
	var list []Project
	var bad []error
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir := filepath.Join(root, projectsDir, e.Name())
		path, err := ownerOf(dir)
		switch {
		case err != nil:
			bad = append(bad, err)
		case path != "":
			list = append(list, Project{Path: path, Dir: dir})
		}
	}
	return list, errors.Join(bad...)
}

// claim takes the first folder that is free. The caller holds the lock, so a
// folder without project.json is a remnant of a killed process and free.
func claim(root, path string) (Project, error) {
	if p, found, err := find(root, path); found || err != nil {
		return p, err
	}
	for _, dir := range candidates(root, path) {
		taken, err := ownerOf(dir)
		if err != nil {
			return Project{}, err
		}
		if taken != "" {
			continue
		}
		if err := MakeDir(dir); err != nil {
			return Project{}, err
		}
		if err := ReplaceJSON(filepath.Join(dir, ownerFile), owner{Path: path}); err != nil {
			return Project{}, err
		}
		return Project{Path: path, Dir: dir}, nil
	}
	return Project{}, fmt.Errorf("open state of project %s: every folder name for it belongs to another path", path)
}

func find(root, path string) (Project, bool, error) {
	for _, dir := range candidates(root, path) {
		taken, err := ownerOf(dir)
		if err != nil {
			return Project{}, false, err
		}
		if taken == path {
			return Project{Path: path, Dir: dir}, true, nil
		}
	}
	return Project{}, false, nil
}

func candidates(root, path string) []string {
	dir := filepath.Join(root, projectsDir, Slug(path))
	return []string{dir, dir + "-" + shortHash(path)}
}

// ownerOf returns the path that the folder dir belongs to, "" when to none.
func ownerOf(dir string) (string, error) {
	file := filepath.Join(dir, ownerFile)
	var o owner
	err := LoadJSON(file, &o)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if o.Path == "" {
		return "", fmt.Errorf("load %s: no path in it", file)
	}
	return o.Path, nil
}

// canonical makes path absolute and resolves the symlinks of the part of it that
// exists: a tree reached by two names is one project and must have one lock.
func canonical(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path, err
	}
	for dir, rest := abs, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		resolved, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(resolved, rest), nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return abs, err
		}
	}
}

func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, s)
}

func shortHash(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:4])
}
