package standin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/outcome"
	"autopilot/sessions/reap"
	"autopilot/sessions/standin"
	"autopilot/sessions/stream"
)

const (
	partVar  = "STANDIN_TEST_PART"
	dirVar   = "STANDIN_TEST_DIR" // marks what a test has started
	patience = 30 * time.Second
)

// TestMain lets copies of the test binary be the stand-in and its hook.
func TestMain(m *testing.M) {
	switch os.Getenv(partVar) {
	case "":
		os.Exit(m.Run())
	case "claude":
		os.Exit(standin.Main(standin.Process{Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	os.Exit(99)
}

// cli is a stand-in with a home and a folder of its own.
type cli struct {
	t   *testing.T
	dir string
}

func newCLI(t *testing.T, script string) cli {
	t.Helper()
	c := cli{t, t.TempDir()}
	t.Cleanup(func() { reap.EndMarked(reap.Marker{Name: dirVar, Value: c.dir}, 0, patience) })
	c.write("script", strings.ReplaceAll(script, "$D", c.dir))
	return c
}

func (c cli) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c cli) read(name string) string {
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

func (c cli) command(stdin string, args ...string) *exec.Cmd {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), partVar+"=claude", "HOME="+c.dir, "CLAUDE_CONFIG_DIR=", dirVar+"="+c.dir, "STANDIN_SCRIPT="+filepath.Join(c.dir, "script"), "GORACE=atexit_sleep_ms=0")
	cmd.Stdin = strings.NewReader(stdin)
	return cmd
}

// ran is what a process printed and how it exited.
type ran struct {
	events []stream.Event
	stdout string
	stderr string
	exit   outcome.Exit
}

func (r ran) facts() outcome.Facts {
	ta := outcome.NewTally()
	for _, e := range r.events {
		ta.Observe(e)
	}
	return ta.Facts()
}

func (r ran) ending() outcome.Ending { return outcome.Classify(r.facts(), r.exit).Ending }

func (c cli) run(stdin string, args ...string) ran {
	c.t.Helper()
	cmd := c.command(stdin, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	return finish(c.t, cmd.Run(), &out, &stderr)
}

func finish(t *testing.T, err error, out, stderr *bytes.Buffer) ran {
	t.Helper()
	r := ran{stdout: out.String(), stderr: stderr.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.exit.Code = exit.ExitCode()
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			r.exit.Signal = ws.Signal().String()
		}
	} else if err != nil {
		t.Fatal(err)
	}
	d := stream.New(stream.Limits{}, func(e stream.Event) { r.events = append(r.events, e) })
	if _, err := d.Write([]byte(r.stdout)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if s := d.Stats(); s.Ignored+s.Odd+s.Torn > 0 && !strings.Contains(r.stdout, "(Claude Code)") {
		t.Errorf("it printed what the CLI would not: %+v", s)
	}
	return r
}

// TestEndings is every verb that ends a process, in the eyes of a supervisor.
func TestEndings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		script string
		want   outcome.Ending
		code   int
	}{
		{"", outcome.NoWork, 0},
		{"write a.txt x", outcome.Completed, 0},
		{"bash true\nresult", outcome.Completed, 0},
		{"write a.txt x\nempty", outcome.NoWork, 0},
		{"write a.txt x\nresult error_max_turns", outcome.Failed, 1},
		{"result error_max_budget_usd", outcome.Failed, 1},
		{"limit 60", outcome.Limited, 1},
		{"api-error 529 server_error", outcome.Overloaded, 1},
		{"api-error 401 authentication_failed", outcome.Auth, 1},
		{"api-error 400 billing_error", outcome.Credit, 1},
		{"api-error 400 invalid_request", outcome.Failed, 1},
		{"crash", outcome.Crashed, -1},
		{"exit 0", outcome.Cancelled, 0},
		{"exit 7", outcome.Crashed, 7},
		{"refuse no", outcome.Failed, 1},
	}
	for _, tt := range tests {
		c := newCLI(t, tt.script)
		r := c.run("work", "-p", "--session-id", "s1")
		if got := r.ending(); got != tt.want || r.exit.Code != tt.code {
			t.Errorf("%q: got %s with status %d, want %s with %d", tt.script, got, r.exit.Code, tt.want, tt.code)
		}
	}
}

// TestConversation is what the transcript is for: one conversation over several
// processes, each with its own section of the script.
func TestConversation(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "usage 100 20 0.5\nwrite a.txt x\n---\nusage 200 40 0.25\nmark $D/marks\ndump $D/dump\n---\nwrite b.txt x")
	first := c.run("one", "-p", "--session-id", "s1", "--permission-mode", "acceptEdits")
	if e := first.events[0]; e.Subtype != stream.SubtypeInit || e.SessionID != "s1" || e.Version != standin.Version || e.PermissionMode != "acceptEdits" || e.CWD == "" {
		t.Errorf("it begins with %+v", e)
	}
	second := c.run("on stdin", "-p", "--resume", "s1", "--", "as argument")
	if got := c.read("marks"); got != "s1\n" {
		t.Errorf("marks %q", got)
	}
	var how struct {
		ID, Argument, Stdin string
		Resumed             bool
	}
	if err := json.Unmarshal([]byte(c.read("dump")), &how); err != nil {
		t.Fatal(err)
	}
	if how.ID != "s1" || !how.Resumed || how.Argument != "as argument" || how.Stdin != "on stdin" {
		t.Errorf("it was told %+v", how)
	}
	c.run("three", "-p", "--resume", "s1")
	c.run("four", "-p", "--resume", "s1")
	if c.read("b.txt") != "x\n" {
		t.Error("the last section does not serve the further processes")
	}
	if r := c.run("again", "-p", "--session-id", "s1"); r.exit.Code != 1 || r.stdout != "" || !strings.Contains(r.stderr, "Session ID s1 is already in use") {
		t.Errorf("the same id again: %+v", r)
	}
	if r := c.run("go on", "-p", "--resume", "s2"); r.exit.Code != 1 || !strings.Contains(r.stderr, "No conversation found") || len(r.events) != 1 || r.ending() != outcome.Failed {
		t.Errorf("an unknown conversation: %+v", r)
	}
	// The newer CLI's sums carry on, the share is the process's own.
	ta := outcome.NewTally()
	for i, r := range []ran{first, second} {
		if i > 0 {
			ta.NextProcess(false)
		}
		for _, e := range r.events {
			ta.Observe(e)
		}
	}
	if diff := cmp.Diff(outcome.Usage{Input: 300, Output: 60, CostUSD: 0.75}, ta.Facts().Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	last := second.events[len(second.events)-1]
	if last.TotalCostUSD != 0.75 || last.ModelUsage["claude-standin-1"].InputTokens != 300 || last.ModelUsageSince["claude-standin-1"].InputTokens != 200 {
		t.Errorf("the second result says %+v", last)
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "mark $D/marks")
	if r := c.run("", "--version"); r.stdout != standin.Version+" (Claude Code)\n" || r.exit.Code != 0 {
		t.Errorf("version: %+v", r)
	}
	if r := c.run("", "-p", "--session-id", "s"); r.exit.Code != 1 || !strings.Contains(r.stderr, "Input must be provided") || r.stdout != "" {
		t.Errorf("no prompt: %+v", r)
	}
	if c.read("marks") != "" {
		t.Error("a usage error ran the script")
	}
	if err := os.Remove(filepath.Join(c.dir, "script")); err != nil {
		t.Fatal(err)
	}
	if r := c.run("x", "-p", "--session-id", "s"); r.exit.Code != 1 || !strings.Contains(r.stderr, "read script") {
		t.Errorf("a script that is missing: %+v", r)
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]outcome.Agents{
		"": {Complete: 2}, "fail": {Failed: 2}, "stop": {Partial: 2}, "die": {Failed: 2}, "spiral": {Complete: 2, Spiral: 2},
	} {
		c := newCLI(t, "agents 2 "+how)
		if got := c.run("x", "-p", "--session-id", "s").facts(); got.Agents != want || got.ToolsRunning != 0 {
			t.Errorf("%q: got %+v, want %+v", how, got.Agents, want)
		}
	}
}

// TestHooks asks the hooks of the settings before each sub-agent.
func TestHooks(t *testing.T) {
	t.Parallel()
	const deny = `cat >> $D/asked; echo >> $D/asked; echo "{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"too many\"}}"`
	for command, want := range map[string]int{deny: 0, "cat >> $D/asked; exit 2": 0, "cat >> $D/asked; exit 1": 2, "cat >> $D/asked": 2} {
		c := newCLI(t, "agents 2")
		command = strings.ReplaceAll(command, "$D", c.dir)
		quoted, err := json.Marshal(command)
		if err != nil {
			t.Fatal(err)
		}
		c.write("settings", fmt.Sprintf(`{"hooks":{"PreToolUse":[{"matcher":"Agent|Task","hooks":[{"type":"command","command":%s}]}]}}`, quoted))
		r := c.run("x", "-p", "--session-id", "s", "--settings", filepath.Join(c.dir, "settings"))
		if got := r.facts().Agents.Started(); got != want || strings.Count(c.read("asked"), `"hook_event_name":"PreToolUse"`) != 2 {
			t.Errorf("%s: %d sub-agents started, want %d; asked %s", command, got, want, c.read("asked"))
		}
	}
}

// TestSignals are the endings that a supervisor causes.
func TestSignals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		script  string
		sig     syscall.Signal
		ending  outcome.Ending
		code    int
		results int
	}{
		{"mark $D/marks\nhang", syscall.SIGINT, outcome.Cancelled, 0, 1},
		{"bash echo x > $D/marks; sleep 300", syscall.SIGINT, outcome.Cancelled, 0, 1},
		{"mark $D/marks\nhang", syscall.SIGTERM, outcome.Crashed, 143, 0},
		{"mark $D/marks\nhang", syscall.SIGHUP, outcome.Crashed, 129, 0},
		{"ignore TERM HUP\nmark $D/marks\nhang", syscall.SIGINT, outcome.Cancelled, 0, 1},
		{"ignore INT TERM $D/signals\nmark $D/marks\nhang", syscall.SIGINT, outcome.Crashed, -1, 0}, // killed in the end
	}
	for _, tt := range tests {
		c := newCLI(t, tt.script)
		cmd := c.command("x", "-p", "--session-id", "s")
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		poll(t, func() bool { return c.read("marks") != "" })
		if err := cmd.Process.Signal(tt.sig); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(tt.script, "signals") {
			poll(t, func() bool { return c.read("signals") == "INT\n" })
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		r := finish(t, cmd.Wait(), &out, &stderr)
		if f := r.facts(); r.ending() != tt.ending || r.exit.Code != tt.code || f.Results != tt.results {
			t.Errorf("%q and %v: got %s with status %d and %d results, want %s with %d and %d", tt.script, tt.sig, r.ending(), r.exit.Code, f.Results, tt.ending, tt.code, tt.results)
		}
	}
}

func poll(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen within %v", patience)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// TestSeveralTurns prints more than one result in one process.
func TestSeveralTurns(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "write a.txt x\nreport {\"n\": 1}\nresult\nwake\nbig 100000 result\nresult")
	r := c.run("x", "-p", "--session-id", "s")
	f := r.facts()
	if f.Results != 3 || string(f.Report) != `{"n":1}` && string(f.Report) != `{"n": 1}` || len(f.Result.Result) != 100000 || r.ending() != outcome.Completed {
		t.Errorf("%d results, report %s, an answer of %d bytes, %s", f.Results, f.Report, len(f.Result.Result), r.ending())
	}
	for i, index := 0, 0; i < len(r.events); i++ {
		if e := r.events[i]; e.Type == stream.TypeResult {
			if e.ResultIndex != index {
				t.Errorf("result %d has the index %d", index, e.ResultIndex)
			}
			index++
		}
	}
}

// TestTwoAtOnce take one section each.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "mark $D/one\n---\nmark $D/two\n---\nmark $D/three")
	var cmds []*exec.Cmd
	for i := range 3 {
		cmd := c.command("x", "-p", "--session-id", fmt.Sprint("s", i))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"one", "two", "three"} {
		if got := strings.Count(c.read(name), "\n"); got != 1 {
			t.Errorf("section %s was played %d times", name, got)
		}
	}
}

// TestWithoutTools has sessions that only answer between others.
func TestWithoutTools(t *testing.T) {
	t.Parallel()
	c := newCLI(t, "write a.txt one\n---\nwrite b.txt two")
	c.write("reflect", `report {"n":1}`+"\n---\n"+`report {"n":2}`)
	answer := func(id string, env ...string) string {
		cmd := c.command("judge", "-p", "--session-id", id, "--tools", "", "--no-session-persistence", "--max-turns", "4")
		cmd.Env = append(cmd.Env, env...)
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		r := finish(t, cmd.Run(), &out, &stderr)
		if r.exit.Code != 0 || !strings.Contains(r.stdout, `"tools":["StructuredOutput"]`) {
			t.Errorf("%s: status %d, %s%s", id, r.exit.Code, r.stdout, r.stderr)
		}
		return string(r.facts().Report)
	}
	script := "STANDIN_REFLECT_SCRIPT=" + filepath.Join(c.dir, "reflect")
	if got := answer("r1", script); got != `{"n":1}` {
		t.Errorf("first answer %s", got)
	}
	c.run("work", "-p", "--session-id", "s1", "--tools", "default")
	if got := answer("r2", script); got != `{"n":2}` {
		t.Errorf("second answer %s", got)
	}
	c.run("work", "-p", "--session-id", "s2")
	if c.read("a.txt") != "one\n" || c.read("b.txt") != "two\n" {
		t.Error("answers have used up sections of the work")
	}
	const want = `{"goalAchieved":"NO","progress":"GOOD","percentComplete":50,"loopDetected":false,"recommendation":"CONTINUE","reasoning":"stand-in","nextSteps":[]}`
	if got := answer("r3"); got != want {
		t.Errorf("without a script: %s", got)
	}
	kept, err := filepath.Glob(filepath.Join(c.dir, ".claude", "projects", "*", "*.jsonl"))
	if err != nil || len(kept) != 2 {
		t.Errorf("transcripts %v, %v; want those of the work", kept, err)
	}
}
