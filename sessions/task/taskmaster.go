package task

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"autopilot/sessions/prompt"
	"autopilot/sessions/task/internal/record"
)

const (
	masterFile  = ".taskmaster/tasks/tasks.json"
	legacyFile  = "tasks/tasks.json"
	masterState = ".taskmaster/state.json"
	masterTag   = "master"
)

func (f *finding) readTaskMaster(repo folder) {
	tag := masterTag
	state, err := repo.read(masterState)
	if err == nil {
		tag, err = parseMasterState(state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.fault(repo.path(masterState), err)
	}

	name := masterFile
	f.Places = append(f.Places, repo.path(masterFile))
	data, err := repo.read(masterFile)
	if errors.Is(err, fs.ErrNotExist) {
		f.Places = append(f.Places, repo.path(legacyFile))
		if old, e := repo.read(legacyFile); !errors.Is(e, fs.ErrNotExist) {
			name, data, err = legacyFile, old, e
		}
	}
	if err != nil {
		f.missing(repo.path(name), err)
		return
	}
	tasks, used, err := parseTagged(data, tag)
	f.fault(repo.path(name), err)
	f.add(list{tasks: tasks}, word(used), repo.path(name))
	f.why = repo.path(name) + " holds no tasks"
	if used != "" {
		f.why += " under the tag " + word(used)
	}
}

// parseMasterState reads the tag that is worked on. It is master where nothing else
// is said, and when the file is broken.
func parseMasterState(data []byte) (string, error) {
	var state struct {
		Tag string `json:"currentTag"`
	}
	if err := record.Decode(data, &state); err != nil {
		return masterTag, err
	}
	return cmp.Or(state.Tag, masterTag), nil
}

// masterTask is a task of task-master, or a subtask, which has the same fields.
type masterTask struct {
	ID           record.Text     `json:"id"`
	Title        record.Text     `json:"title"`
	Description  record.Text     `json:"description"`
	Status       record.Text     `json:"status"`
	Dependencies record.IDs      `json:"dependencies"`
	Subtasks     json.RawMessage `json:"subtasks"`
}

// parseTagged reads the tasks of one tag, and says which: none in the older form
// without tags. A subtask is a task of its own that follows the one it is part of.
func parseTagged(data []byte, tag string) ([]Task, string, error) {
	array, used, err := tagged(data, tag)
	if err != nil {
		return nil, "", err
	}
	var tasks []Task
	var bad record.Flaws
	record.Elements(array, &bad, func(i int, m masterTask) {
		t := m.task("", i)
		tasks = append(tasks, t)
		tasks = append(tasks, m.parts(t.ID, &bad)...)
	})
	return tasks, used, bad.Err()
}

// tagged finds the array of tasks. A file with an array "tasks" at its top has no
// tags, unless the tag that is asked for stands beside it.
func tagged(data []byte, tag string) (array json.RawMessage, used string, err error) {
	var top map[string]json.RawMessage
	if err := record.Decode(data, &top); err != nil {
		return nil, "", err
	}
	body, ok := top[tag]
	if !ok || body[0] != '{' {
		if old, ok := top["tasks"]; ok && old[0] == '[' {
			return old, "", nil
		}
		tags := slices.Sorted(maps.Keys(top))
		if len(tags) == 0 {
			return json.RawMessage("[]"), "", nil
		}
		return nil, "", fmt.Errorf("has no tag %q; it has %s", tag, prompt.Cut(oneLine(strings.Join(tags, ", ")), longestWord))
	}
	var inner map[string]json.RawMessage
	if err := json.Unmarshal(body, &inner); err != nil {
		return nil, "", err
	}
	array, ok = inner["tasks"]
	if !ok || array[0] != '[' {
		return nil, "", fmt.Errorf("has no array of tasks under the tag %q", tag)
	}
	return array, tag, nil
}

func (m *masterTask) task(parent string, i int) Task {
	id := cmp.Or(firstOf(m.ID), strconv.Itoa(i+1))
	if parent != "" && !strings.Contains(id, ".") {
		id = parent + "." + id
	}
	t := Task{Status: status(m.Status), BlockedBy: others(m.Dependencies)}
	return named(t, id, m.Title, m.Description)
}

// parts are the subtasks of the task id. They name one another by their number
// alone.
func (m *masterTask) parts(id string, bad *record.Flaws) []Task {
	if len(m.Subtasks) == 0 {
		return nil
	}
	var tasks []Task
	var inner record.Flaws
	record.Elements(m.Subtasks, &inner, func(i int, sub masterTask) { tasks = append(tasks, sub.task(id, i)) })
	for _, err := range inner.First {
		bad.Add(fmt.Errorf("subtasks of task %s: %w", id, err))
	}
	bad.More += inner.More
	siblings := make(map[string]bool, len(tasks))
	for _, t := range tasks {
		siblings[t.ID] = true
	}
	for i := range tasks {
		for k, on := range tasks[i].BlockedBy {
			if siblings[id+"."+on] {
				tasks[i].BlockedBy[k] = id + "." + on
			}
		}
	}
	return tasks
}
