package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// registry holds the tools that an interrupt has to end, by process id.
type registry struct {
	mu   sync.Mutex
	pids map[int]bool
}

func (r *registry) set(pid int, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pids == nil {
		r.pids = map[int]bool{}
	}
	if on {
		r.pids[pid] = true
	} else {
		delete(r.pids, pid)
	}
}

func (r *registry) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid := range r.pids {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

func (r *registry) run(command string) (string, error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err.Error(), err
	}
	r.set(cmd.Process.Pid, true)
	defer r.set(cmd.Process.Pid, false)
	err := cmd.Wait()
	return out.String(), err
}

// leave starts a process that outlives its parent, in a session of its own.
func leave(command string, holdStdout bool) {
	cmd := exec.Command("sh", "-c", command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if holdStdout {
		cmd.Stdout = os.Stdout
	}
	_ = cmd.Start()
}

// agents starts n sub-agents in one answer. All hooks have answered before the
// first one works, so that all that are allowed work at the same time.
func (s *session) agents(n int, how string) {
	ids, blocks := make([]string, n), make([]any, n)
	for i := range n {
		id, block := s.toolUse("Agent", map[string]any{"description": fmt.Sprintf("part %d", i), "prompt": "do it", "subagent_type": "general-purpose"})
		ids[i], blocks[i] = id, block
	}
	s.assistant("", blocks...)
	reasons := make([]string, n)
	var asked, done sync.WaitGroup
	for i, id := range ids {
		asked.Go(func() { reasons[i] = s.ask("PreToolUse", id, "Agent", nil) })
	}
	asked.Wait()
	for i, id := range ids {
		if reasons[i] != "" {
			s.toolResult("", id, reasons[i], true)
			continue
		}
		done.Go(func() { s.agent(i, id, how) })
	}
	done.Wait()
	s.requesting()
}

func (s *session) agent(i int, id, how string) {
	task := fmt.Sprintf("agent%d", i)
	s.emit(map[string]any{
		"type": "system", "subtype": "task_started", "task_id": task, "tool_use_id": id,
		"task_type": "local_agent", "subagent_type": "general-purpose", "description": "part",
	})
	time.Sleep(200 * time.Millisecond)
	status, tokens := "completed", 10
	switch how {
	case "fail":
		status = "failed"
	case "stop":
		status = "stopped"
	case "die":
		tokens = 0
	case "spiral":
		for n := range 3 {
			edit := fmt.Sprintf("%s_edit%d", id, n)
			s.assistant(id, map[string]any{"type": "tool_use", "id": edit, "name": "Edit", "input": map[string]any{"file_path": "same.go"}})
			s.toolResult(id, edit, "edited", false)
		}
	}
	s.emit(map[string]any{
		"type": "system", "subtype": "task_notification", "task_id": task, "tool_use_id": id, "status": status,
		"summary": "part", "usage": map[string]any{"total_tokens": tokens, "tool_uses": 1, "duration_ms": 1},
	})
	s.ask("PostToolUse", id, "Agent", nil)
	s.toolResult("", id, "report", status == "failed")
}

// ask runs the hooks of the settings for a call of a tool and returns the reason of a
// refusal.
func (s *session) ask(event, id, tool string, input map[string]any) string {
	var settings struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct{ Command string }
		}
	}
	data, err := os.ReadFile(s.settings)
	if err != nil || json.Unmarshal(data, &settings) != nil {
		return ""
	}
	dir, _ := os.Getwd()
	in, err := json.Marshal(map[string]any{"hook_event_name": event, "tool_name": tool, "tool_input": input, "tool_use_id": id, "session_id": s.id, "cwd": dir})
	if err != nil {
		return err.Error()
	}
	for _, m := range settings.Hooks[event] {
		if m.Matcher != "" && m.Matcher != "*" && !slices.Contains(strings.Split(m.Matcher, "|"), tool) {
			continue
		}
		for _, h := range m.Hooks {
			cmd := exec.Command("sh", "-c", h.Command)
			cmd.Stdin = bytes.NewReader(in)
			out, err := cmd.Output()
			var answer struct {
				Specific struct {
					Decision string `json:"permissionDecision"`
					Reason   string `json:"permissionDecisionReason"`
				} `json:"hookSpecificOutput"`
			}
			_ = json.Unmarshal(out, &answer)
			if answer.Specific.Decision == "deny" {
				return answer.Specific.Reason
			}
			if err != nil && cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 2 {
				return "hook error"
			}
		}
	}
	return ""
}
