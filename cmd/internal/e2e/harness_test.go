//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/sessions/messagesapi"
)

// patience bounds everything a test waits for. It is far above what a loaded
// machine needs, and below the time limit of the whole suite.
const patience = 90 * time.Second

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(mcpVar) != "" {
		serveMCP()
	}
	dir, err := os.MkdirTemp("", "autopilot-e2e-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "autopilot")
	if out, err := exec.Command("go", "build", "-race", "-o", binary, "autopilot/cmd/autopilot").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build: %v\n%s", err, out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// eachVersion runs a test with every pinned version of the CLI, beside other
// tests.
func eachVersion(t *testing.T, test func(*testing.T, string)) {
	t.Helper()
	t.Parallel()
	versions(t, func(t *testing.T, claude string) {
		t.Parallel()
		test(t, claude)
	})
}

// eachVersionAlone does so while no other test runs.
func eachVersionAlone(t *testing.T, test func(*testing.T, string)) {
	t.Helper()
	versions(t, test)
}

func versions(t *testing.T, test func(*testing.T, string)) {
	t.Helper()
	base := os.Getenv("AUTOPILOT_E2E_CLI")
	all := strings.Fields(os.Getenv("AUTOPILOT_E2E_VERSIONS"))
	if base == "" || len(all) == 0 {
		t.Fatal("AUTOPILOT_E2E_CLI and AUTOPILOT_E2E_VERSIONS are not set; run 'make e2e'")
	}
	for _, v := range all {
		t.Run(v, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join(base, v, "claude"))
			if err != nil {
				t.Fatal(err)
			}
			test(t, path)
		})
	}
}

// lab is a scratch repository, a home and an API for one test. Its branch has a
// name of its own, and so have its runs.
type lab struct {
	t      *testing.T
	claude string
	base   string
	repo   string
	home   string
	branch string
	env    []string
	key    bool // runs hand the key of the environment on
	api    *messagesapi.Server
}

func newLab(t *testing.T, claude string, script messagesapi.Script) *lab {
	t.Helper()
	return newLabFor(t, claude, func(*lab) messagesapi.Script { return script })
}

// newLabFor is newLab for a script that needs the lab itself.
func newLabFor(t *testing.T, claude string, script func(*lab) messagesapi.Script) *lab {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{
		t: t, claude: claude, base: base, repo: filepath.Join(base, "repo"), home: filepath.Join(base, "home"),
		branch: "lab-" + strings.ToLower(rand.Text()[:8]), key: true,
	}
	for _, d := range []string{l.repo, l.home} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l.api = messagesapi.Start(t, script(l))
	// The race detector would let every process of ours sleep for a second at its end.
	l.env = append(messagesapi.Env(l.home, l.api.URL()), "GIT_CONFIG_GLOBAL="+filepath.Join(l.home, ".gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "GORACE=atexit_sleep_ms=0")
	config := "[user]\n\tname = e2e\n\temail = e2e@example.org\n"
	if err := os.WriteFile(filepath.Join(l.home, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l.git("init", "-q", "-b", l.branch)
	l.write(".gitignore", ".orchestrator/\nmark-*\n")
	l.commit("start")
	t.Cleanup(l.end)
	return l
}

// end ends what a failed test left behind.
func (l *lab) end() {
	for _, p := range l.processes() {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
	// What is dying still writes into the folders that the test is about to remove.
	deadline := time.Now().Add(patience)
	for len(l.processes()) > 0 && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
}

// withToken authenticates as a subscription, with a token instead of a key.
func (l *lab) withToken() {
	l.key = false
	l.unset("ANTHROPIC_API_KEY")
	l.set("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-fake")
}

func (l *lab) set(name, value string) {
	l.unset(name)
	l.env = append(l.env, name+"="+value)
}

func (l *lab) unset(name string) {
	l.env = slices.DeleteFunc(l.env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

// path is the absolute path of a file in the repository.
func (l *lab) path(name string) string { return filepath.Join(l.repo, name) }

func (l *lab) write(name, text string) {
	l.t.Helper()
	if err := os.MkdirAll(filepath.Dir(l.path(name)), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(l.path(name), []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) exists(name string) bool {
	_, err := os.Stat(l.path(name))
	return err == nil
}

func (l *lab) commit(message string) {
	l.t.Helper()
	l.git("add", "-A")
	l.git("commit", "-q", "-m", message)
}

func (l *lab) git(args ...string) string {
	l.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = l.repo, l.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// ended is what a finished command left.
type ended struct {
	code   int
	stdout string
	stderr string
}

// started is a command that runs.
type started struct {
	cmd            *exec.Cmd
	stdout, stderr *bytes.Buffer
}

// signal signals the process that was started, which is the guard of a run.
func (s *started) signal(sig syscall.Signal) { _ = s.cmd.Process.Signal(sig) }

// run runs 'autopilot run' to its end.
func (l *lab) run(args ...string) ended {
	l.t.Helper()
	return l.finish(l.start(args...))
}

// start starts 'autopilot run'. The sessions of a person at this machine do not
// keep it from running.
func (l *lab) start(args ...string) *started {
	l.t.Helper()
	always := []string{"run", "--claude", l.claude, "--allow-nested", "--peer-abort", "1000", "--use-api-key=" + strconv.FormatBool(l.key)}
	return l.command(append(always, args...)...)
}

// command starts any command of the program in the lab. It is killed when it
// takes too long.
func (l *lab) command(args ...string) *started {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	l.t.Cleanup(cancel)
	s := &started{cmd: exec.CommandContext(ctx, binary, args...), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	s.cmd.Dir, s.cmd.Env, s.cmd.WaitDelay = l.repo, l.env, time.Second
	s.cmd.Stdout, s.cmd.Stderr = s.stdout, s.stderr
	if err := s.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	return s
}

func (l *lab) finish(s *started) ended {
	l.t.Helper()
	err := s.cmd.Wait()
	if _, exit := errors.AsType[*exec.ExitError](err); err != nil && !exit {
		l.t.Errorf("wait for %v: %v", s.cmd.Args, err)
	}
	e := ended{code: s.cmd.ProcessState.ExitCode(), stdout: s.stdout.String(), stderr: s.stderr.String()}
	l.t.Logf("exit %d\n%s%s", e.code, e.stdout, e.stderr)
	if strings.Contains(e.stderr, "DATA RACE") {
		l.t.Error("the race detector spoke up")
	}
	return e
}
