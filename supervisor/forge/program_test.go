package forge_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/supervisor/forge"
)

func cancelable(t *testing.T) (context.Context, context.CancelCauseFunc) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	t.Cleanup(func() { stop(nil) })
	return ctx, stop
}

// TestRefusals is about what the programs say when they do not answer.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const notLoggedIn = "To get started with GitHub CLI, please run:  gh auth login\nAlternatively, populate the GH_TOKEN environment variable with a GitHub API authentication token.\n"
	for name, c := range map[string]struct {
		gitlab bool
		does   call
		reason forge.Reason
		want   string
		hint   string
	}{
		"gh not logged in":   {false, call{err: notLoggedIn, code: 4}, forge.Login, "not logged in: To get started", "gh auth login --hostname github.com"},
		"gh without a word":  {false, call{code: 4}, forge.Login, "exit status 4 without a word", "gh auth login"},
		"gh bad token":       {false, call{err: "gh: Bad credentials (HTTP 401)\nTry authenticating with:  gh auth login\n", code: 1}, forge.Login, "Bad credentials (HTTP 401)", "gh auth login"},
		"gh rate limit":      {false, call{err: "gh: API rate limit exceeded for user ID 7. (HTTP 403)\n", out: `{"message":"API rate limit exceeded for user ID 7."}`, code: 1}, forge.RateLimited, "API rate limit exceeded for user ID 7. (HTTP 403)", "wait"},
		"gh second limit":    {false, call{err: "gh: You have exceeded a secondary rate limit (HTTP 403)\n", code: 1}, forge.RateLimited, "secondary", "wait"},
		"gh too many":        {false, call{err: "gh: HTTP 429\n", code: 1}, forge.RateLimited, "HTTP 429", "wait"},
		"gh missing":         {false, call{err: "gh: Not Found (HTTP 404)\n", code: 1}, forge.Missing, "Not Found (HTTP 404)", "gh auth status"},
		"gh deleted":         {false, call{err: "gh: This issue was deleted (HTTP 410)\n", code: 1}, forge.Missing, "deleted", "gh auth status"},
		"gh no network":      {false, call{err: "error connecting to api.github.com\ncheck your internet connection or https://githubstatus.com\n", code: 1}, forge.Refused, "error connecting to api.github.com", ""},
		"gh web page":        {false, call{err: "gh: HTTP 502\n", out: "<html>Bad Gateway</html>", code: 1}, forge.Refused, "gh: HTTP 502", ""},
		"killed":             {false, call{do: "kill -9 $$"}, forge.Refused, "signal: killed", ""},
		"glab not logged in": {true, call{err: "glab: 401 Unauthorized (HTTP 401)\n", code: 1}, forge.Login, "not logged in: 401 Unauthorized", "glab auth login --hostname gitlab.example.com"},
		"glab box":           {true, call{err: "\n   ERROR  \n\n  404 Project Not Found (HTTP 404)\n", code: 1}, forge.Missing, "glab: 404 Project Not Found", "glab auth status"},
		"glab warning first": {true, call{err: "DEPRECATION WARNING: x\nWarning: y\nglab: boom\n", code: 1}, forge.Refused, "glab: boom", ""},
		"secrets": {
			false,
			call{err: "Get https://someone:hunter2@proxy.example/: token ghp_0123456789abcdefghij and swordfish-swordfish\n", code: 1},
			forge.Refused, "https://proxy.example/: token [redacted] and [redacted]", "",
		},
		"escapes":         {false, call{err: "\\033[31mred\\a\\tx\n", do: `printf '\033[31mred\007 \342\200\256x\n' >&2`, code: 1}, forge.Refused, "gh: red x", ""},
		"many words":      {false, call{do: `i=0; while [ $i -lt 3000 ]; do echo "line $i of many many many many words"; i=$((i + 1)); done >&2`, code: 1}, forge.Refused, "line 0 of many", ""},
		"one long line":   {false, call{err: strings.Repeat("x", 5000), code: 1}, forge.Refused, strings.Repeat("x", 299) + "…", ""},
		"too much output": {false, call{do: "head -c 20000000 /dev/zero | tr '\\0' x"}, forge.TooMuch, "more than 8 MiB", "fewer"},
		"endless output":  {false, call{do: "trap '' PIPE; while :; do head -c 1000000 /dev/zero; done"}, forge.TooMuch, "more than 8 MiB", "fewer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f forge.Forge
			if c.does.args = ghGet("issues/3"); c.gitlab {
				c.does.args = glabGet("issues/3")
				f = onGitLab(t, c.does)
			} else {
				f = onGitHub(t, c.does)
			}
			f.Timeout = 10 * time.Minute // none of this is a matter of time
			f.Environ = append(f.Environ, "GH_TOKEN=swordfish-swordfish")
			_, err := f.IssueOpen(t.Context(), 3)
			got, ok := errors.AsType[*forge.CallError](err)
			if !ok {
				t.Fatalf("got the error %v", err)
			}
			if got.Reason != c.reason || !strings.Contains(err.Error(), c.want) || !strings.Contains(got.Hint(), c.hint) || c.hint == "" && got.Hint() != "" {
				t.Errorf("got %s: %v (hint %q), want %s: %q (hint %q)", got.Reason, err, got.Hint(), c.reason, c.want, c.hint)
			}
			if strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 1000 {
				t.Errorf("the error is not one short line: %q", err)
			}
		})
	}
}

// What hangs is ended with what it has started, also if that does not want to.
func TestOvertime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := onGitHub(t, call{args: ghGet("issues/3"), do: `trap '' TERM HUP INT
(trap '' TERM HUP INT; while :; do sleep 1; done) & echo $! >` + dir + `/child
echo $$ >` + dir + `/pid
while :; do sleep 1; done`})
	f.Timeout = 5 * time.Second
	_, err := f.IssueOpen(t.Context(), 3)
	got, ok := errors.AsType[*forge.CallError](err)
	if !ok || got.Reason != forge.Overtime || !strings.Contains(err.Error(), "time limit of 5s") || got.Hint() == "" {
		t.Errorf("got the error %v", err)
	}
	gone(t, contents(t, filepath.Join(dir, "pid")))
	gone(t, contents(t, filepath.Join(dir, "child")))
}

// Something that is left behind and holds the output open is not waited for.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := onGitHub(t, call{
		args: ghGet("issues/3"), out: `{"number":3,"state":"open"}`,
		do: `(while [ ! -e ` + dir + `/end ]; do sleep 1; done; echo over >` + dir + `/over) &`,
	})
	t.Cleanup(func() {
		if err := os.WriteFile(dir+"/end", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		contents(t, dir+"/over") // it was neither waited for nor killed
	})
	open, err := f.IssueOpen(t.Context(), 3)
	if err != nil || !open {
		t.Errorf("got %v and the error %v", open, err)
	}
}

// The programs lead a session of their own: there is no terminal on which they could ask.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("the session of a process is read from /proc")
	}
	dir := t.TempDir()
	f := onGitHub(t, call{args: ghGet("issues/3"), out: `{"number":3,"state":"open"}`, do: "cat /proc/$$/stat >" + dir + "/stat"})
	if _, err := f.IssueOpen(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	stat := contents(t, dir+"/stat")
	pid, _, _ := strings.Cut(stat, " ")
	after := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // state, parent, group, session
	if after[3] != pid {
		t.Errorf("process %s is in session %s", pid, after[3])
	}
}

func TestNotInstalled(t *testing.T) {
	t.Parallel()
	f := forge.Forge{Kind: forge.GitLab, Spec: "acme/shop", Host: "gitlab.com", Dir: t.TempDir(), Environ: []string{"PATH=" + t.TempDir()}}
	_, err := f.CI(t.Context(), "main")
	if got, ok := errors.AsType[*forge.CallError](err); !ok || got.Reason != forge.Absent || !strings.Contains(got.Hint(), "install glab") {
		t.Errorf("got the error %v", err)
	}
}

// A token of the environment goes to the host that it is for and to no other.
func TestTokensOfTheEnvironment(t *testing.T) {
	t.Parallel()
	all := []string{"GH_TOKEN=one", "GH_ENTERPRISE_TOKEN=two", "GITHUB_ENTERPRISE_TOKEN=three", "GITLAB_TOKEN=four", "GITLAB_ACCESS_TOKEN=five", "OAUTH_TOKEN=six"}
	for name, c := range map[string]struct {
		kind forge.Kind
		host string
		vars []string
		want string
	}{
		"github.com":              {forge.GitHub, "github.com", nil, "one,,,,,"},
		"an enterprise host":      {forge.GitHub, "github.example.com", nil, "one,,,,,"},
		"an enterprise host, set": {forge.GitHub, "github.example.com", []string{"GH_HOST=github.example.com"}, "one,two,three,,,"},
		"another one is set":      {forge.GitHub, "github.evil.example", []string{"GH_HOST=github.example.com"}, "one,,,,,"},
		"gitlab.com":              {forge.GitLab, "gitlab.com", nil, "one,,,four,five,six"},
		"a gitlab":                {forge.GitLab, "gitlab.evil.example", []string{"GITLAB_HOST=gitlab.example.com"}, "one,,,,,"},
		"a gitlab, set":           {forge.GitLab, "gitlab.example.com", []string{"GITLAB_HOST=https://gitlab.example.com:8443"}, "one,,,four,five,six"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			does := call{
				out: `{"number":3,"iid":3,"state":"open"}`,
				do:  `echo "$GH_TOKEN,$GH_ENTERPRISE_TOKEN,$GITHUB_ENTERPRISE_TOKEN,$GITLAB_TOKEN,$GITLAB_ACCESS_TOKEN,$OAUTH_TOKEN" >` + dir + `/tokens`,
			}
			path, program := "repos/acme/shop/issues/3", "gh"
			if c.kind == forge.GitLab {
				path, program = "projects/acme%2Fshop/issues/3", "glab"
			}
			does.args = []string{"api", "--hostname=" + c.host, "--method=GET", path}
			f := forge.Forge{Kind: c.kind, Host: c.host, Spec: "acme/shop", Dir: t.TempDir(), Timeout: patience}
			f.Environ = append(append(standIn(t, program, does), all...), c.vars...)
			if _, err := f.IssueOpen(t.Context(), 3); err != nil {
				t.Fatal(err)
			}
			if got := contents(t, dir+"/tokens"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
