package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/story/worktree/internal/gitcmd"
)

const (
	defaultTimeout = 2 * time.Minute
	maxID          = 64 // characters
	recordsDir     = ".trees"
)

// Manager makes and removes the work trees of one repository in one folder. It holds
// nothing open; several may be used at once, in one process and in several.
type Manager struct {
	Repo    string        // top of the main work tree, of a linked one, or a bare repository
	Root    string        // folder in which the work trees are made, outside the repository; made when missing
	Timeout time.Duration // for each git, and for what is waited for a lock; 0 for two minutes
	Environ []string      // of git and of the hooks; nil is os.Environ()

	KeepIgnored bool // Remove keeps a tree in which there are files that git ignores
}

// From says which head of the default branch a story begins at.
type From string

// Values of From.
const (
	Remote From = "remote" // the remote's, which is fetched
	Local  From = "local"  // the one of this repository
)

// Base is where stories begin.
type Base struct {
	Branch string // the default branch, without refs/heads/
	Ref    string // in full, that Commit was read from
	Commit string // id
	Note   string // for a person, in whole sentences without a dot at the end; empty when there is nothing to say
}

// Tree is the work tree of a story.
type Tree struct {
	Path   string // absolute; its last element is the id
	Branch string // without refs/heads/
	Base   string // id of the commit that the branch began at
	Made   bool   // by this call, which includes what an earlier call had begun
	Note   string // for a person: what went wrong and does no harm, such as a hook
}

// State is what a work tree and its branch look like.
type State struct {
	Missing       bool     // the folder is gone; what follows is about the branch alone
	Clean         bool     // nothing is changed or untracked; ignored files do not count
	Dirty         []string // what is, for a person: at most 20 paths, odd ones quoted
	More          int      // paths beyond those
	Ahead         int      // commits on the branch since Base
	Merged        bool     // all of the branch is in a default head, see the package comment for what is seen
	Unfinished    string   // what is under way: rebase, merge, cherry-pick, revert, bisect; empty for nothing
	HeadElsewhere bool     // HEAD is not the branch, and has commits that nothing else has
	Ignored       int      // ignored files, where a folder of nothing else counts as one; at most 1000
	Held          string   // what else keeps it from being removed, as a run that works in it, for a person; empty for nothing
}

// RefusedError is returned when something stands in the way that only a person can judge.
// Nothing was changed.
type RefusedError struct {
	What string // the fact
	Way  string // the way out
}

// Error is the fact.
func (e *RefusedError) Error() string { return e.What }

// Hint is the way out.
func (e *RefusedError) Hint() string { return e.Way }

// ConflictError is returned when two branches change the same lines. The merge was
// taken back.
type ConflictError struct {
	Branch string   // that was to be merged
	Into   string   // the branch of the tree
	Files  []string // sorted
}

// Error names both branches and the first files.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s and %s conflict in %s", e.Into, e.Branch, some(e.Files))
}

// Hint is the way out.
func (e *ConflictError) Hint() string {
	return fmt.Sprintf("merge %s into %s by hand, or merge one of them into the default branch first", e.Branch, e.Into)
}

// site is a manager whose places are known.
type site struct {
	Manager
	root   string // absolute, without symbolic links; empty when the folder is not there
	common string // the git folder that all work trees share, likewise
}

// open finds the git folder of the repository and the folder of the work trees, which is
// made when there is none and it is needed.
func (m Manager) open(ctx context.Context, needed bool) (site, error) {
	s := site{Manager: m}
	if m.Repo == "" || m.Root == "" {
		return s, errors.New("internal error: a work tree manager needs a repository and a folder")
	}
	if err := s.find(ctx); err != nil {
		return s, fmt.Errorf("open repository %s: %w", shown(m.Repo), err)
	}
	root, err := filepath.Abs(m.Root)
	if err != nil {
		return s, fmt.Errorf("look up the folder of the work trees: %w", err)
	}
	if err := s.outside(root); err != nil {
		return s, err
	}
	if needed {
		if err := statedir.MakeDir(filepath.Join(root, recordsDir)); err != nil {
			return s, fmt.Errorf("make the folder of the work trees: %w", statedir.Full(root, err))
		}
	}
	if s.root, err = resolved(root); err != nil && (needed || !errors.Is(err, os.ErrNotExist)) {
		return s, fmt.Errorf("open the folder of the work trees: %w", err)
	}
	return s, nil
}

// find looks up the top of the work tree, where there is one, and the shared git folder.
func (s *site) find(ctx context.Context) error {
	const common, top = "--git-common-dir", "--show-toplevel"
	out, err := s.ask(ctx, s.Repo, "rev-parse", common, top)
	dir, repo, _ := strings.Cut(out, "\n")
	switch {
	case err == nil && strings.Contains(repo, "\n"): // which of the lines is which cannot be told
		if dir, err = s.ask(ctx, s.Repo, "rev-parse", common); err == nil {
			repo, err = s.ask(ctx, s.Repo, "rev-parse", top)
		}
	case err != nil: // a bare one has no top
		repo = s.Repo
		dir, err = s.ask(ctx, s.Repo, "rev-parse", common)
	}
	if err != nil {
		return err
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.Repo, dir)
	}
	s.Repo = repo
	s.common, err = resolved(dir)
	return err
}

// outside refuses a folder inside the repository: its files would be in the way of
// whoever works there, and go when somebody cleans up.
func (s site) outside(root string) error {
	root = nearest(root)
	for _, p := range []string{s.common, s.Repo} {
		if p, err := resolved(p); err == nil && (root == p || strings.HasPrefix(root, strings.TrimSuffix(p, "/")+"/")) {
			return &RefusedError{
				What: fmt.Sprintf("the folder of the work trees, %s, is inside the repository", shown(s.Root)),
				Way:  "name a folder outside the repository",
			}
		}
	}
	return nil
}

// nearest is a path without symbolic links, as far as it exists.
func nearest(path string) string {
	for dir, rest := path, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if r, err := resolved(dir); err == nil {
			return filepath.Join(r, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}

func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

func (s site) path(id string) string { return filepath.Join(s.root, id) }

// name is how the repository stands in records. JSON has no bytes that are not UTF-8.
func (s site) name() string {
	if utf8.ValidString(s.common) {
		return s.common
	}
	return fmt.Sprintf("%+q", s.common)
}

// checkID holds an id to the rules of a story's.
func checkID(id string) error {
	good := id != "" && len(id) <= maxID && id[0] != '.' && id[0] != '-'
	for _, c := range []byte(id) {
		good = good && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._-", c) >= 0)
	}
	if !good {
		return fmt.Errorf("bad id %s of a work tree: it has to be of letters, digits, '.', '_' and '-', at most %d, and not begin with '.' or '-'", shown(id), maxID)
	}
	return nil
}

// checkBranch holds a name to git's rules, and to what a record can hold.
func (s site) checkBranch(ctx context.Context, branch string) error {
	bad := branch == "" || branch[0] == '-' || branch == "HEAD" || !utf8.ValidString(branch)
	if !bad {
		_, err := s.ask(ctx, s.Repo, "check-ref-format", "refs/heads/"+branch)
		if f, ok := errors.AsType[*gitcmd.Failure](err); err != nil && (!ok || f.Code != 1) {
			return err
		}
		bad = err != nil
	}
	if bad {
		return fmt.Errorf("bad name of a branch: %s", shown(branch))
	}
	return nil
}
