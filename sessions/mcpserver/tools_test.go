package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"autopilot/metrics/episode"
	"autopilot/sessions/completion"
	"autopilot/sessions/task"
)

// schema turns what a client got back into a schema.
func schema(t *testing.T, v any) *jsonschema.Schema {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func toolsOf(t *testing.T, c *mcp.ClientSession) map[string]*mcp.Tool {
	t.Helper()
	res, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*mcp.Tool{}
	for _, tool := range res.Tools {
		out[tool.Name] = tool
	}
	return out
}

func TestTools(t *testing.T) {
	t.Parallel()
	c := connect(t, &fake{})
	var got []string
	for n, tool := range toolsOf(t, c) {
		in := schema(t, tool.InputSchema)
		args := slices.Sorted(maps.Keys(in.Properties))
		for i, a := range args {
			if slices.Contains(in.Required, a) {
				args[i] += "!"
			}
			if p := in.Properties[a]; p.Description == "" || p.Type == "" {
				t.Errorf("%s: argument %s has description %q and type %q", n, a, p.Description, p.Type)
			} else if p.Type == "integer" && (p.Minimum == nil || p.Maximum == nil) {
				t.Errorf("%s: argument %s has no bounds", n, a)
			}
		}
		if in.AdditionalProperties == nil || in.AdditionalProperties.Not == nil {
			t.Errorf("%s: the schema lets unknown arguments through", n)
		}
		for _, s := range []any{tool.InputSchema, tool.OutputSchema} {
			if _, err := schema(t, s).Resolve(nil); err != nil {
				t.Errorf("%s: %v", n, err)
			}
		}
		if out := schema(t, tool.OutputSchema); out.Type != "object" {
			t.Errorf("%s: output is %q, want object", n, out.Type)
		}
		a := tool.Annotations
		got = append(got, fmt.Sprintf("%s(%s) read=%t destroy=%t idempotent=%t open=%t",
			n, strings.Join(args, " "), a.ReadOnlyHint, *a.DestructiveHint, a.IdempotentHint, *a.OpenWorldHint))
	}
	slices.Sort(got)
	want := []string{
		"autopilot_config(completionCriteria maxIterations maxTokens taskSources timeoutMinutes) read=false destroy=false idempotent=true open=false",
		"autopilot_disable() read=false destroy=false idempotent=true open=true",
		"autopilot_enable() read=false destroy=true idempotent=false open=true",
		"autopilot_history(limit query!) read=true destroy=false idempotent=true open=false",
		"autopilot_learn(json) read=true destroy=false idempotent=true open=false",
		"autopilot_log(json last) read=true destroy=false idempotent=true open=false",
		"autopilot_predict(json) read=true destroy=false idempotent=true open=true",
		"autopilot_progress() read=true destroy=false idempotent=true open=true",
		"autopilot_report(carried_over completed needs_person next_steps summary!) read=false destroy=false idempotent=true open=false",
		"autopilot_reset() read=false destroy=true idempotent=false open=true",
		"autopilot_status(json) read=true destroy=false idempotent=true open=true",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	in := c.InitializeResult()
	if in.ServerInfo.Name != "autopilot" || in.ServerInfo.Version != "v1.2.3" || in.ProtocolVersion != "2025-11-25" {
		t.Errorf("server is %s %s with protocol %s", in.ServerInfo.Name, in.ServerInfo.Version, in.ProtocolVersion)
	}
	if n := strings.Count(in.Instructions, "\n") + 1; n > 4 || !strings.Contains(in.Instructions, "autopilot_report") {
		t.Errorf("instructions have %d lines:\n%s", n, in.Instructions)
	}
	if can, err := encode(in.Capabilities); err != nil || string(can) != `{"tools":{}}` {
		t.Errorf("capabilities are %s, %v", can, err)
	}
}

func TestNoNetworkWithoutGH(t *testing.T) {
	t.Parallel()
	toServer, toClient := mcp.NewInMemoryTransports()
	if _, err := New(Options{Version: "v1"}).Connect(t.Context(), toServer, nil); err != nil {
		t.Fatal(err)
	}
	for n, tool := range toolsOf(t, client(t, toClient)) {
		if *tool.Annotations.OpenWorldHint {
			t.Errorf("%s may ask the network, without a way to", n)
		}
	}
}

func TestLimitsArePublished(t *testing.T) {
	t.Parallel()
	p := schema(t, toolsOf(t, connect(t, &fake{}))["autopilot_config"].InputSchema).Properties
	type bounds struct{ Low, High float64 }
	got := map[string]bounds{}
	for _, n := range []string{"maxIterations", "timeoutMinutes"} {
		got[n] = bounds{*p[n].Minimum, *p[n].Maximum}
	}
	want := map[string]bounds{"maxIterations": {1, 1000}, "timeoutMinutes": {1, 1440}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("bounds (-want +got):\n%s", d)
	}
	var sources []string
	for _, v := range p["taskSources"].Items.Enum {
		sources = append(sources, v.(string))
	}
	if d := cmp.Diff(task.Sources(), sources); d != "" || *p["taskSources"].MinItems != 1 {
		t.Errorf("taskSources take at least %d of (-want +got):\n%s", *p["taskSources"].MinItems, d)
	}
}

func TestEveryToolAnswers(t *testing.T) {
	t.Parallel()
	c := connect(t, &fake{})
	tools := toolsOf(t, c)
	for _, tt := range []struct {
		tool, args string
		text       string // the beginning of the text; "{" for JSON
		data       string // a piece of the structured content
	}{
		{"autopilot_status", `{}`, "Persistent completion is on for session 0b5e6c1a", `"iterations":3`},
		{"autopilot_status", `{"json":false}`, "Persistent completion is on", `"iterations":3`},
		{"autopilot_status", `{"json":true}`, "{", `"sessionId":"0b5e6c1a-`},
		{"autopilot_status", `{"json":null}`, "Persistent completion is on", `"iterations":3`},
		{"autopilot_enable", `{}`, "Persistent completion is on", `"iterations":0`},
		{"autopilot_disable", `{}`, "Persistent completion is off", `"enabled":false`},
		{"autopilot_reset", `{}`, "Persistent completion is on", `"iterations":0`},
		{"autopilot_config", `{}`, "Settings: at most 50 iterations, 240 minutes and any number of tokens", `"maxIterations":50`},
		{"autopilot_config", `{"maxIterations":1000,"timeoutMinutes":1,"taskSources":["markdown"],"completionCriteria":"all-tasks-succeeded","maxTokens":0}`, "Settings: ", `"completionCriteria"`},
		{"autopilot_log", `{}`, "2023-11-14T22:13:20Z enabled sessionId=\"s1\"", `"events":[{`},
		{"autopilot_log", `{"last":5,"json":true}`, "{", `"events":[{`},
		{"autopilot_progress", `{}`, "{", `"test it && ship it"`},
		{"autopilot_learn", `{}`, "2 episodes: 1 succeeded, 1 failed.", `"avgReward":0.4`},
		{"autopilot_learn", `{"json":true}`, "{", `"avgReward":0.4`},
		{"autopilot_history", `{"query":"write","limit":100}`, "{", `"query":"write"`},
		{"autopilot_predict", `{}`, "Next: work on: test it", `"remaining":1`},
		{"autopilot_predict", `{"json":true}`, "{", `"remaining":1`},
		{"autopilot_report", `{"summary":"done","completed":["a"],"carried_over":[],"next_steps":["b"],"needs_person":"which colour?"}`, "The report is kept.", `"reported":true`},
	} {
		res := call(t, c, tt.tool, json.RawMessage(tt.args))
		if res.IsError {
			t.Errorf("%s %s: refused: %s", tt.tool, tt.args, text(t, res))
			continue
		}
		data, err := encode(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		got := text(t, res)
		if !strings.HasPrefix(got, tt.text) || !strings.Contains(string(data), tt.data) {
			t.Errorf("%s %s: text %q, data %s; want %q and %s", tt.tool, tt.args, got, data, tt.text, tt.data)
		}
		if tt.text == "{" {
			var again any
			if err := json.Unmarshal([]byte(got), &again); err != nil {
				t.Errorf("%s: text is no JSON: %v", tt.tool, err)
			}
			if d := cmp.Diff(res.StructuredContent, again); d != "" {
				t.Errorf("%s: text and data differ:\n%s", tt.tool, d)
			}
		}
		resolved, err := schema(t, tools[tt.tool].OutputSchema).Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(res.StructuredContent); err != nil {
			t.Errorf("%s: output is not what its schema says: %v\n%s", tt.tool, err, data)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	c := connect(t, &fake{
		configure: func(completion.Change) (completion.Settings, error) {
			t.Error("refused settings arrived")
			return completion.Settings{}, nil
		},
		report: func(completion.Report) error { t.Error("refused report arrived"); return nil },
	})
	big := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		tool string
		args any
		want string
	}{
		{"autopilot_config", `{"maxIterations":0}`, "autopilot_config: maxIterations is 0; it must be from 1 to 1000"},
		{"autopilot_config", `{"maxIterations":1001}`, "autopilot_config: maxIterations is 1001; it must be from 1 to 1000"},
		{"autopilot_config", `{"maxIterations":1e300}`, "maxIterations is 1"},
		{"autopilot_config", `{"maxIterations":1.5}`, "autopilot_config: maxIterations must be a whole number"},
		{"autopilot_config", `{"maxIterations":"50"}`, "autopilot_config: maxIterations must be a whole number"},
		{"autopilot_config", `{"timeoutMinutes":1441,"maxTokens":-1}`, "autopilot_config: timeoutMinutes is 1441; it must be from 1 to 1440; maxTokens is -1; it must be from 0 to 1000000000000"},
		{"autopilot_config", `{"taskSources":[]}`, "autopilot_config: taskSources has 0 items; it must have at least 1"},
		{"autopilot_config", `{"taskSources":["jira"]}`, `autopilot_config: taskSources[0] is "jira"; it must be one of team-tasks, swarm-tasks, file-checklist, task-master, specweave, markdown, github-issues`},
		{"autopilot_config", `{"taskSources":["markdown","markdown"]}`, "autopilot_config: taskSources names markdown twice"},
		{"autopilot_config", `{"taskSources":"markdown"}`, "autopilot_config: taskSources must be a list of strings"},
		{"autopilot_config", `{"taskSources":[{}]}`, "autopilot_config: taskSources[0] must be a string"},
		{"autopilot_config", `{"completionCriteria":"never"}`, `autopilot_config: completionCriteria is "never"; it must be one of all-tasks-done, all-tasks-succeeded`},
		{"autopilot_config", `{"MaxIterations":5}`, `autopilot_config: unknown argument "MaxIterations"; the tool takes maxIterations, timeoutMinutes, taskSources, completionCriteria, maxTokens`},
		{"autopilot_enable", `{"sessionId":"x"}`, `autopilot_enable: unknown argument "sessionId"; the tool takes no arguments`},
		{"autopilot_status", `{"json":"yes"}`, "autopilot_status: json must be true or false"},
		{"autopilot_status", `[1]`, "autopilot_status: the arguments are no JSON object"},
		{"autopilot_status", `"x"`, "autopilot_status: the arguments are no JSON object"},
		{"autopilot_log", `{"last":0}`, "autopilot_log: last is 0; it must be from 1 to 1000"},
		{"autopilot_history", `{}`, "autopilot_history: query is missing: what the work is about, in a few words"},
		{"autopilot_history", `{"query":null}`, "autopilot_history: query is missing"},
		{"autopilot_history", `{"query":" \n"}`, "autopilot_history: query is blank"},
		{"autopilot_history", `{"query":"x","limit":101}`, "autopilot_history: limit is 101; it must be from 1 to 100"},
		{"autopilot_history", map[string]any{"query": big}, "autopilot_history: query has 1048576 characters; at most 1000 are taken"},
		{"autopilot_report", `{}`, "autopilot_report: summary is missing"},
		{"autopilot_report", map[string]any{"summary": big}, "autopilot_report: summary has 1048576 characters; at most 2000 are taken"},
		{"autopilot_report", map[string]any{"summary": "x", "completed": []string{big}}, "autopilot_report: completed[0] has 1048576 characters; at most 300 are taken"},
		{"autopilot_report", map[string]any{"summary": "x", "next_steps": make([]string, 51)}, "autopilot_report: next_steps has 51 items; at most 50 are taken"},
		{"autopilot_report", map[string]any{big: 1, "summary": "x"}, `unknown argument "xxx`},
	} {
		args := tt.args
		if s, ok := args.(string); ok {
			args = json.RawMessage(s)
		}
		res := call(t, c, tt.tool, args)
		got := text(t, res)
		if !res.IsError || !strings.Contains(got, tt.want) || len(got) > 400 {
			t.Errorf("%s: error %t, %.500q, want %q", tt.tool, res.IsError, got, tt.want)
		}
		if res.StructuredContent != nil {
			t.Errorf("%s: a refusal has data: %v", tt.tool, res.StructuredContent)
		}
	}
}

func TestArgumentsArrive(t *testing.T) {
	t.Parallel()
	var change completion.Change
	var rep completion.Report
	var last, limit []int
	c := connect(t, &fake{
		configure: func(got completion.Change) (completion.Settings, error) {
			change = got
			return completion.Settings{}, nil
		},
		report:  func(got completion.Report) error { rep = got; return nil },
		log:     func(n int) ([]completion.Event, error) { last = append(last, n); return nil, nil },
		history: func(_ string, n int) ([]episode.Match, error) { limit = append(limit, n); return nil, nil },
	})
	call(t, c, "autopilot_config", json.RawMessage(`{"maxIterations":7.0,"maxTokens":1e6,"taskSources":["markdown","team-tasks"],"timeoutMinutes":null}`))
	wantChange := completion.Change{MaxIterations: jsonschema.Ptr(7), MaxTokens: jsonschema.Ptr(int64(1_000_000)), TaskSources: []string{"markdown", "team-tasks"}}
	if d := cmp.Diff(wantChange, change); d != "" {
		t.Errorf("change (-want +got):\n%s", d)
	}
	call(t, c, "autopilot_report", json.RawMessage(`{"summary":"s","completed":["a","b"],"carried_over":["c"],"next_steps":["d"],"needs_person":"p"}`))
	wantReport := completion.Report{Summary: "s", Completed: []string{"a", "b"}, CarriedOver: []string{"c"}, NextSteps: []string{"d"}, NeedsPerson: "p"}
	if d := cmp.Diff(wantReport, rep); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
	call(t, c, "autopilot_log", nil)
	call(t, c, "autopilot_log", json.RawMessage(`{"last":7}`))
	call(t, c, "autopilot_history", json.RawMessage(`{"query":"x"}`))
	call(t, c, "autopilot_history", json.RawMessage(`{"query":"x","limit":3}`))
	if d := cmp.Diff([][]int{{50, 7}, {10, 3}}, [][]int{last, limit}); d != "" {
		t.Errorf("last and limit (-want +got):\n%s", d)
	}
}

func TestEmptyListsAreLists(t *testing.T) {
	t.Parallel()
	c := connect(t, &fake{
		log:      func(int) ([]completion.Event, error) { return nil, nil },
		history:  func(string, int) ([]episode.Match, error) { return nil, nil },
		progress: func(context.Context) (completion.Progress, error) { return completion.Progress{}, nil },
		status:   func(context.Context) (completion.Status, error) { return completion.Status{}, nil },
	})
	for tool, want := range map[string]string{
		"autopilot_log": `{"events":[]}`, "autopilot_history": `"results":[]`, "autopilot_progress": `"bySource":{}`,
		"autopilot_status": `"otherSessions":[],"remaining":[],`,
	} {
		args := map[string]any{}
		if tool == "autopilot_history" {
			args["query"] = "x"
		}
		data, err := encode(call(t, c, tool, args).StructuredContent)
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: %s %v, want %s", tool, data, err, want)
		}
	}
}

func TestLongListsAreCut(t *testing.T) {
	t.Parallel()
	var tasks []task.Task
	for i := range 1000 {
		st := "completed"
		if i >= 900 {
			st = "pending"
		}
		tasks = append(tasks, task.Task{ID: fmt.Sprint(i), Subject: strings.Repeat("long ", 1000), Status: st, Source: task.Markdown})
	}
	c := connect(t, &fake{progress: func(context.Context) (completion.Progress, error) {
		return completion.Progress{Overall: task.CountOf(tasks), BySource: map[string]completion.SourceProgress{
			task.Markdown: {Count: task.CountOf(tasks), Tasks: tasks},
		}}, nil
	}})
	var got progress
	if err := json.Unmarshal([]byte(text(t, call(t, c, "autopilot_progress", nil))), &got); err != nil {
		t.Fatal(err)
	}
	md := got.BySource[task.Markdown]
	if len(md.Tasks) != 50 || md.LeftOut != 950 || md.Total != 1000 || md.Tasks[0].ID != "900" || len([]rune(md.Tasks[0].Subject)) != 200 {
		t.Errorf("got %d tasks, %d left out, %d in all, the first %+v", len(md.Tasks), md.LeftOut, md.Total, md.Tasks[0])
	}
	if len(tasks[900].Subject) != 5000 {
		t.Error("the desk's own tasks were cut")
	}
}

func TestHistoryComesWithoutSteps(t *testing.T) {
	t.Parallel()
	got := text(t, call(t, connect(t, &fake{}), "autopilot_history", map[string]any{"query": "x"}))
	if !strings.Contains(got, `"id":"e1"`) || strings.Contains(got, "trajectory") {
		t.Errorf("history is %s", got)
	}
}

type brokenState struct{}

func (brokenState) Error() string { return "state file s1.json is no JSON" }

func (brokenState) Hint() string { return "remove s1.json" }

func TestTroubleOfTheDesk(t *testing.T) {
	t.Parallel()
	trouble := fmt.Errorf("read state: %w", brokenState{})
	c := connect(t, &fake{
		status:    func(context.Context) (completion.Status, error) { return someStatus(), trouble },
		switched:  func(string) (completion.Status, error) { panic("no such thing") },
		configure: func(completion.Change) (completion.Settings, error) { return completion.Settings{}, trouble },
		log:       func(int) ([]completion.Event, error) { return nil, trouble },
		progress:  func(context.Context) (completion.Progress, error) { var p *completion.Progress; return *p, nil },
		report:    func(completion.Report) error { return errors.New("nobody reads reports here") },
		learn:     func() (episode.Learned, error) { return episode.Learned{AvgReward: math.NaN()}, nil },
		history:   func(string, int) ([]episode.Match, error) { return nil, trouble },
		predict:   func(context.Context) (episode.Prediction, error) { return episode.Prediction{}, trouble },
	})
	broken := ": read state: state file s1.json is no JSON\nhint: remove s1.json"
	for tool, want := range map[string]string{
		"autopilot_status":   broken,
		"autopilot_enable":   ": internal error: no such thing",
		"autopilot_disable":  ": internal error: no such thing",
		"autopilot_reset":    ": internal error: no such thing",
		"autopilot_config":   broken,
		"autopilot_log":      broken,
		"autopilot_progress": ": internal error: runtime error: invalid memory address or nil pointer dereference",
		"autopilot_report":   ": nobody reads reports here",
		"autopilot_learn":    ": internal error: json: unsupported value: NaN",
		"autopilot_history":  broken,
		"autopilot_predict":  broken,
	} {
		args := map[string]any{}
		switch tool {
		case "autopilot_history":
			args["query"] = "x"
		case "autopilot_report":
			args["summary"] = "x"
		}
		res := call(t, c, tool, args)
		if got := text(t, res); !res.IsError || got != tool+want || res.StructuredContent != nil {
			t.Errorf("%s: error %t, %q, want %q", tool, res.IsError, got, tool+want)
		}
	}
}

func TestUnknownTool(t *testing.T) {
	t.Parallel()
	c := connect(t, &fake{})
	_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "autopilot_explode"})
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams || !strings.Contains(wire.Message, "autopilot_explode") {
		t.Errorf("error is %v, want invalid params that name the tool", err)
	}
	if res := call(t, c, "autopilot_status", nil); res.IsError {
		t.Errorf("the server is of no use afterwards: %s", text(t, res))
	}
}

func TestConcurrentCallsOnTwoServers(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	count := 0
	f := &fake{switched: func(string) (completion.Status, error) {
		mu.Lock()
		defer mu.Unlock()
		count++
		return completion.Status{Iterations: count}, nil
	}}
	clients := []*mcp.ClientSession{connect(t, f), connect(t, f)}
	const each = 100
	seen := make([]float64, len(clients)*each)
	var wg sync.WaitGroup
	for i := range seen {
		wg.Go(func() {
			res, err := clients[i%len(clients)].CallTool(t.Context(), &mcp.CallToolParams{Name: "autopilot_reset"})
			if err != nil || res.IsError {
				t.Errorf("call %d: %v %+v", i, err, res)
				return
			}
			seen[i] = res.StructuredContent.(map[string]any)["iterations"].(float64)
		})
	}
	wg.Wait()
	slices.Sort(seen)
	for i, got := range seen {
		if got != float64(i+1) {
			t.Fatalf("answer %d is %v: an answer went to the wrong call", i, got)
		}
	}
}
