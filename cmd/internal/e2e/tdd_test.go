//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
	"autopilot/sessions/messagesapi"
	"autopilot/supervisor/tdd"
)

const tasksFile = ".taskmaster/tasks/tasks.json"

const threeParts = `{"master": {"tasks": [
  {"id": 1, "title": "Numbers", "status": "pending", "dependencies": [], "subtasks": [
    {"id": 1, "title": "Add two numbers", "description": "Add(a, b) is a+b.", "status": "pending", "dependencies": []},
    {"id": 2, "title": "Double a number", "status": "pending", "dependencies": [1]},
    {"id": 3, "title": "Negate a number", "status": "pending", "dependencies": [2]}
  ]}
], "metadata": {"created": "2025-10-07T00:00:00Z"}}}
`

const onePart = `{"master": {"tasks": [
  {"id": 1, "title": "Numbers", "status": "pending", "subtasks": [{"id": 1, "title": "Add two numbers", "status": "pending"}]}
]}}
`

// goProject is a lab with a Go module and tasks.
func goProject(l *lab, tasks string) *lab {
	l.t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		l.t.Fatal(err)
	}
	l.set("GOCACHE", strings.TrimSpace(string(cache))) // a cold one takes long
	l.set("GOTOOLCHAIN", "local")
	l.set("GOFLAGS", "-mod=mod")
	l.write("go.mod", "module numbers\n\ngo 1.24\n")
	l.write("doc.go", "// Package numbers computes.\npackage numbers\n")
	l.write(tasksFile, tasks)
	l.commit("project")
	return l
}

// parts are the files that the agent writes for a subtask: a test, and code.
func parts(id string, right bool) (test, code string) {
	name, want, body := "Add", "Add(1, 2) != 3", "func Add(a, b int) int { return a + b }"
	switch id {
	case "1.2":
		name, want, body = "Double", "Double(2) != 4", "func Double(a int) int { return 2 * a }"
	case "1.3":
		name, want, body = "Negate", "Negate(2) != -2", "func Negate(a int) int { return -a }"
	}
	if !right {
		body = body[:strings.Index(body, "return")] + "return 0 }"
	}
	test = fmt.Sprintf("package numbers\n\nimport \"testing\"\n\nfunc Test%s(t *testing.T) {\n\tif %s {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n", name, want)
	return test, "package numbers\n\n" + body + "\n"
}

// step is the step and the subtask that a session was started for.
func step(r messagesapi.Request) (phase, id string) {
	text := strings.Join(r.UserTexts(), "\n")
	for _, p := range []string{"RED: write tests for subtask ", "GREEN: write the smallest code for subtask "} {
		if _, after, ok := strings.Cut(text, p); ok {
			phase, _, _ = strings.Cut(p, ":")
			return phase, after[:3]
		}
	}
	return "", ""
}

// developer writes what a step asks for; the code of a subtask is wrong as often as
// said.
func developer(l *lab, wrong map[string]int) messagesapi.Script {
	var mu sync.Mutex
	return talk(func(r messagesapi.Request) messagesapi.Reply {
		if r.Step > 1 {
			return reportMore("the step")
		}
		phase, id := step(r)
		mu.Lock()
		right := wrong[id] <= 0
		if phase == "GREEN" {
			wrong[id]--
		}
		mu.Unlock()
		test, code := parts(id, right)
		file := strings.ReplaceAll(id, ".", "_")
		switch phase {
		case "RED":
			return write(l.path("part"+file+"_test.go"), test)
		case "GREEN": // older versions write over a file only when they have read it
			return bash("cat > part%s.go <<'END'\n%s\nEND", file, code)
		}
		return messagesapi.Text("what is there to do?")
	}, nil)
}

func (l *lab) standing() (s tdd.Standing) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.must("tdd", "status", "--json")), &s); err != nil {
		l.t.Fatal(err)
	}
	return s
}

// TestE2ETestDriven has the loop walk a Go task with three subtasks, the second of which
// takes three attempts.
func TestE2ETestDriven(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := goProject(newLabFor(t, claude, func(l *lab) messagesapi.Script { return developer(l, map[string]int{"1.2": 2}) }), threeParts)
		base := l.git("rev-parse", "HEAD")
		e := l.run("--source", "tdd", "--task", "1", "--max-sessions", "12", "--coverage-lines", "80", "--allowed-tools", "Write,Bash")
		r := l.check(e, want{cause: "work-done", endings: strings.TrimSpace(strings.Repeat("completed ", 8)), completed: 8})
		if g := r.Goals; len(g) != 1 || g[0].Status != ledger.GoalAchieved {
			t.Errorf("goals = %+v", g)
		}
		want := "chore(tasks): complete task 1 (task 1)\nfeat(part1-3): negate a number (task 1.3)\nfeat(part1-2): double a number (task 1.2)\nfeat(part1-1): add two numbers (task 1.1)\nproject\nstart"
		if diff := cmp.Diff(want, l.git("log", "--format=%s", "master/task-1-numbers")); diff != "" {
			t.Errorf("commits (-want +got):\n%s", diff)
		}
		if got := l.git("rev-parse", l.branch); got != base {
			t.Errorf("%s moved", l.branch)
		}
		if got := l.git("status", "--porcelain"); got != "" {
			t.Errorf("the work tree is left with %q", got)
		}
		body := l.git("log", "-1", "--format=%B", "HEAD~2")
		for _, want := range []string{"Task: #1.2 - Double a number", "Tag: master", "Tests: 2 passing", "Coverage: 100% lines"} {
			if !strings.Contains(body, want) {
				t.Errorf("the second commit lacks %q:\n%s", want, body)
			}
		}
		if diff := l.git("diff", "--stat", "HEAD~4", "HEAD", "--", tasksFile); !strings.Contains(diff, "4 insertions(+), 4 deletions(-)") {
			t.Errorf("%s changed in more than its four states: %s", tasksFile, diff)
		}
		if s := l.standing(); s.Status != tdd.Completed || s.Commits != 4 || len(s.Progress.Completed) != 3 {
			t.Errorf("standing = %+v", s)
		}
		retold := 0
		for _, q := range l.mainRequests() {
			if strings.Contains(q.UserTexts()[0], "The last attempt was refused: GREEN phase incomplete: 1 tests still failing: numbers/TestDouble") && q.Step == 1 {
				retold++
			}
		}
		if retold != 2 {
			t.Errorf("%d sessions were told what failed, want 2", retold)
		}
	})
}

// TestE2ETestDrivenPauses stops at the last attempt and goes on when a person says so.
func TestE2ETestDrivenPauses(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := goProject(newLabFor(t, claude, func(l *lab) messagesapi.Script { return developer(l, map[string]int{"1.1": 2}) }), onePart)
		e := l.run("--source", "tdd", "--task", "1", "--max-attempts", "2", "--max-sessions", "9", "--allowed-tools", "Write,Bash")
		if r := l.checkRun(e, l.oneRun(), want{cause: "needs-person", endings: "completed completed completed", completed: 3, code: 4}); !r.Termination.Resumable {
			t.Errorf("termination = %+v", r.Termination)
		}
		if s := l.standing(); s.Status != tdd.OnHold || s.CurrentPhase != tdd.Green || !strings.Contains(s.Why, "2 of 2 attempts at green of subtask 1.1") {
			t.Errorf("standing = %+v", s)
		}
		if got := l.git("log", "--format=%s"); got != "project\nstart" {
			t.Errorf("a paused run has committed: %s", got)
		}
		l.finish(l.command("resume"))
		if s := l.standing(); s.Status != tdd.Completed || s.Commits != 2 {
			t.Errorf("after resume: standing = %+v", s)
		}
		l.nothingLeft()
	})
}

// call is the call of a tool of ours.
func call(tool string, input map[string]any) messagesapi.Reply {
	return messagesapi.ToolUse("mcp__autopilot__autopilot_"+tool, input)
}

// TestE2ETestDrivenByTools is an agent that drives itself with the tools that 'init' has
// entered, in a session that nobody supervises.
func TestE2ETestDrivenByTools(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		test, code := parts("1.1", true)
		l := newLabFor(t, claude, func(l *lab) messagesapi.Script {
			return talk(inTurns(
				call("start", map[string]any{"taskId": "1"}),
				call("next", map[string]any{}),
				call("complete_phase", map[string]any{"phase": "red", "subtaskId": "1.1", "testResults": map[string]any{"passed": 0, "failed": 3}}),
				write(l.path("a_test.go"), test),
				call("complete_phase", map[string]any{"phase": "red", "subtaskId": "1.1", "testResults": map[string]any{"passed": 0, "failed": 1}}),
				write(l.path("a.go"), code),
				call("complete_phase", map[string]any{"phase": "green", "subtaskId": "1.1", "testResults": map[string]any{"passed": 1, "failed": 0}, "coverage": 100}),
				call("commit", map[string]any{"subtaskId": "1.1"}),
				call("status", map[string]any{}),
				call("finalize", map[string]any{}),
				call("abort", map[string]any{"cleanup": true}),
				messagesapi.Text("All of it is done."),
			), messagesapi.Always(messagesapi.Text("x")))
		})
		l.must("init", "--yes", "--command", binary)
		goProject(l, onePart)
		l.must("init", "--yes", "--command", binary)
		l.commit("autopilot")
		result := l.ask("--allowedTools", "Write,mcp__autopilot")
		if got := result["result"]; got != "All of it is done." {
			t.Fatalf("the session ended with %q", got)
		}
		results := l.toolResults()
		if len(results) != 11 {
			t.Fatalf("%d results of tools, want 11: %v", len(results), results)
		}
		for i, want := range []string{
			`"branch":"master/task-1-numbers"`, `"action":"red"`, `"validated":false`, "", `"validated":true`, "", `"validated":true`, `"commitSha":"`, `"currentPhase":"finalize"`, `"completed":true`, "confirm",
		} {
			if text := results[i].Text; !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), want) {
				t.Errorf("result %d lacks %s: %s", i+1, want, text)
			}
		}
		if s := l.standing(); s.Status != tdd.Completed || s.Commits != 2 {
			t.Errorf("standing = %+v", s)
		}
		if got := l.git("status", "--porcelain"); got != "" {
			t.Errorf("the work tree is left with %q", got)
		}
	})
}
