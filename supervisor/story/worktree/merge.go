package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/story/worktree/internal/gitcmd"
	"autopilot/supervisor/story/worktree/internal/gitfiles"
	"autopilot/supervisor/story/worktree/internal/treelock"
)

// Merge merges another branch of this repository into that of a tree, without asking for
// words. The tree has to be without changes to tracked files, with its branch checked out
// and nothing under way, and no run may work in it: else it is a *RefusedError. A conflict is a *ConflictError; it,
// and any other error, leaves branch and files as they were. No other branch is touched.
func (m Manager) Merge(ctx context.Context, t Tree, branch string) error {
	s, err := m.open(ctx, false)
	if err != nil {
		return err
	}
	id := filepath.Base(t.Path)
	if s.root == "" || checkID(id) != nil || t.Path != s.path(id) {
		return fmt.Errorf("%s is no work tree that was made here", shown(t.Path))
	}
	l, err := take(ctx, s.lockPath(id), s.timeout())
	if err == nil {
		defer l.Release()
		err = s.merge(ctx, l, t, branch)
	}
	if err != nil {
		return fmt.Errorf("merge %s into %s: %w", shown(branch), shown(t.Branch), statedir.Full(t.Path, err))
	}
	return nil
}

func (s site) merge(ctx context.Context, l *treelock.Lock, t Tree, branch string) error {
	id := filepath.Base(t.Path)
	r, found, err := s.load(id)
	if err != nil {
		return err
	}
	if !found || s.same(r, record{ID: id, Repo: s.name(), Branch: t.Branch}) != nil || r.Phase != made || !linkedHere(s, t.Path) {
		return &RefusedError{What: fmt.Sprintf("%s is no work tree that was made here for this branch", shown(t.Path)), Way: "make it first"}
	}
	for _, b := range []string{t.Branch, branch} {
		if err := s.real(ctx, b); err != nil {
			return err
		}
	}
	entry, err := s.entry(t.Path)
	if err != nil {
		return err
	}
	release, err := occupy(ctx, entry, "another run")
	if err != nil {
		return err
	}
	defer release()
	if err := s.recover(ctx, l, &r, entry); err != nil {
		return err
	}
	if err := s.ready(ctx, t, entry); err != nil {
		return err
	}
	other, err := s.head(ctx, heads+branch)
	if err != nil {
		return err
	}
	if other == "" {
		return &RefusedError{What: fmt.Sprintf("there is no branch %s", shown(branch)), Way: "merge a branch of this repository"}
	}
	if done, err := s.contains(ctx, heads+t.Branch, other); done || err != nil {
		return err
	}
	r.Merging = other
	if r.Before, err = s.head(ctx, heads+t.Branch); err != nil {
		return err
	}
	if err := s.save(r); err != nil {
		return err
	}
	words := fmt.Sprintf("Merge branch '%s' into %s", branch, t.Branch)
	_, merr := s.git(ctx, gitcmd.Call{Dir: t.Path, Changes: true, Held: []*os.File{l.File}}, "-c", "rerere.enabled=false", "merge", "--quiet", "-m", words,
		"--no-edit", "--ff", "--commit", "--no-squash", "--no-autostash", "--no-log", other)
	ctx = context.WithoutCancel(ctx)
	if merr != nil {
		if files, err := s.list(ctx, t.Path, "diff", "--name-only", "--diff-filter=U", "-z"); err == nil && len(files) > 0 {
			slices.Sort(files)
			merr = &ConflictError{Branch: branch, Into: t.Branch, Files: slices.Compact(files)}
		}
		if done, err := s.contains(ctx, heads+t.Branch, other); err == nil && done {
			merr = nil // what went wrong came after it, as a hook does
		}
	}
	return errors.Join(merr, s.abort(ctx, l, &r))
}

// ready refuses a tree in which a merge could not be taken back.
func (s site) ready(ctx context.Context, t Tree, entry string) error {
	what, err := gitfiles.Unfinished(entry)
	if err != nil {
		return err
	}
	if what != "" {
		return &RefusedError{What: fmt.Sprintf("a %s is under way in it", what), Way: "finish or abort it"}
	}
	on, err := s.symbolic(ctx, entry, "HEAD")
	if err != nil {
		return err
	}
	if on != heads+t.Branch {
		return &RefusedError{What: "another branch is checked out in it, or none", Way: "git switch " + t.Branch}
	}
	changed, err := s.list(ctx, t.Path, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=none", "--no-renames")
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		return &RefusedError{What: fmt.Sprintf("%s in it not committed", isAre(len(changed))), Way: "commit first"}
	}
	return nil
}

// recover takes back a merge that an earlier call did not bring to its end, when nobody
// has been at it since.
func (s site) recover(ctx context.Context, l *treelock.Lock, r *record, entry string) error {
	path := s.path(r.ID)
	head, err := s.underWay(ctx, path)
	if err != nil || r.Merging == "" {
		return err
	}
	if head == r.Merging {
		if touched, err := s.touched(ctx, path, entry); err != nil {
			return err
		} else if touched != "" {
			return &RefusedError{
				What: fmt.Sprintf("a merge of %s was broken off in it, and %s was changed since", r.Merging, shown(touched)),
				Way:  "finish it, or take it back: git merge --abort",
			}
		}
		return s.abort(ctx, l, r)
	}
	r.Merging, r.Before = "", ""
	return s.save(*r)
}

// underWay returns the commit that is being merged into a tree, or nothing.
func (s site) underWay(ctx context.Context, path string) (string, error) {
	head, err := s.ask(ctx, path, "rev-parse", "--verify", "--quiet", "MERGE_HEAD")
	if f, ok := errors.AsType[*gitcmd.Failure](err); err != nil && (!ok || f.Code != 1) {
		return "", err
	}
	return head, nil
}

// touched names what was written after git had put down that it merges, which it does
// when the files and the index are written.
func (s site) touched(ctx context.Context, path, entry string) (string, error) {
	info, err := os.Stat(filepath.Join(entry, "MERGE_HEAD"))
	if err != nil {
		return "", fmt.Errorf("look at a merge: %w", err)
	}
	names, err := s.dirty(ctx, path)
	if err != nil {
		return "", err
	}
	later := func(name string, than time.Time) bool {
		now, err := os.Lstat(name)
		return err == nil && now.ModTime().After(than)
	}
	if later(filepath.Join(entry, "index"), info.ModTime()) {
		return "the index", nil
	}
	for _, n := range names {
		if later(filepath.Join(path, n), info.ModTime()) {
			return n, nil
		}
	}
	return "", nil
}

// abort takes back what this call has merged and not brought to its end. Before it no
// tracked file was changed, so that what is staged now is of the merge.
func (s site) abort(ctx context.Context, l *treelock.Lock, r *record) error {
	path := s.path(r.ID)
	c := gitcmd.Call{Dir: path, Changes: true, Held: []*os.File{l.File}}
	head, err := s.underWay(ctx, path)
	if err != nil {
		return err
	}
	at, err := s.head(ctx, heads+r.Branch)
	if err != nil {
		return err
	}
	switch {
	case head == r.Merging:
		_, err = s.git(ctx, c, "merge", "--abort")
	case head == "" && at == r.Before: // it was ended before it said what it was about
		_, err = s.git(ctx, c, "reset", "--quiet", "--merge", r.Before, "--")
	}
	if err != nil {
		return &RefusedError{
			What: fmt.Sprintf("a merge of %s was broken off in the middle: %v", r.Merging, err),
			Way:  fmt.Sprintf("look at 'git status' in %s; 'git reset --hard' takes the merge back", shown(path)),
		}
	}
	r.Merging, r.Before = "", ""
	return s.save(*r)
}
