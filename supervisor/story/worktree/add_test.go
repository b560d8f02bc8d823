package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAddIsRepeated(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	base := git(t, top, "rev-parse", "main")
	tree := add(t, m, "s1")
	want := Tree{Path: filepath.Join(m.Root, "s1"), Branch: "story/s1", Base: base, Made: true}
	if d := cmp.Diff(want, tree); d != "" {
		t.Fatal(d)
	}
	if got := git(t, tree.Path, "status", "--porcelain", "--branch"); got != "## story/s1" {
		t.Errorf("status = %q", got)
	}
	if got := read(t, filepath.Join(top, ".git/worktrees/s1"), "locked"); !strings.Contains(got, "s1") {
		t.Errorf("the tree is locked with %q", got)
	}
	commit(t, top, "a.txt", "main goes on\n")
	commit(t, tree.Path, "work.txt", "work\n")
	write(t, tree.Path, "draft.txt", "draft\n")
	if err := os.Remove(filepath.Join(tree.Path, "a.txt")); err != nil {
		t.Fatal(err)
	}
	git(t, top, "worktree", "unlock", tree.Path)
	want.Made = false
	if d := cmp.Diff(want, add(t, m, "s1")); d != "" {
		t.Fatal(d)
	}
	if got, want := git(t, tree.Path, "status", "--porcelain"), " D a.txt\n?? draft.txt"; got != want {
		t.Errorf("what was there is %q, want %q", got, want)
	}
	if got := read(t, filepath.Join(top, ".git/worktrees/s1"), "locked"); got == "" {
		t.Error("the tree is not locked again")
	}
	list, err := m.List(t.Context())
	if d := cmp.Diff([]Tree{want}, list); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestAddMakesAVanishedTreeAnew(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, m Manager, tree Tree){
		"deleted": func(t *testing.T, m Manager, tree Tree) {},
		"pruned": func(t *testing.T, m Manager, tree Tree) {
			git(t, m.Repo, "worktree", "unlock", tree.Path)
			git(t, m.Repo, "worktree", "prune", "--expire=now")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, m := repository(t)
			other := filepath.Join(filepath.Dir(top), "other")
			git(t, top, "worktree", "add", "-q", "-b", "other", other)
			tree := add(t, m, "s1")
			work := commit(t, tree.Path, "work.txt", "work\n")
			if err := os.RemoveAll(tree.Path); err != nil {
				t.Fatal(err)
			}
			lose(t, m, tree)
			if err := os.Rename(other, other+".away"); err != nil { // as on a disk that is not mounted
				t.Fatal(err)
			}
			again := add(t, m, "s1")
			if d := cmp.Diff(tree, again); d != "" {
				t.Error(d)
			}
			if got := git(t, tree.Path, "rev-parse", "HEAD"); got != work {
				t.Errorf("HEAD = %s, want the story's work %s", got, work)
			}
			if got := git(t, tree.Path, "status", "--porcelain"); got != "" {
				t.Errorf("status = %q", got)
			}
			if name == "deleted" && !strings.Contains(git(t, top, "worktree", "list"), other) {
				t.Error("another tree was pruned")
			}
		})
	}
}

func TestAddMakesTheBranchAnew(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	tree := add(t, m, "s1")
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
	git(t, top, "worktree", "remove", "-f", "-f", tree.Path)
	git(t, top, "branch", "-D", tree.Branch)
	later := commit(t, top, "later.txt", "later\n")
	again := add(t, m, "s1")
	if again.Base != later || git(t, again.Path, "rev-parse", "HEAD") != later {
		t.Errorf("tree = %+v, want it to begin at %s", again, later)
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	ours := add(t, m, "ours")
	git(t, top, "branch", "theirs")
	write(t, filepath.Join(m.Root, "folder"), "x", "x")
	if err := os.Mkdir(filepath.Join(m.Root, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, m.Root, "file", "x")
	if err := os.Symlink("nowhere", filepath.Join(m.Root, "dangling")); err != nil {
		t.Fatal(err)
	}
	git(t, top, "worktree", "add", "-q", "-b", "hand", filepath.Join(m.Root, "hand"))
	git(t, top, "worktree", "add", "-q", "-b", "lost", filepath.Join(m.Root, "lost"))
	if err := os.RemoveAll(filepath.Join(m.Root, "lost")); err != nil {
		t.Fatal(err)
	}
	before := git(t, top, "for-each-ref") + git(t, top, "worktree", "list")
	for _, c := range []struct{ id, branch, what string }{
		{"s1", "theirs", "was not made here"},
		{"s1", "main", "was not made here"},
		{"folder", "x/1", "is there"},
		{"empty", "x/1", "is there"},
		{"file", "x/1", "is there"},
		{"dangling", "x/1", "is there"},
		{"hand", "x/1", "is there"},
		{"lost", "x/1", "that is gone"},
		{"ours", "x/1", "not on x/1"},
		{"s1", ours.Branch, "was not made here"},
	} {
		_, err := m.Add(t.Context(), c.id, c.branch, "main")
		refused(t, err, c.what)
	}
	for _, c := range []struct{ id, branch, start string }{
		{"", "x/1", "main"},
		{".x", "x/1", "main"},
		{"-x", "x/1", "main"},
		{"a/b", "x/1", "main"},
		{"ä", "x/1", "main"},
		{strings.Repeat("x", 65), "x/1", "main"},
		{"s1", "", "main"},
		{"s1", "-f", "main"},
		{"s1", "HEAD", "main"},
		{"s1", "@{-1}", "main"},
		{"s1", "a..b", "main"},
		{"s1", "x\xff", "main"},
		{"s1", "main/below", "main"},
		{"s1", "x/1", "nowhere"},
		{"s1", "x/1", "--all"},
		{"s1", "x/1", ""},
	} {
		if tree, err := m.Add(t.Context(), c.id, c.branch, c.start); err == nil {
			t.Errorf("Add(%q, %q, %q) = %+v, want an error", c.id, c.branch, c.start, tree)
		}
	}
	if after := git(t, top, "for-each-ref") + git(t, top, "worktree", "list"); after != before {
		t.Errorf("refused, but changed:\n%s\nbefore:\n%s", after, before)
	}
	if got := read(t, filepath.Join(m.Root, "folder"), "x"); got != "x" {
		t.Error("the folder was changed")
	}
	names, _ := filepath.Glob(filepath.Join(m.Root, recordsDir, "*"))
	if len(names) != 2 { // record and lock of ours
		t.Errorf("records = %q, want those of one tree", names)
	}
}

func TestAddRefusesAFolderThatIsNoTreeAnyMore(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	tree := add(t, m, "s1")
	write(t, tree.Path, "draft.txt", "draft")
	if err := os.Remove(filepath.Join(tree.Path, ".git")); err != nil {
		t.Fatal(err)
	}
	_, err := m.Add(t.Context(), "s1", "story/s1", "main")
	refused(t, err, "no work tree that was made here")
	git(t, top, "worktree", "unlock", tree.Path)
	git(t, top, "worktree", "prune", "--expire=now")
	_, err = m.Add(t.Context(), "s1", "story/s1", "main")
	refused(t, err, "no work tree that was made here")
	if removed, words, err := m.Remove(t.Context(), tree); removed || words == "" || err != nil {
		t.Errorf("Remove = %v, %q, %v; want words", removed, words, err)
	}
	if got := read(t, tree.Path, "draft.txt") + git(t, top, "for-each-ref", "--format=%(refname:short)"); got != "draftmain\nstory/s1" {
		t.Errorf("left is %q", got)
	}
}

func TestAddRefusesAnIDOfAnotherRepository(t *testing.T) {
	t.Parallel()
	_, m := repository(t)
	add(t, m, "s1")
	other, n := repository(t)
	n.Root = m.Root
	_, err := n.Add(t.Context(), "s1", "story/s1", "main")
	refused(t, err, "of another repository")
	if list, err := n.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("List = %v, %v; want nothing of the other repository", list, err)
	}
	if got := git(t, other, "for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("refs = %q", got)
	}
}

func TestRootInsideTheRepositoryIsRefused(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	for _, root := range []string{filepath.Join(top, "trees"), top, filepath.Join(top, ".git", "x", "y")} {
		m.Root = root
		_, err := m.Add(t.Context(), "s1", "story/s1", "main")
		refused(t, err, "inside the repository")
	}
	link := filepath.Join(filepath.Dir(top), "link")
	if err := os.Symlink(filepath.Join(top, "deep"), link); err != nil {
		t.Fatal(err)
	}
	m.Root = filepath.Join(link, "trees")
	_, err := m.Add(t.Context(), "s1", "story/s1", "main")
	refused(t, err, "inside the repository")
	m.Root = top + "-trees"
	add(t, m, "s1")
}

func TestTenAtOnce(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	const n = 10
	errs := make([]error, 2*n)
	var wg sync.WaitGroup
	for i := range 2 * n { // each twice
		wg.Go(func() {
			id := fmt.Sprintf("s%d", i/2)
			_, errs[i] = m.Add(t.Context(), id, "story/"+id, "main")
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	list, err := m.List(t.Context())
	if err != nil || len(list) != n {
		t.Fatalf("List = %v, %v; want %d", list, err, n)
	}
	for _, tree := range list {
		if got := git(t, tree.Path, "status", "--porcelain", "--branch"); got != "## "+tree.Branch {
			t.Errorf("%s: %s", tree.Path, got)
		}
	}
	for i, tree := range list {
		wg.Go(func() {
			removed, words, err := m.Remove(t.Context(), tree)
			if !removed || words != "" {
				err = fmt.Errorf("removed = %v: %s: %w", removed, words, err)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := git(t, top, "for-each-ref", "--format=%(refname)"); got != "refs/heads/main" {
		t.Errorf("refs = %s", got)
	}
}

func TestAddWaitsForOtherLocks(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	tree := add(t, m, "s1")
	lock := filepath.Join(top, ".git/refs/heads/story/s1.lock")
	write(t, "", lock, "")
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(time.Second) // longer than git itself waits; more does no harm
		_ = os.Remove(lock)
	})
	gone(t, m, tree)
	wg.Wait()
}

func TestHooks(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	hook := func(text string) {
		write(t, top, ".git/hooks/post-checkout", "#!/bin/sh\n"+text+"\n")
		if err := os.Chmod(filepath.Join(top, ".git/hooks/post-checkout"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	hook(`echo "$@" >>hook.log; pwd >>hook.log`)
	tree := add(t, m, "good")
	add(t, m, "good")
	want := fmt.Sprintf("%040d %s 1\n%s\n", 0, tree.Base, tree.Path)
	if got := read(t, tree.Path, "hook.log"); got != want || tree.Note != "" {
		t.Errorf("the hook was given %q, want %q, once; note %q", got, want, tree.Note)
	}
	hook(`echo no such tool >&2; exit 7`)
	if tree = add(t, m, "bad"); !strings.Contains(tree.Note, "no such tool") {
		t.Errorf("note = %q", tree.Note)
	}
	gone(t, m, tree)

	// One that hangs, and does not want to end, is killed with what it has started.
	pids := filepath.Join(filepath.Dir(top), "pids")
	hook(`trap '' TERM; echo $$ >>"` + pids + `"; sh -c 'trap "" TERM; echo $$ >>"` + pids + `"; while :; do sleep 1; done' & wait; wait`)
	for m.Timeout = 2 * time.Second; ; m.Timeout *= 2 { // a slow machine takes as long for other gits
		var err error
		if tree, err = m.Add(t.Context(), "hangs", "story/hangs", "main"); err == nil {
			break
		}
	}
	if want := fmt.Sprintf("not done after %s", m.Timeout); !strings.Contains(tree.Note, want) {
		t.Errorf("note = %q, want %q", tree.Note, want)
	}
	for _, pid := range strings.Fields(read(t, "", pids)) {
		ended := func() bool {
			stat := read(t, "/proc/"+pid, "stat")
			return stat == "" || strings.Contains(stat, ") Z ")
		}
		for end := time.Now().Add(30 * time.Second); !ended(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("process %s of the hook still runs", pid)
			}
		}
	}
	gone(t, m, tree)
}

func TestAFailedAddLeavesNothing(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	git(t, top, "config", "filter.absent.smudge", "no-such-filter")
	git(t, top, "config", "filter.absent.clean", "cat")
	git(t, top, "config", "filter.absent.required", "true")
	commit(t, top, "z/large.bin", "pointer\n")
	commit(t, top, ".gitattributes", "*.bin filter=absent\n")
	_, err := m.Add(t.Context(), "s1", "story/s1", "main")
	if err == nil || !strings.Contains(err.Error(), "no-such-filter") && !strings.Contains(err.Error(), "large.bin") {
		t.Fatalf("err = %v, want git's words about the filter", err)
	}
	nothing(t, m, Tree{Path: filepath.Join(m.Root, "s1"), Branch: "story/s1"})

	// A tree that was there before keeps its branch and its record.
	git(t, top, "config", "filter.absent.smudge", "cat")
	tree := add(t, m, "s1")
	work := commit(t, tree.Path, "work.txt", "work\n")
	if err := os.RemoveAll(tree.Path); err != nil {
		t.Fatal(err)
	}
	git(t, top, "config", "filter.absent.smudge", "no-such-filter")
	if _, err := m.Add(t.Context(), "s1", "story/s1", "main"); err == nil {
		t.Fatal("no error")
	}
	if out := git(t, top, "worktree", "list"); strings.Contains(out, "s1") {
		t.Errorf("registered after an error: %s", out)
	}
	git(t, top, "config", "filter.absent.smudge", "cat")
	if add(t, m, "s1"); git(t, tree.Path, "rev-parse", "HEAD") != work {
		t.Error("the story's work is not on its branch")
	}
}

// What a git leaves that was killed at its very first steps.
func TestBrokenOffEntries(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"no lock":          {},
		"an empty lock":    {"locked": ""},
		"a lock":           {"locked": reason("s1") + "\n"},
		"an empty pointer": {"locked": reason("s1"), "gitdir": ""},
		"a pointer":        {"locked": reason("s1"), "gitdir": "TREE/.git\n", "TREE/": ""},
		"an empty link":    {"locked": reason("s1"), "gitdir": "TREE/.git\n", "TREE/.git": ""},
		"a link":           {"locked": reason("s1"), "gitdir": "TREE/.git\n", "TREE/.git": "gitdir: ENTRY\n"},
		"an empty HEAD": {
			"locked": reason("s1"), "gitdir": "TREE/.git\n", "TREE/.git": "gitdir: ENTRY\n", "HEAD": "", "commondir": "../..\n",
		},
		"no branch yet": {
			"locked": reason("s1"), "gitdir": "TREE/.git\n", "TREE/.git": "gitdir: ENTRY\n", "HEAD": strings.Repeat("0", 40) + "\n",
			"commondir": "../..\n",
		},
		"nothing in it": {
			"locked": reason("s1"), "gitdir": "TREE/.git\n", "TREE/.git": "gitdir: ENTRY\n", "HEAD": "ref: refs/heads/story/s1\n",
			"commondir": "../..\n",
		},
		"half of it": {
			"locked": reason("s1"), "gitdir": "TREE/.git\n", "TREE/.git": "gitdir: ENTRY\n", "HEAD": "ref: refs/heads/story/s1\n",
			"commondir": "../..\n", "index.lock": "x", "TREE/a.txt": "on",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, m := repository(t)
			tree, entry := filepath.Join(m.Root, "s1"), filepath.Join(top, ".git/worktrees/s1")
			s, err := m.open(t.Context(), true)
			if err != nil {
				t.Fatal(err)
			}
			base := git(t, top, "rev-parse", "main")
			if err := s.save(record{ID: "s1", Repo: s.name(), Branch: "story/s1", Base: base, Phase: making}); err != nil {
				t.Fatal(err)
			}
			git(t, top, "update-ref", "--create-reflog", "-m", mark("s1"), "refs/heads/story/s1", base)
			if err := os.MkdirAll(entry, 0o755); err != nil {
				t.Fatal(err)
			}
			put := strings.NewReplacer("TREE", tree, "ENTRY", entry)
			for path, text := range files {
				dir := entry
				if strings.HasPrefix(path, "TREE") {
					dir = ""
				}
				path = put.Replace(path)
				if strings.HasSuffix(path, "/") {
					if err := os.Mkdir(path, 0o755); err != nil {
						t.Fatal(err)
					}
					continue
				}
				write(t, dir, path, put.Replace(text))
			}
			whole(t, m, "s1", "")
			gone(t, m, Tree{Path: tree, Branch: "story/s1"})
		})
	}
}

func TestAFullTreeIsNotFilledAgain(t *testing.T) {
	t.Parallel()
	_, m := repository(t)
	tree := add(t, m, "s1")
	s, err := m.open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := s.load("s1")
	if err != nil {
		t.Fatal(err)
	}
	r.Phase = making // as when Add was killed at the very end
	if err := s.save(r); err != nil {
		t.Fatal(err)
	}
	write(t, tree.Path, "a.txt", "of a person")
	if tree = add(t, m, "s1"); !tree.Made || read(t, tree.Path, "a.txt") != "of a person" {
		t.Errorf("tree = %+v, a.txt = %q", tree, read(t, tree.Path, "a.txt"))
	}
}

func TestSomebodyHasMadeTheBranchMeanwhile(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	s, err := m.open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	base := git(t, top, "rev-parse", "main")
	if err := s.save(record{ID: "s1", Repo: s.name(), Branch: "story/s1", Base: base, Phase: making}); err != nil {
		t.Fatal(err)
	}
	git(t, top, "branch", "story/s1")
	for range 2 {
		_, err = m.Add(t.Context(), "s1", "story/s1", "main")
		refused(t, err, "was not made here")
	}
	if got := git(t, top, "rev-parse", "story/s1"); got != base {
		t.Errorf("the branch is at %s", got)
	}
}

func TestAnAddThatWasBrokenOffIsRemoved(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	s, err := m.open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	set := func(id string, p phase) Tree {
		t.Helper()
		tree := add(t, m, id)
		r, _, err := s.load(id)
		if err != nil {
			t.Fatal(err)
		}
		r.Phase = p
		if err := s.save(r); err != nil {
			t.Fatal(err)
		}
		return tree
	}
	gone(t, m, set("s1", making))
	tree := set("s2", making)
	write(t, tree.Path, "hook.txt", "of a hook")
	kept(t, m, tree, "not committed: hook.txt")
	tree = set("s4", making)
	write(t, tree.Path, "a.txt", "of a person")
	kept(t, m, tree, "not committed: a.txt")
	if got := read(t, tree.Path, "a.txt"); got != "of a person" {
		t.Errorf("a.txt = %q", got)
	}
	tree = set("s3", remaking)
	work := commit(t, tree.Path, "x", "x")
	if removed, words, err := m.Remove(t.Context(), tree); !removed || !strings.Contains(words, "1 commit that is not in main") || err != nil {
		t.Errorf("Remove = %v, %q, %v", removed, words, err)
	}
	if git(t, top, "rev-parse", tree.Branch) != work {
		t.Error("the work is lost")
	}
}
