//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/probe/proctree"
	"autopilot/sessions/launch"
	"autopilot/sessions/messagesapi"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) {
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

// eachVersion runs a test with every pinned version of the CLI.
func eachVersion(t *testing.T, test func(*testing.T, string)) {
	t.Helper()
	base := os.Getenv("AUTOPILOT_E2E_CLI")
	versions := strings.Fields(os.Getenv("AUTOPILOT_E2E_VERSIONS"))
	if base == "" || len(versions) == 0 {
		t.Fatal("AUTOPILOT_E2E_CLI and AUTOPILOT_E2E_VERSIONS are not set; run 'make e2e'")
	}
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			path, err := filepath.Abs(filepath.Join(base, v, "claude"))
			if err != nil {
				t.Fatal(err)
			}
			test(t, path)
		})
	}
}

// lab is a scratch repository, a home and an API for one test.
type lab struct {
	t      *testing.T
	claude string
	repo   string
	home   string
	env    []string
	api    *messagesapi.Server
}

func newLab(t *testing.T, claude string, script messagesapi.Script) *lab {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, claude: claude, repo: filepath.Join(base, "repo"), home: filepath.Join(base, "home")}
	for _, d := range []string{l.repo, l.home} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l.api = messagesapi.Start(t, script)
	l.env = append(messagesapi.Env(l.home, l.api.URL()), "GIT_CONFIG_GLOBAL="+filepath.Join(l.home, ".gitconfig"), "GIT_CONFIG_NOSYSTEM=1")
	l.write(".gitignore", ".orchestrator/\n")
	config := "[user]\n\tname = e2e\n\temail = e2e@example.org\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(l.home, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l.git("init", "-q")
	l.git("add", ".")
	l.git("commit", "-q", "-m", "start")
	return l
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.repo, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
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

// ended is what a finished run of the program left.
type ended struct {
	code   int
	stdout string
	stderr string
}

// command prepares the program with the lab's environment.
func (l *lab) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = l.repo, l.env
	return cmd
}

// run runs 'autopilot run' to its end.
func (l *lab) run(args ...string) ended {
	l.t.Helper()
	return l.finish(l.start(args...))
}

type started struct {
	cmd            *exec.Cmd
	stdout, stderr *bytes.Buffer
}

func (l *lab) start(args ...string) *started {
	l.t.Helper()
	s := &started{cmd: l.command(append([]string{"run", "--claude", l.claude, "--use-api-key", "--allow-nested"}, args...)...),
		stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
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
		l.t.Fatal(err)
	}
	e := ended{code: s.cmd.ProcessState.ExitCode(), stdout: s.stdout.String(), stderr: s.stderr.String()}
	l.t.Logf("exit %d\n%s%s", e.code, e.stdout, e.stderr)
	return e
}

// runs and sessions are the two ledgers.
func (l *lab) runs() []ledger.Run {
	return lines[ledger.Run](l.t, filepath.Join(l.repo, ".orchestrator/metrics", ledger.RunsFile))
}

func (l *lab) sessions() []ledger.Session {
	return lines[ledger.Session](l.t, filepath.Join(l.repo, ".orchestrator/metrics", ledger.SessionsFile))
}

func lines[T any](t *testing.T, name string) []T {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var v T
			if jerr := json.Unmarshal(line, &v); jerr != nil {
				t.Fatalf("%s: %v: %q", name, jerr, line)
			}
			out = append(out, v)
		}
		if err != nil {
			return out
		}
	}
}

// oneRun asserts that there is exactly one run record and returns it.
func (l *lab) oneRun() ledger.Run {
	l.t.Helper()
	all := l.runs()
	if len(all) != 1 {
		l.t.Fatalf("%d run records, want 1", len(all))
	}
	return all[0]
}

// nothingLeft asserts that no process of the run lives any more.
func (l *lab) nothingLeft(runID string) {
	l.t.Helper()
	left, err := proctree.WithEnv(launch.RunVar, runID)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, pid := range left {
		p, err := proctree.Read(proctree.Root, pid)
		if err == nil && !p.Dead() {
			l.t.Errorf("process %d (%s, state %c) of run %s is still there", pid, p.Comm, p.State, runID)
		}
	}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("did not come about: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// report is the structured report of a goal session.
func report(planned, completed, next []string) map[string]any {
	if next == nil {
		next = []string{}
	}
	return map[string]any{"planned": planned, "completed": completed, "carried_over": []string{}, "summary": "did " + strings.Join(completed, ", "),
		"next_steps": next, "needs_person": ""}
}

func endingOf(r ledger.Run) string {
	var out []string
	for _, e := range r.Endings {
		out = append(out, e.Ending)
	}
	return strings.Join(out, " ")
}
