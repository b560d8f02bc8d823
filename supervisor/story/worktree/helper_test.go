package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"autopilot/supervisor/story/worktree/internal/gitfiles"
)

const helperEnv = "WORKTREE_TEST_HELPER"

func TestMain(m *testing.M) {
	if name := os.Getenv(helperEnv); name != "" {
		if err := runHelper(name, os.Args[1:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	rc := m.Run()
	if dir, err := template(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(rc)
}

// environ keeps the machine's settings out.
func environ() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, environ()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("git %v in %s: %w\n%s", args, dir, err, out.String())
	}
	return strings.TrimSuffix(out.String(), "\n"), err
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// commit writes a file and commits it.
func commit(t *testing.T, dir, name, text string) string {
	t.Helper()
	write(t, dir, name, text)
	git(t, dir, "add", "--", name)
	git(t, dir, "commit", "-qm", "change "+strings.ToValidUTF8(name, "?"))
	return git(t, dir, "rev-parse", "HEAD")
}

func settings(t *testing.T, dir string) {
	t.Helper()
	name := git(t, dir, "rev-parse", "--path-format=absolute", "--git-common-dir") + "/config"
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("[user]\n\tname = t\n\temail = t@example.org\n[gc]\n\tauto = 0\n")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// template is a repository that is copied, which is quicker than to make one.
var template = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "worktree-test-")
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", "--template="}, {"config", "user.name", "t"}, {"config", "user.email", "t@example.org"}, {"config", "gc.auto", "0"},
	} {
		if _, err := tryGit(dir, args...); err != nil {
			return dir, err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "deep/er"), 0o755); err != nil {
		return dir, err
	}
	for name, text := range map[string]string{".gitignore": "*.log\nbuild/\n", "deep/er/b.txt": "b\n", "a.txt": "one\ntwo\nthree\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return dir, err
		}
	}
	if _, err := tryGit(dir, "add", "."); err != nil {
		return dir, err
	}
	_, err = tryGit(dir, "commit", "-qm", "first")
	return dir, err
})

// repository is one with a commit on main, and a manager of its work trees.
func repository(t *testing.T) (string, Manager) {
	t.Helper()
	return repositoryIn(t, scratch(t))
}

func repositoryIn(t *testing.T, dir string) (string, Manager) {
	t.Helper()
	top := filepath.Join(dir, "repo")
	from, err := template()
	if err == nil {
		err = os.CopyFS(top, os.DirFS(from))
	}
	if err != nil {
		t.Fatal(err)
	}
	return top, Manager{Repo: top, Root: filepath.Join(dir, "trees"), Environ: environ()}
}

func scratch(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func add(t *testing.T, m Manager, id string) Tree {
	t.Helper()
	tree, err := m.Add(t.Context(), id, "story/"+id, "main")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func state(t *testing.T, m Manager, tree Tree) State {
	t.Helper()
	s, err := m.Look(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kept has a tree removed and wants it to stay for a reason.
func kept(t *testing.T, m Manager, tree Tree, why string) {
	t.Helper()
	removed, words, err := m.Remove(t.Context(), tree)
	if err != nil || removed || !strings.Contains(words, why) {
		t.Fatalf("Remove = %v, %q, %v; want it kept because %q", removed, words, err, why)
	}
	if got := git(t, tree.Path, "rev-parse", "--is-inside-work-tree"); got != "true" {
		t.Fatalf("the tree is kept, but no work tree any more: %s", got)
	}
}

// gone has a tree removed and wants nothing to be left.
func gone(t *testing.T, m Manager, tree Tree) {
	t.Helper()
	removed, words, err := m.Remove(t.Context(), tree)
	if err != nil || !removed || words != "" {
		t.Fatalf("Remove = %v, %q, %v; want all of it gone", removed, words, err)
	}
	nothing(t, m, tree)
}

func nothing(t *testing.T, m Manager, tree Tree) {
	t.Helper()
	if ok, _ := gitfiles.There(tree.Path); ok {
		t.Errorf("the folder %s is there", tree.Path)
	}
	if out := git(t, m.Repo, "worktree", "list", "--porcelain"); strings.Contains(out, tree.Path) {
		t.Errorf("the tree is on git's list:\n%s", out)
	}
	if out := git(t, m.Repo, "for-each-ref", "refs/heads/"+tree.Branch); out != "" {
		t.Errorf("the branch is there: %s", out)
	}
	left, _ := filepath.Glob(filepath.Join(m.Root, recordsDir, filepath.Base(tree.Path)+".*"))
	if len(left) > 0 {
		t.Errorf("of the records there is left %q", left)
	}
	if entries, _ := os.ReadDir(filepath.Join(m.Repo, ".git", "worktrees")); len(entries) > 0 {
		for _, e := range entries {
			rest, _ := os.ReadDir(filepath.Join(m.Repo, ".git", "worktrees", e.Name()))
			if strings.HasPrefix(e.Name(), filepath.Base(tree.Path)) && len(rest) > 0 { // an empty one is for git's prune
				t.Errorf("git's folder %s is left", e.Name())
			}
		}
	}
}

// refused wants an error that says what and has a way out.
func refused(t *testing.T, err error, what string) {
	t.Helper()
	r, ok := errors.AsType[*RefusedError](err)
	if !ok || !strings.Contains(err.Error(), what) || r.Hint() == "" {
		t.Fatalf("err = %v, want a refusal with %q and a way out", err, what)
	}
}
