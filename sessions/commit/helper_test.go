package commit_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/testprogram"
	"autopilot/sessions/commit"
	"autopilot/sessions/repo"
)

// tree is a repository for one test.
type tree struct {
	commit.Tree
	t   *testing.T
	dir string
}

// environ is an environment in which git knows nothing of this machine.
func environ(more ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		env = append(env, "GOCOVERDIR="+dir)
	}
	return append(env, more...)
}

// bare is an empty repository on branch main.
func bare(t *testing.T) tree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := tree{t: t, dir: dir, Tree: commit.Tree{Environ: environ()}}
	w.git("init", "-q", "-b", "main")
	w.git("config", "user.name", "t")
	w.git("config", "user.email", "t@example.org")
	w.git("config", "gc.auto", "0")
	w.Repo = repo.Repo{Top: dir, GitDir: filepath.Join(dir, ".git")}
	return w
}

// work is a repository with a commit, on branch work.
func work(t *testing.T) tree {
	t.Helper()
	w := bare(t)
	for _, f := range []string{"a", "b", "c", "dir/x", "dir/y"} {
		w.write(f, f+" one\n")
	}
	w.git("add", ".")
	w.git("commit", "-qm", "first")
	w.git("switch", "-qc", "work")
	return w
}

func (w tree) try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.dir, w.Environ
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (w tree) git(args ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func (w tree) write(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w tree) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w tree) remove(name string) {
	w.t.Helper()
	if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// hook writes a hook, which is a script for sh.
func (w tree) hook(name, script string) {
	w.t.Helper()
	file := filepath.Join(w.GitDir, "hooks", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	testprogram.Write(w.t, file, []byte("#!/bin/sh\n"+script))
}

func (w tree) head() string { w.t.Helper(); return w.git("rev-parse", "HEAD") }

// make commits files and wants that to succeed.
func (w tree) make(files ...string) string {
	w.t.Helper()
	sha, err := w.Commit(w.t.Context(), commit.Commit{Branch: "work", Message: "made\n\nMark: 1", Files: files})
	if err != nil {
		w.t.Fatalf("Commit(%q): %v", files, err)
	}
	if got := w.head(); sha != got {
		w.t.Fatalf("Commit = %q, and HEAD is %s", sha, got)
	}
	w.tidy()
	return sha
}

// tidy wants that nothing of a commit is left in the git folder.
func (w tree) tidy() {
	w.t.Helper()
	left, err := filepath.Glob(filepath.Join(w.GitDir, "autopilot-commit", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range left {
		if filepath.Base(f) != "lock" {
			w.t.Errorf("%s is left", f)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(w.GitDir, "*.lock")); len(left) > 0 {
		w.t.Errorf("%v is left", left)
	}
}

// shown is what a commit changed, one line each: "A file".
func (w tree) shown(sha string) string {
	w.t.Helper()
	return strings.ReplaceAll(w.git("diff-tree", "--root", "--no-commit-id", "-r", "--no-renames", "--name-status", sha), "\t", " ")
}

func (w tree) status() string {
	w.t.Helper()
	return w.git("status", "--short", "-uall", "--no-renames")
}

func (w tree) staged() string { w.t.Helper(); return w.git("ls-files", "--stage") }

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// contains wants an error that has these words.
func contains(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q has not %q in it", err, w)
		}
	}
}

func hint(err error) string {
	h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	if !ok {
		return ""
	}
	return h.Hint()
}

// until waits for a fact.
func until(t *testing.T, what string, fact func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); !fact(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}
