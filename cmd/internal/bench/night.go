package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"autopilot/sessions/hook"
)

// gate is the time that every tool call of a session waits for our answer.
func (b *bench) gate() error {
	file := filepath.Join(filepath.Dir(b.repo), "gate", "gate.json")
	f := hook.GateFile{Dir: filepath.Join(filepath.Dir(b.repo), "gates"), Timeout: time.Hour, RunID: "r", SessionID: "s", Home: filepath.Dir(b.repo)}
	if err := f.Save(file); err != nil {
		return err
	}
	calls := []struct{ what, command, want string }{
		{"hook gate, a free call", "cd src && go test ./... 2>&1 | tail -20", ""},
		{"hook gate, a held call", "git push --force origin main", `"deny"`},
	}
	for _, c := range calls {
		input, err := json.Marshal(map[string]any{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t", "cwd": b.repo, "tool_input": map[string]string{"command": c.command}})
		if err != nil {
			return err
		}
		var ours, bare []time.Duration
		for range pairs {
			cmd := b.command(b.binary, "hook", "gate", file)
			cmd.Stdin = strings.NewReader(string(input))
			start := time.Now()
			out, err := cmd.CombinedOutput()
			if err != nil || (c.want == "") != (len(out) == 0) || !strings.Contains(string(out), c.want) {
				return fmt.Errorf("hook gate: %w: %s", err, out)
			}
			ours = append(ours, time.Since(start))
			d, err := b.timed("git", "--version")
			if err != nil {
				return err
			}
			bare = append(bare, d)
		}
		b.row(figure{what: c.what, value: ms(median(ours)), beside: "git --version", other: ms(median(bare)), ratio: float64(median(ours)) / float64(median(bare)), aim: "< 10 ms"})
	}
	return nil
}
