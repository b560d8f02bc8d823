package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Names of the variables that a session and everything it starts carries.
const (
	RunVar     = "AUTOPILOT_RUN_ID"          // the run; the join in the ledgers
	TokenVar   = "AUTOPILOT_RUN_TOKEN"       // the run, unique on the machine: run ids are unique in a repository only
	SessionVar = "AUTOPILOT_SESSION_ID"      // the session; how its processes are recognised
	CapVar     = "AUTOPILOT_AGENTS_PER_WAVE" // the cap when the session started
	DeskVar    = "AUTOPILOT_DESK"            // folder of the session's desk of persistent completion
	StoryVar   = "AUTOPILOT_STORY"           // folder of the story that a supervisor is for; no session has it
)

// Variable is one environment variable that a run sets, with the reason, for
// plans.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Why   string `json:"why"`
}

// Unattended returns the variables set for every session because nobody is
// there. One that a person has set already keeps its value.
func Unattended() []Variable {
	return []Variable{
		{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1", "a session ends when its work ends"},
		{"CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "60000", "what still runs in the background is waited for a minute at most"},
		{"CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1", "start-up failures are events, not only words on stderr"},
		{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1", "no connection but to the API"},
		{"DISABLE_AUTOUPDATER", "1", "the binary stays the one that was checked"},
		{"TERM", "dumb", "nobody looks at a terminal"},
	}
}

// nested are the variables that a Claude Code session gives to its children.
// Left in place they make a new session believe it is part of the old one.
func nested() []string {
	return []string{
		"AI_AGENT", "CLAUDECODE", "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_CHILD_SESSION",
		"CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS", "CLAUDE_CODE_MESSAGING_SOCKET",
		"CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT",
		"CLAUDE_CODE_TASK_LIST_ID", "CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PID", "CLAUDE_PROJECT_DIR",
	}
}

const apiKeyVar = "ANTHROPIC_API_KEY"

// memoryVar keeps the CLI from putting a person's instructions and the memory of
// the project before the prompt. Any session can write into that memory, so it is
// no place for what a judge of sessions has to follow.
const memoryVar = "CLAUDE_CODE_DISABLE_CLAUDE_MDS"

// Identity is what a session's environment says about where it belongs.
type Identity struct {
	RunID     string
	Token     string
	SessionID string
	Cap       int
	UseAPIKey bool
	NoTools   bool     // see Options
	Variables []string // further ones, NAME=value; they replace those of the environment
}

// Env builds the environment of a session from the supervisor's own. The notes
// say, one line each, what was taken away that a person may miss.
func Env(environ []string, id Identity) (env, notes []string) {
	set := []string{
		RunVar + "=" + id.RunID,
		TokenVar + "=" + id.Token,
		SessionVar + "=" + id.SessionID,
		CapVar + "=" + strconv.Itoa(id.Cap),
	}
	if id.NoTools {
		set = append(set, memoryVar+"=1")
	}
	set = append(set, id.Variables...)
	for _, v := range Unattended() {
		if given := Lookup(environ, v.Name); given != "" && v.Name != "TERM" {
			if given != v.Value {
				notes = append(notes, fmt.Sprintf("%s=%s is yours; autopilot would set %s (%s)", v.Name, given, v.Value, v.Why))
			}
			continue
		}
		set = append(set, v.Name+"="+v.Value)
	}
	taken := map[string]bool{}
	for _, kv := range set {
		name, _, _ := strings.Cut(kv, "=")
		taken[name] = true
	}
	var removed []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case taken[name]:
		case slices.Contains(nested(), name):
			removed = append(removed, name)
		case name == apiKeyVar && kv == apiKeyVar+"=":
		case name == apiKeyVar && !id.UseAPIKey:
			notes = append(notes, apiKeyVar+" is set and not handed to claude, which would bill it; --use-api-key hands it on")
		default:
			env = append(env, kv)
		}
	}
	if len(removed) > 0 {
		notes = append(notes, fmt.Sprintf("variables of a surrounding Claude Code session are not handed on: %s", strings.Join(removed, ", ")))
	}
	return append(env, set...), notes
}

// Lookup returns the last value of a variable in an environment, or "".
func Lookup(environ []string, name string) string {
	value := ""
	for _, kv := range environ {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			value = v
		}
	}
	return value
}
