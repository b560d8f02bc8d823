package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/metrics/smalldisk"
	"autopilot/metrics/statedir"

	"autopilot/supervisor/story/worktree/internal/gitfiles"
)

// killMarked kills all processes that have a mark in their environment.
func killMarked(t *testing.T, mark string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		left := 0
		names, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			data, err := os.ReadFile(n)
			if err != nil || !bytes.Contains(data, []byte(mark)) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(n))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d processes do not end", left)
		}
	}
}

// fillDisk makes trees on a small disk until it is full.
func fillDisk(ctx context.Context, dir string) error {
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		return err
	}
	if err := smalldisk.Mount(disk, "1m"); err != nil {
		return err
	}
	top := filepath.Join(dir, "repo")
	for _, args := range [][]string{{"init", "-q", "-b", "main", top}, {"-C", top, "config", "user.name", "t"}, {"-C", top, "config", "user.email", "t@example.org"}} {
		if _, err := tryGit(dir, args...); err != nil {
			return err
		}
	}
	for i := range 30 {
		if err := os.WriteFile(filepath.Join(top, fmt.Sprintf("f%02d", i)), bytes.Repeat([]byte{'x'}, 10_000), 0o644); err != nil {
			return err
		}
	}
	if _, err := tryGit(top, "add", "."); err != nil {
		return err
	}
	if _, err := tryGit(top, "commit", "-qm", "x"); err != nil {
		return err
	}
	m := Manager{Repo: top, Root: filepath.Join(disk, "trees"), Environ: environ()}
	var err error
	n := 0
	for ; err == nil; n++ {
		if n > 10 {
			return errors.New("the disk does not fill up")
		}
		_, err = m.Add(ctx, fmt.Sprintf("s%d", n), fmt.Sprintf("story/s%d", n), "main")
	}
	fmt.Println(n-1, "trees, then:", err)
	if _, ok := errors.AsType[*statedir.FullError](err); !ok {
		return fmt.Errorf("no full disk: %w", err)
	}
	id := fmt.Sprintf("s%d", n-1)
	if ok, err := gitfiles.There(filepath.Join(m.Root, id)); ok || err != nil {
		return fmt.Errorf("a folder is left: %w", err)
	}
	if out, err := tryGit(top, "for-each-ref", "refs/heads/story/"+id); out != "" || err != nil {
		return fmt.Errorf("a branch is left: %s: %w", out, err)
	}
	if out, err := tryGit(top, "worktree", "list"); strings.Contains(out, id) || err != nil {
		return fmt.Errorf("a tree is left on the list: %s: %w", out, err)
	}
	if list, err := m.List(ctx); len(list) != n-1 || err != nil {
		return fmt.Errorf("a record is left: %v: %w", list, err)
	}
	for _, s := range []string{"s0"} {
		if removed, words, err := m.Remove(ctx, Tree{Path: filepath.Join(m.Root, s), Branch: "story/" + s}); !removed || err != nil {
			return fmt.Errorf("remove on a full disk: %v: %s: %w", removed, words, err)
		}
	}
	_, err = m.Add(ctx, id, "story/"+id, "main")
	return err
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	t.Logf("%s", smalldisk.Run(t, helperEnv+"=full"))
}
