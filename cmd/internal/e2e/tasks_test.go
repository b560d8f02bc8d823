//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autopilot/sessions/messagesapi"
)

const checklist = ".claude-flow/data/checklist.json"

// tick sets the status of a task in the checklist, as an agent with a shell does.
func tick(tasks string) messagesapi.Reply { return bash("printf '%%s' '%s' > %s", tasks, checklist) }

const (
	noneDone = `[{"id":1,"text":"Build it","done":false},{"id":2,"text":"Test it","done":false}]`
	oneDone  = `[{"id":1,"text":"Build it","done":true},{"id":2,"text":"Test it","done":false}]`
	allDone  = `[{"id":1,"text":"Build it","done":true},{"id":2,"text":"Test it","done":true}]`
)

// inTurns answers the requests of each conversation one by one, also across the
// feedback of hooks.
func inTurns(replies ...messagesapi.Reply) messagesapi.Script {
	return func(r messagesapi.Request) messagesapi.Reply {
		n := 0
		for _, m := range r.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		return replies[min(n, len(replies)-1)]
	}
}

// installed is a lab in which 'autopilot init' has been called and tasks wait.
func installed(l *lab) *lab {
	l.t.Helper()
	l.write(checklist, noneDone)
	l.must("init", "--yes", "--command", binary)
	return l
}

// must runs a command of the program that has to succeed, and returns what it printed.
func (l *lab) must(args ...string) string {
	l.t.Helper()
	e := l.finish(l.command(args...))
	if e.code != 0 {
		l.t.Fatalf("autopilot %v: exit %d", args, e.code)
	}
	return e.stdout
}

// ask runs claude itself, as a person would, and returns its result event.
func (l *lab) ask(args ...string) map[string]any {
	l.t.Helper()
	cmd := exec.Command(l.claude, append([]string{"-p", "go", "--output-format", "json", "--allowedTools", "Bash,mcp__autopilot"}, args...)...)
	cmd.Dir, cmd.Env = l.repo, l.env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		l.t.Fatalf("claude: %v\n%s%s", err, out, stderr.String())
	}
	var result map[string]any
	if err := json.Unmarshal(out, &result); err != nil {
		l.t.Fatalf("claude printed %q: %v", out, err)
	}
	return result
}

// completionStatus is what status says of persistent completion.
func (l *lab) completionStatus() (s struct {
	Enabled    bool
	SessionID  string
	Iterations int
	Tasks      struct{ Completed, Total int }
},
) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.must("status", "--json")), &s); err != nil {
		l.t.Fatal(err)
	}
	return s
}

// events are the names of the events in the log, oldest first.
func (l *lab) events() string {
	l.t.Helper()
	var list []struct{ Event string }
	if err := json.Unmarshal([]byte(l.must("log", "--json")), &list); err != nil {
		l.t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Event)
	}
	return strings.Join(names, " ")
}

// feedback is how often the agents were sent on, over all sessions.
func (l *lab) feedback() int {
	most := map[string]int{}
	for _, r := range l.mainRequests() {
		n := 0
		for _, text := range r.UserTexts() {
			n += strings.Count(text, "Stop hook feedback:\nAUTOPILOT: ")
		}
		most[r.Session] = max(most[r.Session], n)
	}
	sum := 0
	for _, n := range most {
		sum += n
	}
	return sum
}

// TestE2EStopHookSendsOn is an interactive user's case: init, enable, and then a
// plain Claude Code. It is sent on twice and then let go; another session in the
// same folder is not held.
func TestE2EStopHookSendsOn(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := installed(newLab(t, claude, talk(inTurns(
			messagesapi.Text("I am done."),
			tick(oneDone), messagesapi.Text("Now I am done."),
			tick(allDone), messagesapi.Text("All of it is done."),
		), messagesapi.Always(messagesapi.Text("x")))))
		l.must("enable")
		first := l.ask()
		if got := first["result"]; got != "All of it is done." {
			t.Errorf("the session ended with %q", got)
		}
		if got := l.feedback(); got != 2 {
			t.Errorf("it was sent on %d times, want 2", got)
		}
		s := l.completionStatus()
		if s.Enabled || s.Iterations != 2 || s.SessionID != first["session_id"] || s.Tasks.Completed != 2 {
			t.Errorf("status is %+v", s)
		}
		if got, want := l.events(), "enabled re-engaging re-engaging all-tasks-complete"; got != want {
			t.Errorf("events are %q, want %q", got, want)
		}
		if got := l.must("history", "--query", "build test"); !strings.Contains(got, "completed") {
			t.Errorf("the work is no episode: %q", got)
		}
		l.write(checklist, noneDone)
		l.must("enable", "--session", first["session_id"].(string))
		if other := l.ask(); other["result"] != "I am done." {
			t.Errorf("another session ended with %q", other["result"])
		}
		if got := l.feedback(); got != 2 {
			t.Errorf("another session was held: %d feedbacks", got)
		}
		// It was told at its beginning what the ended one had left.
		const context = "SessionStart hook additional context: AUTOPILOT: 0/2 tasks complete (0%). A session that has ended was to complete these tasks"
		requests := l.mainRequests()
		told := slices.ContainsFunc(requests[len(requests)-1].Messages, func(m messagesapi.Message) bool {
			return slices.ContainsFunc(m.Content, func(b messagesapi.Block) bool { return strings.Contains(b.Text, context) })
		})
		if !told {
			t.Error("the session that came after was not told what is left")
		}
	})
}

// TestE2EStopHookWithinTheCap has an agent that does nothing. Claude Code overrides
// the ninth refusal in a row and then loses the answer; the hook lets go by itself
// before, so that the answer is there.
func TestE2EStopHookWithinTheCap(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := installed(newLab(t, claude, talk(messagesapi.Always(messagesapi.Text("I will not.")), messagesapi.Always(messagesapi.Text("x")))))
		l.must("enable")
		if got := l.ask()["result"]; got != "I will not." {
			t.Errorf("the session ended with %q", got)
		}
		if got := l.feedback(); got != 8 {
			t.Errorf("it was sent on %d times, want 8", got)
		}
		if got := l.events(); !strings.HasSuffix(got, "re-engaging let-go") {
			t.Errorf("events are %q", got)
		}
		if s := l.completionStatus(); !s.Enabled || s.Iterations != 8 {
			t.Errorf("status is %+v, want it to hold for the next turn", s)
		}
	})
}

// TestE2EMCPTools has the real CLI call every tool of the server that init entered.
func TestE2EMCPTools(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		calls := []struct {
			tool, input, want string
			fails             bool
		}{
			{"status", `{"json":true}`, `"total":2`, false},
			{"enable", `{}`, `"enabled":true`, false},
			{"config", `{"maxIterations":7}`, `"maxIterations":7`, false},
			{"config", `{"maxIterations":99999}`, `1000`, true},
			{"progress", `{}`, `"file-checklist"`, false},
			{"predict", `{"json":true}`, `Work on: Build it`, false},
			{"learn", `{"json":true}`, `"episodes":0`, false},
			{"history", `{"query":"build"}`, `"results":[]`, false},
			{"history", `{}`, `query`, true},
			{"log", `{"json":true}`, `enabled`, false},
			{"reset", `{}`, `"iterations":0`, false},
			{"disable", `{}`, `"enabled":false`, false},
		}
		var steps []messagesapi.Reply
		for _, c := range calls {
			steps = append(steps, messagesapi.ToolUse("mcp__autopilot__autopilot_"+c.tool, json.RawMessage(c.input)))
		}
		l := installed(newLab(t, claude, talk(inTurns(append(steps, messagesapi.Text("done"))...), messagesapi.Always(messagesapi.Text("x")))))
		result := l.ask("--strict-mcp-config", "--mcp-config", filepath.Join(l.repo, ".mcp.json"))
		results := l.toolResults()
		if len(results) != len(calls) {
			t.Fatalf("%d tool results, want %d", len(results), len(calls))
		}
		for i, c := range calls {
			text := strings.ReplaceAll(strings.ReplaceAll(results[i].Text, " ", ""), "\n", "")
			if results[i].IsError != c.fails || !strings.Contains(text, strings.ReplaceAll(c.want, " ", "")) {
				t.Errorf("%s %s: error %t: %s", c.tool, c.input, results[i].IsError, results[i].Text)
			}
			if strings.Contains(text, `{"content":[`) || strings.Contains(text, `\"content\"`) {
				t.Errorf("%s: the answer is wrapped twice: %s", c.tool, results[i].Text)
			}
		}
		if s := l.completionStatus(); s.SessionID != result["session_id"] {
			t.Errorf("enabled inside session %v, the state is for %q", result["session_id"], s.SessionID)
		}
	})
}

// TestE2ERunOnTasks has a supervised session keep its tasks in Claude Code's own
// list: the supervisor switches the tools on, and the Stop hook sends the session on.
// The repository's own hooks and server, from init, do not count beside those of the
// supervisor.
func TestE2ERunOnTasks(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		update := func(id, status string) messagesapi.Reply {
			return messagesapi.ToolUse("TaskUpdate", map[string]any{"taskId": id, "status": status})
		}
		l := installed(newLab(t, claude, talk(inTurns(
			messagesapi.ToolUse("TaskCreate", map[string]any{"subject": "Write the docs", "description": "d"}),
			tick(oneDone),
			messagesapi.ToolUse("mcp__autopilot__autopilot_report", map[string]any{"summary": "half of it", "completed": []string{"the build"}}),
			messagesapi.Text("I am done."), // the hook: two remain
			tick(allDone),
			update("1", "completed"),
			messagesapi.Text("All is done."),
		), messagesapi.Always(messagesapi.Text("x")))))
		e := l.run("--source", "tasks", "--allowed-tools", "Bash")
		r := l.check(e, want{cause: "work-done", endings: "completed", completed: 1})
		if got := l.feedback(); got != 1 {
			t.Errorf("it was sent on %d times, want once", got)
		}
		for _, b := range l.toolResults() {
			if b.IsError {
				t.Errorf("a tool failed: %s", b.Text)
			}
		}
		if s := l.oneSession(); s.Summary != "half of it" {
			t.Errorf("the session's record has the summary %q", s.Summary)
		}
		lists, err := filepath.Glob(filepath.Join(l.home, ".claude/tasks/autopilot-*/1.json"))
		if err != nil || len(lists) != 1 {
			t.Fatalf("lists of this project: %v, %v", lists, err)
		}
		if data, err := os.ReadFile(lists[0]); err != nil || !strings.Contains(string(data), `"completed"`) {
			t.Errorf("the task is %s, %v", data, err)
		}
		if r.TotalCostUSD <= 0 || !strings.Contains(l.must("history", "--query", "docs build"), "completed") {
			t.Errorf("the run is no episode, or cost nothing: $%v", r.TotalCostUSD)
		}
		l.nothingLeft()
	})
}
