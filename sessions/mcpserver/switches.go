package mcpserver

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"autopilot/sessions/completion"
	"autopilot/sessions/task"
)

// mostTokens is the highest limit of tokens that is taken; more is a mistake.
const mostTokens = 1_000_000_000_000

type nothing struct{}

type form struct {
	JSON bool `json:"json,omitempty" jsonschema:"give the text as JSON instead of words"`
}

type settings struct {
	MaxIterations  *int     `json:"maxIterations,omitempty" jsonschema:"how often an agent is sent on at most"`
	TimeoutMinutes *int     `json:"timeoutMinutes,omitempty" jsonschema:"minutes after enabling until an agent may stop anyway"`
	TaskSources    []string `json:"taskSources,omitempty" jsonschema:"where tasks are looked for, the first one's word counts; replaces the list there is"`
	Criteria       *string  `json:"completionCriteria,omitempty" jsonschema:"all-tasks-done takes a failed task for done; all-tasks-succeeded does not"`
	MaxTokens      *int64   `json:"maxTokens,omitempty" jsonschema:"estimated tokens after which an agent may stop anyway; 0 is no limit"`
}

// addSwitches adds the tools that answer with the state.
func (w work) addSwitches(s *mcp.Server) {
	add(s, "autopilot_status", Trait{
		Title: "Autopilot status", Hint: Reads, Network: w.network,
		About: "Whether persistent completion is on, how far its count is, how many tasks are complete, and the first of those that are left.",
	}, nil, func(ctx context.Context, in form) (completion.Status, string, error) {
		st, err := w.Status(ctx, time.Now())
		return state(st, in.JSON, err)
	})
	add(s, "autopilot_enable", Trait{
		Title: "Enable autopilot", Hint: Discards, Network: w.network,
		About: "Switch persistent completion on: from now on the agent is sent on until its tasks are complete or a limit is reached. Starts a fresh count.",
	}, nil, func(ctx context.Context, _ nothing) (completion.Status, string, error) {
		st, err := w.Enable(ctx, time.Now())
		return state(st, false, err)
	})
	add(s, "autopilot_disable", Trait{
		Title: "Disable autopilot", Hint: Changes, Network: w.network,
		About: "Switch persistent completion off: the agent may stop with tasks left.",
	}, nil, func(ctx context.Context, _ nothing) (completion.Status, string, error) {
		st, err := w.Disable(ctx, time.Now())
		return state(st, false, err)
	})
	add(s, "autopilot_reset", Trait{
		Title: "Reset autopilot", Hint: Discards, Network: w.network,
		About: "Set the count of iterations to 0 and start the timer again.",
	}, nil, func(ctx context.Context, _ nothing) (completion.Status, string, error) {
		st, err := w.Reset(ctx, time.Now())
		return state(st, false, err)
	})
}

func state(st completion.Status, asJSON bool, err error) (completion.Status, string, error) {
	if err != nil {
		return completion.Status{}, "", err
	}
	st, words := Answer(st)
	if asJSON {
		return st, "", nil
	}
	return st, words, nil
}

// Answer is what a tool answers with for a state: the state with bounded lists and
// texts, and the same in words.
func Answer(st completion.Status) (completion.Status, string) {
	st.Remaining, _ = firstTasks(st.Remaining)
	st.TaskSources, st.Others = append([]string{}, st.TaskSources...), append([]string{}, st.Others...)
	return st, statusText(st)
}

// addSettings adds the tool that changes the limits.
func (w work) addSettings(s *mcp.Server) {
	add(s, "autopilot_config", Trait{
		Title: "Configure autopilot", Hint: Changes,
		About: "Change limits and task sources of persistent completion. What is left out stays as it is; a call without arguments shows the settings.",
	}, func(p map[string]*jsonschema.Schema) {
		between(p["maxIterations"], 1, completion.MostIterations)
		between(p["timeoutMinutes"], 1, completion.MostMinutes)
		between(p["maxTokens"], 0, mostTokens)
		p["taskSources"].MinItems, p["taskSources"].UniqueItems = jsonschema.Ptr(1), true
		oneOf(p["taskSources"].Items, task.Sources())
		oneOf(p["completionCriteria"], []string{completion.AllDone, completion.AllSucceeded})
	}, func(_ context.Context, in settings) (completion.Settings, string, error) {
		st, err := w.Configure(completion.Change(in), time.Now())
		return st, settingsText(st), err
	})
}

func between(s *jsonschema.Schema, low, high float64) { s.Minimum, s.Maximum = &low, &high }

func oneOf(s *jsonschema.Schema, names []string) {
	for _, n := range names {
		s.Enum = append(s.Enum, n)
	}
}
