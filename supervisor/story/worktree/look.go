package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/story/worktree/internal/gitcmd"
	"autopilot/supervisor/story/worktree/internal/gitfiles"
)

const (
	maxDirty   = 20
	maxIgnored = 1000
)

// Look says what a work tree and its branch look like. It reads only, and uses no network.
// A folder that is there and is no work tree of this repository is an error.
func (m Manager) Look(ctx context.Context, t Tree) (State, error) {
	s, err := m.open(ctx, false)
	if err != nil {
		return State{}, err
	}
	v, err := s.view(ctx, t)
	if err == nil && v.Held == "" && v.entry != "" {
		h, held, perr := statedir.Peek(filepath.Join(v.entry, statedir.RunLock))
		if err = perr; held {
			v.Held = "a run" + worksIn(h)
		}
	}
	if err != nil {
		return v.State, fmt.Errorf("look at work tree %s: %w", shown(t.Path), err)
	}
	return v.State, nil
}

// view is a State and what it was read from.
type view struct {
	State
	entry      string   // git's own folder of the tree; empty for none
	tip        string   // of the branch; empty where it is gone
	on         string   // the ref that HEAD is; empty when detached
	apart      int      // commits of HEAD that nothing else has, where HEAD is not the branch
	only       int      // commits of the branch that no other ref has
	usual      string   // the default branch; empty where it cannot be told
	ignored    []string // files, and folders of nothing else
	heldTree   string   // what else keeps the tree; empty for nothing
	heldBranch string   // what else keeps the branch
}

func (s site) view(ctx context.Context, t Tree) (view, error) {
	var v view
	exists, err := gitfiles.There(t.Path)
	if err != nil {
		return v, err
	}
	v.Missing = !exists
	if v.entry, err = s.entry(t.Path); err != nil {
		return v, err
	}
	if exists && !gitfiles.Linked(t.Path, v.entry) {
		return v, s.foreign(t.Path)
	}
	if err := s.viewBranch(ctx, t, &v); err != nil {
		return v, err
	}
	if err := s.viewHead(ctx, t.Branch, &v); err != nil {
		return v, err
	}
	if err := s.hold(ctx, t, &v); err != nil || !exists {
		return v, err
	}
	if v.Unfinished, err = gitfiles.Unfinished(v.entry); err != nil {
		return v, err
	}
	v.ignored, err = s.list(ctx, t.Path, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "--no-empty-directory", "-z")
	if err != nil {
		return v, err
	}
	v.Ignored = min(len(v.ignored), maxIgnored)
	dirty, err := s.dirty(ctx, t.Path)
	if err != nil {
		return v, err
	}
	v.Clean, v.More = len(dirty) == 0, max(0, len(dirty)-maxDirty)
	for _, p := range dirty[:min(len(dirty), maxDirty)] {
		v.Dirty = append(v.Dirty, shown(p))
	}
	return v, nil
}

func (s site) viewBranch(ctx context.Context, t Tree, v *view) error {
	var err error
	if v.tip, err = s.head(ctx, heads+t.Branch); err != nil {
		return err
	}
	if v.tip == "" {
		v.Merged = true // there is nothing to merge
		return nil
	}
	if t.Base != "" {
		if v.Ahead, err = s.count(ctx, s.Repo, "rev-list", "--count", v.tip, "^"+t.Base, "--"); err != nil {
			return err
		}
	}
	v.only, err = s.count(ctx, s.Repo, "rev-list", "--count", v.tip, "--not", "--exclude="+t.Branch, "--branches", "--tags", "--remotes", "--")
	if err != nil {
		return err
	}
	if v.usual, err = s.defaultBranch(ctx); err != nil {
		if _, ok := errors.AsType[*RefusedError](err); !ok {
			return err
		}
		return nil // without one nothing counts as merged
	}
	v.Merged, err = s.merged(ctx, v.tip, t.Branch, v.usual)
	return err
}

// viewHead reads what is checked out, which git's folder of a tree knows when the tree is gone.
func (s site) viewHead(ctx context.Context, branch string, v *view) error {
	if ok, err := gitfiles.There(filepath.Join(v.entry, "commondir")); v.entry == "" || !ok {
		return err
	}
	var err error
	if v.on, err = s.symbolic(ctx, v.entry, "HEAD"); err != nil || v.on == heads+branch {
		return err
	}
	c := gitcmd.Call{Dir: s.Repo, Env: []string{"GIT_DIR=" + v.entry}}
	at, err := s.git(ctx, c, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if f, ok := errors.AsType[*gitcmd.Failure](err); ok && f.Code == 1 {
		return nil // a branch without a commit
	}
	if err != nil {
		return err
	}
	args := []string{"rev-list", "--count", strings.TrimSpace(at), "--not"}
	if name, ok := strings.CutPrefix(v.on, heads); ok {
		args = append(args, "--exclude="+name)
	}
	v.apart, err = s.count(ctx, s.Repo, append(args, "--branches", "--tags", "--remotes", "--")...)
	v.HeadElsewhere = v.apart > 0
	return err
}

// dirty returns the paths of what is changed, staged, in conflict or untracked.
func (m Manager) dirty(ctx context.Context, top string) ([]string, error) {
	fields, err := m.list(ctx, top, "-c", "core.untrackedCache=false", "status", "--porcelain=v1", "-z", "--untracked-files=all",
		"--ignore-submodules=none", "--no-renames")
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(fields))
	for _, f := range fields {
		if len(f) > 3 {
			out = append(out, f[3:])
		}
	}
	return out, nil
}

// List returns the trees that were made in Root for this repository, in the order of
// their ids, those whose folder or branch somebody has deleted included. Records that
// cannot be read are in the error; the others are returned with it.
func (m Manager) List(ctx context.Context) ([]Tree, error) {
	s, err := m.open(ctx, false)
	if err != nil {
		return nil, err
	}
	all, err := s.records()
	out := make([]Tree, 0, len(all))
	for _, r := range all {
		out = append(out, s.tree(r))
	}
	return out, err
}

// Changed returns the paths, below the top of the work tree that dir is, that differ from
// a commit: committed since or not, staged or not, untracked ones included, ignored ones
// not. They are sorted and as git has them, without quotes; a repository inside, which git
// does not know, ends with a slash. A path that was changed in one commit and changed back
// in another is not in it.
func (m Manager) Changed(ctx context.Context, dir, base string) ([]string, error) {
	top, err := m.ask(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("changes in %s: %w", shown(dir), err)
	}
	if a, aerr := os.Stat(dir); aerr != nil {
		return nil, fmt.Errorf("changes in %s: %w", shown(dir), aerr)
	} else if b, berr := os.Stat(top); berr != nil || !os.SameFile(a, b) {
		return nil, fmt.Errorf("changes in %s: it is not the top of a work tree", shown(dir))
	}
	if base == "" || base[0] == '-' || base[0] == '^' {
		return nil, fmt.Errorf("changes in %s: bad commit %s", shown(dir), shown(base))
	}
	out, err := m.list(ctx, top, "diff", "--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=none", "--no-relative", "-z", base, "HEAD", "--")
	if err != nil {
		return nil, fmt.Errorf("changes in %s since %s: %w", shown(dir), shown(base), err)
	}
	// Not a diff of the files as well: that takes a file for changed which was only touched.
	dirty, err := m.dirty(ctx, top)
	if err != nil {
		return nil, fmt.Errorf("changes in %s: %w", shown(dir), err)
	}
	out = append(out, dirty...)
	slices.Sort(out)
	return slices.Compact(out), nil
}
