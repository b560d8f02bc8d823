package commit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"autopilot/sessions/commit"
)

func (w tree) changes(ignored ...string) commit.Changes {
	w.t.Helper()
	c, err := w.Changes(w.t.Context(), ignored...)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestChanges(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("config", "status.renames", "copies")
	w.git("config", "status.showUntrackedFiles", "no")
	w.git("config", "status.relativePaths", "true")
	c := w.changes()
	same(t, "words", c.Words(), "no changes")
	same(t, "files", len(c.Files), 0)
	empty := c.Digest()

	w.git("mv", "dir/x", "dir/moved")
	w.write("a", "staged\n")
	w.git("add", "a")
	w.write("a", "and again\n")
	w.remove("b")
	w.write("with space\nand line", "x\n")
	w.write("-dash", "x\n")
	w.write("ünï", "x\n")
	w.write("folder/deep/file", "x\n")
	w.write(".git/info/exclude", "*.log\n")
	w.write("x.log", "x\n")
	if err := os.Symlink("nowhere", filepath.Join(w.dir, "link")); err != nil {
		t.Fatal(err)
	}
	w.git("add", "-N", "link")
	c = w.changes()
	same(t, "files", c.Files, []string{"-dash", "a", "b", "dir/moved", "dir/x", "folder/deep/file", "link", "with space\nand line", "ünï"})
	prints := c.Prints
	same(t, "new", c.New, []string{"-dash", "dir/moved", "folder/deep/file", "with space\nand line", "ünï"})
	c.Files, c.New, c.Prints = nil, nil, nil
	same(t, "counts", c, commit.Changes{Staged: 3, Modified: 2, Deleted: 1, Untracked: 4})
	same(t, "words", c.Words(), "3 staged, 2 modified, 1 deleted, 4 untracked")
	same(t, "gone", []string{prints["b"], prints["dir/x"], prints["link"]}, []string{"gone", "gone", "link nowhere"})

	some := w.changes("folder/", "a", "dir/x", "lin", "-dash")
	same(t, "without the ignored", some.Files, []string{"b", "dir/moved", "link", "with space\nand line", "ünï"})
	same(t, "words", some.Words(), "1 staged, 1 modified, 1 deleted, 2 untracked")
	if d := w.changes().Digest(); d == empty || d == some.Digest() || d != w.changes().Digest() {
		t.Errorf("digest = %s", d)
	}
}

func TestChangesUnmerged(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "ours\n")
	w.write("with space", "ours\n")
	w.git("add", ".")
	w.git("commit", "-qm", "ours")
	w.git("switch", "-q", "main")
	w.write("a", "theirs\n")
	w.write("with space", "theirs\n")
	w.git("add", ".")
	w.git("commit", "-qm", "theirs")
	_, _ = w.try("merge", "work")
	c := w.changes()
	same(t, "files", c.Files, []string{"a", "with space"})
	same(t, "words", c.Words(), "2 unmerged")
}

// A print tells content, and neither staging nor time.
func TestPrints(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "two\n")
	w.write("new", "new\n")
	w.write("large", strings.Repeat("x", 2<<20))
	before := w.changes()
	w.git("add", "a", "new")
	later := time.Now().Add(time.Hour)
	for _, f := range []string{"a", "new"} {
		if err := os.Chtimes(filepath.Join(w.dir, f), later, later); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "prints of staged and touched files", w.changes().Prints, before.Prints)
	same(t, "digest", w.changes().Digest(), before.Digest())

	// The same size and time, another content.
	fi, err := os.Stat(filepath.Join(w.dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("a", "2wo\n")
	if err := os.Chtimes(filepath.Join(w.dir, "a"), fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(w.dir, "new"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.write("large", strings.Repeat("y", 2<<20))
	after := w.changes()
	for _, f := range before.Files {
		if before.Prints[f] == after.Prints[f] {
			t.Errorf("%s: %q before and after", f, after.Prints[f])
		}
	}
	if before.Digest() == after.Digest() {
		t.Error("the digest stays the same")
	}
}

// What cannot be committed from here is named.
func TestChangesInside(t *testing.T) {
	t.Parallel()
	w, source := work(t), work(t)
	sub := func(name string) tree {
		return tree{t: t, dir: filepath.Join(w.dir, name), Tree: w.Tree}
	}
	names := []string{"clean", "untracked", "modified", "moved", "moved and modified", "staged", "gone"}
	for _, name := range names {
		w.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", source.dir, name)
	}
	w.write("tracked/x", "x\n")
	w.write("replaced", "x\n")
	w.write("dropped", "x\n")
	w.git("add", ".")
	w.git("commit", "-qm", "submodules")
	w.git("rm", "-q", "dropped")
	for name, do := range map[string]string{
		"dropped": "x", "untracked": "new", "modified": "a", "moved": "", "moved and modified": "a", "staged": "a", "nested": "x", "folder/nested": "x", "added": "x", "tracked": "", "replaced": "x",
	} {
		in := sub(name)
		if name == "replaced" {
			w.remove(name)
		}
		if !exists(filepath.Join(in.dir, ".git")) {
			w.git("init", "-q", name)
		}
		in.git("config", "user.name", "t")
		in.git("config", "user.email", "t@example.org")
		if name != "untracked" && name != "modified" && name != "tracked" {
			in.git("commit", "-q", "--allow-empty", "-m", "inner")
		}
		if do != "" {
			in.write(do, "changed\n")
		}
	}
	w.git("init", "-q", "empty") // without a commit
	w.git("-c", "advice.addEmbeddedRepo=false", "add", "added", "staged")
	w.write("tracked/x", "changed\n")
	w.write("a", "changed\n")
	w.write("new/file", "x\n")
	w.remove("gone")
	c := w.changes()
	same(t, "inner", c.Inner, []string{"empty", "folder/nested", "modified", "nested", "tracked/x", "untracked"})
	same(t, "files", c.Files, []string{
		"a", "added", "dropped", "empty", "folder/nested", "gone", "modified", "moved", "moved and modified", "nested", "new/file", "replaced", "staged", "tracked/x", "untracked",
	})
	same(t, "without the ignored", w.changes("folder", "modified", "tracked").Inner, []string{"empty", "nested", "untracked"})

	// All others can be committed, and nothing else is left.
	w.make(slices.DeleteFunc(slices.Clone(c.Files), func(f string) bool { return slices.Contains(c.Inner, f) })...)
	after := w.changes()
	for _, f := range after.Files {
		if !slices.Contains(after.Inner, f) {
			t.Errorf("%q is left", f)
		}
	}
}

func TestChangesOfManyFiles(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("writes 25,000 files")
	}
	w := work(t)
	const n = 25_000
	for i := range n / 500 {
		if err := os.MkdirAll(filepath.Join(w.dir, fmt.Sprint("many/", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(w.dir, fmt.Sprintf("many/%d/%d", i%(n/500), i)), []byte{'x', byte(i)}, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	c := w.changes()
	t.Logf("%d files in %v", len(c.Files), time.Since(start))
	if c.Untracked != n || len(c.Files) != n || len(c.Prints) != n || !slices.IsSorted(c.Files) {
		t.Errorf("%d untracked, %d files, %d prints", c.Untracked, len(c.Files), len(c.Prints))
	}
	same(t, "ignored", w.changes("many").Words(), "no changes")
}

func TestLines(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("config", "diff.external", "false")
	w.git("config", "diff.noprefix", "true")
	since := w.head()
	w.write("a", lines(10))
	w.make("a")
	w.write("a", lines(10)+"and one")                  // +11 -1 over both
	w.remove("b")                                      // -1
	w.write("new", "one\ntwo\nthree")                  // +3
	w.write("odd\nname", lines(2))                     // +2
	w.write("empty", "")                               //
	w.write("binary", "\x00\n\n")                      //
	w.write("others", lines(100))                      // not asked for
	w.git("rm", "-q", "c")                             // -1
	w.write("large", strings.Repeat(lines(100), 1000)) // +100,000
	if err := os.Symlink("a", filepath.Join(w.dir, "link")); err != nil {
		t.Fatal(err)
	}
	all := []string{"a", "b", "c", "new", "odd\nname", "empty", "binary", "link", "large", "nope"}
	added, removed, err := w.Lines(t.Context(), since, all)
	if added != 11+3+2+1+100_000 || removed != 3 || err != nil {
		t.Errorf("Lines = %d, %d, %v", added, removed, err)
	}
	w.git("add", "-A")
	added, removed, err = w.Lines(t.Context(), since, all)
	if added != 11+3+2+1+100_000 || removed != 3 || err != nil {
		t.Errorf("Lines of what is staged = %d, %d, %v: git counts otherwise", added, removed, err)
	}
	if added, removed, err = w.Lines(t.Context(), "", []string{"a"}); added != 11 || removed != 0 || err != nil {
		t.Errorf("Lines since the beginning = %d, %d, %v", added, removed, err)
	}
	if _, _, err = w.Lines(t.Context(), "nope", all); err == nil {
		t.Error("Lines since no commit succeeds")
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	w := work(t)
	first := w.head()
	w.git("config", "log.showSignature", "true")
	var all []string
	for i := range 3 {
		w.write("a", fmt.Sprint(i, "\n"))
		w.write(fmt.Sprint("file", i), "x\n")
		c := commit.Commit{Branch: "work", Message: fmt.Sprintf("change %d\n\nMark: %d\nnot Mark: 1", i, i), Files: []string{"a", fmt.Sprint("file", i)}}
		sha, err := w.Commit(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sha)
	}
	for _, tc := range []struct {
		from, to string
		want     []string
	}{
		{first, "work", all}, {all[0], all[2], all[1:]}, {"", "work", append([]string{first}, all...)}, {"work", "work", []string{}}, {"work", first, []string{}},
	} {
		got, err := w.Between(t.Context(), tc.from, tc.to)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "between", got, tc.want)
	}
	for _, tc := range []struct{ branch, parent, mark, want string }{
		{"work", first, "Mark: 1", all[1]},
		{"work", "", "Mark: 0", all[0]},
		{"work", all[0], "Mark: 0", ""},
		{"work", first, "Mark", ""},
		{"work", first, "Mark: .", ""},
		{"work", first, "change 2", all[2]},
		{"main", "", "Mark: 1", ""},
		{"nope", first, "Mark: 1", ""},
	} {
		got, found, err := w.Find(t.Context(), tc.branch, tc.parent, tc.mark)
		if got != tc.want || found != (tc.want != "") || err != nil {
			t.Errorf("Find(%s, %.7s, %q) = %q, %v, %v; want %q", tc.branch, tc.parent, tc.mark, got, found, err, tc.want)
		}
	}
	for _, bad := range []func() error{
		func() error { _, err := w.Between(t.Context(), "nope", "work"); return err },
		func() error { _, err := w.Between(t.Context(), "", "--all"); return err },
		func() error { _, err := w.Touched(t.Context(), "nope", "work"); return err },
		func() error { _, _, err := w.Find(t.Context(), "work", "nope", "Mark: 1"); return err },
		func() error { _, _, err := w.Find(t.Context(), "work", "", " "); return err },
	} {
		if bad() == nil {
			t.Error("what is not there is no error")
		}
	}
	touched, err := w.Touched(t.Context(), first, "work")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "touched", touched, []string{"a", "file0", "file1", "file2"})
	w.write(".gitignore", "*.log\n")
	w.write("x.log", "x\n")
	w.write("tracked.log", "x\n")
	w.git("add", "-f", "tracked.log")
	files, err := w.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "files", files, []string{".gitignore", "a", "b", "c", "dir/x", "dir/y", "file0", "file1", "file2", "tracked.log"})
	for path, want := range map[string]bool{"x.log": true, "tracked.log": false, "a": false, "nope.log": true, "nope": false, ":!x.log": true, "-x.log": true} {
		if got, err := w.Hidden(t.Context(), path); got != want || err != nil {
			t.Errorf("Hidden(%s) = %v, %v", path, got, err)
		}
	}
}
