package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autopilot/supervisor/story/worktree/internal/gitcmd"
	"autopilot/supervisor/story/worktree/internal/gitfiles"
	"autopilot/supervisor/story/worktree/internal/treelock"
)

const (
	registryLock = "autopilot-worktrees.lock" // in the shared git folder
	reasonPrefix = "autopilot: work tree of story "
)

func reason(id string) string { return reasonPrefix + id }

// registry runs fn while no other of us adds to or takes from the list of work trees:
// git stumbles over an entry that another git is making.
func (s site) registry(ctx context.Context, fn func(*treelock.Lock) error) error {
	l, err := take(ctx, filepath.Join(s.common, registryLock), s.timeout())
	if err != nil {
		return err
	}
	defer l.Release()
	return fn(l)
}

// take waits for a lock until ctx ends or limit has passed.
func take(ctx context.Context, path string, limit time.Duration) (*treelock.Lock, error) {
	l, err := treelock.Take(ctx, path, limit)
	if errors.Is(err, treelock.ErrHeld) {
		return nil, &RefusedError{
			What: fmt.Sprintf("another process, or a git of one that has died, has been working on it for more than %s (it holds %s)", limit, shown(path)),
			Way:  "see what git does there, end it if it hangs, and try again",
		}
	}
	return l, err
}

// entry returns git's own folder of the work tree at a path, or nothing. The list is read
// without git, whose own is of no use while an entry is half made.
func (s site) entry(path string) (string, error) { return gitfiles.Entry(s.common, path) }

// secure locks a tree where nobody has.
func (s site) secure(ctx context.Context, id, entry string) error {
	if ok, err := gitfiles.There(filepath.Join(entry, "locked")); ok || err != nil {
		return err
	}
	_, err := s.git(ctx, gitcmd.Call{Dir: s.Repo, Changes: true}, "worktree", "lock", "--reason", reason(id), s.path(id))
	return err
}

// unregister takes the entry of a tree off the list whose folder is gone. Git looks at
// nothing then, and has no folder to delete.
func (s site) unregister(ctx context.Context, r record) error {
	return s.registry(ctx, func(l *treelock.Lock) error {
		path := s.path(r.ID)
		if ok, err := gitfiles.There(path); err != nil {
			return err
		} else if ok {
			return fmt.Errorf("%s is there again", shown(path))
		}
		entry, err := s.entry(path)
		if err != nil || entry == "" {
			return err
		}
		if err := s.bar(r, entry); err != nil {
			return err
		}
		c := gitcmd.Call{Dir: s.Repo, Changes: true, Held: []*os.File{l.File}}
		if ok, err := gitfiles.There(filepath.Join(entry, "locked")); err != nil {
			return err
		} else if ok {
			if _, err := s.git(ctx, c, "worktree", "unlock", path); err != nil {
				return err
			}
		}
		_, err = s.git(ctx, c, "worktree", "remove", path)
		return err
	})
}

// sweep deletes entries of ours that were broken off so early that they do not say where
// their tree is, or not yet why they are locked. No prune takes them, because they are
// locked; an empty one is left to git's prune.
func (s site) sweep(id string) error {
	list := filepath.Join(s.common, "worktrees")
	names, err := os.ReadDir(list)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the list of work trees: %w", err)
	}
	for _, n := range names {
		dir := filepath.Join(list, n.Name())
		why, locked, err := gitfiles.Locked(dir)
		if err != nil || !locked || why != reason(id) && (why != "" || !strings.HasPrefix(n.Name(), id)) {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, "gitdir")); err == nil && info.Size() > 0 {
			continue
		}
		if s.bar(record{ID: id, Phase: making}, dir) != nil {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("delete the rest of an entry: %w", err)
		}
	}
	return nil
}
