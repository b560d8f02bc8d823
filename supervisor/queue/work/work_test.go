package work

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/source"
	"autopilot/supervisor/testgate"
)

// night is a queue over a repository in a folder of its own.
type night struct {
	*Source
	t    *testing.T
	log  bytes.Buffer
	told []Standing
	n    int
}

func begin(t *testing.T, items ...string) *night {
	t.Helper()
	dir := t.TempDir()
	n := &night{t: t}
	n.Source = &Source{Store: queue.Store{Path: filepath.Join(dir, "state", "queue.json")}, Repo: filepath.Join(dir, "repo"), RunID: "run-1"}
	n.Tell = func(s Standing) { n.told = append(n.told, s) }
	for _, name := range items {
		it := queue.Item{ID: name, Kind: queue.Increment, Title: "Title of " + name}
		if text, ok := strings.CutPrefix(name, "goal:"); ok {
			it = queue.Item{Kind: queue.Goal, Title: text, Verify: []string{"true"}}
		} else {
			n.write(name, "backlog", "[ ]", "[ ]")
		}
		err := n.Store.Update(func(q *queue.Queue) error {
			_, err := q.Add(it, time.Now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// write makes an increment with a status and a task for each box.
func (n *night) write(name, status string, boxes ...string) {
	n.t.Helper()
	dir := filepath.Join(n.Repo, ".specweave", "increments", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		n.t.Fatal(err)
	}
	tasks := ""
	for i, b := range boxes {
		tasks += fmt.Sprintf("- %s [T%03d] Task %d\n", b, i+1, i+1)
	}
	for file, text := range map[string]string{"metadata.json": fmt.Sprintf(`{"id": %q, "status": %q}`, name, status), "tasks.md": tasks} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			n.t.Fatal(err)
		}
	}
}

// tasks sets the boxes of an increment and leaves its status.
func (n *night) tasks(name string, boxes ...string) {
	n.t.Helper()
	n.write(name, n.onDisk(name), boxes...)
}

func (n *night) onDisk(name string) string {
	n.t.Helper()
	data, err := os.ReadFile(filepath.Join(n.Repo, ".specweave", "increments", name, "metadata.json"))
	if err != nil {
		n.t.Fatal(err)
	}
	var m struct{ Status string }
	if err := json.Unmarshal(data, &m); err != nil {
		n.t.Fatal(err)
	}
	return m.Status
}

// session plays a session and returns what it was told.
func (n *night) session(report, answer string) string {
	n.t.Helper()
	a := n.Next(source.Request{})
	if len(a.Steps) == 0 {
		n.t.Fatalf("there is nothing to do: %s", a.Rationale)
	}
	n.n++
	res := sessions.Result{ID: sessions.ID(fmt.Sprint("s", n.n)), Ending: outcome.Completed, Report: json.RawMessage(report), Answer: answer}
	n.Advance(n.t.Context(), &res, slog.New(slog.NewTextHandler(&n.log, nil)))
	return a.Steps[0].Prompt
}

func (n *night) start() {
	n.t.Helper()
	n.Advance(n.t.Context(), nil, slog.New(slog.NewTextHandler(&n.log, nil)))
}

// item wants an item to stand in a way.
func (n *night) item(id string, want queue.Status, why string) {
	n.t.Helper()
	q, err := n.Store.Load()
	if err != nil {
		n.t.Fatal(err)
	}
	it, err := q.Find(id)
	if err != nil {
		n.t.Fatal(err)
	}
	if it.Status != want || !strings.Contains(it.Why, why) {
		n.t.Errorf("%s is %s (%s), want %s (%s)", id, it.Status, it.Why, want, why)
	}
}

const (
	goesOn = `{"planned":["a"],"completed":["a"],"carried_over":[],"summary":"some","next_steps":["b"],"needs_person":""}`
	says   = `{"planned":["a"],"completed":["a"],"carried_over":[],"summary":"all","next_steps":[],"needs_person":""}`
	asks   = `{"planned":["a"],"completed":[],"carried_over":[],"summary":"","next_steps":[],"needs_person":"red or blue?"}`
)

func TestNight(t *testing.T) {
	t.Parallel()
	n := begin(t, "0001-a", "0002-b", "goal:write it", "0003-c")
	n.Check = func(_ context.Context, checks []gate.Check) []gate.Result {
		return []gate.Result{{Check: checks[0], OK: true}}
	}
	n.start()
	if got := n.onDisk("0001-a"); got != "active" {
		t.Errorf("the first increment is %s, want active", got)
	}
	n.tasks("0001-a", "[x]", "[ ]")
	if p := n.session(goesOn, ""); !strings.Contains(p, "0 of 2 tasks are done") || !strings.Contains(p, "T002 Task 2") {
		t.Errorf("the first session was told: %s", p)
	}
	n.item("0001-a", queue.InProgress, "")
	n.tasks("0001-a", "[x]", "[x]")
	if p := n.session(goesOn, ""); !strings.Contains(p, "1 of 2 tasks are done") {
		t.Errorf("the second session was told: %s", p)
	}
	n.item("0001-a", queue.Done, "")
	n.item("0002-b", queue.InProgress, "")
	if got := n.onDisk("0001-a"); got != "completed" {
		t.Errorf("the first increment is %s, want completed", got)
	}
	n.session(asks, "")
	n.item("0002-b", queue.NeedsHuman, "red or blue?")
	n.item("goal-1", queue.InProgress, "")
	n.session(goesOn, "")
	n.session(says, "")
	n.item("goal-1", queue.Done, "")
	for range StallLimit {
		n.session(goesOn, "")
	}
	n.item("0003-c", queue.Failed, "5 sessions in a row")
	tr := n.Track(t.Context())
	if tr.Total != 4 || tr.Completed != 4 || tr.Failed != 1 || !strings.Contains(tr.Person, "0002-b: red or blue?") || tr.Percent != 50 {
		t.Errorf("in the end: %+v", tr)
	}
	if a := n.Next(source.Request{}); a.Confidence != 0 || a.Mode != "" {
		t.Errorf("something is still to be done: %+v", a)
	}
	var final []string
	for _, s := range n.told {
		if s.Final {
			final = append(final, fmt.Sprintf("%s %s %d", s.Item.ID, s.Item.Status, s.Percent))
		}
	}
	if got := fmt.Sprint(final); got != "[0001-a done 100 0002-b needs-human 0 goal-1 done 100 0003-c failed 0]" {
		t.Errorf("told at the end of each: %s", got)
	}
}

func TestGoalThatTakesTooLong(t *testing.T) {
	t.Parallel()
	n := begin(t, "goal:endless", "0001-a")
	n.start()
	for range GoalSessions {
		n.item("goal-1", queue.InProgress, "")
		n.session(goesOn, "")
	}
	n.item("goal-1", queue.Failed, "10 sessions did not reach it")
	n.item("0001-a", queue.InProgress, "")
}

func TestChecksOfAGoal(t *testing.T) {
	t.Parallel()
	n := begin(t, "goal:write it")
	n.Check = func(_ context.Context, checks []gate.Check) []gate.Result {
		return []gate.Result{{Check: checks[0], Detail: "exit status 1"}}
	}
	n.start()
	n.session(says, "")
	for i := range testgate.MaxFixes {
		n.item("goal-1", queue.InProgress, "")
		if p := n.session(goesOn, ""); !strings.Contains(p, "- true: exit status 1") {
			t.Errorf("session %d was not told what fails: %s", i, p)
		}
	}
	n.item("goal-1", queue.NeedsHuman, "true: exit status 1")
}

func TestHeldCalls(t *testing.T) {
	t.Parallel()
	n := begin(t, "0001-a", "0002-b")
	n.Held = func(session string) []string {
		if session == "s1" || session == "s2" {
			return []string{"g-1 git push --force"}
		}
		return nil
	}
	n.start()
	n.session(goesOn, "")
	n.item("0001-a", queue.NeedsHuman, "a call waits for approval: g-1 git push --force")
	if got := n.onDisk("0001-a"); got != "paused" {
		t.Errorf("the increment that waits is %s, want paused", got)
	}
	n.tasks("0002-b", "[x]", "[x]") // a question is not lost because all else is done
	n.session(goesOn, "")
	n.item("0002-b", queue.NeedsHuman, "a call waits")
	if !n.Kept() {
		t.Error("the item of the last session is over and does not count as that")
	}
	n.retry("0002-b") // it was answered: nothing is left to do
	n.start()
	n.item("0002-b", queue.Done, "")
}

func (n *night) retry(id string) {
	n.t.Helper()
	if err := n.Store.Update(func(q *queue.Queue) error { return q.Retry(id, time.Now()) }); err != nil {
		n.t.Fatal(err)
	}
}

func TestPromise(t *testing.T) {
	t.Parallel()
	const line = "<auto-complete>YES</auto-complete>"
	n := begin(t, "0001-a", "goal:write it")
	n.Promise = "YES"
	n.Check = func(_ context.Context, checks []gate.Check) []gate.Result {
		return []gate.Result{{Check: checks[0], OK: true}}
	}
	n.start()
	if a := n.Next(source.Request{}); a.Schema != "" || !strings.Contains(a.Steps[0].Prompt, line) {
		t.Errorf("schema %q, prompt %q", a.Schema, a.Steps[0].Prompt)
	}
	n.session(goesOn, line) // made while tasks are open
	n.tasks("0001-a", "[x]", "[x]")
	n.session(goesOn, "I shall say "+line)
	n.item("0001-a", queue.InProgress, "")
	n.session(goesOn, "Done.\n"+line+"\n")
	n.item("0001-a", queue.Done, "")
	n.session(says, "no promise")
	n.item("goal-1", queue.InProgress, "")
	n.session(asks, line)
	n.item("goal-1", queue.NeedsHuman, "red or blue?")
}

// What a session writes into the status of its increment decides nothing.
func TestStatusOfAnIncrement(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status string
		boxes  []string
		want   queue.Status
		why    string
		disk   string
	}{
		{"completed", []string{"[x]", "[ ]"}, queue.InProgress, "", "active"},
		{"completed", []string{"[x]", "[x]"}, queue.Done, "", "completed"}, // the gate is green
		{"ready_for_review", []string{"[x]", "[ ]"}, queue.InProgress, "", "active"},
		{"ready_for_review", []string{"[x]", "[x]"}, queue.Done, "", "completed"},
		{"abandoned", []string{"[x]", "[x]"}, queue.NeedsHuman, "abandoned while it was worked on", "abandoned"},
		{"paused", []string{"[ ]", "[ ]"}, queue.NeedsHuman, "paused while it was worked on", "paused"},
		{"active", []string{"[x]"}, queue.NeedsHuman, "has 1 tasks, all of them over, and had 2", "paused"},
		{"active", []string{"[x]", "[ ]", "[ ]"}, queue.InProgress, "", "active"},
	} {
		n := begin(t, "0001-a")
		asked := 0
		n.Tests = func(context.Context) Tested {
			asked++
			return Tested{Report: testgate.Report{Passed: true}}
		}
		n.start()
		n.write("0001-a", tt.status, tt.boxes...)
		n.session(goesOn, "")
		n.item("0001-a", tt.want, tt.why)
		if got := n.onDisk("0001-a"); got != tt.disk {
			t.Errorf("%s, %v: it is %s on disk, want %s", tt.status, tt.boxes, got, tt.disk)
		}
		if (asked > 0) != (tt.want == queue.Done) {
			t.Errorf("%s, %v: the gate was asked %d times", tt.status, tt.boxes, asked)
		}
	}
}

// An increment that cannot be begun, or is gone, is kept apart, and the next is taken up.
func TestCannotBegin(t *testing.T) {
	t.Parallel()
	n := begin(t, "0001-a", "0002-b", "0003-c")
	n.write("0001-a", "wip", "[ ]")
	n.start()
	n.item("0001-a", queue.Failed, "wip")
	n.item("0002-b", queue.InProgress, "")
	if err := os.RemoveAll(filepath.Join(n.Repo, ".specweave", "increments", "0002-b")); err != nil {
		t.Fatal(err)
	}
	n.session(goesOn, "")
	n.item("0002-b", queue.Failed, "0002-b")
	n.item("0003-c", queue.InProgress, "")
}

// Sessions that go wrong cost their item, not the night.
func TestSessionsThatGoWrong(t *testing.T) {
	t.Parallel()
	n := begin(t, "0001-a", "0002-b")
	n.start()
	wrong := func() {
		n.Next(source.Request{})
		n.Advance(t.Context(), &sessions.Result{ID: "s", Ending: outcome.Crashed, Cause: "killed"}, slog.New(slog.DiscardHandler))
	}
	wrong()
	n.item("0001-a", queue.InProgress, "")
	if n.Kept() {
		t.Error("an item that goes on counts as over")
	}
	n.session(goesOn, "")
	wrong()
	n.item("0001-a", queue.InProgress, "")
	wrong()
	n.item("0001-a", queue.Failed, "2 sessions in a row went wrong, the last: crashed killed")
	n.item("0002-b", queue.InProgress, "")
	if tr := n.Track(t.Context()); len(tr.Failures) != 1 || !strings.Contains(tr.Failures[0], "0001-a") {
		t.Errorf("what failed is %v", tr.Failures)
	}
}

// The run is to stop: what can be done without a session is not done first.
func TestStops(t *testing.T) {
	t.Parallel()
	n := begin(t, "0001-a", "0002-b", "0003-c")
	for _, name := range []string{"0001-a", "0002-b", "0003-c"} {
		n.write(name, "backlog", "[x]")
	}
	looks := 0
	n.Stop = func() bool { looks++; return looks > 1 }
	n.start()
	n.item("0001-a", queue.Done, "")
	n.item("0002-b", queue.Waiting, "")
	if tr := n.Track(t.Context()); tr.Blocked+tr.Person != "" {
		t.Errorf("a run that is to stop is %+v", tr)
	}
}

// A repair that was cut short is none, and is told again.
func TestRepairCutShort(t *testing.T) {
	t.Parallel()
	red := testgate.Report{Failures: []testgate.Failure{{Suite: testgate.Unit, Name: "TestX", Class: testgate.Fixable}}, Class: testgate.Fixable, Summary: "red"}
	n := begin(t, "0001-a")
	n.Tests = func(context.Context) Tested { return Tested{Report: red, Path: "/there"} }
	n.start()
	n.tasks("0001-a", "[x]", "[x]")
	n.session(goesOn, "")
	for range 5 {
		n.start()
		if a := n.Next(source.Request{}); !strings.Contains(a.Notice, "TestX") || a.Work != "0001-a" {
			t.Errorf("a conversation that goes on is told %q", a.Notice)
		}
		n.item("0001-a", queue.InProgress, "")
	}
	for range testgate.MaxFixes {
		n.item("0001-a", queue.InProgress, "")
		n.session(goesOn, "")
	}
	n.item("0001-a", queue.NeedsHuman, "red; what was printed is in /there")
}

// Everything is done, and a check of the run fails.
func TestChecksOfTheRun(t *testing.T) {
	t.Parallel()
	n := begin(t, "0001-a")
	n.start()
	n.tasks("0001-a", "[x]", "[x]")
	n.session(goesOn, "")
	a := n.Next(source.Request{Objective: prompt.Objective{First: []string{"make lint: exit status 2"}}})
	if a.Confidence != 1 || len(a.Steps) != 1 || !strings.Contains(a.Steps[0].Prompt, "make lint: exit status 2") {
		t.Errorf("the session is %+v", a)
	}
}

// A run that was killed at any step goes on without doing anything twice.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	n := begin(t, "0001-a", "0002-b")
	n.start()
	n.write("0001-a", "ready_for_review", "[x]", "[x]") // killed between the two changes of its status
	again := *n.Source
	n.Source = &again
	n.RunID = "run-2"
	n.start()
	n.item("0001-a", queue.Done, "")
	n.item("0002-b", queue.InProgress, "")
	n.RunID = "run-3"
	n.start()
	n.item("0002-b", queue.InProgress, "")
	if q, err := n.Store.Load(); err != nil || q.Items[1].RunID != "run-3" {
		t.Errorf("%v, the item is of run %s", err, q.Items[1].RunID)
	}
	if got := n.onDisk("0001-a"); got != "completed" {
		t.Errorf("the increment is %s", got)
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	n := begin(t, "0001-a", "0002-b")
	n.Only = []string{"0002-b"}
	n.start()
	n.item("0001-a", queue.Waiting, "")
	n.tasks("0002-b", "[x]", "[x]")
	n.session(goesOn, "")
	if tr := n.Track(t.Context()); tr.Total != 1 || tr.Completed != 1 || tr.Percent != 100 || tr.Person+tr.Blocked != "" {
		t.Errorf("in the end: %+v", tr)
	}
	n.item("0001-a", queue.Waiting, "")
}

// The queue is empty, or nothing in it can be begun.
func TestNothingToDo(t *testing.T) {
	t.Parallel()
	n := begin(t)
	n.start()
	if tr := n.Track(t.Context()); tr.Total != 0 || len(tr.Empty) == 0 {
		t.Errorf("an empty queue: %+v", tr)
	}
	n = begin(t, "0001-a")
	err := n.Store.Update(func(q *queue.Queue) error {
		_, err := q.Add(queue.Item{Kind: queue.Goal, Title: "later", After: []string{"nobody"}}, time.Now())
		if err != nil {
			return err
		}
		return q.RemoveItem("0001-a")
	})
	if err != nil {
		t.Fatal(err)
	}
	n.start()
	if tr := n.Track(t.Context()); !strings.Contains(tr.Blocked, "goal-1: ") || !strings.Contains(tr.Blocked, "nobody") {
		t.Errorf("nothing can be begun: %+v", tr)
	}
}

// The gate decides: what is red is repaired by sessions, then by a person.
func TestGate(t *testing.T) {
	t.Parallel()
	red := testgate.Report{
		Suites:   []testgate.Suite{{Name: testgate.Unit, Command: "make test", Counted: true, Failed: 1, Total: 1, Detail: "exit status 1", Output: "TestX failed"}},
		Failures: []testgate.Failure{{Suite: testgate.Unit, Name: "TestX", Class: testgate.Fixable}}, Class: testgate.Fixable, Summary: "unit: 1 of 1 tests failed",
	}
	green := testgate.Report{Passed: true, Suites: []testgate.Suite{{Name: testgate.Unit, Counted: true, Passed: 1, Total: 1, OK: true}}, Summary: "green"}
	n := begin(t, "0001-a", "0002-b")
	answers := []testgate.Report{red, green, red, red, red, red}
	n.Tests = func(context.Context) Tested {
		if len(answers) == 0 {
			t.Fatal("the gate is asked too often")
		}
		next := answers[0]
		answers = answers[1:]
		return Tested{Report: next}
	}
	n.start()
	n.tasks("0001-a", "[x]", "[x]")
	n.session(goesOn, "")
	n.item("0001-a", queue.InProgress, "")
	if got := n.onDisk("0001-a"); got != "active" {
		t.Errorf("with a red gate the increment is %s", got)
	}
	if p := n.session(goesOn, ""); !strings.Contains(p, "TestX") {
		t.Errorf("the fix session was not told what fails: %s", p)
	}
	n.item("0001-a", queue.Done, "")
	n.tasks("0002-b", "[x]", "[x]")
	for range 1 + testgate.MaxFixes {
		n.item("0002-b", queue.InProgress, "")
		n.session(goesOn, "")
	}
	n.item("0002-b", queue.NeedsHuman, "1 of 1 tests failed")
	if len(answers) != 0 {
		t.Errorf("%d answers of the gate are left", len(answers))
	}
}
