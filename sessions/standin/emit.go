package standin

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"
)

const model = "claude-standin-1"

// usage is what a turn or a conversation cost.
type usage struct {
	Input   int64   `json:"input"`
	Output  int64   `json:"output"`
	CostUSD float64 `json:"cost_usd"`
}

func (u usage) add(v usage) usage {
	return usage{u.Input + v.Input, u.Output + v.Output, u.CostUSD + v.CostUSD}
}

func (u usage) byModel() map[string]any {
	return map[string]any{model: map[string]any{
		"inputTokens": u.Input, "outputTokens": u.Output, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0, "costUSD": u.CostUSD,
	}}
}

// emit prints one event and notes it in the transcript. Nothing is printed
// after the end of the session.
func (s *session) emit(event map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emitLocked(event)
}

func (s *session) emitLocked(event map[string]any) {
	if _, ok := event["session_id"]; !ok {
		event["session_id"] = s.id
	}
	event["uuid"] = uuid.NewString()
	data, err := json.Marshal(event)
	if err != nil {
		fmt.Fprintln(s.Stderr, "Error:", err)
		return
	}
	s.printLocked(string(data))
}

func (s *session) printLine(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.printLocked(line)
}

func (s *session) printLocked(line string) {
	if s.ended {
		return
	}
	_, _ = s.out.WriteString(line + "\n")
	_ = s.out.Flush()
}

// note appends a line to the transcript.
func (s *session) note(v any) {
	if s.forgets {
		return
	}
	name := s.transcript()
	data, err := json.Marshal(v)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o700)
	}
	if err != nil {
		return
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(data, '\n'))
	_ = f.Close()
}

func spentIn(line string, before usage) usage {
	var v struct {
		Spent *usage `json:"spent"`
	}
	if err := json.Unmarshal([]byte(line), &v); err != nil || v.Spent == nil {
		return before
	}
	return *v.Spent
}

func (s *session) emitInit() {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "/"
	}
	tools := []string{"Task", "Bash", "Edit", "Write"}
	if s.noTools {
		tools = []string{"StructuredOutput"}
	}
	s.emit(map[string]any{
		"type": "system", "subtype": "init", "cwd": cwd, "model": model, "permissionMode": s.perm,
		"tools": tools, "mcp_servers": []any{}, "apiKeySource": "none", "claude_code_version": Version,
	})
	s.requesting()
}

func (s *session) requesting() {
	s.emit(map[string]any{"type": "system", "subtype": "status", "status": "requesting"})
}

func (s *session) say(text string) {
	s.assistant("", map[string]any{"type": "text", "text": text})
}

func (s *session) assistant(parent string, blocks ...any) {
	e := map[string]any{"type": "assistant", "parent_tool_use_id": nil, "message": map[string]any{
		"id": "msg_" + uuid.NewString(), "role": "assistant", "model": model, "content": blocks,
		"usage": map[string]any{"input_tokens": 1, "output_tokens": 1},
	}}
	if parent != "" {
		e["parent_tool_use_id"] = parent
	}
	s.emit(e)
}

func (s *session) toolResult(parent, id, text string, isError bool) {
	e := map[string]any{"type": "user", "parent_tool_use_id": nil, "message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": isError},
	}}}
	if parent != "" {
		e["parent_tool_use_id"] = parent
	}
	s.emit(e)
}

func (s *session) toolUse(name string, input map[string]any) (id string, block map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools++
	id = fmt.Sprintf("toolu_%s_%d", uuid.NewString()[:8], s.tools)
	return id, map[string]any{"type": "tool_use", "id": id, "name": name, "input": input}
}

func (s *session) result(subtype, text string) {
	r := map[string]any{"subtype": subtype, "is_error": subtype != "success", "result": text, "terminal_reason": "completed"}
	if subtype != "success" {
		delete(r, "result")
		r["terminal_reason"] = subtype
	}
	s.resultWith(r)
}

// resultWith prints a result with the usage of the turn and of the whole
// conversation, as the newer versions of the CLI do.
func (s *session) resultWith(r map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.resultLocked(r)
	}
}

// costs sets what the next result costs.
func (s *session) costs(u usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = u
}

func (s *session) resultLocked(r map[string]any) {
	s.turn = s.next
	s.spent = s.spent.add(s.turn)
	s.note(map[string]any{"type": "cost-state", "spent": s.spent})
	e := map[string]any{
		"type": "result", "num_turns": 1, "duration_ms": 1, "api_error_status": nil, "stop_reason": "end_turn",
		"usage":          map[string]any{"input_tokens": s.turn.Input, "output_tokens": s.turn.Output},
		"total_cost_usd": s.spent.CostUSD, "modelUsage": s.spent.byModel(), "model_usage_since_last_result": s.turn.byModel(),
		"permission_denials": []any{}, "result_index": s.results,
	}
	if s.report != "" {
		e["structured_output"] = json.RawMessage(s.report)
		s.report = ""
	}
	for k, v := range r {
		e[k] = v
	}
	s.results++
	s.emitLocked(e)
}
