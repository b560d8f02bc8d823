package worktree

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/story/worktree/internal/gitfiles"
)

// runHelper does one thing in a process that is there to be killed.
func runHelper(name string, args []string) error {
	ctx := context.Background()
	if name == "full" {
		return fillDisk(ctx, args[0])
	}
	if name == "peek" {
		return peek(args[0], args[1])
	}
	m := Manager{Repo: args[0], Root: args[1], Environ: environ()}
	id := args[2]
	fmt.Println("begin")
	switch name {
	case "add":
		_, err := m.Add(ctx, id, "story/"+id, "main")
		return err
	case "remove":
		_, words, err := m.Remove(ctx, Tree{Path: filepath.Join(m.Root, id), Branch: "story/" + id})
		fmt.Println(words)
		return err
	case "merge":
		return m.Merge(ctx, Tree{Path: filepath.Join(m.Root, id), Branch: "story/" + id}, "other")
	}
	return fmt.Errorf("no helper %q", name)
}

// peek is a filter that puts down whether a lock is held.
func peek(lock, out string) error {
	_, held, err := statedir.Peek(lock)
	if err != nil {
		return err
	}
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(strconv.FormatBool(held)), 0o600)
}

// helper starts a process of its own; it has begun when this returns.
func helper(t *testing.T, m Manager, what, id string, env ...string) (*exec.Cmd, string) {
	t.Helper()
	mark := "WORKTREE_TEST_MARK=" + t.Name() + strconv.FormatUint(rand.Uint64(), 36)
	cmd := exec.Command(os.Args[0], m.Repo, m.Root, id)
	cmd.Env = append(append(environ(), helperEnv+"="+what, mark), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(io.LimitReader(out, 6)).ReadString('\n'); line != "begin\n" {
		t.Fatalf("the helper said %q: %v", line, err)
	}
	return cmd, mark
}

// whole wants a tree that is there as a whole.
func whole(t *testing.T, m Manager, id, extra string) Tree {
	t.Helper()
	tree := add(t, m, id)
	if got := git(t, tree.Path, "status", "--porcelain", "-uall", "--branch"); got != strings.TrimSpace("## story/"+id+"\n"+extra) {
		t.Fatalf("status of %s = %q, want %q", id, got, extra)
	}
	if got, want := git(t, tree.Path, "ls-files"), git(t, tree.Path, "ls-tree", "-r", "--name-only", "HEAD"); got != want {
		t.Fatalf("the index of %s has other files than its commit", id)
	}
	return tree
}

func manyFiles(t *testing.T, top string, n int) {
	t.Helper()
	for i := range n {
		write(t, top, fmt.Sprintf("dir%d/sub/f%d.txt", i%7, i), strings.Repeat("x", i))
	}
	git(t, top, "add", ".")
	git(t, top, "commit", "-qm", "files")
}

func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	manyFiles(t, top, 300)
	duration := map[string]time.Duration{}
	for _, what := range []string{"add", "remove"} {
		begin := time.Now()
		cmd, _ := helper(t, m, what, "measured")
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		duration[what] = time.Since(begin)
	}
	kills := 0
	kill := func(what, id string) {
		t.Helper()
		cmd, mark := helper(t, m, what, id)
		after := rand.N(duration[what])
		time.Sleep(after) // any moment will do
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		all := kills%2 == 0
		if all {
			killMarked(t, mark)
		}
		kills++
		t.Logf("%s %s killed after %s, its gits too: %v", what, id, after, all)
	}
	for i := range 10 {
		id := fmt.Sprintf("s%d", i)
		kill("add", id)
		tree := whole(t, m, id, "")
		commit(t, tree.Path, "work-"+id+".txt", "work")
		write(t, tree.Path, "draft.txt", "draft")
		work := git(t, tree.Path, "rev-parse", "HEAD")

		kill("remove", id) // which it must not do
		if got := read(t, tree.Path, "draft.txt"); got != "draft" {
			t.Fatalf("the draft is %q", got)
		}
		whole(t, m, id, "?? draft.txt")

		if err := os.Remove(filepath.Join(tree.Path, "draft.txt")); err != nil {
			t.Fatal(err)
		}
		git(t, top, "merge", "-q", tree.Branch)
		kill("remove", id)
		extra := ""
		if ok, _ := gitfiles.There(tree.Path); ok {
			write(t, tree.Path, "late.txt", "late") // by something that still runs
			extra = "?? late.txt"
		}
		whole(t, m, id, extra)
		if got := git(t, top, "branch", "--contains", work, "--format=%(refname:short)", "main"); got != "main" {
			t.Fatal("the work is lost")
		}
		_ = os.Remove(filepath.Join(tree.Path, "late.txt"))
		if i%3 == 0 {
			gone(t, m, tree)
		}
	}
	if got := git(t, top, "fsck", "--no-dangling", "--no-reflogs"); got != "" {
		t.Error(got)
	}
	if kills != 30 {
		t.Errorf("%d kills, want 30", kills)
	}
}

// Killed before and after each git that changes something.
func TestKilledBetweenSteps(t *testing.T) {
	t.Parallel()
	top, m := repository(t)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(filepath.Dir(top), "bin")
	count := filepath.Join(filepath.Dir(top), "count")
	write(t, bin, "git", `#!/bin/sh
case " $* " in
*" update-ref "*|*" worktree "*|*" reset "*|*" hook "*|*" checkout-index "*|*" --remove-section "*) ;;
*) exec "$REAL_GIT" "$@" ;;
esac
echo x >>"$COUNT"
n=$(wc -l <"$COUNT")
if [ $n -eq $BEFORE ]; then kill -9 $PPID; exit 1; fi
"$REAL_GIT" "$@"
rc=$?
if [ $n -eq $AFTER ]; then kill -9 $PPID; fi
exit $rc
`)
	if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(what, id string, before, after int) bool {
		t.Helper()
		_ = os.Remove(count)
		cmd, _ := helper(t, m, what, id, "PATH="+bin+":"+os.Getenv("PATH"), "REAL_GIT="+real, "COUNT="+count,
			fmt.Sprintf("BEFORE=%d", before), fmt.Sprintf("AFTER=%d", after))
		err := cmd.Wait()
		if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return true
		}
		if err != nil {
			t.Fatalf("%s %s: %v", what, id, err)
		}
		return false
	}
	total := 0
	for _, c := range []struct {
		what string
		at   int
	}{{"add", 4}, {"remove", 4}} {
		for n := 1; n <= 20; n++ {
			id := fmt.Sprintf("%s%d", c.what, n)
			killed := 0
			for k, at := range [][2]int{{n, 0}, {0, n}} {
				if c.what == "remove" {
					add(t, m, id)
				}
				if run(c.what, id, at[0], at[1]) {
					killed++
				}
				if tree := whole(t, m, id, ""); k == 0 || n%2 == 0 {
					gone(t, m, tree)
				}
				total++
			}
			if killed == 0 {
				if n != c.at+1 {
					t.Errorf("%s has %d steps, want %d", c.what, n-1, c.at)
				}
				break
			}
		}
	}
	t.Logf("%d runs", total)
}
