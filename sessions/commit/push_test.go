package commit_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"autopilot/sessions/commit"
)

// pushing is a repository with a remote beside it.
func pushing(t *testing.T) (w, remote tree) {
	t.Helper()
	w = work(t)
	dir := filepath.Join(t.TempDir(), "remote.git")
	w.git("init", "-q", "--bare", "-b", "main", dir)
	w.git("remote", "add", "origin", dir)
	remote = tree{t: t, dir: dir, Tree: commit.Tree{Environ: environ()}}
	remote.GitDir = dir
	return w, remote
}

func TestPush(t *testing.T) {
	t.Parallel()
	w, remote := pushing(t)
	// None of this has a say.
	w.git("config", "remote.origin.push", "+refs/heads/*:refs/heads/*")
	w.git("config", "push.default", "matching")
	w.git("config", "push.followTags", "true")
	w.git("tag", "-a", "-m", "t", "v1")
	if err := w.Push(t.Context(), "origin", "work"); err != nil {
		t.Fatal(err)
	}
	same(t, "refs of the remote", remote.git("for-each-ref", "--format=%(refname) %(objectname)"), "refs/heads/work "+w.head())
	same(t, "upstream", w.git("rev-parse", "--abbrev-ref", "work@{upstream}"), "origin/work")
	if err := w.Push(t.Context(), "origin", "work"); err != nil {
		t.Errorf("Push of nothing new: %v", err)
	}

	// Someone else has pushed: never over it.
	w.write("a", "theirs\n")
	w.git("commit", "-qam", "theirs")
	w.git("push", "-q", "origin", "work")
	theirs := w.head()
	w.git("reset", "-q", "--hard", "HEAD~")
	w.write("a", "ours\n")
	w.make("a")
	err := w.Push(t.Context(), "origin", "work")
	contains(t, err, "non-fast-forward", "origin")
	if !strings.Contains(hint(err), "never forced") {
		t.Errorf("hint = %q", hint(err))
	}
	same(t, "the remote's", remote.git("rev-parse", "work"), theirs)
}

func TestPushRefuses(t *testing.T) {
	t.Parallel()
	w, remote := pushing(t)
	w.git("branch", "prod")
	w.git("update-ref", "refs/remotes/other/prod", "HEAD")
	w.git("symbolic-ref", "refs/remotes/other/HEAD", "refs/remotes/other/prod")
	w.git("remote", "add", "mirror", remote.dir)
	w.git("config", "remote.mirror.mirror", "yes")
	for _, tc := range []struct{ remote, branch, words string }{
		{"origin", "main", "default branch"},
		{"origin", "prod", "default branch"},
		{"origin", "nope", "no branch nope"},
		{"origin", "+work", "no branch +work"},
		{"origin", "work:main", "no name for a branch"},
		{"nowhere", "work", `no remote "nowhere"`},
		{"--force", "work", `no remote "--force"`},
		{"", "work", `no remote ""`},
		{remote.dir, "work", "no remote"},
		{"mirror", "work", "forced"},
	} {
		if err := w.Push(t.Context(), tc.remote, tc.branch); err == nil || !strings.Contains(err.Error(), tc.words) {
			t.Errorf("Push(%s, %s): %v, want an error with %q", tc.remote, tc.branch, err, tc.words)
		}
	}
	same(t, "refs of the remote", remote.git("for-each-ref"), "")

	w.hook("pre-push", "echo to stdout; echo not today >&2; exit 1")
	err := w.Push(t.Context(), "origin", "work")
	h, ok := errors.AsType[*commit.HookError](err)
	if !ok || h.Hook != "pre-push" || !strings.Contains(h.Output, "not today") {
		t.Errorf("Push with a hook that refuses: %v", err)
	}
	w.hook("pre-push", "exit 0")
	remote.GitDir = remote.dir
	remote.hook("pre-receive", "echo rules of the house; exit 1")
	err = w.Push(t.Context(), "origin", "work")
	contains(t, err, "pre-receive hook declined", "rules of the house")
	w.git("remote", "set-url", "origin", "https://me:hunter2@localhost:1/x.git")
	err = w.Push(t.Context(), "origin", "work")
	if err == nil || strings.Contains(err.Error(), "hunter2") || hint(err) == "" {
		t.Errorf("Push to nobody: %v", err)
	}
	same(t, "refs of the remote", remote.git("for-each-ref"), "")
}
