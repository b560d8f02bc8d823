package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/story/worktree/internal/gitfiles"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	one, two := add(t, m, "one"), add(t, m, "two")
	theirs := commit(t, one.Path, "one.txt", "x")
	git(t, top, "config", "merge.ff", "only")
	git(t, top, "config", "branch.story/two.mergeOptions", "--squash --no-commit")
	if err := m.Merge(t.Context(), two, one.Branch); err != nil {
		t.Fatal(err)
	}
	if got := git(t, two.Path, "rev-parse", "HEAD"); got != theirs {
		t.Errorf("HEAD = %s, want %s", got, theirs)
	}
	commit(t, one.Path, "one.txt", "y")
	ours := commit(t, two.Path, "two.txt", "x")
	write(t, two.Path, "draft.txt", "draft")
	if err := m.Merge(t.Context(), two, one.Branch); err != nil {
		t.Fatal(err)
	}
	if got := git(t, two.Path, "log", "-1", "--format=%s %P"); got != "Merge branch 'story/one' into story/two "+ours+" "+git(t, one.Path, "rev-parse", "HEAD") {
		t.Errorf("the merge is %q", got)
	}
	before := git(t, top, "for-each-ref")
	if err := m.Merge(t.Context(), two, one.Branch); err != nil {
		t.Error(err)
	}
	if err := m.Merge(t.Context(), one, "nowhere"); err == nil {
		t.Error("no error for a branch that is not there")
	}
	if after := git(t, top, "for-each-ref"); after != before {
		t.Errorf("refs are\n%s\nwant\n%s", after, before)
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	one, two := add(t, m, "one"), add(t, m, "two")
	for _, tree := range []Tree{one, two} {
		commit(t, tree.Path, "a.txt", tree.Branch)
		commit(t, tree.Path, "o d\n.txt", tree.Branch)
		commit(t, tree.Path, tree.Branch+".txt", "x")
	}
	git(t, top, "config", "rerere.enabled", "true")
	git(t, top, "config", "rerere.autoupdate", "true")
	write(t, two.Path, "draft.txt", "draft")
	before := git(t, top, "for-each-ref")
	err := m.Merge(t.Context(), two, one.Branch)
	c, ok := errors.AsType[*ConflictError](err)
	if !ok {
		t.Fatalf("err = %v, want a conflict", err)
	}
	if d := cmp.Diff(&ConflictError{Branch: one.Branch, Into: two.Branch, Files: []string{"a.txt", "o d\n.txt"}}, c); d != "" {
		t.Error(d)
	}
	if c.Hint() == "" || !strings.Contains(err.Error(), `conflict in a.txt, "o d\n.txt"`) {
		t.Errorf("err = %v", err)
	}
	if after := git(t, top, "for-each-ref"); after != before {
		t.Errorf("refs are\n%s\nwant\n%s", after, before)
	}
	if got := git(t, two.Path, "status", "--porcelain"); got != "?? draft.txt" {
		t.Errorf("status = %q", got)
	}
	if s := state(t, m, two); s.Unfinished != "" {
		t.Errorf("a %s is under way", s.Unfinished)
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	one, two := add(t, m, "one"), add(t, m, "two")
	commit(t, one.Path, "draft.txt", "one")
	write(t, two.Path, "a.txt", "changed")
	refused(t, m.Merge(t.Context(), two, one.Branch), "1 file is in it not committed")
	git(t, two.Path, "checkout", "-q", "a.txt")
	git(t, two.Path, "checkout", "-q", "--detach")
	refused(t, m.Merge(t.Context(), two, one.Branch), "another branch is checked out")
	git(t, two.Path, "switch", "-q", two.Branch)
	refused(t, m.Merge(t.Context(), Tree{Path: two.Path, Branch: "main"}, one.Branch), "no work tree that was made here")
	if err := m.Merge(t.Context(), Tree{Path: top, Branch: "main"}, one.Branch); err == nil {
		t.Error("no error for the main tree")
	}
	// A file that is in the way stays.
	write(t, two.Path, "draft.txt", "two")
	if err := m.Merge(t.Context(), two, one.Branch); err == nil || !strings.Contains(err.Error(), "would be overwritten") {
		t.Errorf("err = %v", err)
	}
	if got := read(t, two.Path, "draft.txt"); got != "two" {
		t.Errorf("draft.txt = %q", got)
	}
	_ = os.Remove(filepath.Join(two.Path, "draft.txt"))

	// A hook that refuses, and one that hangs: nothing is left under way.
	commit(t, two.Path, "two.txt", "x")
	hook := filepath.Join(top, ".git/hooks/pre-merge-commit")
	write(t, filepath.Dir(hook), "pre-merge-commit", "#!/bin/sh\necho error: not today >&2\nexit 1\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := m.Merge(t.Context(), two, one.Branch); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Errorf("err = %v", err)
	}
	write(t, filepath.Dir(hook), "pre-merge-commit", "#!/bin/sh\n>hung.log\nexec sleep 1000\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if ok, _ := gitfiles.There(filepath.Join(two.Path, "hung.log")); ok {
				break
			}
		}
		cancel(errors.New("told to end"))
	}()
	if err := m.Merge(ctx, two, one.Branch); err == nil || !strings.Contains(err.Error(), "told to end") {
		t.Errorf("err = %v", err)
	}
	if s := state(t, m, two); !s.Clean || s.Unfinished != "" {
		t.Errorf("state = %+v", s)
	}
	_ = os.Remove(hook)
	if err := m.Merge(t.Context(), two, one.Branch); err != nil {
		t.Error(err)
	}
}

func TestAMergeThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	_, m := repository(t)
	one, two := add(t, m, "one"), add(t, m, "two")
	other := commit(t, one.Path, "a.txt", "one")
	commit(t, two.Path, "a.txt", "two")
	_, _ = tryGit(two.Path, "merge", one.Branch)
	refused(t, m.Merge(t.Context(), two, one.Branch), "a merge is under way") // somebody else's
	s, err := m.open(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	r, _, _ := s.load("two")
	r.Merging = other
	if err := s.save(r); err != nil {
		t.Fatal(err)
	}
	text := read(t, two.Path, "a.txt")
	for end := time.Now().Add(30 * time.Second); ; { // until the clock of the files has moved on
		write(t, two.Path, "a.txt", "being resolved")
		merging, _ := os.Stat(filepath.Join(two.Path, "../../repo/.git/worktrees/two/MERGE_HEAD"))
		if now, err := os.Stat(filepath.Join(two.Path, "a.txt")); err != nil || now.ModTime().After(merging.ModTime()) || time.Now().After(end) {
			break
		}
	}
	refused(t, m.Merge(t.Context(), two, one.Branch), "a.txt was changed since")
	write(t, two.Path, "a.txt", text)
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(two.Path, "a.txt"), long, long); err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*ConflictError](m.Merge(t.Context(), two, one.Branch)); !ok {
		t.Error("the merge was not begun anew")
	}
	if s := state(t, m, two); !s.Clean || s.Unfinished != "" {
		t.Errorf("state = %+v", s)
	}
}
