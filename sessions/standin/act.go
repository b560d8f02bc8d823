package standin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// act does one line of the script. It reports whether the process is over.
func (s *session) act(line string) (code int, over bool) {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	fields := strings.Fields(rest)
	switch verb {
	case "exit":
		return number(rest, 0), true
	case "crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Minute)
	case "limit":
		s.limit(number(rest, 60))
		return 1, true
	case "api-error":
		s.apiError(number(at(fields, 0), 500), at(fields, 1))
		return 1, true
	case "empty":
		s.result("success", "")
		return 0, true
	case "result":
		s.result(orElse(rest, "success"), orElse(s.answer, "done"))
		if rest != "" && rest != "success" {
			return 1, true
		}
	case "hang":
		select {}
	default:
		s.actMore(verb, rest, fields)
	}
	return 0, false
}

func (s *session) actMore(verb, rest string, fields []string) {
	switch verb {
	case "say":
		s.say(rest)
		s.answer = rest
	case "big":
		text := strings.Repeat("x", number(at(fields, 0), 1<<20))
		s.say(text)
		if at(fields, 1) == "result" {
			s.answer = text
		}
	case "think", "linger":
		time.Sleep(span(rest))
	case "bare-tool":
		id, block := s.toolUse("Bash", map[string]any{"command": "sleep"})
		s.assistant("", block)
		time.Sleep(span(rest))
		s.toolResult("", id, "ok", false)
		s.requesting()
	case "bash":
		s.bash(rest)
	case "leave", "hold":
		leave(rest, verb == "hold")
	case "mcp-server":
		cmd := exec.Command("sleep", "300")
		_ = cmd.Start()
	case "write":
		s.write(at(fields, 0), strings.TrimSpace(strings.TrimPrefix(rest, at(fields, 0))))
	case "commit":
		s.bash("git add -A && git -c user.name=standin -c user.email=standin@example.org -c commit.gpgsign=false commit -q -m '" + rest + "'")
	case "agents":
		s.agents(number(at(fields, 0), 1), at(fields, 1))
	case "usage":
		cost, err := strconv.ParseFloat(at(fields, 2), 64)
		if err != nil {
			cost = 0
		}
		s.costs(usage{int64(number(at(fields, 0), 0)), int64(number(at(fields, 1), 0)), cost})
	case "retry":
		for i := range number(at(fields, 2), 1) {
			s.emit(map[string]any{
				"type": "system", "subtype": "api_retry", "attempt": i + 1, "max_retries": 10,
				"retry_delay_ms": 10, "error_status": number(at(fields, 0), 500), "error": at(fields, 1),
			})
			time.Sleep(10 * time.Millisecond)
		}
	case "report":
		s.mu.Lock()
		s.report = rest
		s.mu.Unlock()
	case "wake":
		s.emitInit()
		s.say("woken")
		s.result("success", "woken")
	case "record":
		record(strings.ReplaceAll(rest, "$ID", s.id), s.Getenv("AUTOPILOT_RUN_ID"))
	case "raw":
		s.printLine(rest)
	case "mark":
		appendLine(rest, s.id)
	case "dump":
		s.dump(rest)
	}
}

func (s *session) limit(seconds int) {
	resets := time.Now().Add(time.Duration(seconds) * time.Second).Unix()
	s.emit(map[string]any{"type": "rate_limit_event", "rate_limit_info": map[string]any{
		"status": "rejected", "resetsAt": resets, "rateLimitType": "five_hour",
	}})
	s.apiError(429, "rate_limit")
}

func (s *session) apiError(status int, kind string) {
	text := fmt.Sprintf("API Error: %d", status)
	s.emit(map[string]any{"type": "assistant", "error": kind, "message": map[string]any{
		"id": "msg_error", "role": "assistant",
		"model": "<synthetic>", "content": []any{map[string]any{"type": "text", "text": text}},
	}})
	s.costs(usage{})
	s.resultWith(map[string]any{"subtype": "success", "is_error": true, "api_error_status": status, "result": text, "terminal_reason": "api_error"})
}

// bash runs a command as the CLI's Bash tool does: in a session of its own,
// waited for, killed with its session on an interrupt.
func (s *session) bash(command string) {
	input := map[string]any{"command": command}
	id, block := s.toolUse("Bash", input)
	s.assistant("", block)
	if no := s.ask("PreToolUse", id, "Bash", input); no != "" {
		s.toolResult("", id, no, true)
		s.requesting()
		return
	}
	out, err := s.running.run(command)
	s.toolResult("", id, out, err != nil)
	s.requesting()
}

func (s *session) write(name, text string) {
	input := map[string]any{"file_path": name, "content": text}
	id, block := s.toolUse("Write", input)
	s.assistant("", block)
	if no := s.ask("PreToolUse", id, "Write", input); no != "" {
		s.toolResult("", id, no, true)
		s.requesting()
		return
	}
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(text+"\n"), 0o644)
	}
	s.toolResult("", id, "ok", err != nil)
	s.requesting()
}

// record appends to the repository's sessions.jsonl what a plugin would write.
func record(line, runID string) {
	line = strings.ReplaceAll(line, "$RUN", runID)
	line = strings.ReplaceAll(line, "$NOW", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	appendLine(filepath.Join(".orchestrator", "metrics", "sessions.jsonl"), line)
}

func appendLine(name, line string) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line + "\n")
	_ = f.Close()
}

func number(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return otherwise
	}
	return n
}

func span(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		return time.Second
	}
	return d
}

func at(fields []string, i int) string {
	if i < len(fields) {
		return fields[i]
	}
	return ""
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
