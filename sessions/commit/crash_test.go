package commit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"autopilot/sessions/commit"
	"autopilot/sessions/repo"
)

// asked makes the test binary commit file a of a work tree.
const asked = "COMMIT_TEST_TOP"

func TestMain(m *testing.M) {
	top := os.Getenv(asked)
	if top == "" {
		os.Exit(m.Run())
	}
	if err := os.Unsetenv(asked); err != nil {
		panic(err)
	}
	t := commit.Tree{Repo: repo.Repo{Top: top, GitDir: filepath.Join(top, ".git")}}
	sha, err := t.Commit(context.Background(), one("a", "new"))
	fmt.Println(sha, err)
}

// killed commits in another process, and kills that when a file is there, and all else
// that has to be. The git that it has started goes on.
func (w tree) killed(at string, also ...func() bool) {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(w.Environ, asked+"="+w.dir)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	until(w.t, at, func() bool { return exists(at) })
	for _, fact := range also {
		until(w.t, "what is waited for before the kill", fact)
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		w.t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		w.t.Fatal("the process was not killed")
	}
}

// told reports whether the git on record has its message waiting in the pipe.
func (w tree) told() bool {
	data, err := os.ReadFile(filepath.Join(w.GitDir, "autopilot-commit", "commit.json"))
	var record struct{ PID int }
	if err != nil || json.Unmarshal(data, &record) != nil {
		return false
	}
	if runtime.GOOS != "linux" {
		time.Sleep(time.Second) // a pipe cannot be looked at from outside
		return true
	}
	pipe, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", record.PID), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = pipe.Close() }()
	const fionread = 0x541b
	n, err := unix.IoctlGetInt(int(pipe.Fd()), fionread)
	return err == nil && n > 0
}

// Whatever moment it is killed at: Find, and a redo where that finds nothing, gives one
// commit, and the index is in line.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, hook, script string }{
		// Git goes on after the kill, while somebody already looks for the commit.
		{"before the commit", "pre-commit", "touch HERE; sleep 1"},
		{"and git refused", "commit-msg", "touch HERE; sleep 0.3; [ -e REFUSED ] || { touch REFUSED; exit 1; }"},
		{"when it was made", "post-commit", "touch HERE; sleep 0.3"},
		// Git is killed as well, as by a machine that goes down.
		{"with git", "pre-commit", "touch HERE; [ -e REFUSED ] || { touch REFUSED; kill -9 $(ps -o ppid= -p $PPID) $PPID; }"},
		{"with git, when it was made", "post-commit", "touch HERE; kill -9 $(ps -o ppid= -p $PPID) $PPID"},
		{"and a hook prints", "pre-commit", "touch HERE; sleep 0.3; yes | head -c 300000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := work(t)
			dir := t.TempDir()
			at := filepath.Join(dir, "here")
			w.hook(tc.hook, strings.NewReplacer("HERE", at, "REFUSED", filepath.Join(dir, "refused")).Replace(tc.script))
			parent := w.head()
			w.write("a", "half\n")
			w.git("add", "a") // so that the entry is not the one of the last commit
			w.write("a", "two\n")
			w.write("new", "new\n")
			w.write("b", "the person's\n")
			w.git("add", "b")
			w.killed(at)

			sha, found, err := w.Find(t.Context(), "work", parent, "Mark: 1")
			if err != nil {
				t.Fatal(err)
			}
			if !found {
				sha = w.make("a", "new")
			}
			same(t, "commits", w.git("rev-list", parent+"..work"), sha)
			same(t, "files", w.shown(sha), "M a\nA new")
			same(t, "status", w.status(), "M  b")
			w.tidy()
			if _, err := w.Commit(t.Context(), one("a", "new")); !errors.Is(err, commit.ErrNothing) {
				t.Errorf("a second commit: %v, want ErrNothing", err)
			}
		})
	}
}

// The git of a killed Commit is not waited for longer than the caller wants.
func TestFindDoesNotGuess(t *testing.T) {
	t.Parallel()
	w := work(t)
	dir := t.TempDir()
	at, goOn := filepath.Join(dir, "here"), filepath.Join(dir, "go on")
	w.hook("pre-commit", "touch '"+at+"'; while ! [ -e '"+goOn+"' ]; do sleep 0.02; done")
	w.write("a", "two\n")
	w.write("new", "new\n")
	w.killed(at, w.told)
	var waited []int
	w.Wait = func(pid int) { waited = append(waited, pid) }
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, found, err := w.Find(ctx, "work", "", "Mark: 1")
	if found || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Find = %v, %v while git still works", found, err)
	}
	if len(waited) != 1 || waited[0] <= 1 {
		t.Errorf("Wait was called with %v, want once, with a pid", waited)
	}
	if err := os.WriteFile(goOn, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, found, err = w.Find(t.Context(), "work", "", "Mark: 1"); !found || err != nil {
		t.Errorf("Find = %v, %v when git has committed", found, err)
	}
	same(t, "status", w.status(), "")
	waited = nil
	w.write("a", "three\n")
	w.hook("pre-commit", "exit 0")
	w.make("a")
	same(t, "calls of Wait when there is nothing to wait for", len(waited), 0)
}

func TestIndexLocked(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "two\n")
	lock := filepath.Join(w.GitDir, "index.lock")
	w.write(".git/index.lock", "")
	head := w.head()
	_, err := w.Commit(t.Context(), one("a"))
	contains(t, err, lock)
	if !strings.Contains(hint(err), "delete "+lock) {
		t.Errorf("hint = %q", hint(err))
	}
	same(t, "HEAD", w.head(), head)
	if !exists(lock) {
		t.Fatal("the lock was deleted")
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(50 * time.Millisecond)
		_ = os.Remove(lock)
	})
	w.make("a")
	wg.Wait()
}

// The index is locked when the commit is there: it says so, and the next one mends it.
func TestIndexLockedAfterwards(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "two\n")
	w.write("new", "new\n")
	lock := filepath.Join(w.GitDir, "index.lock")
	w.hook("post-commit", "touch "+lock)
	sha, err := w.Commit(t.Context(), one("a", "new"))
	contains(t, err, "was made", lock)
	same(t, "id", sha, w.head())
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if w.status() == "" {
		t.Fatal("the index is in line already: nothing is tested")
	}
	got, found, err := w.Find(t.Context(), "work", "main", "Mark: 1")
	if got != sha || !found || err != nil {
		t.Errorf("Find = %q, %v, %v", got, found, err)
	}
	same(t, "status", w.status(), "")
	w.tidy()
}

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	w := work(t)
	var wg sync.WaitGroup
	for i := range 6 {
		name := fmt.Sprint("file", i)
		w.write(name, "x\n")
		wg.Go(func() {
			if _, err := w.Commit(t.Context(), one(name)); err != nil {
				t.Errorf("Commit(%s): %v", name, err)
			}
		})
	}
	wg.Wait()
	same(t, "commits", w.git("rev-list", "--count", "main..work"), "6")
	same(t, "status", w.status(), "")
}

func TestWorktreesInParallel(t *testing.T) {
	t.Parallel()
	w := work(t)
	var all []tree
	for _, name := range []string{"left", "right"} {
		dir := filepath.Join(t.TempDir(), name)
		w.git("worktree", "add", "-q", "-b", name, dir, "main")
		r, err := repo.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tree{t: t, dir: dir, Tree: commit.Tree{Repo: r, Environ: w.Environ}})
	}
	w.write("a", "staged in the first tree\n")
	w.git("add", "a")
	var wg sync.WaitGroup
	for _, each := range all {
		branch := filepath.Base(each.dir)
		wg.Go(func() {
			for n := range 8 {
				each.write("a", fmt.Sprint(branch, n, "\n"))
				each.write(fmt.Sprint("file", n), branch)
				c := one("a", fmt.Sprint("file", n))
				c.Branch = branch
				if _, err := each.Commit(t.Context(), c); err != nil {
					t.Errorf("%s: %v", branch, err)
				}
			}
		})
	}
	wg.Wait()
	for _, each := range all {
		branch := filepath.Base(each.dir)
		same(t, "commits", w.git("rev-list", "--count", "main.."+branch), "8")
		same(t, "status", each.status(), "")
		each.write("a", "busy\n")
		each.tidy()
	}
	same(t, "status of the first", w.status(), "M  a")
	if all[0].Busy() != "" {
		t.Errorf("Busy = %q", all[0].Busy())
	}
	all[0].git("commit", "-qam", "clash")
	if out, err := all[0].try("merge", "right"); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	same(t, "busy", all[0].Busy(), "a merge")
	same(t, "the other is not busy", all[1].Busy(), "")
}

// A git that could not be put on record does not commit.
func TestNoRecordNoCommit(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "two\n")
	inTheWay := filepath.Join(w.GitDir, "autopilot-commit", "commit.json.tmp")
	if err := os.MkdirAll(inTheWay, 0o755); err != nil {
		t.Fatal(err)
	}
	head := w.head()
	sha, err := w.Commit(t.Context(), one("a"))
	contains(t, err, "commit.json")
	same(t, "id", sha, "")
	same(t, "HEAD", w.head(), head)
	same(t, "status", w.status(), " M a")
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	w.make("a")
}
