package ledger

import (
	"encoding/json"
	"fmt"
	"time"
)

// Schema versions written into the records.
const (
	RunSchema     = 1
	SessionSchema = 2
)

// File names below the metrics folder of a repository.
const (
	RunsFile     = "autopilot.jsonl"
	SessionsFile = "sessions.jsonl"
)

const stampLayout = "2006-01-02T15:04:05.000Z"

// Stamp is a moment as the ledgers write it: UTC, exactly three decimals, Z.
type Stamp time.Time

// MarshalJSON writes the stamp in the ledgers' form; the zero time becomes null.
func (s Stamp) MarshalJSON() ([]byte, error) {
	if time.Time(s).IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + time.Time(s).UTC().Format(stampLayout) + `"`), nil
}

// UnmarshalJSON reads whole seconds or decimals, as other writers use both.
func (s *Stamp) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("read time: %w", err)
	}
	if text == nil || *text == "" {
		*s = Stamp{}
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, *text)
	if err != nil {
		return fmt.Errorf("read time: %w", err)
	}
	*s = Stamp(t)
	return nil
}

// Tokens is what the model was paid for, by kind.
type Tokens struct {
	Input         int64 `json:"input"`
	Output        int64 `json:"output"`
	CacheCreation int64 `json:"cache_creation"`
	CacheRead     int64 `json:"cache_read"`
}

// Budgeted is the count that --max-tokens limits: everything but cache reads,
// which cost a tenth and grow with every turn of a long conversation.
func (t Tokens) Budgeted() int64 { return t.Input + t.Output + t.CacheCreation }

// Add returns the sum.
func (t Tokens) Add(u Tokens) Tokens {
	return Tokens{t.Input + u.Input, t.Output + u.Output, t.CacheCreation + u.CacheCreation, t.CacheRead + u.CacheRead}
}

// Ending is how one session of a run ended.
type Ending struct {
	SessionID string  `json:"session_id"`
	Ending    string  `json:"ending"`
	Cause     string  `json:"cause,omitempty"`
	CostUSD   float64 `json:"cost_usd"`
	Tokens    int64   `json:"tokens"`
	Record    string  `json:"record"` // who wrote the session record: "own" or "plugin"
}

// Cap is one cap on sub-agents that held in a session, and what it refused.
type Cap struct {
	SessionID string `json:"session_id"`
	At        Stamp  `json:"at"`
	Tier      string `json:"tier"`
	Cap       int    `json:"cap"`
	Signal    string `json:"signal"`
	Refused   int    `json:"refused"`
}

// Run is one line of autopilot.jsonl. The first 23 fields and their order are
// the format that other programs read; what follows them is additive.
type Run struct {
	SchemaVersion          int      `json:"schema_version"`
	AutopilotRunID         string   `json:"autopilot_run_id"`
	StartedAt              Stamp    `json:"started_at"`
	CompletedAt            Stamp    `json:"completed_at"`
	DurationSeconds        int64    `json:"duration_seconds"`
	MaxSessions            int      `json:"max_sessions"`
	MaxHours               float64  `json:"max_hours"`
	ConfidenceThreshold    float64  `json:"confidence_threshold"`
	IterationsCompleted    int      `json:"iterations_completed"`
	KillSwitch             *string  `json:"kill_switch"`
	KillSwitchDetail       *string  `json:"kill_switch_detail"`
	Sessions               []string `json:"sessions"`
	HostClass              *string  `json:"host_class"`
	ResourceVerdictAtStart *string  `json:"resource_verdict_at_start"`
	FallbackToManual       bool     `json:"fallback_to_manual"`
	DryRun                 bool     `json:"dry_run"`
	TotalTokensUsed        int64    `json:"total_tokens_used"`
	WorktreePath           *string  `json:"worktree_path"`
	ParentRunID            *string  `json:"parent_run_id"`
	StallRecoveryCount     int      `json:"stall_recovery_count"`
	BlockedByIssue         *int     `json:"blocked_by_issue"`
	AbortedByCohort        bool     `json:"aborted_by_cohort"`
	SpiralRecoveryCount    int      `json:"spiral_recovery_count"`

	ExitCause     string   `json:"exit_cause"`
	ExitCode      int      `json:"exit_code"`
	Source        string   `json:"source"`
	Goal          string   `json:"goal,omitempty"`
	TotalCostUSD  float64  `json:"total_cost_usd"`
	Tokens        Tokens   `json:"tokens"`
	Endings       []Ending `json:"endings"`
	Caps          []Cap    `json:"caps_applied"`
	WaitedSeconds int64    `json:"waited_seconds"`
	SleptSeconds  int64    `json:"slept_seconds,omitempty"` // the machine was suspended, or nothing of the run could run
	Version       string   `json:"autopilot_version"`
	ClaudeVersion string   `json:"claude_version,omitempty"`

	Mode        string       `json:"mode,omitempty"`
	ResumedFrom string       `json:"resumed_from,omitempty"` // the run that this one continues
	Goals       []Goal       `json:"goals,omitempty"`
	Reflections *Reflections `json:"reflections,omitempty"`
	Forecast    *Forecast    `json:"forecast,omitempty"`
	Termination *Termination `json:"termination,omitempty"`

	*Coordinator // of a run that coordinated others; nil for one that ran sessions
}

// CoordinatorKind tells the record of a run that coordinated others from the others'.
const CoordinatorKind = "multi-story-coordinator"

// Coordinator is what the record of a run that coordinated others has beside the fields of
// any run. Its sessions, tokens and cost are in the records of those others; the first
// ten fields are the format that other programs read.
type Coordinator struct {
	Kind           string   `json:"kind"`
	RunID          string   `json:"run_id"`
	EndedAt        Stamp    `json:"ended_at"`
	ChildRunIDs    []string `json:"child_run_ids"`
	StopReason     string   `json:"stop_reason"`
	LoopCount      int      `json:"loop_count"`
	CompletedCount int      `json:"completed_count"`
	FailedCount    int      `json:"failed_count"`
	CohortAborted  bool     `json:"cohort_aborted"`
	KillDetail     string   `json:"kill_detail"`

	CohortTokens  int64   `json:"cohort_tokens"`
	CohortCostUSD float64 `json:"cohort_cost_usd"`
	Stories       []Story `json:"stories"`
}

// Story is how a story of a cohort stood at the cohort's end.
type Story struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Status   string   `json:"status"`
	Why      string   `json:"why,omitempty"`
	Runs     []string `json:"runs"`
	Branch   string   `json:"branch,omitempty"`
	Commits  int      `json:"commits"`
	Sessions int      `json:"sessions"`
	Worktree string   `json:"worktree,omitempty"` // where it was kept; empty when it is gone
	Kept     string   `json:"kept,omitempty"`
	Draft    string   `json:"draft,omitempty"`
}

// Coordinates reports whether the run had no sessions of its own but coordinated others.
func (r Run) Coordinates() bool { return r.Coordinator != nil }

// Agents counts the sub-agents of a session by how they ended.
type Agents struct {
	Complete int `json:"complete"`
	Partial  int `json:"partial"`
	Failed   int `json:"failed"`
	Spiral   int `json:"spiral"`
}

// Effectiveness says how much of a session's plan was done.
type Effectiveness struct {
	PlannedIssues  int      `json:"planned_issues"`
	Completed      int      `json:"completed"`
	Carryover      *int     `json:"carryover"`
	CompletionRate *float64 `json:"completion_rate,omitempty"`
}

// Wave is one wave of a session's plan.
type Wave struct {
	Wave       int    `json:"wave"`
	Role       string `json:"role"`
	AgentCount int    `json:"agent_count"`
}

// Values of Session.Status.
const (
	StatusCompleted = "completed"
	StatusAbandoned = "abandoned"
)

// Session is one line of sessions.jsonl as this program writes it. Fields
// below AutopilotRunID are additive.
type Session struct {
	SchemaVersion     int            `json:"schema_version"`
	SessionID         string         `json:"session_id"`
	SessionType       string         `json:"session_type"`
	Platform          string         `json:"platform"`
	Branch            string         `json:"branch,omitempty"`
	StartedAt         Stamp          `json:"started_at"`
	CompletedAt       Stamp          `json:"completed_at"`
	DurationSeconds   int64          `json:"duration_seconds"`
	TotalWaves        int            `json:"total_waves"`
	Waves             []Wave         `json:"waves"`
	AgentSummary      Agents         `json:"agent_summary"`
	TotalAgents       int            `json:"total_agents"`
	TotalFilesChanged int            `json:"total_files_changed"`
	Effectiveness     *Effectiveness `json:"effectiveness,omitempty"`
	TokenInput        *int64         `json:"total_token_input"`
	TokenOutput       *int64         `json:"total_token_output"`
	Status            string         `json:"status"`
	AutopilotRunID    string         `json:"autopilot_run_id"`

	Ending        string   `json:"ending"`
	EndingCause   string   `json:"ending_cause,omitempty"`
	CostUSD       float64  `json:"cost_usd"`
	Processes     int      `json:"processes"`
	Model         string   `json:"model,omitempty"`
	ClaudeVersion string   `json:"claude_version,omitempty"`
	Commits       []string `json:"commits,omitempty"`
	Summary       string   `json:"summary,omitempty"`
	Caps          []Cap    `json:"caps_applied,omitempty"`
	Recovered     bool     `json:"recovered,omitempty"`
}
