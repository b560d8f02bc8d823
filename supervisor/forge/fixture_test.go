package forge_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"autopilot/metrics/testprogram"
	"autopilot/supervisor/forge"
)

// patience is how long a test waits for something that happens at once on a quiet machine.
const patience = time.Minute

// beat is the time between two looks at something that is waited for.
const beat = 20 * time.Millisecond

// call is one that a stand-in for a program expects, and what it does then.
type call struct {
	args []string
	out  string // on standard output
	err  string // on standard error
	code int
	do   string // shell commands to run first
}

// frame is a stand-in for gh or glab. It takes each expected call once. It refuses to be
// asked with other arguments, with something on standard input, with a terminal, or in an
// environment in which the real program would ask, paint or answer for another repository.
const frame = `#!/bin/sh
here=%[1]s
fail() { echo "stand-in: $*" >&2; echo "$*" >>"$here/complaints"; exit 97; }
[ -z "$(cat)" ] || fail "something on standard input"
( : </dev/tty ) 2>/dev/null && fail "there is a terminal"
[ -z "$GH_REPO$GH_FORCE_TTY$GH_DEBUG$DEBUG$CLICOLOR_FORCE$NO_PROMPT$FORCE_HYPERLINKS$GITLAB_REPO$GITLAB_GROUP" ] || fail "an environment that misleads"
[ "$GH_PROMPT_DISABLED$GLAB_NO_PROMPT$NO_COLOR$GH_PAGER$GLAB_PAGER$GLAB_CHECK_UPDATE" = 1true1catcatfalse ] || fail "an environment that is not quiet"
printf '%%s\n' "$@" >"$here/got.$$"
n=0
while [ -e "$here/want.$n" ]; do
	if cmp -s "$here/want.$n" "$here/got.$$" && mkdir "$here/used.$n" 2>/dev/null; then
		. "$here/do.$n"
		cat "$here/err.$n" >&2
		cat "$here/out.$n"
		exit "$(cat "$here/code.$n")"
	fi
	n=$((n + 1))
done
fail "unexpected arguments: $*"
`

// standIn writes a stand-in and returns an environment in whose PATH it is. At the end of
// the test every call must have been made.
func standIn(t *testing.T, name string, calls ...call) []string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(kind string, n int, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.%d", kind, n)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for n, c := range calls {
		write("want", n, strings.Join(c.args, "\n")+"\n")
		write("out", n, c.out)
		write("err", n, c.err)
		write("code", n, strconv.Itoa(c.code))
		write("do", n, c.do)
	}
	testprogram.Write(t, filepath.Join(bin, name), fmt.Appendf(nil, frame, dir))
	t.Cleanup(func() {
		if text, err := os.ReadFile(filepath.Join(dir, "complaints")); err == nil {
			t.Errorf("the stand-in complains: %s", text)
		}
		for n, c := range calls {
			if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("used.%d", n))); err != nil {
				t.Errorf("call %d was not made: %q", n, c.args)
			}
		}
	})
	return append(quietEnviron(), "PATH="+bin+":/usr/bin:/bin",
		// What a person may have set, and what must not reach the programs.
		"GH_REPO=other/repository", "GH_FORCE_TTY=100%", "DEBUG=api", "NO_PROMPT=true", "GITLAB_REPO=other/repository", "CLICOLOR_FORCE=1")
}

// quietEnviron is an environment without the machine's settings.
func quietEnviron() []string {
	return []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent", "PATH=/usr/bin:/bin"}
}

func onGitHub(t *testing.T, calls ...call) forge.Forge {
	t.Helper()
	return forge.Forge{Kind: forge.GitHub, Spec: "acme/shop", Host: "github.com", Dir: t.TempDir(), Environ: standIn(t, "gh", calls...), Timeout: patience}
}

func onGitLab(t *testing.T, calls ...call) forge.Forge {
	t.Helper()
	return forge.Forge{Kind: forge.GitLab, Spec: "acme/web/shop", Host: "gitlab.example.com", Dir: t.TempDir(), Environ: standIn(t, "glab", calls...), Timeout: patience}
}

// ghGet and glabGet are the arguments of a question to the REST interfaces.
func ghGet(path string) []string {
	return []string{"api", "--hostname=github.com", "--method=GET", "repos/acme/shop/" + path}
}

func glabGet(path string) []string {
	return []string{"api", "--hostname=gitlab.example.com", "--method=GET", "projects/acme%2Fweb%2Fshop/" + path}
}

// git runs git in a folder and returns its output.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(quietEnviron(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository makes a repository with one commit on main.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=main")
	git(t, dir, "config", "user.name", "Someone")
	git(t, dir, "config", "user.email", "someone@example.com")
	git(t, dir, "commit", "--quiet", "--allow-empty", "--message=first")
	return dir
}

// gone waits until a process has ended.
func gone(t *testing.T, pid string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(beat) {
		if err := exec.Command("/bin/sh", "-c", "kill -0 "+pid+" 2>/dev/null && ! grep -q '^State:.Z' /proc/"+pid+"/status 2>/dev/null").Run(); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s is still there", pid)
		}
	}
}

// contents waits until a file has a line, and returns it.
func contents(t *testing.T, path string) string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(beat) {
		if text, err := os.ReadFile(path); err == nil && strings.HasSuffix(string(text), "\n") {
			return strings.TrimSpace(string(text))
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s was not written", path)
		}
	}
}
