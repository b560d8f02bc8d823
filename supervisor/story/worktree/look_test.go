package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLook(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	tree := add(t, m, "s1")
	want := func(want State) {
		t.Helper()
		if d := cmp.Diff(want, state(t, m, tree)); d != "" {
			t.Error(d)
		}
	}
	want(State{Clean: true, Merged: true})
	write(t, tree.Path, "build/x", "ignored")
	want(State{Clean: true, Merged: true, Ignored: 1})
	write(t, tree.Path, "new/deep\n.txt", "x")
	write(t, tree.Path, "a.txt", "changed\n")
	want(State{Merged: true, Dirty: []string{"a.txt", `"new/deep\n.txt"`}, Ignored: 1})
	for i := range 30 {
		write(t, tree.Path, fmt.Sprintf("n/%02d", i), "x")
	}
	if s := state(t, m, tree); len(s.Dirty) != 20 || s.More != 12 {
		t.Errorf("dirty = %d and %d more, want 20 and 12", len(s.Dirty), s.More)
	}
	git(t, tree.Path, "add", ".")
	if s := state(t, m, tree); s.Clean || s.Merged != true {
		t.Errorf("staged: %+v", s)
	}
	git(t, tree.Path, "commit", "-qm", "work")
	want(State{Clean: true, Ahead: 1, Ignored: 1})
	commit(t, tree.Path, "more.txt", "x")
	want(State{Clean: true, Ahead: 2, Ignored: 1})
	git(t, top, "merge", "-q", "--no-ff", "-m", "merge", tree.Branch)
	want(State{Clean: true, Ahead: 2, Merged: true, Ignored: 1})
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
	want(State{Missing: true, Ahead: 2, Merged: true})
	write(t, tree.Path, "x", "x")
	if _, err := m.Look(t.Context(), tree); err == nil {
		t.Error("no error for a folder that is no work tree")
	}
}

func TestUnfinished(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, args string }{
		{"merge", "merge other"},
		{"rebase", "rebase other"},
		{"cherry-pick", "cherry-pick other"},
		{"revert", "revert --no-edit HEAD~1"},
		{"bisect", "bisect start"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			top, m := repository(t)
			git(t, top, "branch", "other")
			tree := add(t, m, "s1")
			commit(t, tree.Path, "a.txt", "mine\n")
			commit(t, tree.Path, "a.txt", "mine again\n")
			git(t, top, "switch", "-q", "other")
			commit(t, top, "a.txt", "theirs\n")
			_, _ = tryGit(tree.Path, strings.Fields(c.args)...) // conflicts
			if s := state(t, m, tree); s.Unfinished != c.what {
				t.Errorf("state = %+v, want %s", s, c.what)
			}
			kept(t, m, tree, c.what+" is under way")
		})
	}
}

func TestHeadElsewhere(t *testing.T) {
	t.Parallel()
	_, m := repository(t)
	tree := add(t, m, "s1")
	git(t, tree.Path, "checkout", "-q", "--detach")
	if s := state(t, m, tree); s.HeadElsewhere {
		t.Error("detached, but nothing of its own")
	}
	commit(t, tree.Path, "x", "x")
	if s := state(t, m, tree); !s.HeadElsewhere || s.Ahead != 0 {
		t.Errorf("state = %+v, want a HEAD with commits of its own", s)
	}
	kept(t, m, tree, "HEAD is detached and has 1 commit ")
	git(t, tree.Path, "switch", "-q", "-c", "elsewhere")
	if s := state(t, m, tree); !s.HeadElsewhere {
		t.Errorf("state = %+v, want a HEAD on another branch", s)
	}
	kept(t, m, tree, "branch elsewhere is checked out")
	git(t, tree.Path, "tag", "saved")
	if s := state(t, m, tree); s.HeadElsewhere {
		t.Errorf("state = %+v, but a tag has the commits", s)
	}
	gone(t, m, tree)
	if git(t, m.Repo, "rev-parse", "elsewhere") == "" {
		t.Error("the other branch is gone")
	}
}

func TestMerged(t *testing.T) {
	t.Parallel()
	type scene struct {
		t         *testing.T
		top, tree string
	}
	squash := func(s scene) {
		git(s.t, s.top, "merge", "-q", "--squash", "story/s1")
		git(s.t, s.top, "commit", "-qm", "squashed")
	}
	work := func(s scene) {
		commit(s.t, s.tree, "a.txt", "one\ntwo, but better\nthree\n")
		commit(s.t, s.tree, "n.txt", "new\n")
	}
	for _, c := range []struct {
		name string
		do   func(s scene)
		want bool
	}{
		{"not", work, false},
		{"squash", func(s scene) { work(s); squash(s) }, true},
		{"squash after others", func(s scene) {
			work(s)
			commit(s.t, s.top, "a.txt", "one\ntwo\nthree\nfour\n")
			commit(s.t, s.top, "other.txt", "x\n")
		}, false},
		{"squash beside others", func(s scene) {
			work(s)
			commit(s.t, s.top, "other.txt", "x\n")
			squash(s)
		}, true},
		{"squash, then changed again", func(s scene) {
			work(s)
			commit(s.t, s.top, "other.txt", "x\n")
			squash(s)
			commit(s.t, s.top, "a.txt", "one\ntwo, but much better\nthree\n")
			commit(s.t, s.top, "n.txt", "newer\n")
		}, true},
		{"squash, then more work", func(s scene) { work(s); squash(s); commit(s.t, s.tree, "later.txt", "x\n") }, false},
		{"a part of it", func(s scene) {
			work(s)
			git(s.t, s.top, "cherry-pick", "story/s1~1")
		}, false},
		{"each picked", func(s scene) {
			work(s)
			commit(s.t, s.top, "other.txt", "x\n")
			git(s.t, s.top, "cherry-pick", "main..story/s1")
		}, true},
		{"squash, then reverted before more", func(s scene) {
			work(s)
			commit(s.t, s.top, "other.txt", "x\n")
			squash(s)
			git(s.t, s.top, "revert", "--no-edit", "HEAD")
		}, true}, // it has come in, and is in the history of main
		{"commits that undo each other", func(s scene) {
			commit(s.t, s.tree, "a.txt", "changed\n")
			git(s.t, s.tree, "revert", "--no-edit", "HEAD")
			commit(s.t, s.top, "other.txt", "x\n")
		}, false},
		{"only white space differs", func(s scene) {
			commit(s.t, s.tree, "a.txt", "one\n    two\nthree\n")
			commit(s.t, s.top, "a.txt", "one\n  two\nthree\n")
		}, false},
		{"only the mode differs", func(s scene) {
			git(s.t, s.tree, "update-index", "--chmod=+x", "a.txt")
			git(s.t, s.tree, "commit", "-qm", "executable")
			git(s.t, s.tree, "reset", "-q", "--hard")
			commit(s.t, s.top, "n.txt", "x\n")
		}, false},
		{"a driver that takes ours", func(s scene) {
			git(s.t, s.top, "config", "merge.ours.driver", "true")
			write(s.t, s.top, ".git/info/attributes", "a.txt merge=ours\n")
			commit(s.t, s.tree, "a.txt", "mine\n")
			commit(s.t, s.top, "a.txt", "theirs\n")
		}, false},
		{"a union of lines", func(s scene) {
			write(s.t, s.top, ".git/info/attributes", "a.txt merge=union\n")
			commit(s.t, s.tree, "a.txt", "one\nthree\n")
			commit(s.t, s.top, "a.txt", "one\ntwo and more\nthree\n")
		}, false},
		{"a union as the default", func(s scene) {
			git(s.t, s.top, "config", "merge.default", "union")
			commit(s.t, s.tree, "a.txt", "one\nthree\n")
			commit(s.t, s.top, "a.txt", "one\ntwo and more\nthree\n")
		}, false},
		{"in the remote's head", func(s scene) {
			work(s)
			git(s.t, s.top, "remote", "add", "origin", "/nowhere")
			git(s.t, s.top, "update-ref", "refs/remotes/origin/main", "story/s1")
		}, true},
		{"squash in the remote's head", func(s scene) {
			work(s)
			squash(s)
			git(s.t, s.top, "remote", "add", "origin", "/nowhere")
			git(s.t, s.top, "update-ref", "refs/remotes/origin/main", "main")
			git(s.t, s.top, "reset", "-q", "--hard", "HEAD~1")
		}, true},
		{"pushed, but not merged", func(s scene) {
			work(s)
			git(s.t, s.top, "remote", "add", "origin", "/nowhere")
			git(s.t, s.top, "update-ref", "refs/remotes/origin/main", "main")
			git(s.t, s.top, "update-ref", "refs/remotes/origin/story/s1", "story/s1")
		}, false},
		{"odd names", func(s scene) {
			commit(s.t, s.tree, "li\nne.txt", "x\n")
			commit(s.t, s.tree, ":(glob)*", "x\n")
			commit(s.t, s.tree, "\xff", "x\n")
			commit(s.t, s.top, "other.txt", "x\n")
			squash(s)
			commit(s.t, s.top, "\xff", "y\n")
		}, true},
		{"another history", func(s scene) {
			git(s.t, s.tree, "checkout", "-q", "--orphan", "x")
			git(s.t, s.tree, "commit", "-qm", "from nothing")
			git(s.t, s.tree, "branch", "-M", "x", "story/s1")
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			top, m := repository(t)
			tree := add(t, m, "s1")
			c.do(scene{t, top, tree.Path})
			s := state(t, m, tree)
			if s.Merged != c.want || !s.Clean || s.Ahead == 0 {
				t.Fatalf("state = %+v, want merged %v", s, c.want)
			}
			if c.want {
				gone(t, m, tree)
			}
		})
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	tree := add(t, m, "s1")
	commit(t, tree.Path, "committed.txt", "x")
	git(t, tree.Path, "mv", "a.txt", "moved.txt")
	write(t, tree.Path, "staged.txt", "x")
	git(t, tree.Path, "add", "staged.txt")
	write(t, tree.Path, "deep/er/b.txt", "changed")
	write(t, tree.Path, "un/tracked\n.txt", "x")
	write(t, tree.Path, "\xff", "x")
	write(t, tree.Path, "x.log", "ignored")
	git(t, tree.Path, "init", "-q", "nested")
	write(t, tree.Path, "nested/x", "x")
	write(t, tree.Path, ".gitignore", "changed\n")
	git(t, tree.Path, "add", ".gitignore")
	write(t, tree.Path, ".gitignore", "*.log\nbuild/\n") // as before, but staged otherwise
	got, err := m.Changed(t.Context(), tree.Path, tree.Base)
	want := []string{
		".gitignore", "a.txt", "committed.txt", "deep/er/b.txt", "moved.txt", "nested/", "staged.txt", "un/tracked\n.txt", "\xff",
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
	now := time.Now()
	if err := os.Chtimes(filepath.Join(top, "a.txt"), now, now); err != nil { // which changes nothing
		t.Fatal(err)
	}
	if got, err := m.Changed(t.Context(), top, "main"); err != nil || len(got) != 0 {
		t.Errorf("Changed in the main tree = %q, %v", got, err)
	}
	for _, c := range []struct{ dir, base string }{
		{filepath.Join(tree.Path, "deep"), tree.Base}, {m.Root, tree.Base}, {tree.Path, ""}, {tree.Path, "--all"}, {tree.Path, "nowhere"},
	} {
		if got, err := m.Changed(t.Context(), c.dir, c.base); err == nil {
			t.Errorf("Changed(%q, %q) = %q, want an error", c.dir, c.base, got)
		}
	}
}
