package worktree

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// round makes a tree, works in it, has it kept, merges, and has it removed.
func round(t *testing.T, m Manager) {
	t.Helper()
	b, err := m.Base(t.Context(), Local)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := m.Add(t.Context(), "s1", "story/s1", b.Commit)
	if err != nil {
		t.Fatal(err)
	}
	if again := add(t, m, "s1"); again.Path != tree.Path || again.Made {
		t.Errorf("again = %+v", again)
	}
	if list, err := m.List(t.Context()); err != nil || len(list) != 1 || list[0].Path != tree.Path {
		t.Errorf("List = %v, %v", list, err)
	}
	if s := state(t, m, tree); !s.Clean || !s.Merged {
		t.Errorf("state = %+v", s)
	}
	commit(t, tree.Path, "deep/work.txt", "work")
	kept(t, m, tree, "1 commit that is not in main")
	write(t, tree.Path, "x", "x")
	if got, err := m.Changed(t.Context(), tree.Path, tree.Base); err != nil || strings.Join(got, " ") != "deep/work.txt x" {
		t.Errorf("Changed = %q, %v", got, err)
	}
	_ = os.Remove(filepath.Join(tree.Path, "x"))
	git(t, tree.Path, "update-ref", "refs/heads/main", "HEAD")
	if removed, words, err := m.Remove(t.Context(), tree); !removed || words != "" || err != nil {
		t.Errorf("Remove = %v, %q, %v", removed, words, err)
	}
	if got := git(t, m.Repo, "worktree", "list"); strings.Contains(got, "/s1") {
		t.Errorf("the list has it still: %s", got)
	}
}

func TestOddRepositories(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]func(t *testing.T, dir string) Manager{
		"a bare one": func(t *testing.T, dir string) Manager {
			top, m := repositoryIn(t, dir)
			git(t, dir, "clone", "-q", "--bare", top, "bare.git")
			m.Repo = filepath.Join(dir, "bare.git")
			settings(t, m.Repo)
			git(t, m.Repo, "remote", "remove", "origin")
			return m
		},
		"a linked tree": func(t *testing.T, dir string) Manager {
			top, m := repositoryIn(t, dir)
			m.Repo = filepath.Join(dir, "linked")
			git(t, top, "worktree", "add", "-q", "-b", "linked", m.Repo)
			return m
		},
		"a submodule": func(t *testing.T, dir string) Manager {
			top, m := repositoryIn(t, dir)
			git(t, dir, "init", "-q", "-b", "main", "super")
			super := filepath.Join(dir, "super")
			git(t, super, "-c", "protocol.file.allow=always", "submodule", "-q", "add", top, "sub")
			m.Repo = filepath.Join(super, "sub")
			settings(t, m.Repo)
			git(t, m.Repo, "remote", "remove", "origin")
			return m
		},
		"a folder of it": func(t *testing.T, dir string) Manager {
			top, m := repositoryIn(t, dir)
			m.Repo = filepath.Join(top, "deep")
			return m
		},
		"spaces":              func(t *testing.T, dir string) Manager { return inside(t, dir, " a b ") },
		"a line end":          func(t *testing.T, dir string) Manager { return inside(t, dir, "a\nb\n") },
		"no UTF-8":            func(t *testing.T, dir string) Manager { return inside(t, dir, "a\xffb") },
		"a minus and a quote": func(t *testing.T, dir string) Manager { return inside(t, dir, `-"'$(x)`) },
		"a tree in another's": func(t *testing.T, dir string) Manager { git(t, dir, "init", "-q"); return inside(t, dir, "x") },
		"links to both":       linkedManager,
		"a sparse checkout":   sparse,
		"settings of a person's": func(t *testing.T, dir string) Manager {
			top, m := repositoryIn(t, dir)
			for _, kv := range []string{
				"core.fsmonitor=true", "core.untrackedCache=true", "core.quotePath=true", "status.short=true", "status.branch=true", "color.ui=always",
				"diff.noprefix=true", "diff.external=false", "log.showSignature=true", "core.bigFileThreshold=1", "core.ignoreStat=false",
				"worktree.guessRemote=true", "branch.autoSetupMerge=always", "checkout.defaultRemote=x", "push.default=nothing", "submodule.recurse=true",
				"safe.bareRepository=explicit", "core.logAllRefUpdates=false", "advice.detachedHead=true", "commit.status=false", "format.pretty=%H",
				"column.ui=always", "core.abbrev=4", "diff.renames=copies", "status.renames=copies", "diff.ignoreSubmodules=all", "diff.mnemonicPrefix=true",
				"diff.relative=true", "log.follow=true", "log.decorate=full", "grep.patternType=perl", "merge.renormalize=true", "index.sparse=true",
				"feature.manyFiles=true",
			} {
				k, v, _ := strings.Cut(kv, "=")
				git(t, top, "config", k, v)
			}
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "darwin" && name == "no UTF-8" {
				t.Skip("this file system has no such names")
			}
			round(t, odd(t, scratch(t)))
		})
	}
}

func inside(t *testing.T, dir, name string) Manager {
	t.Helper()
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	_, m := repositoryIn(t, dir)
	return m
}

func symlink(t *testing.T, from, to string) string {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, from); err != nil {
		t.Fatal(err)
	}
	return from
}

func linkedManager(t *testing.T, dir string) Manager {
	t.Helper()
	top, m := repositoryIn(t, dir)
	m.Repo = symlink(t, filepath.Join(dir, "link"), top)
	m.Root = symlink(t, filepath.Join(dir, "trees-link"), filepath.Join(dir, "trees"))
	return m
}

func sparse(t *testing.T, dir string) Manager {
	t.Helper()
	top, m := repositoryIn(t, dir)
	commit(t, top, "other/x.txt", "x")
	git(t, top, "sparse-checkout", "set", "deep")
	return m
}

func TestSparseCheckoutIsTakenOver(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	m := sparse(t, dir)
	tree := add(t, m, "s1")
	if _, err := os.Stat(filepath.Join(tree.Path, "other/x.txt")); err == nil {
		t.Error("what is left out in the main tree is there")
	}
	s, err := m.open(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	r, _, _ := s.load("s1")
	r.Phase = removing
	if err := s.save(r); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(tree.Path, "deep/er/b.txt"))
	add(t, m, "s1")
	if _, err := os.Stat(filepath.Join(tree.Path, "other/x.txt")); err == nil || read(t, tree.Path, "deep/er/b.txt") == "" {
		t.Error("other files were put back than were deleted")
	}
	gone(t, m, tree)
}

func TestSubmodules(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	top, m := repositoryIn(t, dir)
	git(t, dir, "clone", "-q", top, "lib")
	git(t, top, "-c", "protocol.file.allow=always", "submodule", "-q", "add", filepath.Join(dir, "lib"), "sub")
	git(t, top, "commit", "-qm", "submodule")
	tree := add(t, m, "s1")
	gone(t, m, tree) // without its files it is an empty folder
	tree = add(t, m, "s2")
	git(t, tree.Path, "-c", "protocol.file.allow=always", "submodule", "-q", "update", "--init")
	kept(t, m, tree, "repositories of its submodules are in "+filepath.Join(top, ".git/worktrees/s2/modules"))
	write(t, tree.Path, "sub/x", "x")
	if s := state(t, m, tree); s.Clean {
		t.Error("clean, with a changed submodule")
	}
}

func TestNoRepository(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	m.Repo = filepath.Join(top, "nowhere")
	if _, err := m.Base(t.Context(), Local); err == nil {
		t.Error("no error for a folder that is not there")
	}
}
