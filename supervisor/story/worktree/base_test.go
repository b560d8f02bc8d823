package worktree

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultBranch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		git  [][]string
		want string // a refusal when it begins with a minus
	}{
		{"main", [][]string{{"branch", "master"}, {"branch", "x"}}, "main"},
		{"master", [][]string{{"branch", "-m", "master"}, {"branch", "x"}}, "master"},
		{"configured", [][]string{{"branch", "trunk"}, {"config", "init.defaultBranch", "trunk"}}, "trunk"},
		{"configured but not there", [][]string{{"config", "init.defaultBranch", "trunk"}}, "main"},
		{"the only one", [][]string{{"branch", "-m", "trunk"}}, "trunk"},
		{"two", [][]string{{"branch", "-m", "trunk"}, {"branch", "x"}}, "-cannot be told"},
		{"the remote says", [][]string{
			{"branch", "dev"},
			{"remote", "add", "origin", "/nowhere"},
			{"update-ref", "refs/remotes/origin/dev", "HEAD"},
			{"symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/dev"},
		}, "dev"},
		{"the remote says what is gone", [][]string{
			{"remote", "add", "origin", "/nowhere"},
			{"symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/dev"},
		}, "main"},
		{"only the remote has it", [][]string{
			{"remote", "add", "origin", "/nowhere"},
			{"update-ref", "refs/remotes/origin/master", "HEAD"},
			{"branch", "-m", "x"},
			{"branch", "y"},
		}, "master"},
		{"a remote of another name", [][]string{
			{"branch", "dev"},
			{"remote", "add", "up", "/nowhere"},
			{"update-ref", "refs/remotes/up/dev", "HEAD"},
			{"symbolic-ref", "refs/remotes/up/HEAD", "refs/remotes/up/dev"},
		}, "dev"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			top, m := repository(t)
			for _, args := range c.git {
				git(t, top, args...)
			}
			got, err := m.DefaultBranch(t.Context())
			if what, ok := strings.CutPrefix(c.want, "-"); ok {
				refused(t, err, what)
			} else if err != nil || got != c.want {
				t.Errorf("DefaultBranch = %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestTheOnlyBranchStaysItBesideOurs(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	git(t, top, "branch", "-m", "trunk")
	for _, id := range []string{"s1", "s2"} {
		if _, err := m.Add(t.Context(), id, "story/"+id, "trunk"); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := m.DefaultBranch(t.Context()); err != nil || got != "trunk" {
		t.Errorf("DefaultBranch = %q, %v; want trunk", got, err)
	}
}

func TestNoCommitYet(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	git(t, dir, "init", "-q", "-b", "main", "repo")
	m := Manager{Repo: filepath.Join(dir, "repo"), Root: filepath.Join(dir, "trees"), Environ: environ()}
	_, err := m.DefaultBranch(t.Context())
	refused(t, err, "no branch with a commit")
	_, err = m.Base(t.Context(), Remote)
	refused(t, err, "no branch with a commit")
	if _, err := m.Add(t.Context(), "s1", "story/s1", "HEAD"); err == nil {
		t.Error("no error for a beginning that is not there")
	}
	m.Repo = dir
	if _, err := m.DefaultBranch(t.Context()); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("err = %v for no repository", err)
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	dir := filepath.Dir(top)
	base := func(from From) Base {
		t.Helper()
		b, err := m.Base(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	want := func(b Base, ref, commit string, notes ...string) {
		t.Helper()
		if d := cmp.Diff(Base{Branch: "main", Ref: ref, Commit: commit, Note: b.Note}, b); d != "" {
			t.Error(d)
		}
		for _, n := range notes {
			if !strings.Contains(b.Note, n) {
				t.Errorf("note = %q, want %q in it", b.Note, n)
			}
		}
		if len(notes) == 0 && b.Note != "" {
			t.Errorf("note = %q, want none", b.Note)
		}
	}
	const local, remote = "refs/heads/main", "refs/remotes/origin/main"
	first := git(t, top, "rev-parse", "main")
	want(base(Local), local, first)
	want(base(Remote), local, first, "there is no remote")

	git(t, dir, "clone", "-q", "--bare", top, "origin.git")
	origin := filepath.Join(dir, "origin.git")
	git(t, top, "remote", "add", "origin", origin)
	want(base(Remote), remote, first)

	// Somebody pushes; beside it there is another branch and a tag, which nobody asked for.
	git(t, dir, "clone", "-q", origin, "colleague")
	colleague := filepath.Join(dir, "colleague")
	settings(t, colleague)
	theirs := commit(t, colleague, "theirs.txt", "x")
	git(t, colleague, "tag", "v1")
	git(t, colleague, "push", "-q", "origin", "main", "main:other", "v1")
	write(t, top, ".git/FETCH_HEAD", "of a person\n")
	want(base(Local), local, first)
	want(base(Remote), remote, theirs, "local main is 1 commit behind origin/main")
	want(base(Local), local, first, "local main is 1 commit behind origin/main")
	if got := git(t, top, "for-each-ref", "--format=%(refname)"); got != local+"\n"+remote {
		t.Errorf("refs = %q", got)
	}
	if got := read(t, top, ".git/FETCH_HEAD"); got != "of a person\n" {
		t.Errorf("FETCH_HEAD = %q", got)
	}
	commit(t, top, "ours.txt", "x")
	ours := commit(t, top, "ours2.txt", "x")
	want(base(Remote), remote, theirs, "local main is 2 commits ahead of and 1 commit behind origin/main")

	git(t, top, "remote", "set-url", "origin", "https://someone:ghp_0123456789abcdefghijABCDEFGHIJ012345@127.0.0.1:1/x.git")
	b := base(Remote)
	want(b, remote, theirs, "origin could not be fetched (git fetch: ", "the last known head of main is taken", "2 commits ahead")
	if strings.Contains(b.Note, "ghp_") {
		t.Errorf("the note tells a secret: %q", b.Note)
	}
	want(base(Local), local, ours, "2 commits ahead")
	git(t, top, "update-ref", "-d", remote)
	_, err := m.Base(t.Context(), Remote)
	refused(t, err, "no head of it is known")
	if _, err := m.Base(t.Context(), "upstream"); err == nil {
		t.Error("no error for an unknown beginning")
	}

	// Where the person has only another branch, the remote's head is what there is.
	git(t, top, "remote", "set-url", "origin", origin)
	base(Remote)
	git(t, top, "switch", "-q", "-c", "mine")
	git(t, top, "branch", "-D", "main")
	want(base(Local), remote, theirs, "there is no main; origin/main is taken")
}
