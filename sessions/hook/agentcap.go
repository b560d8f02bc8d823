package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// inputLimit bounds what is read of a hook's input. The prompt and the report of
// a sub-agent are answers of a model, so a few megabytes are much already, and
// many hooks may run at once.
const inputLimit = 16 << 20

type input struct {
	Event        string `json:"hook_event_name"`
	Tool         string `json:"tool_name"`
	ToolUseID    string `json:"tool_use_id"`
	ToolResponse struct {
		Status  string `json:"status"`
		IsAsync bool   `json:"isAsync"`
	} `json:"tool_response"`
}

type output struct {
	Specific specific `json:"hookSpecificOutput"`
}

type specific struct {
	Event    string `json:"hookEventName"`
	Decision string `json:"permissionDecision"`
	Reason   string `json:"permissionDecisionReason"`
}

// AgentCap answers one hook call about the sub-agent tool: before the call it
// takes a slot or refuses, after it it gives the slot back. It writes the answer
// Claude Code understands, or nothing where it has no objection. The error is
// for stderr and exit status 2, which also refuses the call.
func AgentCap(stdin io.Reader, stdout io.Writer, f CapFile, now time.Time) error {
	in, err := readInput(stdin)
	if err != nil {
		return err
	}
	if in.Tool != "" && in.Tool != "Agent" && in.Tool != "Task" {
		return nil
	}
	switch in.Event {
	case "PreToolUse":
	case "PostToolUse", "PostToolUseFailure":
		if in.ToolResponse.IsAsync || in.ToolResponse.Status == "async_launched" {
			return nil // still running in the background; the supervisor sees its end
		}
		return f.Release(in.ToolUseID)
	default:
		return nil
	}
	s, ok, err := f.Reserve(in.ToolUseID, now)
	if err != nil {
		return fmt.Errorf("sub-agent refused, autopilot's agent cap is not readable: %w", err)
	}
	if ok {
		return nil
	}
	return json.NewEncoder(stdout).Encode(output{specific{Event: "PreToolUse", Decision: "deny", Reason: refusal(s)}})
}

// readInput reads what the session passes. A field of an unexpected type counts as
// absent, but without an event nothing could be decided, and without an id any
// number of calls would share one slot.
func readInput(stdin io.Reader) (input, error) {
	var in input
	if err := json.NewDecoder(io.LimitReader(stdin, inputLimit)).Decode(&in); err != nil {
		if _, odd := errors.AsType[*json.UnmarshalTypeError](err); !odd {
			return in, fmt.Errorf("read hook input: %w", err)
		}
	}
	switch {
	case in.Event == "":
		return in, errors.New("read hook input: hook_event_name is missing")
	case in.Event == "PreToolUse" && in.ToolUseID == "":
		return in, errors.New("read hook input: tool_use_id is missing")
	}
	return in, nil
}

func refusal(s CapState) string {
	if s.Cap == 0 {
		return fmt.Sprintf("autopilot allows no sub-agents now (tier %s, decided by %s). Do this work yourself, in this conversation.", s.Tier, s.Signal)
	}
	return fmt.Sprintf("autopilot's limit on sub-agents at once is %d now (tier %s, decided by %s); running: %d. "+
		"Wait until one has ended before you start the next, or do this work yourself.", s.Cap, s.Tier, s.Signal, len(s.Active))
}
