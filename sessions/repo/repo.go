package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNotRepository is returned when a folder is not inside a git work tree.
var ErrNotRepository = errors.New("not a git repository")

const (
	maxEntries = 20_000 // dirty files that are looked at one by one
	gitTimeout = 60 * time.Second
)

// Repo is a git work tree.
type Repo struct {
	Top    string // absolute path of the work tree
	GitDir string // absolute path of its own git folder; differs for each worktree
}

// Open finds the work tree that dir lies in. It returns ErrNotRepository when
// there is none, and an error of its own when git is missing.
func Open(ctx context.Context, dir string) (Repo, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return Repo{}, errors.New("git is not in PATH")
	}
	if _, err := os.Stat(dir); err != nil {
		return Repo{}, fmt.Errorf("open repository: %w", err)
	}
	out, err := git(ctx, dir, "rev-parse", "--show-toplevel", "--absolute-git-dir")
	if err != nil {
		if strings.Contains(err.Error(), "not a git repository") || strings.Contains(err.Error(), "must be run in a work tree") {
			return Repo{}, fmt.Errorf("%s: %w", dir, ErrNotRepository)
		}
		return Repo{}, err
	}
	top, gitDir, ok := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	if !ok || top == "" {
		return Repo{}, fmt.Errorf("%s: %w", dir, ErrNotRepository)
	}
	if strings.Contains(gitDir, "\n") { // which of the lines is which cannot be told
		return Repo{}, fmt.Errorf("open repository: the path %q has a line end in it", dir)
	}
	return Repo{Top: top, GitDir: gitDir}, nil
}

// State is what the work tree looks like at one moment.
type State struct {
	Head   string // commit id; empty before the first commit
	Branch string // empty when detached
	dirty  map[string]fingerprint
}

// Dirty counts the files outside of the given folders, relative to the top, that differ
// from HEAD.
func (s State) Dirty(ignored ...string) int {
	n := 0
	for path := range s.dirty {
		if !below(path, ignored) {
			n++
		}
	}
	return n
}

// Branches are the local branches, without refs/heads/.
func (r Repo) Branches(ctx context.Context) ([]string, error) {
	out, err := git(ctx, r.Top, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}

type fingerprint struct {
	status string
	size   int64
	mtime  time.Time
}

// State reads HEAD, the branch and every file that differs from HEAD.
func (r Repo) State(ctx context.Context) (State, error) {
	out, err := git(ctx, r.Top, "status", "--porcelain=v2", "--branch", "--untracked-files=all", "-z")
	if err != nil {
		return State{}, err
	}
	s := State{dirty: map[string]fingerprint{}}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i < len(fields) && len(s.dirty) < maxEntries; i++ {
		line := fields[i]
		switch {
		case strings.HasPrefix(line, "# branch.oid "):
			s.Head = strings.TrimPrefix(line, "# branch.oid ")
			if s.Head == "(initial)" {
				s.Head = ""
			}
		case strings.HasPrefix(line, "# branch.head "):
			s.Branch = strings.TrimPrefix(line, "# branch.head ")
			if s.Branch == "(detached)" {
				s.Branch = ""
			}
		case strings.HasPrefix(line, "1 "), strings.HasPrefix(line, "u "):
			r.add(&s, line, lastField(line))
		case strings.HasPrefix(line, "2 "):
			r.add(&s, line, lastField(line))
			i++ // the next field is the path it was renamed from
		case strings.HasPrefix(line, "? "):
			r.add(&s, "?", line[2:])
		}
	}
	return s, nil
}

// lastField returns the path of a changed entry: kind 1 has eight fields before
// it, kind 2 nine, an unmerged one ten.
func lastField(line string) string {
	n := map[byte]int{'1': 9, '2': 10, 'u': 11}[line[0]]
	parts := strings.SplitN(line, " ", n)
	return parts[len(parts)-1]
}

func (r Repo) add(s *State, status, path string) {
	f := fingerprint{status: status}
	if fi, err := os.Lstat(filepath.Join(r.Top, path)); err == nil {
		f.size, f.mtime = fi.Size(), fi.ModTime()
	}
	s.dirty[path] = f
}

// Change is what happened to the work tree between two moments.
type Change struct {
	Files   []string // sorted, without duplicates
	Commits []string // ids, newest first
}

// Changed compares two states. Files below the ignored folders, relative to the
// top of the work tree, do not count.
func (r Repo) Changed(ctx context.Context, before, after State, ignored ...string) (Change, error) {
	var c Change
	files := map[string]bool{}
	for path, f := range after.dirty {
		if before.dirty[path] != f {
			files[path] = true
		}
	}
	for path := range before.dirty {
		if _, still := after.dirty[path]; !still {
			files[path] = true // reverted, removed, or committed
		}
	}
	if before.Head != after.Head && after.Head != "" {
		from, err := before.Head, error(nil)
		if from == "" {
			if from, err = r.base(ctx, ""); err != nil {
				return c, err
			}
		}
		out, err := git(ctx, r.Top, "diff", "--name-only", "--no-renames", "-z", from, after.Head)
		if err != nil {
			return c, err
		}
		for p := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			files[p] = true
		}
		if c.Commits, err = r.commits(ctx, before.Head, after.Head); err != nil {
			return c, err
		}
	}
	for p := range files {
		if p != "" && !below(p, ignored) {
			c.Files = append(c.Files, p)
		}
	}
	slices.Sort(c.Files)
	return c, nil
}

func (r Repo) commits(ctx context.Context, from, to string) ([]string, error) {
	args := []string{"rev-list", "--max-count=200", to}
	if from != "" {
		args = append(args, "^"+from)
	}
	out, err := git(ctx, r.Top, args...)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}

func below(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		return f != "" && (path == f || strings.HasPrefix(path, strings.TrimSuffix(f, "/")+"/"))
	})
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		words, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("git %s: %v: %s", args[0], err, words)
	}
	return out, nil
}
