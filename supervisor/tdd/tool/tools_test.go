package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"autopilot/sessions/completion"
	"autopilot/supervisor/tdd"
)

type listed struct {
	Name         string
	InputSchema  *jsonschema.Schema
	OutputSchema *jsonschema.Schema
	Annotations  struct{ ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint bool }
}

func list(t *testing.T, c *client) map[string]listed {
	t.Helper()
	var res struct{ Tools []listed }
	c.ask("tools/list", "{}", &res)
	out := map[string]listed{}
	for _, tool := range res.Tools {
		out[tool.Name] = tool
	}
	return out
}

// names are the arguments in a schema, with "!" behind those that are needed.
func names(s *jsonschema.Schema) string {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[n]
		if len(p.Properties) > 0 {
			n += "{" + names(p) + "}"
		}
		if slices.Contains(s.Required, strings.SplitN(n, "{", 2)[0]) {
			n += "!"
		}
		out = append(out, n)
	}
	return strings.Join(out, " ")
}

func TestTools(t *testing.T) {
	t.Parallel()
	f := &fake{}
	all := list(t, connect(t, f.options("/p")))
	var got []string
	for _, own := range Tools(f.options("/p")) {
		tool := all[own.Name()]
		a := tool.Annotations
		got = append(got, fmt.Sprintf("%s(%s) read=%t destroy=%t idempotent=%t open=%t", tool.Name, names(tool.InputSchema), a.ReadOnlyHint, a.DestructiveHint, a.IdempotentHint, a.OpenWorldHint))
		for n, p := range tool.InputSchema.Properties {
			if p.Description == "" {
				t.Errorf("%s: %s has no description", tool.Name, n)
			}
		}
	}
	want := []string{
		"autopilot_start(branch maxAttempts options{branch maxAttempts} projectRoot tag taskId!) read=false destroy=false idempotent=true open=false",
		"autopilot_next(projectRoot) read=true destroy=false idempotent=true open=false",
		"autopilot_complete_phase(coverage files phase! projectRoot subtaskId! testResults{failed! passed! skipped total}!) read=false destroy=false idempotent=false open=false",
		"autopilot_commit(files message projectRoot subtaskId!) read=false destroy=false idempotent=false open=false",
		"autopilot_status(json projectRoot) read=true destroy=false idempotent=true open=true",
		"autopilot_resume(projectRoot runId) read=false destroy=false idempotent=true open=false",
		"autopilot_finalize(projectRoot push) read=false destroy=false idempotent=false open=true",
		"autopilot_abort(cleanup confirm projectRoot) read=false destroy=true idempotent=false open=false",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	if len(all) != 11+7 {
		t.Errorf("the server has %d tools: %v", len(all), slices.Sorted(maps.Keys(all)))
	}
}

// valid checks data against the schema that a client was given.
func valid(t *testing.T, s *jsonschema.Schema, data string) {
	t.Helper()
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if err := r.Validate(v); err != nil {
		t.Errorf("output is not what its schema says: %v\n%s", err, data)
	}
}

func TestEveryToolAnswers(t *testing.T) {
	t.Parallel()
	const next = "\nNext: red of subtask 1.1 (Parse it), attempt 2 of 3. Write a failing test."
	f := &fake{judged: tdd.Judged{
		Message: "2 tests still fail", Suggestion: "Go on", Warning: "no new test", Reported: &tdd.Results{Passed: 1}, Attempt: 2,
		Measured: &tdd.Measured{Results: tdd.Results{Failed: 2, Total: 2}, Counted: true, Command: "go test"},
	}}
	c := connect(t, f.options("/p"))
	tools := list(t, c)
	for _, tt := range []struct{ tool, args, text, data string }{
		{"autopilot_start", `{"taskId":"1"}`, "Run r1 of task 1 (Parser) is on branch master/task-1, with 3 subtasks to do.\nWarning: task 0 is not done." + next, `"branch":"master/task-1"`},
		{"autopilot_next", `{}`, next[1:], `"action":"red"`},
		{"autopilot_complete_phase", `{"phase":"red","subtaskId":"1.1","testResults":{"passed":1,"failed":0}}`, "Not complete: 2 tests still fail.\nGo on.\nWarning: no new test." + next, `"validated":false,"message":"2 tests still fail","suggestion":"Go on"`},
		{"autopilot_commit", `{"subtaskId":"1.1"}`, "Commit a1b2c3d: feat(cli): parse it (task 1.1)" + next, `"commitSha":"a1b2c3d4e5f6"`},
		{"autopilot_resume", `{}`, "Run r1 goes on." + next, `"resumed":true`},
		{"autopilot_finalize", `{}`, "task 1 is done.\nBranch b has 4 commits of this run.", `"completed":true`},
		{"autopilot_finalize", `{"push":true}`, "task 1 is done.\nBranch b has 4 commits of this run. It was pushed to origin/b.", `"pushed":"origin/b"`},
		{"autopilot_abort", `{}`, "Run r1 is aborted.\nthe branch stays.", `"deleted":false,"progress":{"completed":[],"current":"","remaining":[]}`},
		{"autopilot_abort", `{"cleanup":true,"confirm":true}`, "Run r1 is aborted; its branch and its state are deleted.\nthe branch stays.", `"deleted":true`},
	} {
		got := c.call(tt.tool, tt.args)
		if got.bad || got.text != tt.text || !strings.Contains(got.data, tt.data) {
			t.Errorf("%s %s: error %t, %q, %s\nwant %q and %s", tt.tool, tt.args, got.bad, got.text, got.data, tt.text, tt.data)
			continue
		}
		valid(t, tools[tt.tool].OutputSchema, got.data)
	}
	f.judged = tdd.Judged{Validated: true, Message: "3 tests pass"}
	got := c.call("autopilot_complete_phase", `{"phase":"green","subtaskId":"1.1","testResults":{"passed":3,"failed":0}}`)
	if want := "3 tests pass." + next; got.bad || got.text != want {
		t.Errorf("validated: %q, want %q", got.text, want)
	}
	valid(t, tools["autopilot_complete_phase"].OutputSchema, got.data)
}

func TestArgumentsArrive(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, f.options("/p"))
	lines := 92.5
	var want []any
	for _, tt := range []struct {
		tool, args string
		want       any
	}{
		{"autopilot_start", `{"taskId":" 7 "}`, tdd.StartRequest{TaskID: "7"}},
		{"autopilot_start", `{"taskId":"7","options":{"branch":"b","maxAttempts":5}}`, tdd.StartRequest{TaskID: "7", Branch: "b", MaxAttempts: 5}},
		{"autopilot_start", `{"taskId":"7","branch":"b","maxAttempts":5,"tag":"t","options":null}`, tdd.StartRequest{TaskID: "7", Tag: "t", Branch: "b", MaxAttempts: 5}},
		{"autopilot_start", `{"taskId":"7","maxAttempts":5,"options":{"branch":"b","maxAttempts":5}}`, tdd.StartRequest{TaskID: "7", Branch: "b", MaxAttempts: 5}},
		{
			"autopilot_complete_phase", `{"phase":"red","subtaskId":"1.2","testResults":{"passed":1,"failed":2}}`,
			tdd.CompleteRequest{Phase: tdd.Red, SubtaskID: "1.2", Results: &tdd.Results{Passed: 1, Failed: 2, Total: 3}},
		},
		{
			"autopilot_complete_phase", `{"phase":"green","subtaskId":"1.2","testResults":{"passed":1,"failed":0,"skipped":4,"total":6},"coverage":92.5,"files":["a","b"]}`,
			tdd.CompleteRequest{Phase: tdd.Green, SubtaskID: "1.2", Results: &tdd.Results{Passed: 1, Skipped: 4, Total: 6}, Coverage: tdd.Coverage{Lines: &lines}, Files: []string{"a", "b"}},
		},
		{
			"autopilot_complete_phase", `{"phase":"green","subtaskId":"1.2","testResults":{"passed":1,"failed":0,"total":0},"files":[]}`,
			tdd.CompleteRequest{Phase: tdd.Green, SubtaskID: "1.2", Results: &tdd.Results{Passed: 1}},
		},
		{"autopilot_commit", `{"subtaskId":"1.2"}`, tdd.CommitRequest{SubtaskID: "1.2"}},
		{"autopilot_commit", `{"subtaskId":"1.2","files":["a"],"message":"m"}`, tdd.CommitRequest{SubtaskID: "1.2", Message: "m", Files: []string{"a"}}},
		{"autopilot_resume", `{}`, ""},
		{"autopilot_resume", `{"runId":"r"}`, "r"},
		{"autopilot_finalize", `{"push":true}`, tdd.FinalizeRequest{Push: true}},
		{"autopilot_abort", `{}`, tdd.AbortRequest{}},
		{"autopilot_abort", `{"cleanup":true,"confirm":true}`, tdd.AbortRequest{Cleanup: true, NoConfirm: true}},
	} {
		if got := c.call(tt.tool, tt.args); got.bad {
			t.Errorf("%s %s: refused: %s", tt.tool, tt.args, got.text)
		}
		want = append(want, tt.want)
	}
	if d := cmp.Diff(want, f.asked); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
}

func TestRefusedBeforeTheWorkflow(t *testing.T) {
	t.Parallel()
	f := &fake{}
	c := connect(t, f.options("/p"))
	for _, tt := range []struct{ tool, args, want string }{
		{"autopilot_start", `{}`, "autopilot_start: taskId is missing: id of the task, such as 1"},
		{"autopilot_start", `{"taskId":" "}`, "autopilot_start: taskId is blank"},
		{"autopilot_start", `{"taskId":"1","options":{"maxAttempts":0}}`, "autopilot_start: options.maxAttempts is 0; it must be from 1 to 100"},
		{"autopilot_start", `{"taskId":"1","branch":"a","options":{"branch":"b"}}`, "autopilot_start: branch and options.branch differ"},
		{"autopilot_start", `{"taskId":"1","maxAttempts":1,"options":{"maxAttempts":2}}`, "autopilot_start: maxAttempts and options.maxAttempts differ"},
		{"autopilot_start", `{"taskId":"1","options":{"noConfirm":true}}`, `autopilot_start: unknown argument "options.noConfirm"; options takes branch, maxAttempts`},
		{"autopilot_complete_phase", `{"phase":"commit","subtaskId":"1","testResults":{"passed":1,"failed":0}}`, `autopilot_complete_phase: phase is "commit"; it must be one of red, green`},
		{"autopilot_complete_phase", `{"phase":"red","subtaskId":"1","testResults":{"failed":-1}}`, "autopilot_complete_phase: testResults.passed is missing: number of tests that passed; testResults.failed is -1; it must be from 0 to 10000000"},
		{"autopilot_complete_phase", `{"phase":"red","subtaskId":"1","testResults":"passed:1"}`, "autopilot_complete_phase: testResults must be an object"},
		{"autopilot_complete_phase", `{"phase":"red","subtaskId":"1","testResults":{"passed":1,"failed":0},"coverage":100.5}`, "autopilot_complete_phase: coverage is 100.5; it must be from 0 to 100"},
		{"autopilot_complete_phase", `{"phase":"red","subtaskId":"1"}`, "autopilot_complete_phase: testResults is missing: what the run of the tests said"},
		{"autopilot_commit", `{"subtaskId":"1","files":"a"}`, "autopilot_commit: files must be a list of strings"},
		{"autopilot_commit", `{"subtaskId":"1","message":"` + strings.Repeat("x", 2001) + `"}`, "autopilot_commit: message has 2001 characters; at most 2000 are taken"},
		{"autopilot_abort", `{"cleanup":true}`, "autopilot_abort: cleanup deletes the branch of the run and its state, and confirm is not true\nhint: without cleanup both are kept; call it with confirm true when a person wants them deleted"},
		{"autopilot_abort", `{"cleanup":true,"confirm":false}`, "autopilot_abort: cleanup deletes"},
		{"autopilot_next", `{"projectRoot":"/other"}`, "autopilot_next: projectRoot is /other, which is not in /p, the project of this server\nhint: leave projectRoot out"},
		{"autopilot_status", `{"projectRoot":"/other"}`, "autopilot_status: projectRoot is /other"},
		{"autopilot_finalize", `{"force":true}`, `autopilot_finalize: unknown argument "force"; the tool takes projectRoot, push`},
	} {
		if got := c.call(tt.tool, tt.args); !got.bad || !strings.HasPrefix(got.text, tt.want) || got.data != "" {
			t.Errorf("%s %.80s: error %t, %q %s, want %q", tt.tool, tt.args, got.bad, got.text, got.data, tt.want)
		}
	}
	if f.asked != nil {
		t.Errorf("refused calls arrived: %+v", f.asked)
	}
}

func TestRefusedByTheWorkflow(t *testing.T) {
	t.Parallel()
	f := &fake{err: fmt.Errorf("go on: %w", &tdd.Refusal{Kind: tdd.Refused, Message: "not in COMMIT phase", Way: "complete RED and GREEN first", Phase: tdd.Red})}
	c := connect(t, f.options("/p"))
	for tool, args := range map[string]string{
		"autopilot_start": `{"taskId":"1"}`, "autopilot_next": `{}`, "autopilot_complete_phase": `{"phase":"red","subtaskId":"1.1","testResults":{"passed":1,"failed":0}}`,
		"autopilot_commit": `{"subtaskId":"1.1"}`, "autopilot_resume": `{}`, "autopilot_finalize": `{}`, "autopilot_abort": `{}`,
	} {
		want := tool + ": go on: not in COMMIT phase\nhint: complete RED and GREEN first"
		if got := c.call(tool, args); !got.bad || got.text != want || got.data != "" {
			t.Errorf("%s: error %t, %q %s, want %q", tool, got.bad, got.text, got.data, want)
		}
	}
}

func keysOf(t *testing.T, data []byte) []string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(m))
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestStatus(t *testing.T) {
	t.Parallel()
	const ofCompletion = "Persistent completion is on for session s1."
	const ofRun = "Run r1 of task 1 (Parser) on branch b is in-progress: green of subtask 1.2, attempt 2 of 3. 1 of 4 subtasks complete, 1 commit, 5m 30s. 2 tests fail.\n"
	none := &tdd.Refusal{Kind: tdd.Invalid, Message: "no active workflow"}
	completionKeys := keysOf(t, encoded(t, someStatus()))
	bothKeys := slices.Sorted(slices.Values(append(keysOf(t, encoded(t, someStanding())), completionKeys...)))
	if n := len(slices.Compact(slices.Clone(bothKeys))); n != len(bothKeys) {
		t.Fatalf("a key means two things: %v", bothKeys)
	}
	for _, tt := range []struct {
		name     string
		standing func() (tdd.Standing, error)
		text     string
		keys     []string
	}{
		{"with a run", nil, ofRun + ofCompletion, bothKeys},
		{"without a run", func() (tdd.Standing, error) { return tdd.Standing{}, none }, ofCompletion, completionKeys},
		{"without a run, said by another", func() (tdd.Standing, error) { return tdd.Standing{}, fmt.Errorf("look: %w", none) }, ofCompletion, completionKeys},
	} {
		f := &fake{standing: tt.standing}
		c := connect(t, f.options("/p"))
		got := c.call("autopilot_status", `{}`)
		if got.bad || !strings.HasPrefix(got.text, tt.text) {
			t.Errorf("%s: error %t, %q, want %q", tt.name, got.bad, got.text, tt.text)
			continue
		}
		if d := cmp.Diff(tt.keys, keysOf(t, []byte(got.data))); d != "" {
			t.Errorf("%s: keys (-want +got):\n%s", tt.name, d)
		}
		valid(t, list(t, c)["autopilot_status"].OutputSchema, got.data)
		asJSON := c.call("autopilot_status", `{"json":true,"projectRoot":"/p"}`)
		if d := cmp.Diff(tt.keys, keysOf(t, []byte(asJSON.text))); d != "" {
			t.Errorf("%s: keys of the text (-want +got):\n%s", tt.name, d)
		}
		if !strings.Contains(got.data, `"subject":"ship it"`) {
			t.Errorf("%s: subjects have several lines: %s", tt.name, got.data)
		}
	}
}

func TestStatusInTrouble(t *testing.T) {
	t.Parallel()
	for kind, want := range map[tdd.Kind]string{tdd.Refused: "autopilot_status: run: state.json is broken", tdd.Paused: "autopilot_status: run: state.json is broken"} {
		f := &fake{standing: func() (tdd.Standing, error) {
			return tdd.Standing{}, &tdd.Refusal{Kind: kind, Message: "state.json is broken"}
		}}
		if got := connect(t, f.options("/p")).call("autopilot_status", `{}`); !got.bad || got.text != want {
			t.Errorf("%s: error %t, %q, want %q", kind, got.bad, got.text, want)
		}
	}
	f := &fake{}
	o := f.options("/p")
	o.Completion = func(context.Context) (completion.Status, error) {
		return completion.Status{}, errors.New("s1.json is broken")
	}
	if got := connect(t, o).call("autopilot_status", `{}`); !got.bad || got.text != "autopilot_status: s1.json is broken" {
		t.Errorf("completion: error %t, %q", got.bad, got.text)
	}
}

func TestProjectRoot(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, beside := filepath.Join(dir, "project"), filepath.Join(dir, "project-b")
	for _, d := range []string{filepath.Join(root, "sub"), beside} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link, out := filepath.Join(dir, "link"), filepath.Join(root, "out")
	for to, from := range map[string]string{link: root, out: beside} {
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for folder, ok := range map[string]bool{
		"": true, ".": true, "sub": true, root: true, root + "/": true, filepath.Join(root, "sub"): true, filepath.Join(root, "later"): true, link: true, filepath.Join(link, "sub"): true,
		beside: false, dir: false, "..": false, "/": false, out: false, filepath.Join(root, "..", "project-b"): false,
	} {
		for _, r := range []string{root, link} {
			if err := (Options{Root: r}).inside(folder); (err == nil) != ok {
				t.Errorf("%q in %s: got %v, want allowed: %t", folder, r, err, ok)
			}
		}
	}
	if r, isRefusal := errors.AsType[*tdd.Refusal](Options{Root: root}.inside(beside)); !isRefusal || r.Kind != tdd.Invalid || !strings.Contains(r.Message, root) || !strings.Contains(r.Message, beside) {
		t.Errorf("the refusal is %+v", r)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	long := make([]string, 1000)
	for i := range long {
		long[i] = fmt.Sprintf("test %d", i)
	}
	big := strings.Repeat("ä", 100_000)
	n := tdd.Next{
		Action: tdd.ActionGreen, Subtask: &tdd.Work{ID: "1.1", Title: big, Details: big, Description: big, TestStrategy: big},
		Context: &tdd.Context{ExistingTests: long, FailingTests: long, ChangedFiles: long},
	}
	f := &fake{next: &n, judged: tdd.Judged{Measured: &tdd.Measured{Failing: long, Output: big + "the end"}}}
	c := connect(t, f.options("/p"))
	var next tdd.Next
	if err := json.Unmarshal([]byte(c.call("autopilot_next", `{}`).data), &next); err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string][]string{"existing": next.Context.ExistingTests, "failing": next.Context.FailingTests, "changed": next.Context.ChangedFiles} {
		if len(got) != 51 || got[49] != "test 49" || got[50] != "and 950 more" {
			t.Errorf("%s has %d items, the last %q", what, len(got), got[len(got)-1])
		}
	}
	if got := []rune(next.Subtask.Details); len(got) != 8000 || len([]rune(next.Subtask.Title)) != 300 {
		t.Errorf("details have %d characters", len(got))
	}
	var judged tdd.Judged
	res := c.call("autopilot_complete_phase", `{"phase":"red","subtaskId":"1.1","testResults":{"passed":1,"failed":0}}`)
	if err := json.Unmarshal([]byte(res.data), &judged); err != nil {
		t.Fatal(err)
	}
	if out := judged.Measured.Output; len(judged.Measured.Failing) != 51 || len(out) > 4010 || !strings.HasSuffix(out, "the end") || !strings.HasPrefix(out, "…ä") {
		t.Errorf("measured has %d failing tests and %d bytes of output: %.20q", len(judged.Measured.Failing), len(out), out)
	}
	if len(n.Context.FailingTests) != 1000 || len(f.judged.Measured.Failing) != 1000 || n.Subtask.Details != big {
		t.Error("the workflow's own lists were cut")
	}
}

// TestWaysOutAreTools is a refusal whose way out is a command.
func TestWaysOutAreTools(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"start one: autopilot tdd start TASK":                                   "start one: autopilot_start",
		"see 'autopilot tdd next'":                                              "see autopilot_next",
		"look at it, then: autopilot tdd resume":                                "look at it, then: autopilot tdd resume",
		"name what is to be committed with --files":                             "name what is to be committed with files",
		"'autopilot tdd commit' commits them":                                   "autopilot_commit commits them",
		"autopilot tdd resume goes on with it, autopilot tdd abort gives it up": "autopilot tdd resume goes on with it, autopilot_abort gives it up",
	} {
		err := byTools(&tdd.Refusal{Kind: tdd.Refused, Message: "no", Way: in})
		if r, ok := errors.AsType[*tdd.Refusal](err); !ok || r.Way != want || r.Message != "no" {
			t.Errorf("%q became %v", in, err)
		}
	}
	if err := errors.New("other"); byTools(err) != err || byTools(nil) != nil {
		t.Error("other errors are changed")
	}
}
