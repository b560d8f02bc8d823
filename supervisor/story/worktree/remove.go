package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/story/worktree/internal/folder"
	"autopilot/supervisor/story/worktree/internal/gitcmd"
	"autopilot/supervisor/story/worktree/internal/gitfiles"
	"autopilot/supervisor/story/worktree/internal/treelock"
)

// Remove deletes a work tree and its branch when nothing would be lost, see the package
// comment, and no run works in it. Removed says that the tree is gone; kept says for a person why it is not, or
// why its branch stays, and is empty when all is gone. The error is for what could not be
// found out or done; then it may be called again.
func (m Manager) Remove(ctx context.Context, t Tree) (removed bool, kept string, err error) {
	s, err := m.open(ctx, false)
	if err != nil {
		return false, "", err
	}
	id := filepath.Base(t.Path)
	if s.root == "" || checkID(id) != nil || t.Path != s.path(id) {
		return false, "it was not made in " + shown(m.Root), nil
	}
	if _, found, err := s.load(id); err != nil || !found {
		return false, "it is not on record as made here", err
	}
	l, err := take(ctx, s.lockPath(id), s.timeout())
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return false, refused.What, nil
	}
	if err != nil {
		return false, "", fmt.Errorf("remove work tree %s: %w", id, err)
	}
	defer l.Release()
	removed, kept, err = s.remove(ctx, l, t)
	if refused, ok := errors.AsType[*RefusedError](err); ok && !removed {
		return false, refused.What, nil
	}
	if err != nil {
		return removed, kept, fmt.Errorf("remove work tree %s: %w", id, err)
	}
	return removed, kept, nil
}

func (s site) remove(ctx context.Context, l *treelock.Lock, t Tree) (removed bool, kept string, err error) {
	r, found, err := s.load(filepath.Base(t.Path))
	if err != nil {
		return false, "", err
	}
	if !found || s.same(r, record{ID: filepath.Base(t.Path), Repo: s.name(), Branch: t.Branch}) != nil {
		return false, "it is not on record as made here, or is on another branch", nil
	}
	entry, err := s.entry(t.Path)
	if err != nil {
		return false, "", err
	}
	release, err := occupy(ctx, entry, "a run")
	if err != nil {
		return false, "", err
	}
	defer release()
	if err := s.bar(r, entry); err != nil {
		return false, "", err
	}
	if r.begun() {
		k := maker{site: s, lock: l, r: r, found: true}
		if err := k.undo(ctx); err != nil {
			return false, err.Error(), nil
		}
		if r.Phase == making {
			return true, "", nil
		}
		r.Phase = made
	}
	exists, err := gitfiles.There(t.Path)
	if err != nil {
		return false, "", err
	}
	if exists && r.Phase == removing { // what we have deleted would count as changes
		if err := s.mend(ctx, &r, entry, l); err != nil {
			return false, "", err
		}
	}
	var v view
	if exists {
		if v, kept, err = s.erase(ctx, l, &r, t); kept != "" || err != nil {
			return false, kept, err
		}
	} else if v, err = s.view(ctx, t); err != nil || v.keepTree() != "" {
		return false, v.keepTree(), err
	}
	if err := s.unregister(ctx, r); err != nil {
		return true, "", err
	}
	if kept, err := s.dropBranch(ctx, t.Branch, v); kept != "" || err != nil {
		return true, kept, err
	}
	if err := s.drop(r.ID); err != nil {
		return true, "", err
	}
	l.Forget()
	return true, "", nil
}

// erase deletes the folder of a tree when nothing would be lost by it. The survey comes
// before the look, so that what comes after the look is not in it and stays.
func (s site) erase(ctx context.Context, l *treelock.Lock, r *record, t Tree) (view, string, error) {
	if !linkedHere(s, t.Path) {
		return view{}, "its folder is no work tree of this repository any more", nil
	}
	all, err := folder.Walk(t.Path)
	if err != nil {
		return view{}, "", err
	}
	if all.Nested != "" {
		return view{}, fmt.Sprintf("there is a repository of its own in it: %s", shown(all.Nested)), nil
	}
	v, err := s.view(ctx, t)
	if err != nil {
		return v, "", err
	}
	if why := cmp.Or(v.keepTree(), v.keepBranch()); why != "" {
		return v, why, nil
	}
	if s.KeepIgnored && v.Ignored > 0 {
		return v, "there are files in it that git ignores: " + some(v.ignored), nil
	}
	tracked, hidden, err := s.tracked(ctx, t.Path, all)
	if err != nil {
		return v, "", err
	}
	if len(hidden) > 0 {
		return v, "git was told to overlook changes of " + some(hidden) + ", so that nobody can tell whether there are any", nil
	}
	r.Phase = removing
	if err := s.save(*r); err != nil {
		return v, "", err
	}
	err = all.Erase(t.Path, tracked)
	if err == nil {
		return v, "", nil
	}
	ctx = context.WithoutCancel(ctx)
	if merr := s.mend(ctx, r, v.entry, l); merr != nil {
		return v, "", errors.Join(err, merr)
	}
	if changed, ok := errors.AsType[*folder.ChangedError](err); ok {
		return v, shown(changed.Path) + " came or was changed while it was being removed, by something that still runs", nil
	}
	return v, "", err
}

func linkedHere(s site, path string) bool {
	entry, err := s.entry(path)
	return err == nil && gitfiles.Linked(path, entry)
}

// keepTree says why a tree, or git's folder of one that is gone, has to stay whatever
// becomes of its branch; it is empty when nothing would be lost.
func (v view) keepTree() string {
	switch {
	case v.heldTree != "":
		return v.heldTree
	case v.Unfinished != "":
		return fmt.Sprintf("a %s is under way in it", v.Unfinished)
	case !v.Clean && !v.Missing:
		return fmt.Sprintf("%s in it not committed: %s", isAre(len(v.Dirty)+v.More), some(v.Dirty))
	case v.HeadElsewhere && v.on == "":
		return fmt.Sprintf("its HEAD is detached and has %s that no branch has", many(v.apart, "commit"))
	case v.HeadElsewhere:
		return fmt.Sprintf("branch %s is checked out in it, with %s that nothing else has", shown(strings.TrimPrefix(v.on, heads)), many(v.apart, "commit"))
	}
	return ""
}

func isAre(n int) string {
	if n == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", n)
}

// keepBranch says why a branch has to stay.
func (v view) keepBranch() string {
	switch {
	case v.heldBranch != "":
		return v.heldBranch
	case v.Merged || v.tip == "" || v.Ahead == 0 && v.only == 0:
		return ""
	case v.usual == "":
		return fmt.Sprintf("its branch has %s, and there is no default branch that could have them", many(max(v.Ahead, v.only), "commit"))
	case v.Ahead == 0:
		return fmt.Sprintf("its branch begins at %s that no other branch has any more", many(v.only, "commit"))
	}
	return fmt.Sprintf("its branch has %s that %s not in %s", many(v.Ahead, "commit"), map[bool]string{true: "is", false: "are"}[v.Ahead == 1], shown(v.usual))
}

// tracked returns the files that git knows, and of those that are there the ones whose
// changes it was told not to see.
func (s site) tracked(ctx context.Context, top string, all folder.Survey) (known map[string]bool, hidden []string, err error) {
	lines, err := s.list(ctx, top, "ls-files", "-v", "-z")
	if err != nil {
		return nil, nil, err
	}
	known = make(map[string]bool, len(lines))
	for _, line := range lines {
		if len(line) < 3 {
			continue
		}
		flag, path := line[0], line[2:]
		known[path] = true
		if _, ok := all.Files[path]; ok && (flag == 'S' || flag >= 'a' && flag <= 'z') {
			hidden = append(hidden, path)
		}
	}
	return known, hidden, nil
}

// dropBranch deletes the branch of a tree that is gone, or says why it stays.
func (s site) dropBranch(ctx context.Context, branch string, v view) (string, error) {
	if why := v.keepBranch(); why != "" {
		return why, nil
	}
	if v.tip == "" {
		return "", nil
	}
	at, err := s.ask(ctx, s.Repo, "for-each-ref", "--format=%(worktreepath)", heads+branch)
	if err != nil {
		return "", err
	}
	if at != "" {
		return fmt.Sprintf("its branch %s is checked out in %s", shown(branch), shown(at)), nil
	}
	now, err := s.head(ctx, heads+branch)
	if err != nil || now == "" {
		return "", err
	}
	if now != v.tip {
		return fmt.Sprintf("its branch %s was changed while it was being removed", shown(branch)), nil
	}
	return "", s.unbranch(ctx, branch, v.tip)
}

// mend puts back what a Remove has deleted. It overwrites nothing.
func (s site) mend(ctx context.Context, r *record, entry string, l *treelock.Lock) error {
	if r.Phase != removing {
		return nil
	}
	path := s.path(r.ID)
	if entry == "" {
		return s.foreign(path)
	}
	if err := link(path, entry); err != nil {
		return err
	}
	if !gitfiles.Linked(path, entry) {
		return s.foreign(path)
	}
	lost, err := s.list(ctx, path, "ls-files", "--deleted", "-z")
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		c := gitcmd.Call{Dir: path, Changes: true, Stdin: strings.Join(lost, "\x00") + "\x00", Held: []*os.File{l.File}}
		_, cerr := s.git(ctx, c, "checkout-index", "--quiet", "-u", "-z", "--stdin")
		if lost, err = s.list(ctx, path, "ls-files", "--deleted", "-z"); err != nil {
			return err
		}
		if len(lost) > 0 {
			return errors.Join(fmt.Errorf("%s could not be put back", some(lost)), statedir.Full(path, cerr))
		}
	}
	r.Phase = made
	return s.save(*r)
}
