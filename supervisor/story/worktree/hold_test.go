package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autopilot/metrics/statedir"
)

// entryOf is git's own folder of a tree.
func entryOf(t *testing.T, m Manager, tree Tree) string {
	t.Helper()
	s, err := m.open(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := s.entry(tree.Path)
	if err != nil || entry == "" {
		t.Fatalf("no entry of %s: %v", tree.Path, err)
	}
	return entry
}

// edit changes the record of a tree.
func edit(t *testing.T, m Manager, id string, do func(r *record)) {
	t.Helper()
	s, err := m.open(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := s.load(id)
	if err != nil {
		t.Fatal(err)
	}
	do(&r)
	if err := s.save(r); err != nil {
		t.Fatal(err)
	}
}

// held wants a Look to say why.
func held(t *testing.T, m Manager, tree Tree, why string) {
	t.Helper()
	if s := state(t, m, tree); !strings.Contains(s.Held, why) || s.Held != "" && why == "" {
		t.Errorf("Held = %q, want %q", s.Held, why)
	}
}

func refs(t *testing.T, m Manager) string {
	t.Helper()
	return git(t, m.Repo, "for-each-ref", "--format=%(refname) %(objectname) %(symref)")
}

func vanish(t *testing.T, tree Tree) {
	t.Helper()
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
}

func TestABranchThatIsASymbolicRef(t *testing.T) {
	t.Parallel()
	const way = "is only another name of refs/heads/main"
	top, m := repository(t)
	git(t, top, "checkout", "-q", "-b", "work") // so that nobody has main checked out
	git(t, top, "symbolic-ref", "refs/heads/story/early", "refs/heads/main")
	git(t, top, "symbolic-ref", "refs/heads/story/dangling", "refs/heads/nowhere")
	_, err := m.Add(t.Context(), "early", "story/early", "main")
	refused(t, err, "")
	_, err = m.Add(t.Context(), "dangling", "story/dangling", "main")
	refused(t, err, "another name of refs/heads/nowhere")

	tree, other := add(t, m, "s1"), add(t, m, "s2")
	git(t, top, "symbolic-ref", "refs/heads/story/s1", "refs/heads/main")
	before := refs(t, m)
	_, err = m.Add(t.Context(), "s1", "story/s1", "main")
	refused(t, err, way)
	commit(t, other.Path, "x", "x")
	before = strings.Replace(before, "story/s2 "+other.Base, "story/s2 "+git(t, other.Path, "rev-parse", "HEAD"), 1)
	refused(t, m.Merge(t.Context(), tree, other.Branch), way)
	refused(t, m.Merge(t.Context(), other, tree.Branch), way)
	held(t, m, tree, way)
	kept(t, m, tree, way)
	vanish(t, tree)
	if removed, words, err := m.Remove(t.Context(), tree); !removed || !strings.Contains(words, way) || err != nil {
		t.Errorf("Remove = %v, %q, %v; want the branch kept", removed, words, err)
	}
	if got := refs(t, m); got != before {
		t.Errorf("refs are\n%s\nwant\n%s", got, before)
	}

	// It may become one after the look.
	s, err := m.open(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.unbranch(t.Context(), "story/s1", tree.Base); err != nil {
		t.Error(err)
	}
	if got := refs(t, m); got != strings.Replace(before, fmt.Sprintf("refs/heads/story/s1 %s refs/heads/main\n", tree.Base), "", 1) {
		t.Errorf("refs are\n%s\nbefore it was\n%s", got, before)
	}
}

// Such a name seems to have all commits of the branch, and has none without it.
func TestABranchWithAnotherName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"refs/heads/main", "refs/tags/copy"} {
		top, m := repository(t)
		git(t, top, "checkout", "-q", "-b", "work")
		tree := add(t, m, "s1")
		work := commit(t, tree.Path, "x", "x")
		tree.Base = ""
		git(t, top, "symbolic-ref", name, "refs/heads/story/s1")
		held(t, m, tree, name+" is only another name")
		kept(t, m, tree, name+" is only another name")
		vanish(t, tree)
		if _, words, err := m.Remove(t.Context(), tree); words == "" || err != nil {
			t.Errorf("Remove = %q, %v; want the branch kept", words, err)
		}
		if got := git(t, top, "rev-parse", "story/s1"); got != work {
			t.Errorf("the branch is at %s", got)
		}
	}
}

func TestFetchMovesNoOtherBranch(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	git(t, filepath.Dir(top), "clone", "-q", "--bare", top, "far.git")
	git(t, top, "remote", "add", "origin", filepath.Join(filepath.Dir(top), "far.git"))
	git(t, top, "checkout", "-q", "-b", "work")
	work := commit(t, top, "x", "x")
	git(t, top, "symbolic-ref", "refs/remotes/origin/main", "refs/heads/work")
	b, err := m.Base(t.Context(), Remote)
	if err != nil || !strings.Contains(b.Note, "is only another name of refs/heads/work") {
		t.Errorf("Base = %+v, %v", b, err)
	}
	if got := git(t, top, "rev-parse", "work"); got != work {
		t.Errorf("work is at %s, want %s", got, work)
	}
}

func TestARunThatWorksInIt(t *testing.T) {
	t.Parallel()
	const words = "a run works in it: pid "
	_, m := repository(t)
	tree := add(t, m, "s1")
	entry := entryOf(t, m, tree)
	run := func() *statedir.Lock {
		t.Helper()
		l, err := statedir.Acquire(t.Context(), filepath.Join(entry, statedir.RunLock), statedir.Holder{})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := run()
	held(t, m, tree, words)
	kept(t, m, tree, words)
	_, err := m.Add(t.Context(), "s1", tree.Branch, "main")
	refused(t, err, "another run works in it: pid ")
	refused(t, m.Merge(t.Context(), tree, "main"), "another run works in it: pid ")
	edit(t, m, "s1", func(r *record) { r.Phase = removing })
	if err := os.Remove(filepath.Join(tree.Path, "a.txt")); err != nil {
		t.Fatal(err)
	}
	kept(t, m, tree, words)
	_, err = m.Add(t.Context(), "s1", tree.Branch, "main")
	refused(t, err, "another run works in it: pid ")
	if read(t, tree.Path, "a.txt") != "" {
		t.Error("a file was put back under the run")
	}
	for _, p := range []phase{making, remaking} {
		edit(t, m, "s1", func(r *record) { r.Phase = p })
		kept(t, m, tree, words)
	}
	edit(t, m, "s1", func(r *record) { r.Phase = removing })
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	held(t, m, tree, "")
	add(t, m, "s1")
	l = run() // which Add does not keep
	vanish(t, tree)
	if removed, why, err := m.Remove(t.Context(), tree); removed || !strings.Contains(why, words) || err != nil {
		t.Errorf("Remove = %v, %q, %v", removed, why, err)
	}
	_, err = m.Add(t.Context(), "s1", tree.Branch, "main")
	refused(t, err, "another run works in it: pid ")
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	gone(t, m, tree)
}

// A run that would begin while the tree is being looked at or deleted finds the lock taken.
func TestRemoveHoldsTheLock(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	commit(t, top, ".gitattributes", "a.txt filter=look\n")
	tree := add(t, m, "s1")
	out := filepath.Join(filepath.Dir(top), "out")
	git(t, top, "config", "filter.look.clean", fmt.Sprintf("%s=peek '%s' '%s' '%s'", helperEnv, os.Args[0], filepath.Join(entryOf(t, m, tree), statedir.RunLock), out))
	write(t, tree.Path, "a.txt", read(t, tree.Path, "a.txt")) // so that git has to look into it
	gone(t, m, tree)
	if got := read(t, filepath.Dir(out), "out"); got != "true" {
		t.Errorf("held while it was looked at: %q", got)
	}
}

func TestIgnoredFiles(t *testing.T) {
	t.Parallel()
	_, m := repository(t)
	tree := add(t, m, "s1")
	m.KeepIgnored = true
	for i := range 50 {
		write(t, tree.Path, fmt.Sprintf("build/deep/%d", i), "x")
	}
	write(t, tree.Path, "notes.log", "x")
	if s := state(t, m, tree); s.Ignored != 2 || !s.Clean || s.Held != "" {
		t.Errorf("state = %+v, want a folder and a file to be ignored", s)
	}
	kept(t, m, tree, "there are files in it that git ignores: build/, notes.log")
	if read(t, tree.Path, "build/deep/7") != "x" {
		t.Error("an ignored file is gone")
	}
	m.KeepIgnored = false
	gone(t, m, tree)
	m.KeepIgnored = true
	gone(t, m, add(t, m, "s2"))
}

func TestSubmodulesOfATreeThatIsGone(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	top, m := repositoryIn(t, dir)
	git(t, dir, "clone", "-q", top, "lib")
	git(t, top, "-c", "protocol.file.allow=always", "submodule", "-q", "add", filepath.Join(dir, "lib"), "sub")
	git(t, top, "commit", "-qm", "submodule")
	tree := add(t, m, "s1")
	git(t, tree.Path, "-c", "protocol.file.allow=always", "submodule", "-q", "update", "--init")
	sub := filepath.Join(tree.Path, "sub")
	settings(t, sub)
	git(t, sub, "checkout", "-q", "-b", "feature")
	work := commit(t, sub, "x", "hours of work")
	inner := git(t, sub, "rev-parse", "--absolute-git-dir")
	safe := func() {
		t.Helper()
		if got, err := tryGit(inner, "--git-dir=.", "rev-parse", "feature"); got != work {
			t.Fatalf("the submodule has %q: %v", got, err)
		}
	}
	const words = "repositories of its submodules are in "
	git(t, tree.Path, "submodule", "-q", "deinit", "-f", "sub")
	held(t, m, tree, words)
	kept(t, m, tree, words)
	safe()
	vanish(t, tree)
	held(t, m, tree, words)
	for _, p := range []phase{made, removing, remaking, making} {
		edit(t, m, "s1", func(r *record) { r.Phase = p })
		if removed, why, err := m.Remove(t.Context(), tree); removed || !strings.Contains(why, words) || err != nil {
			t.Errorf("Remove while %s = %v, %q, %v", p, removed, why, err)
		}
		_, err := m.Add(t.Context(), "s1", tree.Branch, "main")
		refused(t, err, words)
		safe()
	}
	edit(t, m, "s1", func(r *record) { r.Phase = made })
	if err := os.RemoveAll(filepath.Join(entryOf(t, m, tree), "modules")); err != nil {
		t.Fatal(err)
	}
	whole(t, m, "s1", "")
}

func TestARecordThatSomebodyHasEdited(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	git(t, top, "branch", "release")
	tree := add(t, m, "s1")
	edit(t, m, "s1", func(r *record) { r.Branch = "release" })
	edited := tree
	edited.Branch = "release"
	held(t, m, edited, "it was made with branch story/s1, and not with release")
	kept(t, m, edited, "it was made with branch story/s1, and not with release")
	git(t, tree.Path, "checkout", "-q", "--detach")
	kept(t, m, edited, "branch release was not made for it")
	vanish(t, tree)
	if removed, words, err := m.Remove(t.Context(), edited); !removed || !strings.Contains(words, "was not made for it") || err != nil {
		t.Errorf("Remove = %v, %q, %v; want the branch kept", removed, words, err)
	}
	if got := git(t, top, "for-each-ref", "--format=%(refname:short)", "refs/heads"); got != "main\nrelease\nstory/s1" {
		t.Errorf("branches = %q", got)
	}

	// As if nobody had been told of it, with work that is all there is.
	two := add(t, m, "s2")
	work := commit(t, two.Path, "x", "x")
	edit(t, m, "s2", func(r *record) { r.Phase, r.Base = making, work })
	if _, words, err := m.Remove(t.Context(), two); err != nil {
		t.Errorf("Remove = %q, %v", words, err)
	}
	if got := git(t, top, "rev-parse", two.Branch); got != work {
		t.Errorf("the branch is at %s, want %s", got, work)
	}
	three := add(t, m, "s3")
	git(t, three.Path, "checkout", "-q", "--detach")
	git(t, three.Path, "commit", "-q", "--allow-empty", "-m", "x")
	edit(t, m, "s3", func(r *record) { r.Phase = making })
	kept(t, m, three, "its HEAD is detached and has 1 commit")
}

func TestALockOfAPerson(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{"hands off": "somebody has locked the work tree: hands off", "": "somebody has locked the work tree"} {
		top, m := repository(t)
		tree := add(t, m, "s1")
		git(t, top, "worktree", "unlock", tree.Path)
		git(t, top, "worktree", "lock", "--reason", reason, tree.Path)
		held(t, m, tree, want)
		kept(t, m, tree, want)
		aside := tree.Path + "-aside" // as on a disk that is not there for now
		if err := os.Rename(tree.Path, aside); err != nil {
			t.Fatal(err)
		}
		if removed, words, err := m.Remove(t.Context(), tree); removed || !strings.Contains(words, want) || err != nil {
			t.Errorf("Remove = %v, %q, %v", removed, words, err)
		}
		_, err := m.Add(t.Context(), "s1", tree.Branch, "main")
		refused(t, err, want)
		if err := os.Rename(aside, tree.Path); err != nil {
			t.Fatal(err)
		}
		if again := add(t, m, "s1"); again.Made {
			t.Error("made anew")
		}
		git(t, top, "worktree", "unlock", tree.Path)
		gone(t, m, tree)
	}
}

func TestWhatOnlyTheTreeHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do, undo []string
		want     string
	}{
		"a ref":           {[]string{"update-ref", "refs/worktree/deep/keep", "WORK"}, []string{"update-ref", "-d", "refs/worktree/deep/keep"}, "refs/worktree"},
		"a detached HEAD": {[]string{"checkout", "-q", "--detach", "WORK"}, []string{"checkout", "-q", "story/s1"}, "its HEAD is detached and has 1 commit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, m := repository(t)
			tree := add(t, m, "s1")
			work := git(t, tree.Path, "commit-tree", "-p", "HEAD", "-m", "work", "HEAD^{tree}")
			for i := range c.do {
				c.do[i] = strings.Replace(c.do[i], "WORK", work, 1)
			}
			git(t, tree.Path, c.do...)
			kept(t, m, tree, c.want)
			saved := tree.Path + "-saved"
			if err := os.Rename(tree.Path, saved); err != nil {
				t.Fatal(err)
			}
			if removed, words, err := m.Remove(t.Context(), tree); removed || !strings.Contains(words, c.want) || err != nil {
				t.Errorf("Remove = %v, %q, %v", removed, words, err)
			}
			_, err := m.Add(t.Context(), "s1", tree.Branch, "main")
			refused(t, err, c.want)
			if err := os.Rename(saved, tree.Path); err != nil {
				t.Fatal(err)
			}
			git(t, top, "tag", "saved", work)
			held(t, m, tree, "")
			git(t, tree.Path, c.undo...)
			gone(t, m, tree)
		})
	}
}
