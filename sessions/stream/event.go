package stream

import (
	"encoding/json"
	"time"
)

// Kinds of events and, for those of type "system", their kinds in turn. There
// are many more; these are the ones that somebody acts on.
const (
	TypeSystem       = "system"
	TypeAssistant    = "assistant"
	TypeUser         = "user"
	TypeResult       = "result"
	TypeRateLimit    = "rate_limit_event"
	TypeStreamEvent  = "stream_event"
	TypeToolProgress = "tool_progress"

	SubtypeInit             = "init"
	SubtypeStatus           = "status"
	SubtypeRetry            = "api_retry"
	SubtypeModelFallback    = "model_fallback"
	SubtypeTaskStarted      = "task_started"
	SubtypeTaskProgress     = "task_progress"
	SubtypeTaskUpdated      = "task_updated"
	SubtypeTaskNotification = "task_notification"
	SubtypeBackgroundTasks  = "background_tasks_changed"
	SubtypePermissionDenied = "permission_denied"
	SubtypeCompactBoundary  = "compact_boundary"
	SubtypeHookResponse     = "hook_response"
	SubtypeSessionState     = "session_state_changed"
)

// An Event is one line of the stream: the fields of all kinds side by side, of
// which a given kind fills a few. Names and meanings are the program's own.
// Durations are in the unit of the field's name, money is in US dollars. Strings
// other than the answer may have been shortened to Limits.String.
type Event struct {
	// At is when the line was complete.
	At time.Time `json:"-"`
	// Size is the length of the line in bytes, as it was printed.
	Size int64 `json:"-"`
	// Cut counts the strings of the line that were shortened, also of those
	// that no field holds.
	Cut int `json:"-"`
	// AnswerCut is set when Result is not whole or StructuredOutput, being too
	// long, is left out.
	AnswerCut bool `json:"-"`
	// Odd names a field of another type than expected, which was left empty.
	Odd string `json:"-"`
	// Oversized is set when the line was too long to decode. Only At and Size
	// are filled then.
	Oversized bool `json:"-"`

	Type    string `json:"type"`
	Subtype string `json:"subtype,omitempty"`
	// SessionID is the conversation's: the same again when it is resumed.
	SessionID string `json:"session_id,omitempty"`
	UUID      string `json:"uuid,omitempty"`
	// ParentToolUseID is the call that started the sub-agent which the event
	// comes from; empty in the main conversation. Of a tool_progress it is the
	// call that is running.
	ParentToolUseID string `json:"parent_tool_use_id,omitempty"`
	// AgentID is the sub-agent's task; newer versions only.
	AgentID string `json:"agent_id,omitempty"`

	// Message is what the model said, or what it was told, tool results among
	// it. One answer comes as several events with the same Message.ID.
	Message *Message `json:"message,omitempty"`
	// IsSynthetic marks a user message that the program itself put in.
	IsSynthetic bool `json:"isSynthetic,omitempty"`
	// Aborted marks an answer that was interrupted; newer versions only.
	Aborted bool `json:"aborted,omitempty"`
	// Error is the category of an API error, of an assistant event that stands
	// for the error and of an api_retry.
	Error string `json:"error,omitempty"`
	// APIErrorStatus is the HTTP status behind an assistant event or a result,
	// nil if there is none.
	APIErrorStatus *int `json:"api_error_status,omitempty"`
	// APIError and APIErrorType say more about it; newer versions only.
	APIError     string `json:"api_error,omitempty"`
	APIErrorType string `json:"api_error_type,omitempty"`

	// Of system/init.
	CWD            string      `json:"cwd,omitempty"`
	Model          string      `json:"model,omitempty"`
	PermissionMode string      `json:"permissionMode,omitempty"`
	Tools          []string    `json:"tools,omitempty"`
	MCPServers     []MCPServer `json:"mcp_servers,omitempty"`
	APIKeySource   string      `json:"apiKeySource,omitempty"`
	Version        string      `json:"claude_code_version,omitempty"`

	// Of a result. IsError, not Subtype, tells whether it is one of an error.
	IsError        bool   `json:"is_error,omitempty"`
	Result         string `json:"result,omitempty"`
	StopReason     string `json:"stop_reason,omitempty"`
	TerminalReason string `json:"terminal_reason,omitempty"`
	NumTurns       int    `json:"num_turns,omitempty"`
	// ResultIndex counts the results of one process from 0; newer versions only.
	ResultIndex int     `json:"result_index,omitempty"`
	DurationMS  float64 `json:"duration_ms,omitempty"`
	// TotalCostUSD and ModelUsage include sub-agents and all results before
	// this one; Usage is the main conversation's for this result alone.
	TotalCostUSD float64               `json:"total_cost_usd,omitempty"`
	ModelUsage   map[string]ModelUsage `json:"modelUsage,omitempty"`
	// ModelUsageSince is the share since the result before; newer versions only.
	ModelUsageSince      map[string]ModelUsage `json:"model_usage_since_last_result,omitempty"`
	Usage                *Usage                `json:"usage,omitempty"`
	PermissionDenials    []Denial              `json:"permission_denials,omitempty"`
	StructuredOutput     json.RawMessage       `json:"structured_output,omitempty"` // nil if there is none
	Errors               []string              `json:"errors,omitempty"`
	SubagentStats        *SubagentStats        `json:"subagent_stats,omitempty"` // newer versions only
	Origin               Origin                `json:"origin,omitzero"`
	StartupFailureReason string                `json:"startup_failure_reason,omitempty"`

	// Of system/api_retry. ErrorStatus is nil without an HTTP answer.
	Attempt      int     `json:"attempt,omitempty"`
	MaxRetries   int     `json:"max_retries,omitempty"`
	RetryDelayMS float64 `json:"retry_delay_ms,omitempty"`
	ErrorStatus  *int    `json:"error_status,omitempty"`

	// Of a rate_limit_event.
	RateLimit *RateLimit `json:"rate_limit_info,omitempty"`

	// Of the task events. Shells are tasks too, also in the foreground.
	TaskID       string `json:"task_id,omitempty"`
	TaskType     string `json:"task_type,omitempty"` // of task_started only
	ToolUseID    string `json:"tool_use_id,omitempty"`
	SubagentType string `json:"subagent_type,omitempty"`
	Description  string `json:"description,omitempty"`
	Backgrounded bool   `json:"is_backgrounded,omitempty"` // newer versions only
	// Status is a task's, also of a task_updated, or what a system/status says:
	// "requesting", "compacting" or nothing.
	Status    string           `json:"status,omitempty"`
	Summary   string           `json:"summary,omitempty"`
	TaskUsage *TaskUsage       `json:"task_usage,omitempty"`
	Tasks     []BackgroundTask `json:"tasks,omitempty"` // of background_tasks_changed: all that run now

	// Of other events.
	ToolName           string   `json:"tool_name,omitempty"`            // tool_progress, permission_denied
	ElapsedSeconds     float64  `json:"elapsed_time_seconds,omitempty"` // tool_progress
	Heartbeat          bool     `json:"heartbeat,omitempty"`            // tool_progress
	DecisionReason     string   `json:"decision_reason,omitempty"`      // permission_denied
	DecisionReasonType string   `json:"decision_reason_type,omitempty"` // permission_denied
	Trigger            string   `json:"trigger,omitempty"`              // model_fallback
	OriginalModel      string   `json:"original_model,omitempty"`       // model_fallback
	FallbackModel      string   `json:"fallback_model,omitempty"`       // model_fallback
	Compact            *Compact `json:"compact_metadata,omitempty"`     // compact_boundary
	State              string   `json:"state,omitempty"`                // session_state_changed
	HookName           string   `json:"hook_name,omitempty"`            // hook_response, hook_started
	HookEvent          string   `json:"hook_event,omitempty"`           // hook_response, hook_started
	Outcome            string   `json:"outcome,omitempty"`              // hook_response
	ExitCode           *int     `json:"exit_code,omitempty"`            // hook_response
	Stdout             string   `json:"stdout,omitempty"`               // hook_response
	Stderr             string   `json:"stderr,omitempty"`               // hook_response

	// Stream is what a stream_event carries.
	Stream *Stream `json:"stream,omitempty"`
}

// A Message is one block or more of the conversation.
type Message struct {
	ID         string  `json:"id,omitempty"`
	Role       string  `json:"role,omitempty"`
	Model      string  `json:"model,omitempty"`
	StopReason string  `json:"stop_reason,omitempty"`
	Content    []Block `json:"content,omitempty"`
	// Usage is that of the beginning of the answer, repeated in each of its
	// events: not to be added up.
	Usage *Usage `json:"usage,omitempty"`
}

// Kinds of blocks. There are more.
const (
	BlockText       = "text"
	BlockToolUse    = "tool_use"
	BlockToolResult = "tool_result"
	BlockThinking   = "thinking"
)

// A Block is a part of a message.
type Block struct {
	Type  string          `json:"type"`
	ID    string          `json:"id,omitempty"`    // tool_use
	Name  string          `json:"name,omitempty"`  // tool_use
	Input json.RawMessage `json:"input,omitempty"` // tool_use: valid JSON, its strings shortened
	// ToolUseID is the call that a tool_result answers.
	ToolUseID string `json:"tool_use_id,omitempty"`
	IsError   bool   `json:"is_error,omitempty"`
	// Text is that of a text or of a tool_result, in which case several texts
	// are joined by newlines and other contents are left out.
	Text string `json:"text,omitempty"`
}

// Usage counts the tokens of requests to the API.
type Usage struct {
	InputTokens         int64 `json:"input_tokens,omitempty"`
	OutputTokens        int64 `json:"output_tokens,omitempty"`
	CacheReadTokens     int64 `json:"cache_read_input_tokens,omitempty"`
	CacheCreationTokens int64 `json:"cache_creation_input_tokens,omitempty"`
}

// ModelUsage is what one model has used up.
type ModelUsage struct {
	InputTokens         int64   `json:"inputTokens,omitempty"`
	OutputTokens        int64   `json:"outputTokens,omitempty"`
	CacheReadTokens     int64   `json:"cacheReadInputTokens,omitempty"`
	CacheCreationTokens int64   `json:"cacheCreationInputTokens,omitempty"`
	WebSearchRequests   int64   `json:"webSearchRequests,omitempty"`
	CostUSD             float64 `json:"costUSD,omitempty"`
	ContextWindow       int64   `json:"contextWindow,omitempty"`
	MaxOutputTokens     int64   `json:"maxOutputTokens,omitempty"`
}

// TaskUsage is what a task has used up.
type TaskUsage struct {
	TotalTokens int64   `json:"total_tokens,omitempty"`
	ToolUses    int64   `json:"tool_uses,omitempty"`
	DurationMS  float64 `json:"duration_ms,omitempty"`
}

// An MCPServer is a tool server of the session. A Status other than "connected"
// means that its tools are missing.
type MCPServer struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

// A Denial is a call that was not permitted.
type Denial struct {
	ToolName  string          `json:"tool_name,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Input     json.RawMessage `json:"tool_input,omitempty"`
}

// Origin says what caused a result. Kind is "task-notification" for one that a
// background task caused and empty for the answer to a prompt.
type Origin struct {
	Kind string `json:"kind,omitempty"`
}

// SubagentStats counts the sub-agents of a process.
type SubagentStats struct {
	Spawned             int `json:"spawned,omitempty"`
	StartedInBackground int `json:"started_in_background,omitempty"`
	Completed           int `json:"completed,omitempty"`
	Failed              int `json:"failed,omitempty"`
	Killed              struct {
		Parent int `json:"parent,omitempty"`
		User   int `json:"user,omitempty"`
		System int `json:"system,omitempty"`
	} `json:"killed,omitzero"`
	Refused struct {
		DepthLimit       int `json:"depth_limit,omitempty"`
		ConcurrencyLimit int `json:"concurrency_limit,omitempty"`
		Budget           int `json:"budget,omitempty"`
	} `json:"refused,omitzero"`
}

// A BackgroundTask is one that runs on while the conversation continues.
type BackgroundTask struct {
	TaskID       string `json:"task_id,omitempty"`
	TaskType     string `json:"task_type,omitempty"`
	SubagentType string `json:"subagent_type,omitempty"`
	Description  string `json:"description,omitempty"`
}

// A RateLimit says where a subscription stands.
type RateLimit struct {
	// Status is "allowed", "allowed_warning" or "rejected".
	Status string `json:"status,omitempty"`
	// ResetsAt is in seconds since 1970, 0 if unknown.
	ResetsAt      float64 `json:"resetsAt,omitempty"`
	Type          string  `json:"rateLimitType,omitempty"`
	Utilization   float64 `json:"utilization,omitempty"` // 1 is all of it
	OverageStatus string  `json:"overageStatus,omitempty"`
}

// Compact says what a compaction of the conversation did.
type Compact struct {
	Trigger    string  `json:"trigger,omitempty"`
	PreTokens  int64   `json:"pre_tokens,omitempty"`
	PostTokens int64   `json:"post_tokens,omitempty"`
	DurationMS float64 `json:"duration_ms,omitempty"`
}

// A Stream is an event of the API's own stream, without the partial text.
type Stream struct {
	Type       string `json:"type"`
	DeltaType  string `json:"delta_type,omitempty"`  // content_block_delta
	MessageID  string `json:"message_id,omitempty"`  // message_start
	StopReason string `json:"stop_reason,omitempty"` // message_delta
	// Usage is that of a message_start or a message_delta; the latter's output
	// tokens are the final ones.
	Usage *Usage `json:"usage,omitempty"`
}
