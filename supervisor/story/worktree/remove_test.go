package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/story/worktree/internal/folder"
)

func TestRemove(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	tree := add(t, m, "s1")
	git(t, top, "config", "branch.story/s1.remote", "origin")
	write(t, tree.Path, "build/deep/x.o", "ignored")
	write(t, tree.Path, "x.log", "ignored")
	if err := os.MkdirAll(filepath.Join(tree.Path, "empty/er"), 0o755); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(top), "outside")
	write(t, outside, "x", "x")
	if err := os.Symlink(outside, filepath.Join(tree.Path, "build/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(tree.Path, "build/deep"), 0o555); err != nil { // as a cache of modules is
		t.Fatal(err)
	}
	gone(t, m, tree)
	if read(t, outside, "x") != "x" {
		t.Error("what a link leads to is gone")
	}
	if out, err := tryGit(top, "config", "--get-regexp", "^branch"); err == nil {
		t.Errorf("configuration is left: %s", out)
	}
	if removed, words, err := m.Remove(t.Context(), tree); removed || words == "" || err != nil {
		t.Errorf("Remove again = %v, %q, %v; want words", removed, words, err)
	}
	if again := add(t, m, "s1"); !again.Made {
		t.Error("not made again")
	}
}

func TestKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(t *testing.T, m Manager, tree Tree)
		why  string
	}{
		{"untracked", func(t *testing.T, m Manager, tree Tree) { write(t, tree.Path, "x", "x") }, "1 file is in it not committed: x"},
		{"changed", func(t *testing.T, m Manager, tree Tree) {
			write(t, tree.Path, "a.txt", "x")
			write(t, tree.Path, "deep/er/b.txt", "x")
		}, "2 files are in it not committed: a.txt, deep/er/b.txt"},
		{"deleted", func(t *testing.T, m Manager, tree Tree) { _ = os.Remove(filepath.Join(tree.Path, "a.txt")) }, "a.txt"},
		{"staged only", func(t *testing.T, m Manager, tree Tree) {
			write(t, tree.Path, "a.txt", "x")
			git(t, tree.Path, "add", "a.txt")
			write(t, tree.Path, "a.txt", "one\ntwo\nthree\n")
		}, "a.txt"},
		{"untracked files are not shown", func(t *testing.T, m Manager, tree Tree) {
			git(t, tree.Path, "config", "status.showUntrackedFiles", "no")
			write(t, tree.Path, "x", "x")
		}, "x"},
		{"assumed unchanged", func(t *testing.T, m Manager, tree Tree) {
			git(t, tree.Path, "update-index", "--assume-unchanged", "a.txt")
			write(t, tree.Path, "a.txt", "x")
		}, "overlook changes of a.txt"},
		{"skipped", func(t *testing.T, m Manager, tree Tree) {
			git(t, tree.Path, "update-index", "--skip-worktree", "a.txt")
			write(t, tree.Path, "a.txt", "x")
		}, "overlook changes of a.txt"},
		{"commits", func(t *testing.T, m Manager, tree Tree) { commit(t, tree.Path, "x", "x") }, "1 commit that is not in main"},
		{"two commits", func(t *testing.T, m Manager, tree Tree) {
			commit(t, tree.Path, "x", "x")
			commit(t, tree.Path, "y", "x")
		}, "2 commits that are not in main"},
		{"commits in another story's branch", func(t *testing.T, m Manager, tree Tree) {
			commit(t, tree.Path, "x", "x")
			git(t, tree.Path, "branch", "copy")
		}, "1 commit that is not in main"},
		{"an ignored repository", func(t *testing.T, m Manager, tree Tree) { git(t, tree.Path, "init", "-q", "build/inner") }, "repository of its own in it: build/inner"},
		{"an ignored work tree", func(t *testing.T, m Manager, tree Tree) {
			git(t, tree.Path, "worktree", "add", "-q", "--detach", "build/agent")
		}, "repository of its own in it: build/agent"},
		{"not linked", func(t *testing.T, m Manager, tree Tree) {
			git(t, m.Repo, "worktree", "unlock", tree.Path)
			git(t, m.Repo, "worktree", "move", tree.Path, tree.Path+"-moved")
			write(t, tree.Path, "x", "x")
			git(t, filepath.Dir(tree.Path), "init", "-q", tree.Path)
		}, "no work tree of this repository"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, m := repository(t)
			tree := add(t, m, "s1")
			c.do(t, m, tree)
			kept(t, m, tree, c.why)
		})
	}
}

func TestABeginningThatNothingElseHas(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	commit(t, top, "z", "z")
	tree := add(t, m, "s1")
	git(t, top, "reset", "-q", "--hard", "HEAD~1")
	kept(t, m, tree, "begins at 1 commit that no other branch has")
}

func TestOnlyOurOwn(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	tree := add(t, m, "s1")
	hand := filepath.Join(m.Root, "hand")
	git(t, top, "worktree", "add", "-q", "-b", "hand", hand)
	for _, other := range []Tree{
		{Path: top, Branch: "main"},
		{Path: hand, Branch: "hand"},
		{Path: tree.Path, Branch: "main"},
		{Path: tree.Path + "/", Branch: tree.Branch},
		{Path: filepath.Join(m.Root, recordsDir), Branch: tree.Branch},
		{Path: m.Root, Branch: tree.Branch},
		{},
	} {
		removed, words, err := m.Remove(t.Context(), other)
		if removed || words == "" || err != nil {
			t.Errorf("Remove(%+v) = %v, %q, %v; want words", other, removed, words, err)
		}
	}
	if got := git(t, top, "for-each-ref", "--format=%(refname:short)"); got != "hand\nmain\nstory/s1" {
		t.Errorf("branches = %q", got)
	}
	if _, err := os.Stat(filepath.Join(tree.Path, "a.txt")); err != nil {
		t.Error(err)
	}
}

func TestTheBranchMayStay(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	tree := add(t, m, "s1")
	git(t, top, "switch", "-q", "--ignore-other-worktrees", tree.Branch)
	removed, words, err := m.Remove(t.Context(), tree)
	if !removed || !strings.Contains(words, "is checked out in "+top) || err != nil {
		t.Fatalf("Remove = %v, %q, %v; want the branch kept", removed, words, err)
	}
	git(t, top, "switch", "-q", "main")
	gone(t, m, tree) // the rest

	// A tree that somebody has deleted: its branch goes when nothing is lost by it.
	tree = add(t, m, "s2")
	work := commit(t, tree.Path, "x", "x")
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
	removed, words, err = m.Remove(t.Context(), tree)
	if !removed || !strings.Contains(words, "1 commit that is not in main") || err != nil {
		t.Fatalf("Remove = %v, %q, %v; want the branch kept", removed, words, err)
	}
	if git(t, top, "rev-parse", tree.Branch) != work {
		t.Error("the work is lost")
	}
	git(t, top, "merge", "-q", tree.Branch)
	gone(t, m, tree)
}

// What comes after the look stays: here between it and the deletion, which a test can
// only get into by taking the steps by themselves.
func TestNothingThatCameAfterTheLookIsLost(t *testing.T) {
	t.Parallel()
	for name, come := range map[string]func(t *testing.T, top string) string{
		"a new file": func(t *testing.T, top string) string { write(t, top, "new.txt", "new"); return "new.txt" },
		"a new file deep inside": func(t *testing.T, top string) string {
			write(t, top, "deep/er/new.txt", "new")
			return "deep/er/new.txt"
		},
		"a new ignored file": func(t *testing.T, top string) string { write(t, top, "build/new", "new"); return "build/new" },
		"a changed file":     func(t *testing.T, top string) string { write(t, top, "deep/er/b.txt", "new"); return "deep/er/b.txt" },
		"a file for a folder": func(t *testing.T, top string) string {
			if err := os.RemoveAll(filepath.Join(top, "build")); err != nil {
				t.Fatal(err)
			}
			write(t, top, "build", "new")
			return "build"
		},
		"a file of the same size and time": func(t *testing.T, top string) string {
			info, err := os.Stat(filepath.Join(top, "deep/er/b.txt"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, top, "deep/er/c.txt", "x\n")
			if err := os.Chtimes(filepath.Join(top, "deep/er/c.txt"), info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(top, "deep/er/c.txt"), filepath.Join(top, "deep/er/b.txt")); err != nil {
				t.Fatal(err)
			}
			return "deep/er/b.txt"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m := repository(t)
			tree := add(t, m, "s1")
			write(t, tree.Path, "build/old", "old")
			s, err := m.open(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			all, err := folder.Walk(tree.Path)
			if err != nil {
				t.Fatal(err)
			}
			tracked, _, err := s.tracked(t.Context(), tree.Path, all)
			if err != nil {
				t.Fatal(err)
			}
			path := come(t, tree.Path)
			text := read(t, tree.Path, path)
			err = all.Erase(tree.Path, tracked)
			if c, ok := errors.AsType[*folder.ChangedError](err); !ok || !strings.HasPrefix(path, c.Path) {
				t.Fatalf("err = %v, want a change of %s", err, path)
			}
			if got := read(t, tree.Path, path); got != text {
				t.Fatalf("%s = %q, want %q", path, got, text)
			}
			r, _, err := s.load("s1")
			if err != nil {
				t.Fatal(err)
			}
			entry, err := s.entry(tree.Path)
			if err != nil {
				t.Fatal(err)
			}
			r.Phase = removing
			l, err := take(t.Context(), s.lockPath("s1"), s.timeout())
			if err != nil {
				t.Fatal(err)
			}
			defer l.Release()
			if err := s.mend(t.Context(), &r, entry, l); err != nil {
				t.Fatal(err)
			}
			if got := read(t, tree.Path, path); got != text {
				t.Errorf("put back over %s: %q, want %q", path, got, text)
			}
			for _, line := range strings.Split(git(t, tree.Path, "status", "--porcelain", "-uall"), "\n") {
				if line != "" && !strings.HasSuffix(line, path) {
					t.Errorf("status has %q, want %s alone", line, path)
				}
			}
		})
	}
}

func TestARemoveThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(tree Tree) error{
		"some files":     func(tree Tree) error { return os.Remove(filepath.Join(tree.Path, "a.txt")) },
		"all files":      func(tree Tree) error { return empty(tree.Path) },
		"the whole tree": func(tree Tree) error { return os.RemoveAll(tree.Path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, then := range []string{"add", "remove", "add to a new file"} {
				_, m := repository(t)
				tree := add(t, m, "s1")
				s, err := m.open(t.Context(), false)
				if err != nil {
					t.Fatal(err)
				}
				r, _, _ := s.load("s1")
				r.Phase = removing
				if err := errors.Join(s.save(r), lose(tree)); err != nil {
					t.Fatal(err)
				}
				if then == "remove" {
					gone(t, m, tree)
					continue
				}
				want := ""
				if then != "add" && name != "the whole tree" {
					write(t, tree.Path, "came.txt", "x")
					want = "?? came.txt"
				}
				tree = add(t, m, "s1")
				if got := git(t, tree.Path, "status", "--porcelain"); got != want {
					t.Errorf("status = %q, want %q", got, want)
				}
				if r, _, _ = s.load("s1"); r.Phase != made {
					t.Errorf("phase = %s", r.Phase)
				}
			}
		})
	}
}

func empty(dir string) error {
	names, err := os.ReadDir(dir)
	for _, n := range names {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, n.Name())))
	}
	return err
}

func TestListSaysWhatItCannotRead(t *testing.T) {
	t.Parallel()
	_, m := repository(t)
	if list, err := m.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("List before the first = %v, %v", list, err)
	}
	two, one := add(t, m, "two"), add(t, m, "one")
	one.Made, two.Made = false, false
	write(t, m.Root, recordsDir+"/bad.json", `{"version":1`)
	write(t, m.Root, recordsDir+"/.temporary.json123", "")
	list, err := m.List(t.Context())
	if d := cmp.Diff([]Tree{one, two}, list); d != "" {
		t.Error(d)
	}
	refused(t, err, "bad")
	_, err = m.Add(t.Context(), "bad", "story/bad", "main")
	refused(t, err, "cannot be read")
}
