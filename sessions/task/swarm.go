package task

import (
	"cmp"
	"strconv"

	"autopilot/sessions/task/internal/record"
)

const (
	swarmFile     = ".claude-flow/swarm-tasks.json"
	checklistFile = ".claude-flow/data/checklist.json"
)

// parseSwarm reads the tasks of a swarm: an array, or an object with one under
// "tasks".
func parseSwarm(data []byte) ([]Task, error) {
	list, err := record.List(data, "tasks", false)
	tasks := make([]Task, len(list))
	for i := range list {
		e := &list[i]
		id := cmp.Or(firstOf(e.ID, e.TaskID), "swarm-"+strconv.Itoa(e.Index))
		tasks[i] = named(ofEntry(e), id, e.Subject, e.Description, e.Name, e.Title)
	}
	return tasks, err
}

// parseChecklist reads a checklist: an array, or an object with one under "items".
// An item is an object, which may say done instead of a status, or plain text.
func parseChecklist(data []byte) ([]Task, error) {
	list, err := record.List(data, "items", true)
	tasks := make([]Task, len(list))
	for i := range list {
		e := &list[i]
		id := cmp.Or(firstOf(e.ID), "check-"+strconv.Itoa(e.Index))
		t := named(ofEntry(e), id, e.Subject, e.Text, e.Description, e.Title, e.Name)
		if t.Status == unknown {
			t.Status = "pending"
			if e.Done != nil && *e.Done {
				t.Status = "completed"
			}
		}
		tasks[i] = t
	}
	return tasks, err
}

// ofEntry is a task without id and subject.
func ofEntry(e *record.Entry) Task {
	t := Task{Status: status(e.Status), Owner: word(e.Owner.String()), BlockedBy: others(e.BlockedBy)}
	if t.BlockedBy == nil {
		t.BlockedBy = others(e.Dependencies)
	}
	return t
}
