package forge_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autopilot/supervisor/forge"
)

// pinned pins the push to origin, in the form that it has after it was written down.
func pinned(t *testing.T, dir string) *forge.Pinned {
	t.Helper()
	p, err := forge.Pin(t.Context(), dir, "origin", options().Environ)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var out forge.Pinned
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// worktree adds a worktree with the branch of the tests, as a story has one.
func worktree(t *testing.T, dir string) string {
	t.Helper()
	git(t, dir, "checkout", "--quiet", "main")
	tree := filepath.Join(t.TempDir(), "tree")
	git(t, dir, "worktree", "add", "--quiet", tree, "story/login")
	return tree
}

// TestPinnedPush is about what a session does in between, and whether the push notices.
func TestPinnedPush(t *testing.T) {
	t.Parallel()
	set := func(args ...string) func(*testing.T, string) {
		return func(t *testing.T, tree string) { git(t, tree, append([]string{"config"}, args...)...) }
	}
	file := func(name, text string, mode os.FileMode) func(*testing.T, string) {
		return func(t *testing.T, tree string) {
			path := filepath.Join(git(t, tree, "rev-parse", "--path-format=absolute", "--git-common-dir"), name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		before, between func(*testing.T, string) // in the repository, in the worktree
		want            string                   // in the error; empty when it is pushed
	}{
		"nothing":                    {nil, nil, ""},
		"an address to push to":      {nil, set("remote.origin.pushurl", "/nonexistent"), "remote.origin.pushurl of the repository was added"},
		"another address":            {nil, set("remote.origin.url", "/nonexistent"), "remote.origin.url of the repository was changed"},
		"a second address":           {nil, set("--add", "remote.origin.url", "/nonexistent"), "remote.origin.url of the repository was changed"},
		"an address taken back":      {set("remote.origin.pushurl", "/nonexistent"), set("--unset", "remote.origin.pushurl"), "remote.origin.pushurl of the repository was removed"},
		"a program on the remote":    {nil, set("remote.origin.receivepack", "touch x; git-receive-pack"), "remote.origin.receivepack of the repository was added"},
		"a helper":                   {nil, set("remote.origin.vcs", "evil"), "remote.origin.vcs"},
		"other branches":             {nil, set("remote.origin.fetch", "+refs/heads/*:refs/heads/*"), "remote.origin.fetch"},
		"ssh":                        {nil, set("core.sshCommand", "touch x"), "core.sshcommand"},
		"a proxy of git":             {nil, set("core.gitProxy", "touch x"), "core.gitproxy"},
		"a proxy of the web":         {nil, set("http.proxy", "http://127.0.0.1:1"), "http.proxy"},
		"a proxy of one host":        {nil, set("http.https://example.com.proxy", "http://127.0.0.1:1"), "http.https://example.com.proxy"},
		"no look at certificates":    {nil, set("http.sslVerify", "false"), "http.sslverify"},
		"a credential helper":        {nil, set("credential.helper", "!touch x"), "credential.helper"},
		"one more credential helper": {set("credential.helper", "cache"), set("--add", "credential.helper", "!touch x"), "credential.helper of the repository was changed"},
		"an address rewritten":       {nil, set("url./nonexistent.insteadOf", "/"), "url./nonexistent.insteadof"},
		"a push rewritten":           {nil, set("url./nonexistent.pushInsteadOf", "/"), "url./nonexistent.pushinsteadof"},
		"a monitor":                  {nil, set("core.fsmonitor", "touch x"), "core.fsmonitor"},
		"a folder of hooks":          {nil, set("core.hooksPath", "/nonexistent"), "core.hookspath"},
		"options for the remote":     {nil, set("push.pushOption", "merge_request.create"), "push.pushoption"},
		"a signature":                {nil, set("push.gpgSign", "if-asked"), "push.gpgsign"},
		"an alias":                   {nil, set("alias.x", "!touch x"), "alias.x"},
		"a remote that is asked":     {nil, set("remote.other.promisor", "true"), "remote.other.promisor"},
		"what nobody has heard of":   {nil, set("future.command", "touch x"), "future.command"},
		"a key with a password":      {nil, set("url.https://someone:hunter2@example.com/.insteadOf", "zz:"), "url.https://example.com/.insteadof"},
		"a file that is included":    {nil, set("include.path", "/nonexistent"), "include.path"},
		"what stands in one": {
			func(t *testing.T, dir string) {
				file("more", "[core]\n\tsshCommand = ssh\n", 0o600)(t, dir)
				set("include.path", "more")(t, dir)
			},
			file("more", "[core]\n\tsshCommand = touch x\n", 0o600), "core.sshcommand of the repository was changed",
		},
		"a setting of the worktree": {nil, func(t *testing.T, tree string) {
			set("extensions.worktreeConfig", "true")(t, tree)
			set("--worktree", "core.sshCommand", "touch x")(t, tree)
		}, "core.sshcommand"},
		"a hook":                       {nil, file("hooks/pre-push", "#!/bin/sh\n", 0o700), "the hook pre-push of the repository was added"},
		"a hook changed":               {file("hooks/pre-push", "#!/bin/sh\n", 0o700), file("hooks/pre-push", "#!/bin/sh\ntouch x\n", 0o700), "the hook pre-push of the repository was changed"},
		"a hook of another event":      {nil, file("hooks/reference-transaction", "#!/bin/sh\n", 0o700), "the hook reference-transaction of the repository was added"},
		"a hook switched on":           {file("hooks/pre-push", "#!/bin/sh\n", 0o600), file("hooks/pre-push", "#!/bin/sh\n", 0o700), "the hook pre-push of the repository was added"},
		"a hook switched off":          {file("hooks/pre-push", "#!/bin/sh\nexit 1\n", 0o700), file("hooks/pre-push", "#!/bin/sh\nexit 1\n", 0o600), "the hook pre-push of the repository was removed"},
		"a hook that stays":            {file("hooks/pre-push", "#!/bin/sh\n", 0o700), nil, ""},
		"hooks of the person's folder": {set("core.hooksPath", "hooks-of-mine"), nil, ""},
		"a program that was named":     {set("remote.origin.receivepack", "git receive-pack"), nil, ""},
		"daily work": {nil, func(t *testing.T, tree string) {
			set("user.name", "Another")(t, tree)
			set("branch.story/login.description", "x")(t, tree)
			set("remote.origin.gh-resolved", "base")(t, tree)
			git(t, tree, "remote", "add", "upstream", "/nonexistent")
			file("hooks/notes", "no program", 0o600)(t, tree)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, bare := pair(t)
			if c.before != nil {
				c.before(t, dir)
			}
			o := options()
			o.Pinned = pinned(t, dir)
			tree := worktree(t, dir)
			if c.between != nil {
				c.between(t, tree)
			}
			err := forge.Push(t.Context(), tree, "origin", "story/login", o)
			if c.want == "" {
				if err == nil { // the push itself writes into the configuration
					err = forge.Push(t.Context(), tree, "origin", "story/login", o)
				}
				if err != nil {
					t.Errorf("got the error %v", err)
				}
			} else if got, ok := errors.AsType[*forge.CallError](err); !ok || got.Reason != forge.Refused || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(got.Hint(), "by hand") || strings.Contains(err.Error()+got.Hint(), "hunter2") {
				t.Errorf("got the error %v", err)
			}
			refs := git(t, bare, "for-each-ref", "refs/heads/story")
			if (refs != "") != (c.want == "") {
				t.Errorf("the remote has %q", refs)
			}
		})
	}
}

// What stands in the person's own configuration is theirs, but the address is that of the
// time when it was pinned.
func TestPinnedPushAndThePerson(t *testing.T) {
	t.Parallel()
	dir, bare := pair(t)
	mine := filepath.Join(t.TempDir(), "gitconfig")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(mine, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := options()
	for i, v := range o.Environ {
		if strings.HasPrefix(v, "GIT_CONFIG_GLOBAL=") {
			o.Environ[i] = "GIT_CONFIG_GLOBAL=" + mine
		}
	}
	write("")
	p, err := forge.Pin(t.Context(), dir, "origin", o.Environ)
	if err != nil {
		t.Fatal(err)
	}
	o.Pinned = &p
	write("[core]\n\tsshCommand = ssh -v\n[credential]\n\thelper = cache\n")
	if err := forge.Push(t.Context(), dir, "origin", "story/login", o); err != nil {
		t.Fatal(err)
	}
	write("[url \"/nonexistent\"]\n\tpushInsteadOf = " + bare + "\n")
	if err := forge.Push(t.Context(), dir, "origin", "story/login", o); err == nil || !strings.Contains(err.Error(), "the address that origin is pushed to") {
		t.Errorf("got the error %v", err)
	}
}

func TestPinRefuses(t *testing.T) {
	t.Parallel()
	dir, _ := pair(t)
	for remote, want := range map[string]string{"": "no name of a remote", "--all": "no name of a remote", "../x": "no name of a remote", "upstream": "no remote of that name"} {
		_, err := forge.Pin(t.Context(), dir, remote, options().Environ)
		if got, ok := errors.AsType[*forge.CallError](err); !ok || got.Reason != forge.Refused || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got the error %v", remote, err)
		}
	}
	git(t, dir, "remote", "add", "upstream", "/nonexistent")
	for name, p := range map[string]*forge.Pinned{"another remote": pinned(t, dir), "nothing": {}} {
		o := options()
		o.Pinned = p
		if err := forge.Push(t.Context(), dir, "upstream", "story/login", o); err == nil || !strings.Contains(err.Error(), "another remote was pinned") {
			t.Errorf("%s: got the error %v", name, err)
		}
	}
}

// A pin may be written down: no value is in it.
func TestPinHoldsNoSecret(t *testing.T) {
	t.Parallel()
	dir, _ := pair(t)
	git(t, dir, "config", "http.extraHeader", "Authorization: hunter2")
	git(t, dir, "config", "url.https://someone:hunter2@example.com/.insteadOf", "zz:")
	git(t, dir, "remote", "set-url", "--push", "origin", "https://someone:hunter2@example.com/x")
	text, err := json.Marshal(pinned(t, dir))
	if err != nil || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "http.extraheader") {
		t.Errorf("got %s and the error %v", text, err)
	}
}
