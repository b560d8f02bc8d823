package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Options say how one process of a session is started.
type Options struct {
	SessionID    string // conversation id, a UUID
	Resume       bool   // continue the conversation instead of opening it
	Prompt       string
	AsArgument   bool   // slash commands are only expanded in an argument
	SystemPrompt string // appended to the CLI's own, or in place of it without tools
	Settings     string // path of the settings file with our hooks
	Schema       string // JSON schema of the session's report; empty asks for none
	Model        string
	Permission   string
	AllowedTools []string
	MaxBudgetUSD float64 // 0 is no limit
	Extra        []string
	// Server is the command line of the tool server that the session gets; empty for
	// none. Its tools run without asking.
	Server []string
	// NoTools starts a session that can answer and nothing else. Settings,
	// Permission, AllowedTools, AsArgument and Extra do not count then, and the
	// session cannot be resumed.
	NoTools bool
}

// disallowed are tools that keep a process alive after its work: with nobody
// there they only cost time.
func disallowed() []string { return []string{"ScheduleWakeup", "Monitor", "CronCreate"} }

// answerTurns is how often a session without tools may ask the model: words in
// place of a report, two reports that do not satisfy the schema, and a good one.
const answerTurns = 4

// withoutTools are the flags of a session that only answers. Of the settings only
// the person's own are read, because credentials and the address of the API may
// stand in them; no hook runs and no style of answers is asked for. Nothing of the
// repository is read, and no tool server is started. The conversation is not kept,
// so that it does not stand among the person's.
func withoutTools(o Options) []string {
	args := []string{
		"--tools", "", "--strict-mcp-config", "--setting-sources", "user", "--settings", `{"disableAllHooks":true,"outputStyle":"default"}`,
		"--permission-mode", "dontAsk", "--no-session-persistence", "--max-turns", strconv.Itoa(answerTurns),
	}
	if o.SystemPrompt != "" {
		args = append(args, "--system-prompt", o.SystemPrompt)
	}
	if o.Model != "" {
		args = append(args, "--model", o.Model)
	}
	return args
}

// answer are the flags that bound what comes back.
func answer(o Options) []string {
	var args []string
	if o.Schema != "" {
		args = append(args, "--json-schema", o.Schema)
	}
	if o.MaxBudgetUSD > 0 {
		// The CLI refuses 0, and that is what less than a millionth would print as.
		args = append(args, "--max-budget-usd", strconv.FormatFloat(max(o.MaxBudgetUSD, 1e-6), 'f', 6, 64))
	}
	return args
}

// Args builds the arguments of the CLI and what goes to its stdin.
func Args(o Options) (args []string, stdin string) {
	args = []string{"-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"}
	if o.Resume {
		args = append(args, "--resume", o.SessionID)
	} else {
		args = append(args, "--session-id", o.SessionID)
	}
	if o.NoTools {
		prompt := o.Prompt
		if strings.HasPrefix(prompt, "/") {
			prompt = " " + prompt // else it would be a command of the CLI
		}
		return slices.Concat(args, withoutTools(o), answer(o)), prompt
	}
	if o.Settings != "" {
		args = append(args, "--settings", o.Settings)
	}
	if o.SystemPrompt != "" {
		args = append(args, "--append-system-prompt", o.SystemPrompt)
	}
	args = append(args, "--permission-mode", o.Permission)
	if o.Model != "" {
		args = append(args, "--model", o.Model)
	}
	allowed := o.AllowedTools
	if len(o.Server) > 0 {
		args = append(args, "--mcp-config", serverConfig(o.Server))
		allowed = append(slices.Clone(allowed), "mcp__"+ServerName)
	}
	if len(allowed) > 0 {
		args = append(args, "--allowedTools", strings.Join(allowed, ","))
	}
	args = append(args, "--disallowedTools", strings.Join(disallowed(), ","))
	args = slices.Concat(args, answer(o), o.Extra)
	if o.AsArgument {
		return append(args, "--", o.Prompt), ""
	}
	return args, o.Prompt
}

// ServerName is the name of our tool server in a session.
const ServerName = "autopilot"

// serverConfig names our tool server in the form of --mcp-config.
func serverConfig(command []string) string {
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	data, err := json.Marshal(map[string]any{"mcpServers": map[string]server{ServerName: {command[0], command[1:]}}})
	if err != nil {
		return "{}" // strings always have a JSON form
	}
	return string(data)
}

// reserved are the flags that a run sets itself; handing them over as well
// would change what the supervisor reads.
func reserved() []string {
	return []string{
		"-p", "--print", "--output-format", "--input-format", "--verbose", "--include-partial-messages", "--session-id",
		"-r", "--resume", "-c", "--continue", "--fork-session", "--settings", "--append-system-prompt", "--json-schema",
		"--max-budget-usd", "--no-session-persistence", "--permission-mode", "--model", "-w", "--worktree", "--bg", "--background",
		"--bare", "--safe-mode", "-h", "--help", "-v", "--version",
	}
}

// RefusedExtra names the first of the arguments meant for claude that a run
// sets itself, with what to do instead; it is nil when all can be handed over.
func RefusedExtra(extra []string) error {
	instead := map[string]string{
		"--permission-mode": "use autopilot's own --permission-mode",
		"--model":           "use autopilot's own --model",
		"--max-budget-usd":  "use autopilot's --max-cost-usd",
		"--settings":        "put the settings into .claude/settings.json",
	}
	for _, a := range extra {
		flag, _, _ := strings.Cut(a, "=")
		if len(a) > 2 && a[0] == '-' && a[1] != '-' {
			flag = a[:2] // a short flag with its value, or several short flags
		}
		if flag == "--" {
			return errors.New("what follows a second -- would be taken for the prompt: leave it out")
		}
		if !slices.Contains(reserved(), flag) {
			continue
		}
		way := "leave it out"
		if w, ok := instead[flag]; ok {
			way = w
		}
		return fmt.Errorf("%s is set by autopilot and cannot be handed to claude: %s", flag, way)
	}
	return nil
}

// Hooks are the shell command lines of a session's hooks.
type Hooks struct {
	Agents string // keeps the cap on sub-agents
	Stop   string // asked when the session wants to stop; empty for none
	Gate   string // holds calls for a person; empty for none
}

// gateTime bounds the hook that holds calls, in seconds. It waits for its lock for less
// than that: a hook that is timed out would let the call through.
const gateTime = 120

// Settings is the content of the settings file of a session: its hooks. A version
// of the CLI that does not know one of the events ignores it. Hooks are switched on
// by name, because a repository's own settings could switch all of them off, ours
// among them, without a word in the stream.
func Settings(h Hooks) ([]byte, error) {
	type command struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"` // seconds
	}
	type matcher struct {
		Matcher string    `json:"matcher"`
		Hooks   []command `json:"hooks"`
	}
	agents := []matcher{{Matcher: "Agent|Task", Hooks: []command{{Type: "command", Command: h.Agents, Timeout: 30}}}}
	hooks := map[string]any{"PreToolUse": agents, "PostToolUse": agents, "PostToolUseFailure": agents}
	if h.Gate != "" {
		hooks["PreToolUse"] = append([]matcher{{Matcher: "*", Hooks: []command{{Type: "command", Command: h.Gate, Timeout: gateTime}}}}, agents...)
	}
	if h.Stop != "" {
		hooks["Stop"] = []matcher{{Hooks: []command{{Type: "command", Command: h.Stop, Timeout: 30}}}}
	}
	data, err := json.MarshalIndent(map[string]any{"disableAllHooks": false, "hooks": hooks}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	return append(data, '\n'), nil
}

// Quote makes one word of a shell command line.
func Quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
