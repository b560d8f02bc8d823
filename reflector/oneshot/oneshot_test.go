package oneshot_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"autopilot/reflector"
	"autopilot/reflector/conformance"
	"autopilot/reflector/oneshot"
	"autopilot/sessions"
	"autopilot/sessions/hook"
	"autopilot/sessions/launch"
	"autopilot/sessions/ptyrun"
	"autopilot/sessions/reap"
	"autopilot/sessions/standin"
	"autopilot/sessions/vitals"
)

const patience = 30 * time.Second

// TestMain lets the test binary be the stand-in for claude.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "claude" {
		os.Exit(standin.Main(standin.Process{Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	os.Exit(m.Run())
}

// desk is a place at which questions are asked. Its folder is no git work tree.
type desk struct {
	t   *testing.T
	dir string
	o   oneshot.Options
}

// newDesk makes one whose stand-in follows a script for sessions without tools;
// $D in it is the folder. The work of other sessions has a script that fails.
func newDesk(t *testing.T, script string) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "claude")); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: dir}
	d.write("work", "refuse not a session of work")
	d.write("script", strings.ReplaceAll(script, "$D", dir))
	d.o = oneshot.Options{
		Folder: filepath.Join(dir, "state"),
		Spec: sessions.Spec{
			RunID: "run-1", Token: "token-" + t.Name(), Dir: dir, Claude: filepath.Join(dir, "claude"), Model: "opus",
			Environ: []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "STANDIN_SCRIPT=" + filepath.Join(dir, "work"),
				"STANDIN_REFLECT_SCRIPT=" + filepath.Join(dir, "script"), "GORACE=atexit_sleep_ms=0", "GOCOVERDIR=" + dir,
			},
			Limits: sessions.Limits{
				Limits: vitals.Limits{Stall: patience, ToolStall: patience, ExitGrace: patience},
				Ladder: ptyrun.Ladder{Interrupt: patience, Terminate: patience},
			},
			Sweeper: new(reap.Sweeper), // one that adopts orphans would end other tests' sessions
		},
	}
	return d
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) ask() (reflector.Answer, error) {
	return oneshot.New(d.o).Ask(d.t.Context(), reflector.Question{System: "You judge.", Prompt: "How is it?", Schema: reflector.Schema, Name: "assessment"})
}

// reply is a section of the script that prints a result as the CLI does.
func reply(t *testing.T, r conformance.Reply) string {
	t.Helper()
	switch {
	case r.Hang:
		return "hang"
	case r.Fail:
		return "api-error 400 invalid_request"
	}
	e := map[string]any{
		"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "terminal_reason": "completed", "result": r.Text,
		"modelUsage": map[string]any{"m": map[string]any{"inputTokens": r.Usage.Input, "outputTokens": r.Usage.Output, "cacheReadInputTokens": r.Usage.CacheRead}},
	}
	var object map[string]any
	if json.Unmarshal([]byte(r.Text), &object) == nil {
		e["structured_output"] = object
	}
	line, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return "raw " + string(line) + "\nexit 0"
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.TestAsking(t, func(t *testing.T, replies ...conformance.Reply) reflector.Reflector {
		d := newDesk(t, "")
		// The reply belongs to the question and not to the process, which may be ended
		// before it has read its script.
		asked := 0
		d.o.NewID = func() string {
			d.write("script", reply(t, replies[min(asked, len(replies)-1)]))
			asked++
			return uuid.NewString()
		}
		return reflector.Asking{Model: oneshot.New(d.o)}
	})
}

// TestSession is how the session is started, and what it leaves behind.
func TestSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "dump $D/dump\nusage 900 80 0.25\nreport "+conformance.Good)
	d.write("git", "#!/bin/sh\necho git >>"+filepath.Join(d.dir, "git-was-asked"))
	if err := os.Chmod(filepath.Join(d.dir, "git"), 0o700); err != nil {
		t.Fatal(err)
	}
	id := uuid.NewString()
	d.o.NewID = func() string { return id }
	s := &d.o.Spec
	s.Environ = append(s.Environ, "ANTHROPIC_API_KEY=sk-fake", "PATH="+d.dir+":"+os.Getenv("PATH"))
	s.Tools, s.Extra, s.Permission, s.BudgetUSD, s.HookCommand = []string{"Bash"}, []string{"--mcp-config", "x"}, "bypassPermissions", 1.5, "false"
	s.Cap, s.Judge = hook.Change{Cap: 4}, func(context.Context) hook.Change { panic("the machine was judged") }
	s.ID, s.Folder, s.Schema, s.Steps = "other", "/nonexistent", "other", []sessions.Step{{Prompt: "other"}}
	a, err := d.ask()
	if err != nil {
		t.Fatal(err)
	}
	want := reflector.Answer{Model: "claude-standin-1", Usage: reflector.Usage{Input: 900, Output: 80, CostUSD: 0.25}}
	if got, err := reflector.ParseAssessment(a.Text); err != nil || cmp.Diff(conformance.GoodAssessment(), got) != "" {
		t.Errorf("answer %s, %v; want the report", a.Text, err)
	}
	if a.Text = nil; cmp.Diff(want, a) != "" {
		t.Errorf("answer %+v, want %+v", a, want)
	}
	data, err := os.ReadFile(filepath.Join(d.dir, "dump"))
	if err != nil {
		t.Fatal(err)
	}
	var how struct {
		Args  []string
		Stdin string
		CWD   string
		Env   map[string]string
	}
	if err := json.Unmarshal(data, &how); err != nil {
		t.Fatal(err)
	}
	args, stdin := launch.Args(launch.Options{
		SessionID: id, Prompt: "How is it?", SystemPrompt: "You judge.", Schema: reflector.Schema, Model: "opus", MaxBudgetUSD: 1.5, NoTools: true,
	})
	if diff := cmp.Diff(args, how.Args); diff != "" || how.Stdin != stdin || how.CWD != d.dir {
		t.Errorf("started in %s with stdin %q and (-want +got):\n%s", how.CWD, how.Stdin, diff)
	}
	for name, value := range map[string]string{launch.RunVar: "run-1", launch.TokenVar: s.Token, launch.SessionVar: id, launch.CapVar: "0", "ANTHROPIC_API_KEY": ""} {
		if how.Env[name] != value {
			t.Errorf("%s=%q, want %q", name, how.Env[name], value)
		}
	}
	if _, err := os.Stat(filepath.Join(d.dir, "git-was-asked")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("git was asked")
	}
	d.leaves(id, "prompt.txt", "result.json", "stderr.log")
}

// leaves checks what is in the folder of a session, and that it is little.
func (d *desk) leaves(id string, want ...string) {
	d.t.Helper()
	entries, err := os.ReadDir(filepath.Join(d.o.Folder, id))
	if err != nil {
		d.t.Fatal(err)
	}
	var names []string
	size := int64(0)
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			d.t.Fatal(err)
		}
		names, size = append(names, e.Name()), size+fi.Size()
	}
	if !slices.Equal(names, want) || size > 8<<10 {
		d.t.Errorf("the folder holds %q with %d bytes, want %q with little", names, size, want)
	}
	if found := reap.Marked(reap.Marker{Name: launch.SessionVar, Value: id}); len(found) > 0 {
		d.t.Errorf("processes %v are left", found)
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ script, want string }{
		{"api-error 401 authentication_failed", "auth: the API refused the credentials"},
		{"api-error 400 billing_error", "credit: the account has no credit (HTTP 400)"},
		{"api-error 400 invalid_request", "failed: API error invalid_request (HTTP 400): api_error"},
		{"result error_max_turns", "failed: error_max_turns"},
		{"result error_max_budget_usd", "failed: used up the budget it was given"},
		{"refuse no such thing", "failed: did not start, exit status 1: no such thing"},
		{"crash", "crashed: killed by SIGKILL without a result"},
		{"exit 7", "crashed: exit status 7 without a result"},
		{"exit 0", "cancelled: interrupted from outside (exit status 0 without a result)"},
		{`raw {"type":"result","subtype":"success","num_turns":0,"result":"/x isn't available"}` + "\nexit 0", "no-work: the prompt was not worked on (no turn)"},
	} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			a, err := newDesk(t, c.script).ask()
			if err == nil || !strings.Contains(err.Error(), ": "+c.want) || len(a.Text) > 0 {
				t.Errorf("got %q, %v; want an error with %q", a.Text, err, c.want)
			}
			if _, limited := errors.AsType[*reflector.LaterError](err); limited {
				t.Errorf("%v counts as a limit", err)
			}
		})
	}
}

func TestLimited(t *testing.T) {
	t.Parallel()
	before := time.Now().Truncate(time.Second)
	_, err := newDesk(t, "limit 3600").ask()
	l, ok := errors.AsType[*reflector.LaterError](err)
	if !ok || l.At.Before(before.Add(time.Hour)) || l.At.After(time.Now().Add(time.Hour)) {
		t.Errorf("usage limit: got %v, want a limit for an hour", err)
	}
	for _, script := range []string{"api-error 429 rate_limit", "api-error 529 overloaded", "api-error 500 server_error"} {
		_, err := newDesk(t, script).ask()
		if l, ok := errors.AsType[*reflector.LaterError](err); !ok || !l.At.IsZero() || l.Error() == "" {
			t.Errorf("%s: got %v, want a limit without an end", script, err)
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "hang")
	d.o.Timeout = 50 * time.Millisecond
	_, err := d.ask()
	if err == nil || !strings.Contains(err.Error(), "hung: session-timeout 50ms reached") {
		t.Errorf("got %v, want one that says that its time was over", err)
	}
}

// TestSpentWithAnError counts what was spent before the process died.
func TestSpentWithAnError(t *testing.T) {
	t.Parallel()
	a, err := newDesk(t, `raw {"type":"stream_event","event":{"type":"message_start","message":{"id":"m","usage":{"input_tokens":500,"output_tokens":3}}}}`+"\ncrash").ask()
	if err == nil || a.Usage.Input != 500 || a.Usage.Output != 3 || a.Model != "claude-standin-1" {
		t.Errorf("got %+v, %v; want an error, the model and 500 tokens", a, err)
	}
}

func TestCannotRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	d.o.Spec.Claude = filepath.Join(d.dir, "missing")
	if _, err := d.ask(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a binary: got %v, want file does not exist", err)
	}
	d = newDesk(t, "")
	d.o.Folder = filepath.Join(d.dir, "script", "below-a-file")
	if _, err := d.ask(); err == nil {
		t.Error("without a folder: no error")
	}
}

// TestWords has answers without a report: short ones stand in the result, long
// ones in a file beside it.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5 << 10, 1 << 20} {
		text := strings.Repeat("ü", n)
		a, err := newDesk(t, reply(t, conformance.Reply{Text: text})).ask()
		if err != nil || string(a.Text) != text {
			t.Errorf("%d characters: got %d bytes, %v; want all", n, len(a.Text), err)
		}
	}
}

// TestSecrets are not kept on disk.
func TestSecrets(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	_, err := oneshot.New(d.o).Ask(t.Context(), reflector.Question{Prompt: "is sk-ant-abcdefgh1234 a secret?"})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(d.o.Folder, "*", "prompt.txt"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("prompts %v, %v; want one", kept, err)
	}
	if data, err := os.ReadFile(kept[0]); err != nil || string(data) != "is [redacted] a secret?" {
		t.Errorf("kept %q, %v", data, err)
	}
}

// TestContextOfTheRun: what stopped the run is what is said.
func TestContextOfTheRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "mark $D/marks\nhang")
	why := errors.New("a person wants it")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(d.dir, "marks")); err == nil || t.Context().Err() != nil {
				cancel(why)
				return
			}
			<-time.After(2 * time.Millisecond)
		}
	}()
	if _, err := oneshot.New(d.o).Ask(ctx, reflector.Question{Prompt: "x"}); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
}
