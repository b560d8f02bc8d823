package repo_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/repo"
)

func scratch(t *testing.T) (string, repo.Repo) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "init", "-q", "-b", "main")
	r, err := repo.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
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

func state(t *testing.T, r repo.Repo) repo.State {
	t.Helper()
	s, err := r.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestChanged(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	empty := state(t, r)
	if empty.Head != "" || empty.Branch != "main" {
		t.Fatalf("state of an empty repository = %+v, want no head on main", empty)
	}
	write(t, dir, "a.txt", "one")
	write(t, dir, "with space.txt", "x")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "first")
	first := state(t, r)
	diff(t, r, empty, first, []string{"a.txt", "with space.txt"}, 1)

	write(t, dir, "dirty.txt", "untracked")
	write(t, dir, "deep/er/new.txt", "untracked")
	dirty := state(t, r)
	diff(t, r, first, dirty, []string{"deep/er/new.txt", "dirty.txt"}, 0)
	diff(t, r, dirty, dirty, nil, 0)

	write(t, dir, "dirty.txt", "untracked and longer")
	again := state(t, r)
	diff(t, r, dirty, again, []string{"dirty.txt"}, 0)

	run(t, dir, "mv", "a.txt", "b.txt")
	renamed := state(t, r)
	diff(t, r, again, renamed, []string{"b.txt"}, 0)
	run(t, dir, "commit", "-qm", "second")
	write(t, dir, ".metrics/sessions.jsonl", "{}")
	second := state(t, r)
	c, err := r.Changed(t.Context(), again, second, ".metrics")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a.txt", "b.txt"}, c.Files); d != "" || len(c.Commits) != 1 {
		t.Errorf("commits %v, files (-want +got):\n%s", c.Commits, d)
	}
	if err := os.Remove(filepath.Join(dir, "dirty.txt")); err != nil {
		t.Fatal(err)
	}
	diff(t, r, second, state(t, r), []string{"dirty.txt"}, 0)
}

func diff(t *testing.T, r repo.Repo, before, after repo.State, files []string, commits int) {
	t.Helper()
	c, err := r.Changed(t.Context(), before, after)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(files, c.Files); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if len(c.Commits) != commits {
		t.Errorf("commits = %v, want %d", c.Commits, commits)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	if _, err := repo.Open(t.Context(), t.TempDir()); !errors.Is(err, repo.ErrNotRepository) {
		t.Errorf("plain folder: %v, want ErrNotRepository", err)
	}
	if _, err := repo.Open(t.Context(), "/does/not/exist"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing folder: %v, want not exist", err)
	}
}

func TestWorktreesHaveTheirOwnGitDir(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	write(t, dir, "a", "a")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "x")
	side := filepath.Join(t.TempDir(), "side")
	run(t, dir, "worktree", "add", "-q", side)
	w, err := repo.Open(t.Context(), side)
	if err != nil {
		t.Fatal(err)
	}
	if w.GitDir == r.GitDir || w.Top == r.Top {
		t.Errorf("worktree %+v shares a folder with %+v", w, r)
	}
}

// TestOpenLineEnd has a path with a line end: its first line must not be taken for
// the repository.
func TestOpenLineEnd(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "new\nline")
	for _, d := range []string{dir, filepath.Join(base, "new")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("git", "init", "-q", d).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if r, err := repo.Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "has a line end in it") {
		t.Errorf("got %+v, %v", r, err)
	}
}
