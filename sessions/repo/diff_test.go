package repo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/repo"
)

const enough = 1 << 20

func summary(t *testing.T, r repo.Repo, from string, ignored ...string) string {
	t.Helper()
	text, err := r.Summary(t.Context(), from, enough, ignored...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func head(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("git", "rev-parse", "HEAD")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func lines(n int) string { return strings.Repeat("line\n", n) }

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	for _, name := range []string{"committed", "staged", "unstaged", "all", "gone", "gone-staged", "renamed-from", "untracked-now", "mode", "back", "same", "conflict"} {
		write(t, dir, name, lines(10))
	}
	write(t, dir, "logo.png", "\x00one")
	write(t, dir, ".gitignore", "*.log\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "first")
	first := head(t, dir)
	if got := summary(t, r, first); got != "" {
		t.Errorf("nothing changed: got %q", got)
	}

	write(t, dir, "committed", lines(12))
	write(t, dir, "all", lines(11))
	write(t, dir, "back", lines(1))
	run(t, dir, "commit", "-qam", "second")
	run(t, dir, "mv", "renamed-from", "renamed-to")
	run(t, dir, "rm", "-q", "gone-staged")
	run(t, dir, "rm", "-q", "--cached", "untracked-now")
	write(t, dir, "staged", lines(8)+"other\n")
	write(t, dir, "all", lines(12))
	write(t, dir, "new-staged", lines(3))
	write(t, dir, "staged-and-gone", lines(3))
	run(t, dir, "add", "staged", "all", "new-staged", "staged-and-gone")
	remove(t, dir, "staged-and-gone")
	write(t, dir, "all", lines(13))
	write(t, dir, "back", lines(10))
	write(t, dir, "unstaged", "")
	remove(t, dir, "gone")
	write(t, dir, "logo.png", "\x00two")
	if err := os.Chmod(filepath.Join(dir, "mode"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "deep/er/new", "no line end")
	write(t, dir, "empty", "")
	write(t, dir, "new.bin", "a\x00b")
	write(t, dir, "new.log", "ignored")
	write(t, dir, "large.txt", lines(1<<18))
	write(t, dir, "intended", lines(2))
	run(t, dir, "add", "-N", "intended")
	write(t, dir, ".metrics/x.jsonl", "{}\n")
	write(t, dir, ".metricsnot", "{}\n")
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "same"), now, now); err != nil {
		t.Fatal(err)
	}
	want := `.metricsnot +1 -0 untracked
all +3 -0
committed +2 -0
deep/er/new +1 -0 untracked
empty +0 -0 untracked
gone +0 -10
gone-staged +0 -10
intended +2 -0
large.txt 1310720 bytes untracked
link +1 -0 untracked
logo.png binary
mode +0 -0
new-staged +3 -0
new.bin binary untracked
renamed-from +0 -10
renamed-to +10 -0
staged +1 -2
unstaged +0 -10
untracked-now +10 -10 untracked
`
	if d := cmp.Diff(want, summary(t, r, first, ".metrics", "")); d != "" {
		t.Errorf("summary (-want +got):\n%s", d)
	}
	if got := summary(t, r, first+"~0"); !strings.Contains(got, ".metrics/x.jsonl +1 -0 untracked\n") {
		t.Errorf("nothing ignored: got %q", got)
	}
	if got := summary(t, r, ""); !strings.Contains(got, "same +10 -0\n") || !strings.Contains(got, "committed +12 -0\n") {
		t.Errorf("since the start: got %q", got)
	}
}

func TestSummaryOfConflict(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	write(t, dir, "a", "one\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "first")
	run(t, dir, "checkout", "-qb", "side")
	write(t, dir, "a", "two\n")
	run(t, dir, "commit", "-qam", "side")
	run(t, dir, "checkout", "-q", "main")
	write(t, dir, "a", "three\n")
	run(t, dir, "commit", "-qam", "main")
	cmd := exec.Command("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "merge", "-q", "side")
	cmd.Dir = dir
	if err := cmd.Run(); err == nil {
		t.Fatal("there is no conflict")
	}
	if got, want := summary(t, r, "HEAD"), "a +4 -0\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSummaryWithoutCommits(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	if got := summary(t, r, ""); got != "" {
		t.Errorf("empty repository: got %q", got)
	}
	write(t, dir, "staged", lines(2))
	run(t, dir, "add", ".")
	write(t, dir, "untracked", lines(3))
	if got, want := summary(t, r, ""), "staged +2 -0\nuntracked +3 -0 untracked\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, err := r.Summary(t.Context(), "HEAD", enough); err == nil {
		t.Errorf("since HEAD, which is not there: got %q and no error", got)
	}
}

func TestSummaryWithLongIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, dir, "init", "-q", "--object-format=sha256")
	r, err := repo.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	before, err := r.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "a", "a\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "x")
	if got, want := summary(t, r, ""), "a +1 -0\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	after, err := r.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if c, err := r.Changed(t.Context(), before, after); err != nil || len(c.Files) != 1 || len(c.Commits) != 1 {
		t.Errorf("changed by the first commit: %+v, %v", c, err)
	}
}

func TestSummaryRefuses(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	write(t, dir, "a", "a\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "x")
	run(t, dir, "commit", "-q", "--allow-empty", "-m", "y")
	for _, from := range []string{
		"nonsense", strings.Repeat("0", 40), strings.Repeat("f", 40), "HEAD:a", "HEAD^{tree}", "HEAD~1..HEAD", "-p", "--output=x", "--all",
		" ", "HEAD\n", "HEAD --", "a\x00b", "^HEAD",
	} {
		if got, err := r.Summary(t.Context(), from, enough); err == nil {
			t.Errorf("since %q: got %q and no error", from, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("a file was written")
	}
	if _, err := (repo.Repo{Top: t.TempDir()}).Summary(t.Context(), "", enough); err == nil {
		t.Error("no repository: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Summary(ctx, "", enough); err == nil {
		t.Error("cancelled: no error")
	}
	// A broken index is git's to complain about.
	write(t, dir, ".git/index", "broken")
	if got, err := r.Summary(t.Context(), "HEAD", enough); err == nil || !strings.Contains(err.Error(), "git diff: exit status 128: fatal: ") {
		t.Errorf("broken index: got %q, %v", got, err)
	}
}

func TestSummaryInWorktreeAndSubmodule(t *testing.T) {
	t.Parallel()
	other, _ := scratch(t)
	write(t, other, "o", "o\n")
	run(t, other, "add", ".")
	run(t, other, "commit", "-qm", "other")
	dir, r := scratch(t)
	write(t, dir, "a", "a\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "x")
	first := head(t, dir)
	run(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other, "sub")
	run(t, dir, "commit", "-qm", "sub")
	if got, want := summary(t, r, first), ".gitmodules +3 -0\nsub submodule\n"; got != want {
		t.Errorf("new submodule: got %q, want %q", got, want)
	}
	if got := summary(t, r, "HEAD"); got != "" {
		t.Errorf("clean submodule: got %q", got)
	}
	write(t, dir, "sub/new", "n\n")
	run(t, dir, "config", "diff.ignoreSubmodules", "all")
	if got, want := summary(t, r, "HEAD"), "sub submodule\n"; got != want {
		t.Errorf("dirty submodule: got %q, want %q", got, want)
	}
	inner, err := repo.Open(t.Context(), filepath.Join(dir, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := summary(t, inner, "HEAD"), "new +1 -0 untracked\n"; got != want {
		t.Errorf("in the submodule: got %q, want %q", got, want)
	}

	side := filepath.Join(t.TempDir(), "side")
	run(t, dir, "worktree", "add", "-q", side, first)
	w, err := repo.Open(t.Context(), side)
	if err != nil {
		t.Fatal(err)
	}
	write(t, side, "a", "b\n")
	if got, want := summary(t, w, first), "a +1 -1\n"; got != want {
		t.Errorf("in a worktree: got %q, want %q", got, want)
	}
	run(t, dir, "clone", "-q", other, filepath.Join(dir, "nested"))
	if got, want := summary(t, r, "HEAD"), "nested/ repository untracked\nsub submodule\n"; got != want {
		t.Errorf("a repository in the work tree: got %q, want %q", got, want)
	}
}

func TestSummaryOfOddNames(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	write(t, dir, "kept", "")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "x")
	long := strings.Repeat("ä", 60) + "/" + strings.Repeat("ö", 60) + "/" + strings.Repeat("ü", 60)
	names := []string{"new\nline", "esc\x1b[31m", "with space", "quo\"te", "back\\slash", "bad\xffbytes", "bidi\u202e", "tab\t", ":colon", "-dash", "täst…", "... and 3 more files", ":(top)x", "1\t2\tx", long}
	for _, name := range names {
		write(t, dir, name, "1\n")
	}
	want := map[string]bool{
		`"new\nline"`: true, `"esc\x1b[31m"`: true, `"with space"`: true, `"quo\"te"`: true, `"back\\slash"`: true, `"bad\xffbytes"`: true,
		`"bidi\u202e"`: true, `"tab\t"`: true, ":colon": true, "-dash": true, "täst…": true, `"... and 3 more files"`: true, ":(top)x": true, `"1\t2\tx"`: true,
		strings.Repeat("ä", 50) + "…" + strings.Repeat("ü", 50): true,
	}
	for _, step := range []string{" untracked", ""} {
		got := map[string]bool{}
		for line := range strings.Lines(summary(t, r, "HEAD")) {
			path, ok := strings.CutSuffix(line, " +1 -0"+step+"\n")
			if !ok {
				t.Errorf("line %q is odd", line)
			}
			got[path] = true
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("paths%s (-want +got):\n%s", step, d)
		}
		run(t, dir, "add", ".")
	}
}

// TestSummaryIsBounded looks at every length.
func TestSummaryIsBounded(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	for i := range 12 {
		write(t, dir, fmt.Sprintf("file%02d", i), lines(i))
	}
	whole := summary(t, r, "")
	all := slices.Collect(strings.Lines(whole))
	if len(all) != 12 {
		t.Fatalf("got %q", whole)
	}
	most := 0
	for limit := -3; limit <= len(whole)+3; limit += 2 {
		got, err := r.Summary(t.Context(), "", limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) > max(limit, 0) {
			t.Errorf("%d bytes for %d", len(got), limit)
		}
		parts := slices.Collect(strings.Lines(got))
		n := 0
		for n < len(parts) && n < len(all) && parts[n] == all[n] {
			n++
		}
		if n < most {
			t.Errorf("%d lines in %d bytes, and %d in less", n, limit, most)
		}
		most = n
		last := fmt.Sprintf("... and %d more files\n", 12-n)
		switch {
		case n == 12:
			last = ""
		case n == 11:
			last = "... and 1 more file\n"
		}
		if rest := strings.Join(parts[n:], ""); rest != last && (n > 0 || !strings.HasPrefix(last, rest) || len(got) != max(limit, 0)) {
			t.Errorf("in %d bytes: got %q", limit, got)
		}
	}
	if most != 12 {
		t.Errorf("%d lines are the most, want all", most)
	}
}

// TestSummaryRunsNothing sets up everything that git could be made to run.
func TestSummaryRunsNothing(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	trap := filepath.Join(t.TempDir(), "trap")
	ran := trap + ".ran"
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho \"$0 $*\" >> "+ran+"\n[ $# -gt 0 ] && cat \"$1\" 2>/dev/null\nexit 0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "a.txt", lines(2))
	write(t, dir, ".gitattributes", "*.txt diff=trap\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "x")
	hooks := filepath.Join(filepath.Dir(trap), "hooks")
	if err := os.Mkdir(hooks, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(trap, filepath.Join(hooks, "post-index-change")); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"diff.external": trap, "diff.trap.textconv": trap, "diff.trap.command": trap, "core.fsmonitor": trap, "core.hooksPath": hooks,
		"core.pager": trap, "pager.diff": trap, "color.ui": "always", "diff.renames": "copies", "diff.noprefix": "true", "diff.relative": "true",
	} {
		run(t, dir, "config", key, value)
	}
	_ = os.Remove(ran)
	write(t, dir, "a.txt", lines(3))
	write(t, dir, "b", lines(1))
	if got, want := summary(t, r, "HEAD"), "a.txt +1 -0\nb +1 -0 untracked\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if said, err := os.ReadFile(ran); err == nil {
		t.Errorf("git ran %s", said)
	}
}

// TestSummaryTakesNoLock: the index stays as it is, though git would like to note
// that a file is unchanged, and another git may hold it.
func TestSummaryTakesNoLock(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	write(t, dir, "a", "a\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "x")
	index := filepath.Join(dir, ".git/index")
	before, err := os.Stat(index)
	if err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "a"), then, then); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := summary(t, r, "HEAD"); got != "" {
			t.Errorf("got %q", got)
		}
		after, err := os.Stat(index)
		if err != nil {
			t.Fatal(err)
		}
		if !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
			t.Error("the index was written")
		}
		write(t, dir, ".git/index.lock", "")
	}
}

// TestSummaryOfWhatBlocks: a pipe is no file for git, and must not become one.
func TestSummaryOfWhatBlocks(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	write(t, dir, "a", "a\n")
	run(t, dir, "add", ".")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := summary(t, r, ""), "a +1 -0\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSummaryEndsWithItsContext while git does not answer.
func TestSummaryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	write(t, dir, ".gitattributes", "a filter=slow\n")
	write(t, dir, "a", "a\n")
	run(t, dir, "add", ".")
	begun := filepath.Join(t.TempDir(), "begun")
	run(t, dir, "config", "filter.slow.clean", ": > "+begun+"; while [ -e "+begun+" ]; do sleep 0.02; done; cat")
	write(t, dir, "a", "b\n")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := make(chan struct{})
	defer close(stop)
	defer func() { _ = os.Remove(begun) }() // and the filter ends
	go func() {
		for {
			if _, err := os.Stat(begun); err == nil {
				cancel(cause)
				return
			}
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	if got, err := r.Summary(ctx, "", enough); !errors.Is(err, cause) {
		t.Errorf("got %q, %v; want the cause", got, err)
	}
}

func TestSummaryOfManyFiles(t *testing.T) {
	t.Parallel()
	dir, r := scratch(t)
	const tracked, untracked = 500, 19_600
	for i := range tracked {
		write(t, dir, fmt.Sprintf("t%d/f%05d", i%100, i), lines(5))
	}
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "x")
	for i := range tracked {
		write(t, dir, fmt.Sprintf("t%d/f%05d", i%100, i), lines(6))
	}
	write(t, dir, "u/empty", "")
	for i := 1; i < untracked; i++ {
		if err := os.Link(filepath.Join(dir, "u/empty"), filepath.Join(dir, fmt.Sprintf("u/%05d", i))); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	got, err := r.Summary(t.Context(), "HEAD", 4000)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("took %v", time.Since(begun))
	n := strings.Count(got, "\n")
	if want := fmt.Sprintf("\n... and %d more files\n", tracked+untracked-n+1); !strings.HasSuffix(got, want) || len(got) > 4000 || len(got) < 3900 {
		t.Errorf("%d bytes that end with %q, want %q", len(got), got[max(0, len(got)-60):], want)
	}
}
