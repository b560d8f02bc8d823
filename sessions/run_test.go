package sessions_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"autopilot/sessions"
	"autopilot/sessions/hook"
	"autopilot/sessions/launch"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/sessions/reap"
	"autopilot/sessions/standin"
)

const report = `{"planned":["a"],"completed":["a"],"carried_over":[],"summary":"did a","next_steps":["b"],"needs_person":""}`

func TestResult(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
usage 1000 200 0.05
dump $D/dump
write a.txt hello
commit first
write b.txt hello
agents 2
retry 529 overloaded 2
report `+report+`
result`)
	p.spec.Schema = prompt.ReportSchema
	before := time.Now()
	res := p.run(t.Context())
	want := sessions.Result{
		ID: p.spec.ID, RunID: p.spec.RunID, Ending: outcome.Completed, Processes: 1, Version: standin.Version, Model: "claude-standin-1",
		Agents: outcome.Agents{Complete: 2}, Files: []string{"a.txt", "b.txt"}, Measured: true, Branch: "main",
		Usage: outcome.Usage{Input: 1000, Output: 200, CostUSD: 0.05}, ToolUses: 5, Retries: 2, Report: []byte(report),
		Calls: []outcome.Call{
			{Tool: "Write", Brief: "a.txt"},
			{Tool: "Bash", Brief: "git add -A && git -c user.name=standin -c user.email=standin@example.org -c commit.gpgsign=false commit -q -m 'first'"},
			{Tool: "Write", Brief: "b.txt"},
			{Tool: "Agent", Brief: "part 0"},
			{Tool: "Agent", Brief: "part 1"},
		},
		Tools:  map[string]int{"Agent": 2, "Bash": 1, "Write": 2},
		Answer: "done", AnswerLen: 4, NextStep: 1, Opened: true,
	}
	if diff := cmp.Diff(plain(want), plain(res), ignored(), cmpopts.IgnoreFields(sessions.Result{}, "StartedAt", "EndedAt", "Commits", "Caps", "Worked"),
		cmpopts.IgnoreFields(outcome.Call{}, "Same")); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if len(res.Commits) != 1 || len(res.Commits[0]) != 40 || !res.Effect() {
		t.Errorf("commits %v, want one, and an effect", res.Commits)
	}
	if c := res.Caps; c.Cap != 4 || c.Allowed != 2 || len(c.Refused) != 0 || len(c.Changes) != 1 || len(c.Active) != 0 {
		t.Errorf("caps %+v, want two sub-agents that were allowed and have ended", c)
	}
	if res.StartedAt.Before(before) || res.EndedAt.Before(res.StartedAt) || res.EndedAt.After(time.Now()) || res.Duration() != res.EndedAt.Sub(res.StartedAt) {
		t.Errorf("from %v to %v, want it within the test", res.StartedAt, res.EndedAt)
	}
	p.onDisk(res)
	if !gone(string(p.spec.ID)) {
		t.Error("something of the session is left")
	}
	how := p.dumped("dump")[0]
	if how.ID != string(p.spec.ID) || how.Resumed || how.Stdin != "work" || how.Argument != "" || how.CWD != p.top {
		t.Errorf("it was started with %+v", how)
	}
	wantEnv := map[string]string{launch.RunVar: p.spec.RunID, launch.TokenVar: p.spec.Token, launch.SessionVar: string(p.spec.ID), launch.CapVar: "4"}
	for name, value := range wantEnv {
		if how.Env[name] != value {
			t.Errorf("%s=%s, want %s", name, how.Env[name], value)
		}
	}
	if got := how.flag("--append-system-prompt"); got != prompt.System(4) {
		t.Errorf("system prompt %q, want the one for a cap of 4", got)
	}
	if got := how.flag("--json-schema"); got != prompt.ReportSchema {
		t.Errorf("schema %q, want that of a report", got)
	}
}

func TestRunAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "mark $D/marks\nwrite a.txt x")
	first := p.run(t.Context())
	p.beat = func(pr sessions.Progress) { t.Errorf("something ran: %+v", pr) }
	second := p.run(t.Context())
	if diff := cmp.Diff(plain(first), plain(second), ignored()); diff != "" {
		t.Errorf("second result (-first +second):\n%s", diff)
	}
	if got := strings.Count(p.read("marks"), "\n"); got != 1 {
		t.Errorf("%d processes were started, want 1", got)
	}
	p.beat = nil
	p.spec.ID = sessions.ID(uuid.NewString())
	if third := p.run(t.Context()); third.ID != p.spec.ID || strings.Count(p.read("marks"), "\n") != 2 {
		t.Errorf("another session in the same folder was not run: %+v", third)
	}
}

func TestContinue(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
mark $D/marks
usage 1000 100 1
write a.txt x
agents 1 fail
result
limit 3600
---
dump $D/dump
usage 200 20 0.2
write b.txt x
result
---
mark $D/marks
dump $D/dump`)
	p.spec.Steps = append(p.spec.Steps, sessions.Step{Prompt: "/close", AsArgument: true})
	p.spec.BudgetUSD = 1
	first := p.run(t.Context())
	if first.Ending != outcome.Limited || first.NextStep != 0 || !first.Opened || first.Processes != 1 {
		t.Fatalf("got %+v, want a limit in the first step", first)
	}
	if left := time.Until(first.ResetAt); left < 50*time.Minute || left > time.Hour {
		t.Errorf("reset in %v, want in an hour", left)
	}
	p.onDisk(first)
	p = p.continued(first)
	second := p.run(t.Context())
	if second.Ending != outcome.Completed || second.Processes != 3 || second.NextStep != 2 || !second.StartedAt.Equal(first.StartedAt) {
		t.Errorf("got %+v, want three processes of one session that completed", second)
	}
	if !second.ResetAt.IsZero() || second.Cause != "" {
		t.Errorf("reset %v and cause %q of the limit are still there", second.ResetAt, second.Cause)
	}
	if diff := cmp.Diff(outcome.Usage{Input: 1300, Output: 140, CostUSD: 1.201}, second.Usage, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a.txt", "b.txt"}, second.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if second.ToolUses != 3 || second.Agents != (outcome.Agents{Partial: 1}) {
		t.Errorf("%d tools and agents %+v, want three tools and one agent that the limit cut off", second.ToolUses, second.Agents)
	}
	p.onDisk(second)
	how := p.dumped("dump")
	if len(how) != 2 || !how[0].Resumed || how[0].ID != string(p.spec.ID) || how[0].Stdin != "go on" || how[0].Argument != "" {
		t.Errorf("the conversation was continued with %+v", how)
	}
	if !how[1].Resumed || how[1].Argument != "/close" || how[1].Stdin != "" {
		t.Errorf("the next step was given as %+v", how[1])
	}
}

// TestContinueAfterALongWait has a limit for the session's time, which the wait
// is no part of.
func TestContinueAfterALongWait(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "write a.txt x\nlimit 3600\n---\nwrite b.txt x\nthink 300ms")
	p.spec.Limits.Session = time.Hour
	first := p.run(t.Context())
	first.StartedAt, first.EndedAt = first.StartedAt.Add(-5*time.Hour), first.EndedAt.Add(-5*time.Hour)
	p = p.continued(first)
	if got := p.run(t.Context()); got.Ending != outcome.Completed {
		t.Errorf("got %s (%s), want completed: it worked for less than a second", got.Ending, got.Cause)
	}
}

// TestContinueOfWhatNeverBegan opens the conversation anew, with its own prompt.
func TestContinueOfWhatNeverBegan(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "refuse overloaded\n---\ndump $D/dump\nwrite a.txt x")
	first := p.run(t.Context())
	if first.Opened || first.Ending != outcome.Failed {
		t.Fatalf("got %+v, want one that did not start", first)
	}
	// The stand-in keeps the conversation although it refuses, the CLI does not.
	if err := os.RemoveAll(p.path(".claude")); err != nil {
		t.Fatal(err)
	}
	p = p.continued(first)
	if got := p.run(t.Context()); got.Ending != outcome.Completed || got.Processes != 2 {
		t.Errorf("got %+v, want completed", got)
	}
	if how := p.dumped("dump"); len(how) != 1 || how[0].Resumed || how[0].Stdin != "work" {
		t.Errorf("it was started with %+v, want the conversation opened", how)
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	steps := []sessions.Step{{Prompt: "/session deep", AsArgument: true}, {Prompt: "/go", AsArgument: true}, {Prompt: "plain words"}}
	const dump, noTurn = "dump $D/dump\n", `raw {"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":"Unknown command: /go"}` + "\nexit 0"
	tests := []struct {
		name, script string
		satisfied    int // step after which nothing more is needed; 0 for none
		prompts      []string
		ending       outcome.Ending
		next         int
	}{
		{"all of them", dump + "write a.txt x", 0, []string{"/session deep|", "/go|", "|plain words"}, outcome.Completed, 3},
		{"satisfied after the first", dump + "write a.txt x", 1, []string{"/session deep|"}, outcome.Completed, 0},
		{"satisfied after the second", dump + "write a.txt x", 2, []string{"/session deep|", "/go|"}, outcome.Completed, 1},
		{"a first step that only asks", dump + "say what next?\n---\n" + dump + "write a.txt x", 0, []string{"/session deep|", "/go|", "|plain words"}, outcome.Completed, 3},
		{"no work in any", dump + "say no", 0, []string{"/session deep|", "/go|", "|plain words"}, outcome.NoWork, 3},
		{"a command that is not known", dump + "write a.txt x\n---\n" + dump + noTurn, 0, []string{"/session deep|", "/go|"}, outcome.NoWork, 1},
		{"an error in the second", dump + "write a.txt x\n---\n" + dump + "api-error 400 invalid_request", 0, []string{"/session deep|", "/go|"}, outcome.Failed, 1},
		{"a limit in the second", dump + "write a.txt x\n---\n" + dump + "limit 60", 0, []string{"/session deep|", "/go|"}, outcome.Limited, 1},
		{"a crash in the first", dump + "crash", 0, []string{"/session deep|"}, outcome.Crashed, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, tt.script)
			p.spec.Steps = steps
			done := 0
			p.spec.Satisfied = func() bool { done++; return done == tt.satisfied }
			res := p.run(t.Context())
			var got []string
			for i, how := range p.dumped("dump") {
				got = append(got, how.Argument+"|"+how.Stdin)
				if how.Resumed != (i > 0) {
					t.Errorf("process %d resumes: %v", i, how.Resumed)
				}
			}
			if diff := cmp.Diff(tt.prompts, got); diff != "" {
				t.Errorf("prompts (-want +got):\n%s", diff)
			}
			if res.Ending != tt.ending || res.NextStep != tt.next || res.Processes != len(tt.prompts) {
				t.Errorf("got %s (%s) after %d processes, next step %d; want %s, next step %d", res.Ending, res.Cause, res.Processes, res.NextStep, tt.ending, tt.next)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "dump $D/dump\nusage 1 1 0.3\nwrite a.txt x")
	p.spec.BudgetUSD = 0.75
	for range 4 {
		p.spec.Steps = append(p.spec.Steps, p.spec.Steps[0])
	}
	p.run(t.Context())
	var got []string
	for _, how := range p.dumped("dump") {
		got = append(got, how.flag("--max-budget-usd"))
	}
	if diff := cmp.Diff([]string{"0.750000", "0.450000", "0.150000", "0.000001", "0.000001"}, got); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
	p = newPlace(t, "dump $D/dump\nraw "+`{"type":"result","subtype":"error_max_budget_usd","is_error":true,"num_turns":1}`+"\nexit 1")
	res := p.run(t.Context())
	if got := p.dumped("dump")[0].flag("--max-budget-usd"); got != "" || res.Ending != outcome.Failed || !res.Budget {
		t.Errorf("without a budget %q was handed down; ending %s, budget %v", got, res.Ending, res.Budget)
	}
}

func TestCap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name             string
		cap              int
		script           string
		allowed, refused int
		agents           outcome.Agents
	}{
		{"none allowed", 0, "agents 3", 0, 3, outcome.Agents{}},
		{"one of three", 1, "agents 3", 1, 2, outcome.Agents{Complete: 1}},
		{"one after the other", 1, "agents 1\nagents 1 fail\nagents 1", 3, 0, outcome.Agents{Complete: 2, Failed: 1}},
		{"all", 3, "agents 3 spiral", 3, 0, outcome.Agents{Complete: 3, Spiral: 3}},
		{"more than all", 4, "agents 2 stop", 2, 0, outcome.Agents{Partial: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, "dump $D/dump\n"+tt.script)
			p.spec.Cap.Cap = tt.cap
			res := p.run(t.Context())
			if res.Caps.Allowed != tt.allowed || len(res.Caps.Refused) != tt.refused || len(res.Caps.Active) != 0 || res.Agents != tt.agents {
				t.Errorf("got %+v and agents %+v, want %d allowed, %d refused and %+v", res.Caps, res.Agents, tt.allowed, tt.refused, tt.agents)
			}
			how := p.dumped("dump")[0]
			if got, want := how.Env[launch.CapVar], fmt.Sprint(tt.cap); got != want || how.flag("--append-system-prompt") != prompt.System(tt.cap) {
				t.Errorf("the session was told a cap of %s, want %s", got, want)
			}
		})
	}
}

// TestCapIsLowered while a session runs: the hook must see it at once.
func TestCapIsLowered(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
agents 1
mark $D/first
bash while [ ! -s $D/lowered ]; do sleep 0.01; done
agents 2`)
	p.spec.Judge = func(context.Context) hook.Change {
		if p.read("first") == "" {
			return p.spec.Cap
		}
		return hook.Change{At: time.Now(), Cap: 0, Tier: "critical", Signal: "ram"}
	}
	p.beat = func(pr sessions.Progress) {
		if strings.Contains(pr.Note, "at most 0 sub-agents") && pr.Cap.Tier == "critical" {
			p.write("lowered", "x")
		}
	}
	res := p.run(t.Context())
	if res.Caps.Allowed != 1 || len(res.Caps.Refused) != 2 || res.Agents != (outcome.Agents{Complete: 1}) {
		t.Errorf("got %+v and agents %+v, want one allowed and two refused", res.Caps, res.Agents)
	}
	var caps []int
	for _, c := range res.Caps.Changes {
		caps = append(caps, c.Cap)
	}
	if diff := cmp.Diff([]int{4, 0}, caps); diff != "" {
		t.Errorf("caps that held (-want +got):\n%s", diff)
	}
	if !p.noted("machine is critical now, decided by ram: at most 0 sub-agents at once") {
		t.Errorf("notes %q do not say so", p.notes)
	}
}

// TestChanges are what git sees of the session's work.
func TestChanges(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `
write kept/file.txt x
write .orchestrator/metrics/sessions.jsonl x
write committed.txt x
bash git add committed.txt && git -c user.name=a -c user.email=a@b commit -q -m one && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two
bash rm before.txt && git checkout -q -b other
write $D/outside.txt x`)
	p.write("repo/before.txt", "x")
	p.spec.Ignore = []string{".orchestrator/metrics"}
	res := p.run(t.Context())
	if diff := cmp.Diff([]string{"before.txt", "committed.txt", "kept/file.txt"}, res.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if len(res.Commits) != 2 || res.Branch != "other" || !res.Measured {
		t.Errorf("%d commits on %s, measured %v; want two on other", len(res.Commits), res.Branch, res.Measured)
	}
}

// TestChangesOfTheNextSession begins where the one before ended.
func TestChangesOfTheNextSession(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "write a.txt x\n---\nwrite b.txt x")
	first := p.run(t.Context())
	p.spec.ID, p.spec.Folder, p.spec.Previous = sessions.ID(uuid.NewString()), p.path("state/second"), &first
	second := p.run(t.Context())
	if diff := cmp.Diff([][]string{{"a.txt"}, {"b.txt"}}, [][]string{first.Files, second.Files}); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestChangesThatCannotBeMeasured(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "bash rm -rf .git\nwrite a.txt x")
	res := p.run(t.Context())
	if res.Measured || len(res.Files) != 0 || res.Ending != outcome.Completed || !p.noted("changes of this session cannot be measured") {
		t.Errorf("got %+v with the notes %q", res, p.notes)
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, n := range []int{4 << 10, 4<<10 + 1, 5_000_000, 10 << 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, fmt.Sprintf("write a.txt x\nbig %d result", n))
			res := p.run(t.Context())
			if res.AnswerLen != n || res.AnswerCut || len(res.Answer) > 4<<10 || strings.Trim(res.Answer, "x") != "" {
				t.Errorf("%d bytes, cut %v, %d of them in the result; want %d", res.AnswerLen, res.AnswerCut, len(res.Answer), n)
			}
			whole := p.read("state/session/answer.txt")
			if n <= 4<<10 {
				whole = res.Answer
			}
			if len(whole) != n || strings.Trim(whole, "x") != "" {
				t.Errorf("%d bytes were kept, want the same %d", len(whole), n)
			}
		})
	}
}

// TestAnswerIsCutBetweenCharacters is about the part in the result.
func TestAnswerIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		text := strings.Repeat("x", shift) + strings.Repeat("🚀", 1100)
		p := newPlace(t, `raw {"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"`+text+`"}`+"\nexit 0")
		res := p.run(t.Context())
		if !utf8.ValidString(res.Answer) || !strings.HasPrefix(text, res.Answer) || len(res.Answer) < 4<<10-3 || p.read("state/session/answer.txt") != text {
			t.Errorf("shift %d: %d bytes, valid %v", shift, len(res.Answer), utf8.ValidString(res.Answer))
		}
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	t.Run("missing binary", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, "")
		p.spec.Claude = "/nowhere/claude"
		if _, err := p.try(t.Context()); err == nil || !strings.Contains(err.Error(), "/nowhere/claude") {
			t.Errorf("got %v, want an error that names it", err)
		}
		if _, err := os.Stat(sessions.ResultPath(p.spec.Folder)); err == nil {
			t.Error("there is a result of what did not start")
		}
	})
	t.Run("folder that cannot be made", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, "mark $D/marks")
		p.spec.Folder = p.path("script/session")
		if _, err := p.try(t.Context()); err == nil || !strings.Contains(err.Error(), p.spec.Folder) || p.read("marks") != "" {
			t.Errorf("got %v, want an error before anything starts", err)
		}
	})
	t.Run("it says why on stderr", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, "refuse Error: something is missing")
		res := p.run(t.Context())
		if res.Ending != outcome.Failed || res.ExitCode != 1 || res.Opened || !strings.Contains(res.Cause, "Error: something is missing") {
			t.Errorf("got %+v", res)
		}
		if got := p.read("state/session/stderr.log"); got != "Error: something is missing\n" {
			t.Errorf("kept %q", got)
		}
	})
}

// TestFolderDisappears while the session runs: its work is worth more than the
// note about it.
func TestFolderDisappears(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "write a.txt x\nbash rm -rf $D/state")
	res := p.run(t.Context())
	if res.Ending != outcome.Completed || !p.noted("could not be kept") {
		t.Errorf("got %s (%s) with the notes %q", res.Ending, res.Cause, p.notes)
	}
}

func TestBrokenResultIsNotOverwritten(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "mark $D/marks")
	if err := os.MkdirAll(p.spec.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sessions.ResultPath(p.spec.Folder), []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := p.try(t.Context()); err == nil || !strings.Contains(err.Error(), filepath.Base(sessions.ResultPath(""))) || p.read("marks") != "" {
		t.Errorf("got %v, want an error before anything starts", err)
	}
}

// TestLeftBehind is what a session forks and forgets; what it holds open must not
// be waited for.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"after a normal end": "write a.txt x\nleave sleep 300\nhold sleep 300\nmcp-server",
		"after a crash":      "write a.txt x\nleave sleep 300\nhold sleep 300\nmcp-server\ncrash",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, script)
			res := p.run(t.Context())
			if res.Swept < 3 || len(res.Left) != 0 || !gone(string(p.spec.ID)) {
				t.Errorf("%d were ended and %v are left, want three and none", res.Swept, res.Left)
			}
			if want := map[bool]outcome.Ending{true: outcome.Crashed, false: outcome.Completed}[strings.Contains(script, "crash")]; res.Ending != want {
				t.Errorf("got %s (%s), want %s", res.Ending, res.Cause, want)
			}
			if diff := cmp.Diff([]string{"a.txt"}, res.Files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOtherRunsAreLeftAlone(t *testing.T) {
	t.Parallel()
	other := newPlace(t, "bash echo x > $D/marks; sleep 300")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	other.when("marks", func() {
		p := newPlace(t, "write a.txt x")
		p.spec.RunID, p.spec.Token = other.spec.RunID, other.spec.Token
		res, err := p.try(t.Context())
		if err != nil || res.Swept != 0 {
			t.Errorf("got %d swept and %v", res.Swept, err)
		}
		if len(reap.Marked(reap.Marker{Name: launch.SessionVar, Value: string(other.spec.ID)})) == 0 {
			t.Error("another session was ended")
		}
		cancel()
	})
	if res := other.run(ctx); res.Ending != outcome.Cancelled || !strings.Contains(res.Cause, "on request") {
		t.Errorf("got %s (%s), want it to run until it is cancelled", res.Ending, res.Cause)
	}
}
