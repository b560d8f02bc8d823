package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const manyMasterTasks = 2000

// testDriven is what an agent waits for at each step of a test-driven run, with two
// thousand tasks of five subtasks in the file and a run of the last one, beside a Node
// program that does nothing.
func (b *bench) testDriven() error {
	own := *b
	own.repo = filepath.Join(filepath.Dir(b.repo), "tdd")
	own.env = append(own.env, "AUTOPILOT_TEST_COMMAND=none", "GIT_CONFIG_GLOBAL=/dev/null")
	size, err := own.writeMasterTasks()
	if err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-q", "-m", "start"}} {
		if _, err := own.timed("git", args...); err != nil {
			return err
		}
	}
	if _, err := own.timed(b.binary, "tdd", "start", fmt.Sprint(manyMasterTasks)); err != nil {
		return err
	}
	for _, c := range []string{"status", "next"} {
		var ours, node []time.Duration
		for range pairs {
			d, err := own.timed(b.binary, "tdd", c, "--json")
			if err != nil {
				return err
			}
			ours = append(ours, d)
			if d, err = own.timed("git", "--version"); err != nil {
				return err
			}
			node = append(node, d)
		}
		b.row(figure{
			what: fmt.Sprintf("tdd %s, %d tasks in %.1f MB", c, manyMasterTasks, float64(size)/1e6), value: ms(median(ours)), beside: "git --version",
			other: ms(median(node)), ratio: float64(median(ours)) / float64(median(node)), aim: "< 10 ms",
		})
	}
	return nil
}

// writeMasterTasks writes the file and returns its size in bytes.
func (b *bench) writeMasterTasks() (int, error) {
	type part struct {
		ID           int    `json:"id"`
		Title        string `json:"title"`
		Description  string `json:"description"`
		Details      string `json:"details"`
		Status       string `json:"status"`
		Dependencies []int  `json:"dependencies"`
		TestStrategy string `json:"testStrategy,omitempty"`
		Subtasks     []part `json:"subtasks,omitempty"`
	}
	var tasks []part
	for i := 1; i <= manyMasterTasks; i++ {
		t := part{i, fmt.Sprintf("Task %d", i), "What is to be done, in a sentence or two.", "How it may be done.", "pending", []int{}, "Unit tests.", nil}
		for k := 1; k <= 5; k++ {
			t.Subtasks = append(t.Subtasks, part{k, fmt.Sprintf("Part %d", k), "What this part of it is about, in a sentence.", "How.", "pending", []int{}, "Unit tests.", nil})
		}
		tasks = append(tasks, t)
	}
	data, err := json.MarshalIndent(map[string]any{"master": map[string]any{"tasks": tasks}}, "", "  ")
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(b.repo, ".taskmaster", "tasks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	return len(data), os.WriteFile(filepath.Join(dir, "tasks.json"), data, 0o600)
}
