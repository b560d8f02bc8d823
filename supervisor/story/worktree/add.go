package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/story/worktree/internal/gitcmd"
	"autopilot/supervisor/story/worktree/internal/gitfiles"
	"autopilot/supervisor/story/worktree/internal/treelock"
)

const fullBelow = 1 << 20 // bytes that are free, when a file could not be written

// Add makes the work tree of a story on a branch of its own that begins at start, which
// is a commit in any form that git knows. It may be called again at any time: it returns
// the tree that is there, finishes one that was begun, and makes one anew whose folder is
// gone, on its branch with all its work; start is used only where there is no branch yet.
//
// A branch, a folder or an id that is there and not on record as this story's is a
// *RefusedError, and so are a tree that a run works in and one whose folder is gone when
// that of git has what nothing else has. A full disk is a *statedir.FullError. The repository's post-checkout hook
// runs once for each new folder; that it goes wrong, or takes too long, is in the tree's
// Note. After an error nothing is left of what this call made, as far as that was possible.
func (m Manager) Add(ctx context.Context, id, branch, start string) (Tree, error) {
	if err := checkID(id); err != nil {
		return Tree{}, err
	}
	s, err := m.open(ctx, true)
	if err != nil {
		return Tree{}, err
	}
	if err := s.checkBranch(ctx, branch); err != nil {
		return Tree{}, err
	}
	l, err := take(ctx, s.lockPath(id), s.timeout())
	if err != nil {
		return Tree{}, fmt.Errorf("make work tree %s: %w", id, err)
	}
	defer l.Release()
	t, err := s.add(ctx, l, record{ID: id, Repo: s.name(), Branch: branch, Phase: making}, start)
	if err != nil {
		return Tree{}, fmt.Errorf("make work tree %s: %w", id, statedir.Full(s.root, err))
	}
	return t, nil
}

func (s site) add(ctx context.Context, l *treelock.Lock, want record, start string) (Tree, error) {
	r, found, err := s.load(want.ID)
	if err != nil {
		return Tree{}, err
	}
	if found {
		err = s.same(r, want)
	} else {
		r = want
		err = s.free(ctx, r)
	}
	if err == nil {
		err = s.real(ctx, r.Branch)
	}
	if err != nil {
		if !found {
			l.Forget()
		}
		return Tree{}, err
	}
	k := maker{site: s, lock: l, r: r, found: found, start: start}
	made, err := k.bring(ctx)
	if err != nil {
		if k.touched {
			err = errors.Join(err, k.undo(context.WithoutCancel(ctx)))
		}
		return Tree{}, err
	}
	t := s.tree(k.r)
	t.Made, t.Note = made, k.note
	return t, nil
}

// same refuses an id that stands for something else.
func (s site) same(r, want record) error {
	switch {
	case r.Repo != want.Repo:
		return &RefusedError{
			What: fmt.Sprintf("%s is the work tree of a story of another repository, %s", shown(s.path(r.ID)), shown(r.Repo)),
			Way:  "use another id, or another folder for the work trees",
		}
	case r.ID != want.ID:
		return &RefusedError{What: fmt.Sprintf("this file system takes it for that of story %s", r.ID), Way: "use another id"}
	case r.Branch != want.Branch:
		return &RefusedError{
			What: fmt.Sprintf("%s is on branch %s, not on %s", shown(s.path(r.ID)), shown(r.Branch), shown(want.Branch)),
			Way:  "go on with that branch, or use another id",
		}
	}
	return nil
}

// free refuses what is there already and not on record.
func (s site) free(ctx context.Context, r record) error {
	path := s.path(r.ID)
	if ok, err := gitfiles.There(path); err != nil {
		return err
	} else if ok {
		return s.foreign(path)
	}
	entry, err := s.entry(path)
	if err != nil {
		return err
	}
	if entry != "" {
		return &RefusedError{
			What: fmt.Sprintf("git has a work tree at %s on its list that is gone and was not made here", shown(path)),
			Way:  "git worktree unlock and git worktree prune take it off the list",
		}
	}
	at, err := s.head(ctx, heads+r.Branch)
	if err != nil {
		return err
	}
	if at != "" {
		return taken(r.Branch)
	}
	if name, err := s.defaultBranch(ctx); err == nil && name == r.Branch {
		return &RefusedError{What: r.Branch + " is the default branch", Way: "use a branch of its own"}
	}
	others, err := s.records()
	if err != nil {
		return err
	}
	for _, o := range others {
		if o.Branch == r.Branch {
			return &RefusedError{What: fmt.Sprintf("branch %s is that of story %s", shown(r.Branch), o.ID), Way: "use another branch"}
		}
	}
	return nil
}

func (s site) foreign(path string) error {
	return &RefusedError{
		What: fmt.Sprintf("%s is there and is no work tree that was made here for this repository", shown(path)),
		Way:  "look what is in it and move it away, or use another id",
	}
}

func taken(branch string) error {
	return &RefusedError{
		What: fmt.Sprintf("branch %s is there and was not made here", shown(branch)),
		Way:  "use another name, or rename that branch: git branch -m",
	}
}

// maker makes one tree, whose lock it has.
type maker struct {
	site
	lock    *treelock.Lock
	r       record
	found   bool // the record was there before
	start   string
	note    string
	touched bool // something may have been made
}

// bring makes what is missing, and reports whether that was anything.
func (k *maker) bring(ctx context.Context) (bool, error) {
	path := k.path(k.r.ID)
	exists, err := gitfiles.There(path)
	if err != nil {
		return false, err
	}
	entry, err := k.entry(path)
	if err != nil {
		return false, err
	}
	release, err := occupy(ctx, entry, "another run")
	if err != nil {
		return false, err
	}
	defer release()
	if !exists {
		if err := k.spare(ctx, entry); err != nil {
			return false, err
		}
	}
	switch {
	case k.r.begun():
		if exists, err = k.goOn(ctx, exists, entry); err != nil {
			return false, err
		}
		k.touched = true
	case exists && (entry == "" || !gitfiles.Linked(path, entry) && k.r.Phase != removing):
		return false, k.foreign(path)
	case exists:
		if err := k.mend(ctx, &k.r, entry, k.lock); err != nil {
			return false, err
		}
		return false, k.secure(ctx, k.r.ID, entry)
	default:
		k.touched = true
		k.r.Phase = remaking
	}
	if !exists {
		if err := k.make(ctx); err != nil {
			return false, err
		}
	}
	return true, k.finish(ctx)
}

// spare refuses to have git's folder of a tree deleted that has something which nothing
// else has.
func (k *maker) spare(ctx context.Context, entry string) error {
	if err := k.bar(k.r, entry); err != nil {
		return err
	}
	if err := k.privy(ctx, entry); err != nil {
		return err
	}
	v := view{State: State{Missing: true}, entry: entry}
	if err := k.viewHead(ctx, k.r.Branch, &v); err != nil {
		return err
	}
	if why := v.keepTree(); why != "" {
		return &RefusedError{What: why, Way: fmt.Sprintf("give them a branch: git branch NAME $(git --git-dir=%s rev-parse HEAD), then git worktree unlock and git worktree prune", entry)}
	}
	return nil
}

// goOn looks how far an Add came that did not return, and clears away what is of no use.
// It reports whether the tree is there.
func (k *maker) goOn(ctx context.Context, exists bool, entry string) (bool, error) {
	path := k.path(k.r.ID)
	whole := false
	if entry != "" {
		var err error
		if whole, err = gitfiles.There(filepath.Join(entry, "index")); err != nil {
			return false, err
		}
	}
	if exists && gitfiles.Linked(path, entry) {
		if on, err := k.ask(ctx, path, "symbolic-ref", "HEAD"); whole || err == nil && on == heads+k.r.Branch {
			return true, nil
		}
	}
	return false, k.registry(ctx, func(*treelock.Lock) error {
		if whole {
			if exists {
				return k.foreign(path)
			}
			return nil // make takes it off the list
		}
		if to := gitfiles.Pointer(path, ".git", "gitdir: "); exists && (to == "" || to == entry) {
			if err := os.Remove(filepath.Join(path, ".git")); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("clear away a half made work tree: %w", err)
			}
		}
		if exists && os.Remove(path) != nil { // only an empty folder goes
			return k.foreign(path)
		}
		if entry == "" {
			return nil
		}
		if err := k.bar(k.r, entry); err != nil {
			return err
		}
		return os.RemoveAll(entry)
	})
}

// make makes the branch where it is missing, and puts the empty tree on the list.
func (k *maker) make(ctx context.Context) error {
	if err := k.save(k.r); err != nil {
		return err
	}
	k.touched = true
	if err := k.unregister(ctx, k.r); err != nil {
		return err
	}
	at, err := k.head(ctx, heads+k.r.Branch)
	if err != nil {
		return err
	}
	began := ""
	if at != "" && k.r.Phase == making {
		if began, err = k.began(ctx, k.r.ID, k.r.Branch); err != nil {
			return err
		}
	}
	switch {
	case at == "":
		err = k.branch(ctx)
	case k.r.Phase == making && began == "":
		k.touched = false
		return errors.Join(taken(k.r.Branch), k.drop(k.r.ID))
	case k.r.Base == "":
		err = fmt.Errorf("internal error: branch %s has no beginning on record", k.r.Branch)
	}
	if err != nil {
		return err
	}
	return k.registry(ctx, func(l *treelock.Lock) error {
		if err := k.sweep(k.r.ID); err != nil {
			return err
		}
		_, err := k.git(ctx, gitcmd.Call{Dir: k.Repo, Changes: true, Held: []*os.File{l.File, k.lock.File}}, "worktree", "add", "--no-checkout",
			"--lock", "--reason", reason(k.r.ID), "--", k.path(k.r.ID), k.r.Branch)
		return err
	})
}

// branch makes the branch. Its log says whose it is until the record does.
func (k *maker) branch(ctx context.Context) error {
	if k.start == "" || k.start[0] == '-' || k.start[0] == '^' {
		return fmt.Errorf("bad commit to begin at: %s", shown(k.start))
	}
	at, err := k.ask(ctx, k.Repo, "rev-parse", "--verify", "--end-of-options", k.start+"^{commit}")
	if err != nil {
		return fmt.Errorf("look up %s: %w", shown(k.start), err)
	}
	if k.r.Base != at {
		k.r.Base = at
		if err := k.save(k.r); err != nil {
			return err
		}
	}
	_, err = k.git(ctx, gitcmd.Call{Dir: k.Repo, Changes: true, Held: []*os.File{k.lock.File}}, "update-ref", "--no-deref", "--create-reflog", "-m", mark(k.r.ID),
		heads+k.r.Branch, at, strings.Repeat("0", len(at)))
	if f, ok := errors.AsType[*gitcmd.Failure](err); ok && strings.Contains(f.Out, "reference already exists") {
		return taken(k.r.Branch)
	}
	return err
}

// finish fills the tree and runs the hook. The index is the last that git writes: where
// there is one all files were whole, and somebody may have been at them since.
func (k *maker) finish(ctx context.Context) error {
	path := k.path(k.r.ID)
	entry, err := k.entry(path)
	if err != nil {
		return err
	}
	if entry == "" || !gitfiles.Linked(path, entry) {
		return fmt.Errorf("git has made no work tree at %s", shown(path))
	}
	filled, err := gitfiles.There(filepath.Join(entry, "index"))
	if err != nil {
		return err
	}
	if !filled {
		if err := os.Remove(filepath.Join(entry, "index.lock")); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("delete a stale lock: %w", err)
		}
		if _, err := k.git(ctx, gitcmd.Call{Dir: path, Changes: true, Held: []*os.File{k.lock.File}},
			"reset", "--hard", "--quiet", "--no-recurse-submodules", "--"); err != nil {
			return scarce(path, err)
		}
	}
	if err := k.hook(ctx, path); err != nil {
		return err
	}
	if err := k.secure(ctx, k.r.ID, entry); err != nil {
		return err
	}
	k.r.Phase = made
	return k.save(k.r)
}

// scarce tells by the free space, before that is given back, why a file could not be
// written: git does not say it.
func scarce(path string, err error) error {
	free, ferr := statedir.FreeBytes(path)
	if f, ok := errors.AsType[*gitcmd.Failure](err); ok && ferr == nil && free < fullBelow && strings.Contains(f.Out, "unable to write file") {
		return &statedir.FullError{Path: path, FreeBytes: free, Err: fmt.Errorf("%w: %w", f, syscall.ENOSPC)}
	}
	return err
}

// hook runs the hook that git runs in a new tree. What it leaves running does not hold
// the tree's lock.
func (k *maker) hook(ctx context.Context, path string) error {
	at, err := k.ask(ctx, path, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	_, err = k.git(ctx, gitcmd.Call{Dir: path, Changes: true}, "hook", "run", "--ignore-missing", "post-checkout", "--",
		strings.Repeat("0", len(at)), at, "1")
	if ctx.Err() != nil {
		return err
	}
	if f, ok := errors.AsType[*gitcmd.Failure](err); ok {
		if strings.Contains(f.Out, "is not a git command") { // before 2.36
			return nil
		}
		why := gitcmd.Words(f.Out)
		if f.Cause != nil {
			why = f.Cause.Error()
		}
		k.note = "the post-checkout hook went wrong: " + cmp.Or(why, fmt.Sprintf("exit status %d", f.Code))
	}
	return nil
}

// undo takes back what was made of a tree that nobody has been told of.
func (k *maker) undo(ctx context.Context) error {
	path := k.path(k.r.ID)
	exists, err := gitfiles.There(path)
	if err != nil {
		return err
	}
	if exists {
		entry, err := k.entry(path)
		if err != nil {
			return err
		}
		if entry == "" || !gitfiles.Linked(path, entry) {
			return fmt.Errorf("%s is half made; the next attempt clears it away", shown(path))
		}
		if err := k.spare(ctx, entry); err != nil {
			return err
		}
		if whole, err := gitfiles.There(filepath.Join(entry, "index")); err != nil {
			return err
		} else if whole {
			dirty, err := k.dirty(ctx, path)
			if err != nil {
				return err
			}
			if len(dirty) > 0 {
				return fmt.Errorf("%s in %s not committed: %s", isAre(len(dirty)), shown(path), some(dirty))
			}
		}
		files, err := k.list(ctx, path, "ls-tree", "-r", "--name-only", "--full-tree", "-z", heads+k.r.Branch)
		if err != nil {
			return err
		}
		if err := raze(path, files); err != nil {
			return fmt.Errorf("%s is half made and stays: %w", shown(path), err)
		}
	}
	if err := k.unregister(ctx, k.r); err != nil {
		return err
	}
	if k.r.Phase == remaking {
		k.r.Phase = made
		return k.save(k.r)
	}
	at, err := k.head(ctx, heads+k.r.Branch)
	if err != nil {
		return err
	}
	if at != "" {
		began, err := k.began(ctx, k.r.ID, k.r.Branch)
		if err != nil {
			return err
		}
		if at == began {
			if err := k.unbranch(ctx, k.r.Branch, at); err != nil {
				return err
			}
		}
	}
	if err := k.drop(k.r.ID); err != nil {
		return err
	}
	k.lock.Forget()
	return nil
}

// unbranch deletes a branch that is still at a commit, and what is configured for it.
func (s site) unbranch(ctx context.Context, branch, at string) error {
	c := gitcmd.Call{Dir: s.Repo, Changes: true}
	if _, err := s.git(ctx, c, "update-ref", "--no-deref", "-d", heads+branch, at); err != nil {
		return err
	}
	_, _ = s.git(ctx, c, "config", "--local", "--remove-section", "branch."+branch) // mostly there is none, and one that stays harms nobody
	return nil
}
