package sessions

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"autopilot/sessions/hook"
	"autopilot/sessions/outcome"
	"autopilot/sessions/ptyrun"
	"autopilot/sessions/reap"
	"autopilot/sessions/repo"
	"autopilot/sessions/vitals"
)

// ID is the id of a conversation, a UUID chosen by the supervisor.
type ID string

// Step is one prompt of a session.
type Step struct {
	Prompt     string `json:"prompt"`
	AsArgument bool   `json:"as_argument"` // a slash command
}

// Limits bound one session.
type Limits struct {
	vitals.Limits
	Ladder ptyrun.Ladder
	Judge  time.Duration // between two looks at the machine
}

// Spec says what to run.
type Spec struct {
	ID ID
	// ConversationID is the conversation that the session continues, when another
	// session has opened it. Empty means that the session opens its own, with ID.
	ConversationID ID
	RunID          string
	Token          string // of the run, unique on this machine
	Dir            string // the project; working directory of the session
	Folder         string // the session's own state folder
	// Repo is asked what the session changed. Zero asks nobody, and the result says
	// that changes were not measured.
	Repo   repo.Repo
	Ignore []string // paths whose changes are not the session's work

	Claude      string // path of the CLI
	Environ     []string
	UseAPIKey   bool
	Model       string
	Permission  string
	Tools       []string
	Extra       []string
	Schema      string  // of the report; empty asks for none
	BudgetUSD   float64 // what is left for this session; 0 is no limit
	HookCommand string  // shell command of our hook, without the path of the cap file
	// StopHook is the shell command of the hook that sends the session on while
	// tasks remain; empty for none. It cannot be combined with a Schema, whose
	// report ends the turn before any hook is asked.
	StopHook string
	// GateHook is the shell command of the hook that holds calls for a person; empty for
	// none. It has to refuse the call by itself where it cannot decide.
	GateHook string
	// Server is the command line of the tool server that the session gets under the
	// name ServerName; empty for none.
	Server []string
	// Variables are set for the session and all that it starts, as NAME=value.
	Variables []string
	// ReportFile is where the session's tools leave its report; it counts when the
	// session gives none in its last answer. Empty when there is none.
	ReportFile string

	// NoTools makes a session that answers one prompt and does nothing else; an
	// answer is then all its work. Permission, Tools, Extra, HookCommand and Cap do
	// not count, and it cannot be continued.
	NoTools bool
	System  string // without tools: the system prompt, in place of the CLI's own

	Steps []Step
	// Satisfied reports, after a step, whether the remaining steps are not
	// needed, because the session's record is there already. Nil means never.
	Satisfied func() bool
	// Notice is added to the system prompt.
	Notice string
	// Continue is the result of a session that is to be continued after a wait,
	// or nil to open a conversation. Of one that another run had begun, only
	// Opened and NextStep are wanted.
	Continue *Result
	// Previous is the session of the same run that has just ended, or nil: what
	// git said at its end need not be asked again.
	Previous *Result
	// ContinuePrompt is the first prompt of a continued conversation.
	ContinuePrompt string

	Limits  Limits
	Cap     hook.Change                       // what holds at the start
	Judge   func(context.Context) hook.Change // a new look at the machine; nil for none
	Sweeper *reap.Sweeper
	Kill    context.Context // ends the session at once; nil for never
}

// DeskFolder is where the desk of a session is, in the session's folder: what its
// hook and its tools share.
func DeskFolder(folder string) string { return filepath.Join(folder, "desk") }

// ReportPath is where the tools of a session leave its report, in its folder.
func ReportPath(folder string) string { return filepath.Join(DeskFolder(folder), "report.json") }

// LeftReport is the report that the tools of a session left, or nothing.
func LeftReport(path string) json.RawMessage {
	data, err := os.ReadFile(path)
	if err != nil || len(data) > maxReport || !json.Valid(data) {
		return nil
	}
	return data
}

// Progress is a sign of life of a running session.
type Progress struct {
	PID      int
	Note     string // what changed, for the log; empty for a mere sign of life
	Warn     bool   // the note is a matter of concern
	Tools    int    // tool calls so far
	Agents   int    // sub-agents so far
	Tokens   int64  // input, output and cache writes so far
	CostUSD  float64
	Cap      hook.Change
	Silent   time.Duration // since the last sign of life of the session
	InTool   bool
	StepNo   int // from 1
	StepsAll int
}

// Conversation is the conversation of the session.
func (s Spec) Conversation() ID {
	if s.ConversationID != "" {
		return s.ConversationID
	}
	return s.ID
}

// Result is what a session did and how it ended.
type Result struct {
	ID        ID              `json:"id"`
	Continued ID              `json:"continued,omitempty"` // the conversation, when another session had opened it
	RunID     string          `json:"run_id"`
	Ending    outcome.Ending  `json:"ending"`
	Cause     string          `json:"cause"`
	Budget    bool            `json:"budget_used_up,omitempty"`
	ResetAt   time.Time       `json:"reset_at,omitzero"`    // of a limit; zero when unknown
	LimitKind string          `json:"limit_kind,omitempty"` // of a usage limit, as the CLI names it
	StartedAt time.Time       `json:"started_at"`
	EndedAt   time.Time       `json:"ended_at"`
	Processes int             `json:"processes"`
	Worked    time.Duration   `json:"worked_ns"` // time of all its processes, without the waits between them
	ExitCode  int             `json:"exit_code"`
	Signal    string          `json:"signal,omitempty"`
	Version   string          `json:"claude_version,omitempty"`
	Model     string          `json:"model,omitempty"`
	Agents    outcome.Agents  `json:"agents"`
	Caps      hook.CapState   `json:"caps"`
	Files     []string        `json:"files_changed"`
	Commits   []string        `json:"commits"`
	Measured  bool            `json:"changes_measured"` // git could be asked
	Branch    string          `json:"branch,omitempty"`
	Usage     outcome.Usage   `json:"usage"`
	ToolUses  int             `json:"tool_uses"`
	Calls     []outcome.Call  `json:"calls,omitempty"` // the last ones, oldest first
	Tools     map[string]int  `json:"tools,omitempty"` // calls of the whole session by tool
	Retries   int             `json:"retries"`
	Denials   int             `json:"denials"`
	Report    json.RawMessage `json:"report,omitempty"`
	Answer    string          `json:"answer,omitempty"` // the beginning of the last answer; AnswerPath has a longer one
	AnswerLen int             `json:"answer_bytes"`
	AnswerCut bool            `json:"answer_cut,omitempty"` // it was longer than is kept of one
	Swept     int             `json:"processes_swept"`      // left behind by the session and ended
	Left      []int           `json:"processes_left,omitempty"`
	NextStep  int             `json:"next_step"` // where a continuation goes on
	Opened    bool            `json:"opened"`    // the conversation exists and can be continued

	before *repo.State
	after  *repo.State
	tally  *outcome.Tally
}

// Conversation is the conversation of the session.
func (r Result) Conversation() ID {
	if r.Continued != "" {
		return r.Continued
	}
	return r.ID
}

// Duration is the wall-clock time of the session, waits included.
func (r Result) Duration() time.Duration { return r.EndedAt.Sub(r.StartedAt) }

// Effect reports whether the session left anything behind in the repository. What
// could not be measured is not there.
func (r Result) Effect() bool { return len(r.Files)+len(r.Commits) > 0 }

// AnswerPath is where the whole of an answer is kept that is longer than a
// result holds.
func AnswerPath(folder string) string { return filepath.Join(folder, answerName) }

// WholeAnswer is the last answer of a session with this folder, as far as it is kept.
func (r Result) WholeAnswer(folder string) string {
	data, err := os.ReadFile(AnswerPath(folder))
	if err != nil {
		return r.Answer
	}
	return string(data)
}

// File names in the folder of a session.
const (
	resultName   = "result.json"
	progressName = "progress.json"
	settingsName = "settings.json"
	capName      = "cap.json"
	stderrName   = "stderr.log"
	answerName   = "answer.txt"
)

// ResultPath is where the result of the session with this folder is kept.
func ResultPath(folder string) string { return filepath.Join(folder, resultName) }

// ProgressPath is where the result so far of a running session is kept, for the
// case that its supervisor is killed.
func ProgressPath(folder string) string { return filepath.Join(folder, progressName) }

// StderrPath is where the session's own messages are kept.
func StderrPath(folder string) string { return filepath.Join(folder, stderrName) }
