package commit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"autopilot/sessions/commit"
)

func TestCommitTakesExactlyItsFiles(t *testing.T) {
	t.Parallel()
	w := work(t)
	// The person's: staged, staged and changed again, deleted, changed, untracked.
	w.write("mine", "staged\n")
	w.git("add", "mine")
	w.write("b", "staged\n")
	w.git("add", "b")
	w.write("b", "and again\n")
	w.git("rm", "-q", "dir/y")
	w.write("c", "changed\n")
	w.write("untracked", "x\n")
	w.write("intended", "x\n")
	w.git("add", "-N", "intended")
	before := w.status()

	w.write("a", "two\n")
	w.write("new", "new\n")
	w.git("mv", "dir/x", "dir/moved")
	sha := w.make("a", "new", "dir/x", "dir/moved")
	same(t, "files of the commit", w.shown(sha), "M a\nA dir/moved\nD dir/x\nA new")
	same(t, "status afterwards", w.status(), before)
	same(t, "content", w.git("show", "HEAD:a"), "two")
	same(t, "what is staged", w.git("show", ":b"), "staged")
	// git diff-index sees entries whose file it does not know.
	same(t, "stale entries", w.git("diff-files", "--name-only"), "b\nc\nintended")
}

func TestCommitWhatWasStagedInPart(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "staged\n")
	w.write("new", "staged\n")
	w.git("add", "a", "new")
	w.write("a", "as it is\n")
	w.write("new", "as it is\n")
	w.write("b", "staged and taken back\n")
	w.git("add", "b")
	w.write("b", "b one\n")
	sha := w.make("a", "new", "b")
	same(t, "files", w.shown(sha), "M a\nA new")
	same(t, "content", w.git("show", "HEAD:a", "HEAD:new"), "as it is\nas it is")
	same(t, "status", w.status(), "")
}

func TestCommitKinds(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("file-to-folder", "x\n")
	w.write("folder-to-file/x", "x\n")
	w.write("folder-to-link/x", "x\n")
	w.write("elsewhere/x", "x\n")
	w.git("add", ".")
	w.git("commit", "-qm", "second")

	if err := os.Chmod(filepath.Join(w.dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": "a", "b": "nowhere", "folder-to-link": "elsewhere"} {
		w.remove(name)
		if err := os.Symlink(to, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.remove("c")
	w.remove("file-to-folder")
	w.write("file-to-folder/x", "x\n")
	w.remove("folder-to-file")
	w.write("folder-to-file", "x\n")
	c, err := w.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.make(c.Files...)
	want := ":100644 100755 M a\n:100644 120000 T b\n:100644 000000 D c\n:100644 000000 D file-to-folder\n:000000 100644 A file-to-folder/x\n" +
		":000000 100644 A folder-to-file\n:100644 000000 D folder-to-file/x\n:000000 120000 A folder-to-link\n:100644 000000 D folder-to-link/x\n:000000 120000 A link"
	var got []string
	for line := range strings.Lines(w.git("diff-tree", "-r", "--no-renames", "HEAD~", "HEAD")) {
		f := strings.Fields(line)
		got = append(got, strings.Join([]string{f[0], f[1], f[4], f[5]}, " "))
	}
	same(t, "commit", strings.Join(got, "\n"), want)
	same(t, "status", w.status(), "")
}

func TestCommitAFolderInTheWay(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.remove("a")
	w.write("a/b", "x\n")
	_, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m", Files: []string{"a/b"}})
	contains(t, err, "a/b")
	same(t, "status", w.status(), " D a\n?? a/b")
	sha := w.make("a")
	same(t, "only the deletion", w.shown(sha), "D a")
	same(t, "status", w.status(), "?? a/b")
}

func TestCommitOddNames(t *testing.T) {
	t.Parallel()
	w := work(t)
	names := []string{"with space", "-dash", "--all", ":(top)x", "*", "[a]", "a\nb", "tab\there", "ünï/cødé", "back\\slash", "\"quoted\"", "#hash", ":", "!x"}
	if runtime.GOOS == "linux" { // elsewhere names are UTF-8
		names = append(names, "\xff\xfe")
	}
	for _, n := range names {
		w.write(n, "x\n")
	}
	w.write("other", "x\n")
	sha := w.make(names...)
	same(t, "number of files", strings.Count(w.git("diff-tree", "--no-commit-id", "-r", "-z", "--name-only", sha), "\x00"), len(names))
	same(t, "status", w.status(), "?? other")
	for _, n := range names {
		w.remove(n)
	}
	w.make(names...)
	same(t, "status", w.status(), "?? other")
	same(t, "tree", w.git("rev-parse", "HEAD^{tree}"), w.git("rev-parse", "HEAD~2^{tree}"))
}

func TestCommitThousandsOfFiles(t *testing.T) {
	t.Parallel()
	w := work(t)
	var names []string
	for i := range 3000 {
		name := fmt.Sprintf("a rather long name of a folder so that no command line has room for all of them/%d/%s", i%7, strings.Repeat("x", 60)+fmt.Sprint(i))
		names = append(names, name)
		w.write(name, fmt.Sprint(i))
	}
	sha := w.make(names...)
	same(t, "number of files", strings.Count(w.shown(sha), "\n")+1, len(names))
	same(t, "status", w.status(), "")
}

// A file that is changed within the tick of the clock in which the index was written,
// and keeps its size, is told only by its content.
func TestCommitWithinOneTick(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("config", "core.trustctime", "false") // which nothing can set back
	tick := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, step := range []string{"1wo\n", "2wo\n"} {
		w.write("a", step)
		if err := os.Chtimes(filepath.Join(w.dir, "a"), tick, tick); err != nil {
			t.Fatal(err)
		}
		if step == "1wo\n" {
			w.git("commit", "-qam", "first in the tick")
			if err := os.Chtimes(filepath.Join(w.GitDir, "index"), tick, tick); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.make("a")
	same(t, "content", w.git("show", "HEAD:a"), "2wo")
}

// A program of the repository may do anything while the files are taken.
func TestCommitLooksAgain(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write(".git/info/attributes", "a filter=odd\n")
	w.git("config", "filter.odd.clean", "git symbolic-ref HEAD refs/heads/main; cat")
	w.write("a", "two\n")
	head := w.head()
	_, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m", Files: []string{"a"}})
	b, ok := errors.AsType[*commit.BranchError](err)
	if !ok {
		t.Fatalf("Commit: %v, want a *BranchError", err)
	}
	same(t, "error", *b, commit.BranchError{Want: "work", Have: "main"})
	same(t, "main", w.git("rev-parse", "main"), head)
	same(t, "work", w.git("rev-parse", "work"), head)
}

// The index and the ids may have other forms.
func TestCommitForms(t *testing.T) {
	t.Parallel()
	for name, do := range map[string][]string{
		"split":           {"update-index", "--split-index"},
		"version 4":       {"update-index", "--index-version", "4"},
		"untracked cache": {"update-index", "--force-untracked-cache"},
		"assumed":         {"update-index", "--assume-unchanged", "dir/y"},
		"sha256":          nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := work(t)
			if do == nil {
				w.remove(".git")
				w.git("init", "-q", "-b", "work", "--object-format=sha256")
				w.git("config", "user.name", "t")
				w.git("config", "user.email", "t@example.org")
				w.git("add", ".")
				w.git("commit", "-qm", "first")
			} else {
				w.git(do...)
			}
			w.write("b", "staged\n")
			w.git("add", "b")
			w.write("a", "two\n")
			w.write("new", "new\n")
			w.remove("c")
			same(t, "files", w.shown(w.make("a", "new", "c")), "M a\nD c\nA new")
			same(t, "status", w.status(), "M  b")
			if name == "assumed" {
				same(t, "flag", w.git("ls-files", "-v", "dir/y"), "h dir/y")
			}
			w.git("fsck", "--strict")
		})
	}
}

func TestCommitMessage(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("config", "commit.cleanup", "strip")
	w.git("config", "commit.template", "nowhere")
	w.git("config", "core.editor", "false")
	w.git("config", "i18n.commitEncoding", "ISO-8859-1")
	w.write("a", "two\n")
	message := "feat: ünï\n\n# is no comment\n\n\n  indented  \n------- >8 -------\nMark: 1"
	if _, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: message, Files: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	head, got, _ := strings.Cut(w.git("cat-file", "commit", "HEAD"), "\n\n")
	same(t, "message", got, message)
	if strings.Contains(head, "encoding") {
		t.Errorf("the message is not UTF-8: %s", head)
	}
}

func TestCommitRefuses(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write(".gitignore", "*.log\nbuild/\n")
	w.git("add", ".")
	w.git("commit", "-qm", "ignore")
	w.write("x.log", "x\n")
	w.write("build/out", "x\n")
	w.write("nested/file", "x\n")
	nested := tree{t: t, dir: filepath.Join(w.dir, "nested"), Tree: w.Tree}
	nested.git("init", "-q")
	w.write("elsewhere/x", "x\n")
	if err := os.Symlink("elsewhere", filepath.Join(w.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", filepath.Join(w.dir, "good")); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 20<<10)
	for _, tc := range []struct {
		name  string
		c     commit.Commit
		words string
	}{
		{"ignored", commit.Commit{Files: []string{"good", "x.log"}}, `ignored by git: "x.log"`},
		{"in an ignored folder", commit.Commit{Files: []string{"build/out"}}, `"build/out"`},
		{"missing", commit.Commit{Files: []string{"good", "nope"}}, `there is no file "nope"`},
		{"a folder", commit.Commit{Files: []string{"dir"}}, `"dir" is a folder`},
		{"a repository", commit.Commit{Files: []string{"nested"}}, `"nested" is a folder`},
		{"in a repository", commit.Commit{Files: []string{"nested/file"}}, "repository of its own"},
		{"behind a link", commit.Commit{Files: []string{"link/x"}}, `behind the link "link"`},
		{"absolute", commit.Commit{Files: []string{filepath.Join(w.dir, "a")}}, "relative"},
		{"outside", commit.Commit{Files: []string{"../x"}}, "relative"},
		{"unclean", commit.Commit{Files: []string{"dir/../a"}}, "relative"},
		{"the top", commit.Commit{Files: []string{"."}}, "relative"},
		{"empty", commit.Commit{Files: []string{""}}, "relative"},
		{"of git", commit.Commit{Files: []string{".git/config"}}, "belongs to git"},
		{"of git, nearly", commit.Commit{Files: []string{"dir/.GIT/config"}}, "belongs to git"},
		{"no message", commit.Commit{Files: []string{"good"}, Message: " \n"}, "message is empty"},
		{"zero byte", commit.Commit{Files: []string{"good"}, Message: "a\x00b"}, "zero byte"},
		{"long message", commit.Commit{Files: []string{"good"}, Message: long}, "bytes"},
		{"no branch", commit.Commit{Files: []string{"good"}, Branch: "-"}, "not on -"},
		{"other parent", commit.Commit{Files: []string{"good"}, Parent: "0123"}, "has moved"},
	} {
		before, head := w.staged(), w.head()
		if tc.c.Branch == "" {
			tc.c.Branch = "work"
		}
		if tc.c.Message == "" {
			tc.c.Message = "m"
		}
		sha, err := w.Commit(t.Context(), tc.c)
		if err == nil || !strings.Contains(err.Error(), tc.words) || sha != "" {
			t.Errorf("%s: Commit = %q, %v; want an error with %q", tc.name, sha, err, tc.words)
		}
		same(t, tc.name+": HEAD", w.head(), head)
		same(t, tc.name+": index", w.staged(), before)
		w.tidy()
	}
}

func TestCommitNothing(t *testing.T) {
	t.Parallel()
	w := work(t)
	for _, files := range [][]string{nil, {"a"}, {"a", "dir/x"}} {
		if sha, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m", Files: files}); !errors.Is(err, commit.ErrNothing) || sha != "" {
			t.Errorf("Commit(%q) = %q, %v, want ErrNothing", files, sha, err)
		}
	}
	w.write("b", "staged by the person\n")
	w.git("add", "b")
	if _, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m", Files: []string{"a"}}); !errors.Is(err, commit.ErrNothing) {
		t.Errorf("Commit beside staged changes: %v, want ErrNothing", err)
	}
	same(t, "status", w.status(), "M  b")
	w.tidy()
}

func TestCommitNeverOnADefaultBranch(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("config", "init.defaultBranch", "stem")
	w.git("update-ref", "refs/remotes/origin/prod", "HEAD")
	w.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/prod")
	w.write("a", "two\n")
	for _, branch := range []string{"main", "master", "develop", "trunk", "stem", "prod", "Main"} {
		if branch != "main" {
			w.git("branch", branch)
		}
		w.git("symbolic-ref", "HEAD", "refs/heads/"+branch)
		head := w.head()
		for _, remote := range []string{"", "origin"} {
			_, err := w.Commit(t.Context(), commit.Commit{Branch: branch, Remote: remote, Message: "m", Files: []string{"a"}})
			p, ok := errors.AsType[*commit.ProtectedError](err)
			if !ok || p.Branch != branch || hint(err) == "" {
				t.Errorf("Commit on %s: %v, want a *ProtectedError", branch, err)
			}
		}
		same(t, "HEAD", w.head(), head)
		if branch != "main" && branch != "Main" {
			w.git("branch", "-m", branch, "old-"+branch) // on some file systems Main is main
		}
	}
}

func TestCommitOnlyOnItsBranch(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "two\n")
	for _, have := range []string{"other", ""} {
		if have != "" {
			w.git("switch", "-qc", have)
		} else {
			w.git("switch", "-q", "--detach")
		}
		_, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m", Files: []string{"a"}})
		b, ok := errors.AsType[*commit.BranchError](err)
		if !ok {
			t.Fatalf("Commit on %q: %v, want a *BranchError", have, err)
		}
		same(t, "error", *b, commit.BranchError{Want: "work", Have: have})
	}
	if _, err := w.Commit(t.Context(), commit.Commit{Message: "m", Files: []string{"a"}}); err == nil {
		t.Error("Commit without a branch on a detached HEAD succeeds")
	}
}

func TestCommitFirst(t *testing.T) {
	t.Parallel()
	w := bare(t)
	if branch, head, err := w.Current(t.Context()); branch != "main" || head != "" || err != nil {
		t.Fatalf("Current = %q, %q, %v; want main without a commit", branch, head, err)
	}
	if err := w.Make(t.Context(), "work", ""); err != nil {
		t.Fatal(err)
	}
	w.write("a", "one\n")
	w.write("b", "one\n")
	w.git("add", "b")
	if _, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m"}); !errors.Is(err, commit.ErrNothing) {
		t.Errorf("Commit of nothing: %v", err)
	}
	sha := w.make("a")
	same(t, "files", w.shown(sha), "A a")
	same(t, "status", w.status(), "A  b")
	if got, found, err := w.Find(t.Context(), "work", "", "Mark: 1"); got != sha || !found || err != nil {
		t.Errorf("Find = %q, %v, %v; want %s", got, found, err, sha)
	}
}

func TestCommitWithoutIdentity(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("config", "--unset", "user.email")
	w.git("config", "--unset", "user.name")
	w.git("config", "user.useConfigOnly", "true")
	w.write("a", "two\n")
	before := w.staged()
	_, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m", Files: []string{"a"}})
	contains(t, err, "who commits")
	if !strings.Contains(hint(err), "git config user.name") {
		t.Errorf("hint = %q", hint(err))
	}
	same(t, "index", w.staged(), before)
}

func TestCommitInASubmodule(t *testing.T) {
	t.Parallel()
	w, inner := work(t), work(t)
	w.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.dir, "sub")
	w.make(".gitmodules", "sub")
	same(t, "status", w.status(), "")
	sub := tree{t: t, dir: filepath.Join(w.dir, "sub"), Tree: w.Tree}
	sub.git("config", "user.name", "t")
	sub.git("config", "user.email", "t@example.org")
	w.write("sub/a", "two\n")
	before, err := w.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "changes", before.Files, []string{"sub"})
	if _, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m", Files: []string{"sub/a"}}); err == nil {
		t.Error("a file of a submodule was committed")
	}
	if _, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m", Files: []string{"sub"}}); !errors.Is(err, commit.ErrNothing) {
		t.Errorf("a submodule without a commit of its own: %v, want ErrNothing", err)
	}
	sub.git("commit", "-qam", "inner")
	after, err := w.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if before.Digest() == after.Digest() {
		t.Error("a commit in the submodule does not show")
	}
	same(t, "files", w.shown(w.make("sub")), "M sub")
	same(t, "status", w.status(), "")

	w.git("submodule", "--quiet", "deinit", "--force", "sub")
	w.write("sub/x", "x\n")
	_, err = w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m", Files: []string{"sub/x"}})
	contains(t, err, "repository of its own")
	if _, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m", Files: []string{"sub"}}); !errors.Is(err, commit.ErrNothing) {
		t.Errorf("a submodule that is not checked out: %v, want ErrNothing", err)
	}
	// The files themselves in place of the submodule.
	w.git("rm", "-q", "--cached", "sub")
	same(t, "files", w.shown(w.make("sub", "sub/x")), "D sub\nA sub/x")
	same(t, "status", w.status(), "")
}

func TestCommitKeepsSparseCheckouts(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("sparse-checkout", "set", "--no-cone", "/a", "/b")
	if exists(filepath.Join(w.dir, "dir/x")) {
		t.Fatal("the checkout is not sparse")
	}
	_, err := w.Commit(t.Context(), commit.Commit{Branch: "work", Message: "m", Files: []string{"dir/x"}})
	contains(t, err, "sparse checkout")
	w.write("a", "two\n")
	same(t, "files", w.shown(w.make("a")), "M a")
	same(t, "status", w.status(), "")
}
