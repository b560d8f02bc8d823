package forge_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autopilot/metrics/testprogram"
	"autopilot/supervisor/forge"
)

// pair makes a repository with the branch story/login and a bare one that is its origin.
func pair(t *testing.T) (dir, bare string) {
	t.Helper()
	dir, bare = repository(t), t.TempDir()
	git(t, bare, "init", "--quiet", "--bare", "--initial-branch=main")
	git(t, dir, "remote", "add", "origin", bare)
	git(t, dir, "push", "--quiet", "origin", "main")
	git(t, dir, "checkout", "--quiet", "-b", "story/login")
	git(t, dir, "commit", "--quiet", "--allow-empty", "--message=second")
	return dir, bare
}

func options() forge.PushOptions {
	return forge.PushOptions{Environ: append(quietEnviron(), "GIT_DIR=/nonexistent", "GIT_ASKPASS=/nonexistent"), Timeout: patience}
}

// hook writes a hook of a repository.
func hook(t *testing.T, dir, name, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	testprogram.Write(t, filepath.Join(dir, "hooks", name), []byte("#!/bin/sh\n"+body+"\n"))
}

func TestPush(t *testing.T) {
	t.Parallel()
	dir, bare := pair(t)
	git(t, dir, "config", "push.followTags", "true")
	git(t, dir, "tag", "--annotate", "--message=x", "v1")
	for range 2 { // what is there already is no trouble
		if err := forge.Push(t.Context(), dir, "origin", "story/login", options()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := git(t, bare, "rev-parse", "refs/heads/story/login"), git(t, dir, "rev-parse", "HEAD"); got != want {
		t.Errorf("the remote has %s, want %s", got, want)
	}
	if got := git(t, dir, "rev-parse", "--abbrev-ref", "story/login@{upstream}"); got != "origin/story/login" {
		t.Errorf("it tracks %s", got)
	}
	if got := git(t, bare, "tag"); got != "" {
		t.Errorf("tags went along: %s", got)
	}
	// It is the branch that is pushed, wherever the work tree is.
	git(t, dir, "checkout", "--quiet", "main")
	git(t, dir, "branch", "story/other", "story/login")
	if err := forge.Push(t.Context(), dir, "origin", "story/other", options()); err != nil {
		t.Fatal(err)
	}
	if got, want := git(t, bare, "rev-parse", "refs/heads/story/other"), git(t, dir, "rev-parse", "story/login"); got != want {
		t.Errorf("the remote has %s, want %s", got, want)
	}
}

func TestPushOfADivergedBranch(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"that we know of": true, "that we know nothing of": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, bare := pair(t)
			other := filepath.Join(t.TempDir(), "other")
			git(t, filepath.Dir(other), "clone", "--quiet", bare, other)
			git(t, other, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--allow-empty", "--message=theirs")
			git(t, other, "push", "--quiet", "origin", "HEAD:refs/heads/story/login")
			theirs := git(t, other, "rev-parse", "HEAD")
			if known {
				git(t, dir, "fetch", "--quiet", "origin")
			}
			// A setting that would force the push of another refspec than ours.
			git(t, dir, "config", "remote.origin.push", "+refs/heads/*:refs/heads/*")
			err := forge.Push(t.Context(), dir, "origin", "story/login", options())
			got, ok := errors.AsType[*forge.CallError](err)
			if !ok || got.Reason != forge.Diverged || !strings.Contains(got.Hint(), "rebase") || !strings.Contains(err.Error(), "push story/login to origin: git: [rejected]") {
				t.Errorf("got the error %v", err)
			}
			if strings.Contains(err.Error(), bare) {
				t.Errorf("the error tells the address: %v", err)
			}
			if got := git(t, bare, "rev-parse", "refs/heads/story/login"); got != theirs {
				t.Errorf("the remote has %s, want what was there, %s", got, theirs)
			}
		})
	}
}

func TestPushRefuses(t *testing.T) {
	t.Parallel()
	dir, bare := pair(t)
	git(t, dir, "branch", "trunk")
	git(t, dir, "branch", "release")
	git(t, dir, "branch", "master")
	git(t, dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
	git(t, dir, "clone", "--quiet", "--bare", bare, "folder")
	before := git(t, bare, "for-each-ref")
	o := options()
	o.Defaults = []string{"refs/heads/release", "Develop"}
	for _, c := range []struct{ remote, branch, want string }{
		{"origin", "main", "default branch"},
		{"origin", "master", "default branch"},
		{"origin", "MAIN", "default branch"},
		{"origin", "trunk", "default branch"},
		{"origin", "release", "default branch"},
		{"origin", "develop", "default branch"},
		{"origin", "", "no name of a branch"},
		{"origin", "HEAD", "no name of a branch"},
		{"origin", "refs/heads/main", "no name of a branch"},
		{"origin", "+story/login", "does not match any"}, // a name, but of no branch
		{"origin", "story/login:main", "no name of a branch"},
		{"origin", "--force", "no name of a branch"},
		{"origin", "a b", "no name of a branch"},
		{"origin", "story/gone", "does not match any"},
		{"", "story/login", "no name of a remote"},
		{"--mirror", "story/login", "no name of a remote"},
		{".", "story/login", "no name of a remote"},
		{bare, "story/login", "no name of a remote"},
		{"https://someone:hunter2@example.com/x", "story/login", "no name of a remote"},
		{"folder", "story/login", "no remote of that name"},
		{"upstream", "story/login", "no remote of that name"},
	} {
		err := forge.Push(t.Context(), dir, c.remote, c.branch, o)
		got, ok := errors.AsType[*forge.CallError](err)
		if !ok || got.Reason != forge.Refused || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q to %q: got the error %v, want %q", c.branch, c.remote, err, c.want)
		}
	}
	if after := git(t, bare, "for-each-ref"); after != before {
		t.Errorf("the remote has changed:\n%s", after)
	}
}

func TestPushAndHooks(t *testing.T) {
	t.Parallel()
	t.Run("ours refuses", func(t *testing.T) {
		t.Parallel()
		dir, _ := pair(t)
		hook(t, filepath.Join(dir, ".git"), "pre-push", "echo the tests fail >&2; exit 1")
		err := forge.Push(t.Context(), dir, "origin", "story/login", options())
		if got, ok := errors.AsType[*forge.CallError](err); !ok || got.Reason != forge.Refused || !strings.Contains(err.Error(), "the tests fail") {
			t.Errorf("got the error %v", err)
		}
	})
	t.Run("theirs refuses", func(t *testing.T) {
		t.Parallel()
		dir, bare := pair(t)
		hook(t, bare, "pre-receive", "echo only on Mondays, ghp_0123456789abcdefghij >&2; exit 1")
		err := forge.Push(t.Context(), dir, "origin", "story/login", options())
		got, ok := errors.AsType[*forge.CallError](err)
		if !ok || got.Reason != forge.Refused || !strings.Contains(err.Error(), "pre-receive hook declined): only on Mondays, [redacted]") || got.Hint() == "" {
			t.Errorf("got the error %v", err)
		}
	})
	t.Run("ours hangs", func(t *testing.T) {
		t.Parallel()
		dir, bare := pair(t)
		said := filepath.Join(t.TempDir(), "pid")
		hook(t, filepath.Join(dir, ".git"), "pre-push", "trap '' TERM HUP INT; echo $$ >"+said+"; while :; do sleep 1; done")
		ctx, stop := cancelable(t)
		errs := make(chan error, 1)
		go func() { errs <- forge.Push(ctx, dir, "origin", "story/login", options()) }()
		pid := contents(t, said)
		stop(errors.New("night is over"))
		if err := <-errs; err == nil || !strings.Contains(err.Error(), "night is over") {
			t.Errorf("got the error %v", err)
		}
		gone(t, pid)
		if refs := git(t, bare, "for-each-ref", "refs/heads/story"); refs != "" {
			t.Errorf("it was pushed: %s", refs)
		}
	})
}
