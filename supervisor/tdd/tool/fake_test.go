package tool

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"autopilot/sessions/completion"
	"autopilot/sessions/mcpserver"
	"autopilot/sessions/task"
	"autopilot/supervisor/tdd"
)

// fake is a workflow. It keeps what was asked for; a nil function gives a plain answer.
type fake struct {
	asked    []any
	err      error // of every call
	standing func() (tdd.Standing, error)
	judged   tdd.Judged
	next     *tdd.Next
}

func (f *fake) ask(r any) error {
	f.asked = append(f.asked, r)
	return f.err
}

func someNext() tdd.Next {
	return tdd.Next{
		Action: tdd.ActionRed, Subtask: &tdd.Work{ID: "1.1", Title: "Parse\nit", Attempt: 2, MaxAttempts: 3},
		Context: &tdd.Context{ProjectRoot: "/p", Branch: "b", ExistingTests: []string{}}, Instructions: "Write a failing test",
	}
}

func (f *fake) Start(_ context.Context, r tdd.StartRequest) (tdd.Started, error) {
	return tdd.Started{RunID: "r1", TaskID: "1", Title: "Parser", Tag: "master", Branch: "master/task-1", Subtasks: 3, Warnings: []string{"task 0 is not done"}, NextAction: someNext()}, f.ask(r)
}

func (f *fake) Resume(_ context.Context, runID string) (tdd.Resumed, error) {
	return tdd.Resumed{Resumed: true, RunID: "r1", NextAction: someNext()}, f.ask(runID)
}

func (f *fake) Abort(_ context.Context, r tdd.AbortRequest) (tdd.Stopped, error) {
	return tdd.Stopped{Aborted: true, RunID: "r1", Branch: "b", Deleted: r.Cleanup, Note: "the branch stays"}, f.ask(r)
}

func someStanding() tdd.Standing {
	return tdd.Standing{
		RunID: "r1", TaskID: "1", TaskTitle: "Parser", Tag: "master", Branch: "b", Status: tdd.InProgress, CurrentSubtask: "1.2", CurrentPhase: tdd.Green,
		AttemptNumber: 2, MaxAttempts: 3, Progress: tdd.Progress{Completed: []string{"1.1"}, Current: "1.2", Remaining: []string{"1.3", "1.4"}},
		Commits: 1, StartTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: "5m 30s", Why: "2 tests fail", RunFolder: "/runs/r1",
	}
}

func (f *fake) Standing(context.Context) (tdd.Standing, error) {
	if f.standing != nil {
		return f.standing()
	}
	return someStanding(), f.err
}

func (f *fake) Next(context.Context) (tdd.Next, error) {
	if f.next != nil {
		return *f.next, nil
	}
	return someNext(), f.ask("next")
}

func (f *fake) Complete(_ context.Context, r tdd.CompleteRequest) (tdd.Judged, error) {
	f.judged.NextAction = someNext()
	return f.judged, f.ask(r)
}

func (f *fake) Commit(_ context.Context, r tdd.CommitRequest) (tdd.Committed, error) {
	return tdd.Committed{CommitSHA: "a1b2c3d4e5f6", Message: "feat(cli): parse it (task 1.1)\n\nTask: #1.1\n", Files: []string{"a.go"}, NextAction: someNext()}, f.ask(r)
}

func (f *fake) Finalize(_ context.Context, r tdd.FinalizeRequest) (tdd.Finalized, error) {
	out := tdd.Finalized{Completed: true, Message: "task 1 is done", RunID: "r1", Branch: "b", Commits: 4, Results: &tdd.Results{Passed: 3, Total: 3}}
	if r.Push {
		out.Pushed = "origin/b"
	}
	return out, f.ask(r)
}

func someStatus() completion.Status {
	return completion.Status{
		Enabled: true, SessionID: "s1", Iterations: 3, MaxIterations: 50, TimeoutMinutes: 240, TaskSources: []string{task.Markdown},
		Tasks: task.Count{Completed: 1, Total: 2, Percent: 50}, Remaining: []task.Task{{ID: "2", Subject: "ship\nit", Status: "pending", Source: task.Markdown}}, Warning: "slow",
	}
}

func (f *fake) options(root string) Options {
	return Options{Runs: f, Steps: f, Root: root, Network: true, Completion: func(context.Context) (completion.Status, error) { return someStatus(), nil }}
}

var errLate = errors.New("the server does not go on")

// client talks to a server in lines of JSON-RPC.
type client struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
	id  int
}

func connect(t *testing.T, o Options) *client {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- mcpserver.Serve(t.Context(), in, out, mcpserver.Options{Desk: completion.Desk{Folder: t.TempDir()}, Version: "v1", Tools: Tools(o), Instructions: Instructions})
	}()
	c := &client{t: t, in: toServer, out: bufio.NewReader(fromServer)}
	// A server that stops in the middle fails the test, not the whole run.
	late := time.AfterFunc(30*time.Second, func() { _ = fromServer.CloseWithError(errLate) })
	t.Cleanup(func() {
		late.Stop()
		if err := toServer.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	var hello struct{ Instructions string }
	c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`, &hello)
	if !strings.Contains(hello.Instructions, "autopilot_next") || !strings.Contains(hello.Instructions, "autopilot_report") {
		t.Errorf("instructions are %q", hello.Instructions)
	}
	if _, err := io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask puts the result of a call into a value. A protocol error fails the test.
func (c *client) ask(method, params string, into any) {
	c.t.Helper()
	c.id++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params); err != nil {
		c.t.Fatal(err)
	}
	got, err := c.out.ReadBytes('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	var answer struct {
		ID     int
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(got, &answer); err != nil || answer.Error != nil || answer.ID != c.id {
		c.t.Fatalf("%s %s: %v, %s", method, params, err, got)
	}
	if err := json.Unmarshal(answer.Result, into); err != nil {
		c.t.Fatal(err)
	}
}

// result is what a tool gives.
type result struct {
	text string
	data string // JSON; empty for none
	bad  bool
}

func (c *client) call(name, args string) result {
	c.t.Helper()
	var res struct {
		IsError           bool
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
	}
	c.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args), &res)
	if len(res.Content) != 1 || res.Content[0].Type != "text" {
		c.t.Fatalf("%s: content is %+v", name, res.Content)
	}
	return result{text: res.Content[0].Text, data: string(res.StructuredContent), bad: res.IsError}
}
