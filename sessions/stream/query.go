package stream

import (
	"encoding/json"
	"math"
	"time"
)

// A ToolUse is a call of a tool by the model.
type ToolUse struct {
	ID    string
	Name  string
	Input json.RawMessage // valid JSON, its strings shortened to Limits.String
	// Parent is the call that started the sub-agent which makes this one;
	// empty in the main conversation.
	Parent string
}

// A ToolResult is the answer to a call.
type ToolResult struct {
	ID      string // the call's
	IsError bool
	Text    string
}

// AgentTool reports whether a tool starts a sub-agent: it is listed under one
// name and called by another.
func AgentTool(name string) bool { return name == "Agent" || name == "Task" }

// ToolUses returns the calls in the event.
func (e *Event) ToolUses() []ToolUse {
	var uses []ToolUse
	for _, b := range e.blocks(TypeAssistant, BlockToolUse) {
		uses = append(uses, ToolUse{ID: b.ID, Name: b.Name, Input: b.Input, Parent: e.ParentToolUseID})
	}
	return uses
}

// ToolResults returns the answers to calls in the event.
func (e *Event) ToolResults() []ToolResult {
	var results []ToolResult
	for _, b := range e.blocks(TypeUser, BlockToolResult) {
		results = append(results, ToolResult{ID: b.ToolUseID, IsError: b.IsError, Text: b.Text})
	}
	return results
}

func (e *Event) blocks(event, kind string) []Block {
	if e.Type != event || e.Message == nil {
		return nil
	}
	var found []Block
	for _, b := range e.Message.Content {
		if b.Type == kind {
			found = append(found, b)
		}
	}
	return found
}

// IsInit reports whether the event describes the session. It is not always the
// first and may come again.
func (e *Event) IsInit() bool { return e.system(SubtypeInit) }

// IsResult reports whether the event ends a turn. More may follow.
func (e *Event) IsResult() bool { return e.Type == TypeResult }

// Succeeded reports whether the event is the result of a turn that came to its
// end by itself and without an error. It says nothing of what was done: the
// answer may be empty.
func (e *Event) Succeeded() bool {
	return e.IsResult() && e.Subtype == "success" && !e.IsError && e.TerminalReason == "completed"
}

// IsRetry reports whether a request to the API has failed and will be repeated.
func (e *Event) IsRetry() bool { return e.system(SubtypeRetry) }

// Requesting reports whether a request to the API begins.
func (e *Event) Requesting() bool { return e.system(SubtypeStatus) && e.Status == "requesting" }

// Compacting reports whether a compaction of the conversation begins.
func (e *Event) Compacting() bool { return e.system(SubtypeStatus) && e.Status == "compacting" }

// LimitReached reports whether a subscription's limit was hit, and when it
// resets; the time is zero if the event does not say.
func (e *Event) LimitReached() (reset time.Time, reached bool) {
	if e.Type != TypeRateLimit || e.RateLimit == nil || e.RateLimit.Status != "rejected" {
		return time.Time{}, false
	}
	if s := e.RateLimit.ResetsAt; s > 0 {
		reset = time.Unix(int64(math.Ceil(s)), 0)
	}
	return reset, true
}

// SubAgentStarted reports whether a sub-agent, and not a shell, has started; its
// call is ToolUseID and its task TaskID.
func (e *Event) SubAgentStarted() bool {
	return e.system(SubtypeTaskStarted) && e.TaskType == "local_agent"
}

// TaskEnded reports whether a task, a sub-agent or a shell, has ended: Status
// says how. The event does not tell the two apart; TaskID does.
func (e *Event) TaskEnded() bool { return e.system(SubtypeTaskNotification) }

// talks reports whether the event is a part of the conversation.
func (e *Event) talks() bool { return e.Type == TypeAssistant || e.Type == TypeUser }

// isTask reports whether the event is about a task.
func (e *Event) isTask() bool { return e.Type == TypeSystem && e.TaskID != "" }

func (e *Event) system(subtype string) bool {
	return e.Type == TypeSystem && e.Subtype == subtype
}
