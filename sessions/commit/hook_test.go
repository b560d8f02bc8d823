package commit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"autopilot/metrics/testprogram"
	"autopilot/sessions/commit"
)

func one(files ...string) commit.Commit {
	return commit.Commit{Branch: "work", Message: "made\n\nMark: 1", Files: files}
}

func TestHookRefuses(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"pre-commit":         "echo to stdout; printf '\\033[31mlint\\033[0m: token=abcdefghijkl a is bad\\n' >&2; exit 1",
		"commit-msg":         "echo lint: a is bad; exit 1",
		"prepare-commit-msg": "echo lint: a is bad; exit 3",
		// Refs are prepared more than once: HEAD and the branch.
		"reference-transaction": `[ "$1" = prepared ] && { echo lint: a is bad; exit 1; }; exit 0`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := work(t)
			w.write("b", "the person's\n")
			w.git("add", "b")
			w.write("a", "staged\n")
			w.git("add", "a")
			w.write("a", "two\n")
			w.write("new", "new\n")
			w.remove("c")
			before, status, head := w.staged(), w.status(), w.head()
			w.hook(name, script)
			sha, err := w.Commit(t.Context(), one("a", "new", "c"))
			h, ok := errors.AsType[*commit.HookError](err)
			if !ok || sha != "" {
				t.Fatalf("Commit = %q, %v, want a *HookError", sha, err)
			}
			if !strings.Contains(h.Hook, name) || !strings.Contains(h.Output, "a is bad") || strings.ContainsAny(h.Output, "\x1b") || strings.Contains(h.Output, "abcdefghijkl") {
				t.Errorf("error = %#v", h)
			}
			same(t, "index", w.staged(), before)
			same(t, "status", w.status(), status)
			same(t, "HEAD", w.head(), head)
			w.tidy()

			if err := os.Remove(filepath.Join(w.GitDir, "hooks", name)); err != nil {
				t.Fatal(err)
			}
			same(t, "files when it is mended", w.shown(w.make("a", "new", "c")), "M a\nD c\nA new")
			same(t, "status", w.status(), "M  b")
		})
	}
}

// A formatter rewrites files and adds them again.
func TestHookRewrites(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("b", "the person's\n")
	w.git("add", "b")
	w.write("c", "changed by the person\n")
	w.hook("pre-commit", `
for f in $(git diff --cached --name-only --diff-filter=AM); do
	printf 'formatted\n' >>"$f"
	git add "$f" || exit 1
done
echo generated >generated && git add generated`)
	w.write("a", "two\n")
	w.write("new", "new\n")
	sha := w.make("a", "new")
	same(t, "files", w.shown(sha), "M a\nA generated\nA new")
	same(t, "content", w.git("show", "HEAD:a", "HEAD:new"), "two\nformatted\nnew\nformatted")
	same(t, "status", w.status(), "M  b\n M c")
	same(t, "the person's file", w.read("b"), "the person's\n")
	touched, err := w.Touched(t.Context(), "HEAD~", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "touched", touched, []string{"a", "generated", "new"})
}

// What a hook adds and a person has staged otherwise stays as the person has it.
func TestHookAddsWhatIsStaged(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("b", "staged\n")
	w.git("add", "b")
	w.hook("pre-commit", "echo hook >b && git add b")
	w.write("a", "two\n")
	same(t, "files", w.shown(w.make("a")), "M a\nM b")
	same(t, "committed", w.git("show", "HEAD:b"), "hook")
	same(t, "staged", w.git("show", ":b"), "staged")
}

// What a person stages while hooks run is kept, and nobody is locked out.
func TestPersonStagesWhileHooksRun(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "two\n")
	w.write("c", "two\n")
	w.hook("pre-commit", `
unset GIT_INDEX_FILE
echo meanwhile >b && git add b || exit 1
echo later >a && git add a`)
	same(t, "files", w.shown(w.make("a", "c")), "M a\nM c")
	same(t, "committed", w.git("show", "HEAD:a"), "two")
	same(t, "status", w.status(), "M  a\nM  b")
}

func TestHooksSeeWhatIsCommitted(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("b", "staged\n")
	w.git("add", "b")
	w.write("a", "two\n")
	out := filepath.Join(t.TempDir(), "out")
	w.hook("pre-commit", "{ git diff --cached --name-only; git symbolic-ref --short HEAD; echo $LC_ALL $GIT_DIR; cut -d' ' -f6 /proc/$$/stat || echo; } >"+out)
	w.hook("post-commit", "git status --short --untracked-files=no >>"+out)
	w.Environ = append(w.Environ, "LC_ALL=C.UTF-8", "GIT_DIR=/nonexistent", "GIT_WORK_TREE=/", "GIT_INDEX_FILE=/nonexistent", "GIT_LITERAL_PATHSPECS=0")
	if _, err := w.Commit(t.Context(), one("a")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(data), "\n")
	if runtime.GOOS == "linux" {
		own, err := unix.Getsid(0)
		if err != nil {
			t.Fatal(err)
		}
		if got[3] == "" || got[3] == strconv.Itoa(own) {
			t.Errorf("the hook is in session %q, which may have a terminal", got[3])
		}
	}
	got[3] = "session"
	same(t, "what the hooks see", got, []string{"a", "work", "C.UTF-8", "session", " M b", ""})
}

func TestHookPrintsALot(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "two\n")
	w.hook("pre-commit", "yes 'a line with password=hunter2hunter2 in it' | head -c 10000000; echo at last; exit 1")
	_, err := w.Commit(t.Context(), one("a"))
	h, ok := errors.AsType[*commit.HookError](err)
	if !ok {
		t.Fatalf("Commit: %v, want a *HookError", err)
	}
	if len(h.Output) > 4<<10 || len(h.Output) < 3<<10 || !strings.HasSuffix(h.Output, "at last") || strings.Contains(h.Output, "hunter2") {
		t.Errorf("output has %d bytes: %.200q ... %q", len(h.Output), h.Output, h.Output[len(h.Output)-30:])
	}
	w.hook("pre-commit", "printf password=; head -c 100000 /dev/zero | tr '\\0' s; echo; echo at last; exit 1")
	_, err = w.Commit(t.Context(), one("a"))
	if h, ok := errors.AsType[*commit.HookError](err); !ok || h.Output != "at last" {
		t.Errorf("a secret that is longer than what is kept: %v", err)
	}
	w.hook("pre-commit", "head -c 10000000 /dev/zero")
	w.make("a")
}

func TestHookHangs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pre-commit", "post-commit"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := work(t)
			w.write("a", "two\n")
			before := w.staged()
			pid := filepath.Join(t.TempDir(), "pid")
			w.hook(name, "trap '' TERM; echo $$ >"+pid+".new; mv "+pid+".new "+pid+"; while :; do sleep 100; done")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			stop := errors.New("a person said stop")
			var wg sync.WaitGroup
			wg.Go(func() {
				tick := time.NewTicker(time.Millisecond)
				defer tick.Stop()
				for !exists(pid) && ctx.Err() == nil {
					<-tick.C
				}
				cancel(stop)
			})
			sha, err := w.Commit(ctx, one("a"))
			cancel(nil)
			wg.Wait()
			if !errors.Is(err, stop) {
				t.Fatalf("Commit: %v, want the cause of the end", err)
			}
			if name == "pre-commit" {
				same(t, "id", sha, "")
				same(t, "index", w.staged(), before)
				same(t, "status", w.status(), " M a")
			} else {
				same(t, "id", sha, w.head())
				same(t, "files", w.shown(sha), "M a")
				same(t, "status", w.status(), "")
			}
			gone(t, pid)
			w.tidy()
		})
	}
}

// The end of the context ends all that a hook has started, in whatever group or session
// it is, and what cleans up has the time for it.
func TestHookIsEndedWithAllItStarted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs setsid and timeout")
	}
	w := work(t)
	w.write("a", "two\n")
	dir := t.TempDir()
	w.hook("pre-commit", strings.ReplaceAll(`
cd DIR
start() { echo 'echo $$ >'$1.new'; mv '$1.new $1'; exec sleep 1000'; }
sh -c "$(start plain)" &
sh -c "trap '' TERM; $(start deaf)" &
timeout 1000 sh -c "$(start timeout)" &
setsid sh -c "$(start session)" &
timeout 1000 sh -c "trap 'touch polite; exit' TERM; echo \$\$ >other.new; mv other.new other; sleep 1000 & wait" &
sh -mc 'sh -c "$1" & wait' - "$(start job)" &
trap 'sleep 0.3; touch clean; exit 1' TERM
echo $$ >hook.new; mv hook.new hook
while :; do wait; done`, "DIR", dir))
	names := []string{"hook", "plain", "deaf", "timeout", "session", "job", "other"}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stop := errors.New("a person said stop")
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, name := range names {
			until(t, name, func() bool { return exists(filepath.Join(dir, name)) || ctx.Err() != nil })
		}
		cancel(stop)
	})
	sha, err := w.Commit(ctx, one("a"))
	cancel(nil)
	wg.Wait()
	if !errors.Is(err, stop) || sha != "" {
		t.Fatalf("Commit = %q, %v, want the cause of the end", sha, err)
	}
	if !exists(filepath.Join(dir, "clean")) || !exists(filepath.Join(dir, "polite")) {
		t.Error("the hook had no time to clean up")
	}
	for _, name := range names {
		gone(t, filepath.Join(dir, name))
	}
	same(t, "status", w.status(), " M a")
	w.tidy()
}

// gone wants the process whose id stands in a file to end.
func gone(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the hook", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil {
			return strings.Contains(string(stat), ") Z ") // whom it was left to may not look
		}
		return syscall.Kill(pid, 0) != nil
	})
}

func TestLimit(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "two\n")
	w.hook("pre-commit", "sleep 1000")
	c := one("a")
	c.Limit = 300 * time.Millisecond
	_, err := w.Commit(t.Context(), c)
	contains(t, err, "longer than 300ms")
	if hint(err) == "" {
		t.Error("no hint")
	}
	w.tidy()
}

// Something that a hook starts, such as a server, may keep what it inherits open.
func TestHookLeavesAProcess(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.write("a", "two\n")
	pid := filepath.Join(t.TempDir(), "pid")
	w.hook("pre-commit", "sleep 1000 & echo $! >"+pid)
	same(t, "files", w.shown(w.make("a")), "M a")
	data, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Errorf("what the hook has left was ended: %v", err)
	}
	w.write("a", "three\n")
	w.hook("pre-commit", "exit 0")
	w.make("a")
}

func TestHookMovesTheBranch(t *testing.T) {
	t.Parallel()
	t.Run("commits", func(t *testing.T) {
		t.Parallel()
		w := work(t)
		w.write("a", "two\n")
		w.hook("post-commit", `[ -n "$AGAIN" ] || AGAIN=1 git commit -q --allow-empty -m again`)
		sha, err := w.Commit(t.Context(), one("a"))
		contains(t, err, "moved by something else", w.head())
		same(t, "id", sha, "")
	})
	t.Run("amends", func(t *testing.T) {
		t.Parallel()
		w := work(t)
		w.write("a", "two\n")
		w.hook("post-commit", `[ -n "$AGAIN" ] || AGAIN=1 git commit -q --amend --no-edit --date=2001-01-01T00:00:00Z`)
		w.make("a")
	})
}

func TestSigning(t *testing.T) {
	t.Parallel()
	w := work(t)
	w.git("config", "commit.gpgSign", "true")
	program := filepath.Join(t.TempDir(), "gpg")
	write := func(script string) {
		testprogram.Write(t, program, []byte("#!/bin/sh\n"+script))
	}
	w.git("config", "gpg.program", program)
	w.write("a", "two\n")
	before := w.staged()
	write("echo 'gpg: no terminal for the passphrase' >&2; exit 2")
	sha, err := w.Commit(t.Context(), one("a"))
	contains(t, err, "could not be signed")
	if sha != "" || hint(err) == "" {
		t.Errorf("Commit = %q, hint %q", sha, hint(err))
	}
	same(t, "index", w.staged(), before)
	w.tidy()

	write("cat >/dev/null; echo '[GNUPG:] SIG_CREATED ' >&2; echo '-----BEGIN PGP SIGNATURE-----'; echo '-----END PGP SIGNATURE-----'")
	w.make("a")
	if !strings.Contains(w.git("cat-file", "commit", "HEAD"), "gpgsig -----BEGIN") {
		t.Error("the commit is not signed")
	}
}
