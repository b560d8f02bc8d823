package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"autopilot/metrics/episode"
	"autopilot/sessions/completion"
	"autopilot/sessions/task"
)

// childEnv makes the test binary a server on its standard input and output, so
// that the tests have a real process with real pipes.
const childEnv = "MCPSERVER_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := serveFake(ctx, os.Stdin, os.Stdout, &fake{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fake is a desk. A nil function is one with a plain answer.
type fake struct {
	status    func(context.Context) (completion.Status, error)
	switched  func(verb string) (completion.Status, error)
	configure func(completion.Change) (completion.Settings, error)
	log       func(int) ([]completion.Event, error)
	progress  func(context.Context) (completion.Progress, error)
	report    func(completion.Report) error
	learn     func() (episode.Learned, error)
	history   func(string, int) ([]episode.Match, error)
	predict   func(context.Context) (episode.Prediction, error)
}

func (f *fake) Status(ctx context.Context, _ time.Time) (completion.Status, error) {
	if f.status != nil {
		return f.status(ctx)
	}
	return someStatus(), nil
}

func (f *fake) Enable(context.Context, time.Time) (completion.Status, error) { return f.turn("enable") }

func (f *fake) Disable(context.Context, time.Time) (completion.Status, error) {
	return f.turn("disable")
}

func (f *fake) Reset(context.Context, time.Time) (completion.Status, error) { return f.turn("reset") }

func (f *fake) turn(verb string) (completion.Status, error) {
	if f.switched != nil {
		return f.switched(verb)
	}
	st := someStatus()
	st.Enabled, st.Iterations = verb != "disable", 0
	return st, nil
}

func (f *fake) Configure(c completion.Change, now time.Time) (completion.Settings, error) {
	if now.IsZero() {
		return completion.Settings{}, errors.New("no time is given")
	}
	if f.configure != nil {
		return f.configure(c)
	}
	return completion.Settings{MaxIterations: 50, TimeoutMinutes: 240, TaskSources: task.Usual(), Criteria: completion.AllDone}, nil
}

func (f *fake) Log(last int) ([]completion.Event, error) {
	if f.log != nil {
		return f.log(last)
	}
	return []completion.Event{{"ts": int64(1_700_000_000_000), "event": "enabled", "sessionId": "s1"}}, nil
}

func (f *fake) Progress(ctx context.Context) (completion.Progress, error) {
	if f.progress != nil {
		return f.progress(ctx)
	}
	tasks := []task.Task{
		{ID: "1", Subject: "write it", Status: "completed", Source: task.TeamTasks},
		{ID: "2", Subject: "test it && ship it", Status: "pending", Source: task.TeamTasks, BlockedBy: []string{"1"}},
	}
	return completion.Progress{Overall: task.CountOf(tasks), BySource: map[string]completion.SourceProgress{
		task.TeamTasks: {Count: task.CountOf(tasks), Tasks: tasks},
	}}, nil
}

func (f *fake) Report(r completion.Report) error {
	if f.report != nil {
		return f.report(r)
	}
	return nil
}

func (f *fake) Learn() (episode.Learned, error) {
	if f.learn != nil {
		return f.learn()
	}
	return episode.Learned{Episodes: 2, Successes: 1, Failures: 1, AvgReward: 0.4}, nil
}

func (f *fake) History(query string, limit int) ([]episode.Match, error) {
	if f.history != nil {
		return f.history(query, limit)
	}
	return []episode.Match{{Episode: episode.Episode{ID: "e1", Task: "write it", Steps: []episode.Step{{Iteration: 1}}}, Score: 0.5}}, nil
}

func (f *fake) Predict(ctx context.Context) (episode.Prediction, error) {
	if f.predict != nil {
		return f.predict(ctx)
	}
	return episode.Prediction{Action: "work on: test it", Confidence: 0.5, Remaining: 1}, nil
}

func someStatus() completion.Status {
	return completion.Status{
		Enabled: true, SessionID: "0b5e6c1a-0000-4000-8000-000000000001", Iterations: 3, MaxIterations: 50, TimeoutMinutes: 240, ElapsedMS: 725_000,
		Tasks: task.Count{Completed: 3, Failed: 1, Total: 8, Percent: 38}, TaskSources: task.Usual(), Stalled: 1, Tokens: 4200,
		Remaining: []task.Task{
			{ID: "4", Subject: "test it", Status: "pending", Source: task.TeamTasks},
			{ID: "5", Subject: "ship\nit", Status: "in_progress", Source: task.SwarmTasks, Blocked: true, Dead: true},
		},
	}
}

func (f *fake) server() *mcp.Server {
	return newServer(work{counter: f, recorder: f, teacher: f, network: true}, Options{Version: "v1.2.3"})
}

// connect is a client of a server with the desk, in memory.
func connect(t *testing.T, f *fake) *mcp.ClientSession {
	t.Helper()
	toServer, toClient := mcp.NewInMemoryTransports()
	if _, err := f.server().Connect(t.Context(), toServer, nil); err != nil {
		t.Fatal(err)
	}
	return client(t, toClient)
}

func client(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func call(t *testing.T, c *mcp.ClientSession, tool string, args any) *mcp.CallToolResult {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args, Meta: mcp.Meta{"claudecode/toolUseId": "toolu_1", "progressToken": 2}})
	if err != nil {
		t.Fatalf("%s %v: protocol error: %v", tool, args, err)
	}
	return res
}

// text is the only text of a result.
func text(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("result has %d content items, want 1: %+v", len(res.Content), res.Content)
	}
	item, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content is %T, want text", res.Content[0])
	}
	return item.Text
}
