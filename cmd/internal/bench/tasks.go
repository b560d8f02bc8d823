package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const manyTasks = 1000

// stopHook is the time a session waits for our answer when it wants to stop, with a
// thousand tasks in one file and with a thousand files, beside a Node program that
// does nothing: that is what a hook in JavaScript costs at least.
func (b *bench) stopHook() error {
	for _, c := range []struct {
		what  string
		write func() error
	}{{"one checklist", b.writeChecklist}, {"Claude Code's task files", b.writeTaskFiles}} {
		if err := c.write(); err != nil {
			return err
		}
		if _, err := b.timed(b.binary, "enable", "--session", benchSession); err != nil {
			return err
		}
		var ours, node []time.Duration
		for range pairs {
			if _, err := b.timed(b.binary, "reset", "--session", benchSession); err != nil { // it would stall
				return err
			}
			d, err := b.stop()
			if err != nil {
				return err
			}
			ours = append(ours, d)
			if _, err := exec.LookPath("node"); err != nil {
				continue
			}
			if d, err = b.timed("node", "-e", "0"); err != nil {
				return err
			}
			node = append(node, d)
		}
		f := figure{what: fmt.Sprintf("hook stop, %d tasks in %s", manyTasks, c.what), value: ms(median(ours)), aim: "< 10 ms"}
		if len(node) > 0 {
			f.beside, f.other, f.ratio = "node -e 0", ms(median(node)), float64(median(ours))/float64(median(node))
		}
		b.row(f)
	}
	return nil
}

const benchSession = "00000000-0000-4000-8000-000000000001"

// stop asks the hook once. It has to send the session on.
func (b *bench) stop() (time.Duration, error) {
	cmd := b.command(b.binary, "hook", "stop")
	input, err := json.Marshal(map[string]any{"hook_event_name": "Stop", "session_id": benchSession, "cwd": b.repo, "transcript_path": "", "stop_hook_active": false})
	if err != nil {
		return 0, err
	}
	cmd.Stdin = bytes.NewReader(input)
	start := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("hook stop: %w: %s", err, out)
	}
	if !strings.Contains(string(out), `"block"`) {
		return 0, fmt.Errorf("hook stop let go: %q", out)
	}
	return took, nil
}

func (b *bench) writeChecklist() error {
	type item struct {
		ID   int    `json:"id"`
		Text string `json:"text"`
		Done bool   `json:"done"`
	}
	var items []item
	for i := range manyTasks {
		items = append(items, item{i, fmt.Sprintf("Task %d of the checklist", i), i%2 == 0})
	}
	data, err := json.Marshal(items)
	if err != nil {
		return err
	}
	dir := filepath.Join(b.repo, ".claude-flow", "data")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "checklist.json"), data, 0o600)
}

func (b *bench) writeTaskFiles() error {
	if err := os.RemoveAll(filepath.Join(b.repo, ".claude-flow")); err != nil {
		return err
	}
	dir := filepath.Join(filepath.Dir(b.repo), ".claude", "tasks", benchSession)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := 1; i <= manyTasks; i++ {
		text := fmt.Sprintf("{\n  \"id\": \"%d\",\n  \"subject\": \"Task %d\",\n  \"description\": \"what is to be done\",\n  \"status\": \"pending\",\n  \"blocks\": [],\n  \"blockedBy\": []\n}", i, i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
