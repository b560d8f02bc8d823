package mcpserver

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"autopilot/sessions/completion"
	"autopilot/sessions/task"
)

const session = "0b5e6c1a-0000-4000-8000-000000000001"

// realDesk is a desk in a project with three tasks, one of them complete.
func realDesk(t *testing.T) completion.Desk {
	t.Helper()
	dir := t.TempDir()
	repo := filepath.Join(dir, "repo")
	write(t, filepath.Join(repo, "PLAN.md"), "# Plan\n\n- [x] write it\n- [ ] test it\n- [ ] ship it\n")
	return completion.Desk{
		Folder: filepath.Join(dir, "state"), Session: session, Episodes: filepath.Join(dir, "episodes"), ReportFile: filepath.Join(dir, "report.json"),
		Place: task.Place{Repo: repo, Config: filepath.Join(dir, "config"), Files: []string{"PLAN.md"}},
		Defaults: completion.Settings{
			MaxIterations: completion.UsualIterations, TimeoutMinutes: completion.UsualMinutes, TaskSources: []string{task.Markdown}, Criteria: completion.AllDone,
		},
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func connectDesk(t *testing.T, d completion.Desk) *mcp.ClientSession {
	t.Helper()
	toServer, toClient := mcp.NewInMemoryTransports()
	if _, err := New(Options{Desk: d, Version: "v1"}).Connect(t.Context(), toServer, nil); err != nil {
		t.Fatal(err)
	}
	return client(t, toClient)
}

func TestRealDesk(t *testing.T) {
	t.Parallel()
	d := realDesk(t)
	c := connectDesk(t, d)
	tools := toolsOf(t, c)
	for _, tt := range []struct{ tool, args, want string }{
		{"autopilot_status", `{}`, "Persistent completion is off."},
		{"autopilot_enable", `{}`, "Persistent completion is on for session " + session},
		{"autopilot_status", `{}`, "Tasks: 1 of 3 complete (33 %), from markdown.\nRemaining:\n- test it ("},
		{"autopilot_config", `{"maxIterations":7}`, "Settings: at most 7 iterations, 240 minutes"},
		{"autopilot_status", `{"json":true}`, `"maxIterations":7`},
		{"autopilot_progress", `{}`, `"overall":{"completed":1,"failed":0,"total":3,"percent":33}`},
		{"autopilot_predict", `{}`, "Next: "},
		{"autopilot_learn", `{}`, "There are no episodes yet"},
		{"autopilot_history", `{"query":"test"}`, `{"query":"test","results":[]}`},
		{"autopilot_reset", `{}`, "Iteration 0 of 7"},
		{"autopilot_report", `{"summary":"half of it","needs_person":"ship it?"}`, "The report is kept."},
		{"autopilot_disable", `{}`, "Persistent completion is off."},
		{"autopilot_log", `{}`, " enabled "},
		{"autopilot_log", `{"last":1}`, " disabled "},
	} {
		res := call(t, c, tt.tool, json.RawMessage(tt.args))
		if got := text(t, res); res.IsError || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: error %t, %s\nwant %q", tt.tool, tt.args, res.IsError, got, tt.want)
			continue
		}
		resolved, err := schema(t, tools[tt.tool].OutputSchema).Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(res.StructuredContent); err != nil {
			t.Errorf("%s: output is not what its schema says: %v", tt.tool, err)
		}
	}
	data, err := os.ReadFile(d.ReportFile)
	if err != nil || !strings.Contains(string(data), `"ship it?"`) {
		t.Errorf("report file: %s, %v", data, err)
	}
}

func TestRealDeskInTrouble(t *testing.T) {
	t.Parallel()
	broken := realDesk(t)
	file := filepath.Join(broken.Folder, session+".json")
	write(t, file, "{")
	for _, tt := range []struct {
		desk completion.Desk
		tool string
		args string
		want string
	}{
		{broken, "autopilot_status", `{}`, file},
		{broken, "autopilot_enable", `{}`, file},
		{broken, "autopilot_disable", `{}`, file},
		{broken, "autopilot_config", `{"maxIterations":7}`, file},
		{broken, "autopilot_reset", `{}`, file},
		{broken, "autopilot_progress", `{}`, file},
		{broken, "autopilot_predict", `{}`, file},
	} {
		res := call(t, connectDesk(t, tt.desk), tt.tool, json.RawMessage(tt.args))
		if got := text(t, res); !res.IsError || !strings.HasPrefix(got, tt.tool+": ") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: error %t, %q, want %q", tt.tool, res.IsError, got, tt.want)
		}
	}
}

// Two servers, as two sessions of one project have them.
func TestTwoServersOnOneDesk(t *testing.T) {
	t.Parallel()
	d := realDesk(t)
	clients := []*mcp.ClientSession{connectDesk(t, d), connectDesk(t, d)}
	call(t, clients[0], "autopilot_enable", nil)
	const each = 10
	var wg sync.WaitGroup
	for i := range 2 * each {
		wg.Go(func() {
			c := clients[i%2]
			for tool, args := range map[string]any{"autopilot_config": map[string]any{"maxIterations": i + 1}, "autopilot_reset": nil, "autopilot_status": nil} {
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
				if err != nil || res.IsError {
					t.Errorf("%s: %v %+v", tool, err, res)
				}
			}
		})
	}
	wg.Wait()
	var log events
	if err := json.Unmarshal([]byte(text(t, call(t, clients[1], "autopilot_log", map[string]any{"last": 1000, "json": true}))), &log); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, e := range log.Events {
		got[fmt.Sprint(e["event"])]++
	}
	if d := cmp.Diff(map[string]int{"enabled": 1, "config-updated": 2 * each, "reset": 2 * each}, got); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}
