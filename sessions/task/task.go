package task

import (
	"fmt"
	"slices"
	"strings"
)

// Names of the sources, in order of priority: where two of them have the same
// task, the first one's word counts.
const (
	TeamTasks     = "team-tasks"     // task lists of Claude Code
	SwarmTasks    = "swarm-tasks"    // .claude-flow/swarm-tasks.json
	FileChecklist = "file-checklist" // .claude-flow/data/checklist.json
	TaskMaster    = "task-master"    // .taskmaster/tasks/tasks.json
	SpecWeave     = "specweave"      // .specweave/increments/*/tasks.md
	Markdown      = "markdown"       // check boxes in PLAN.md and the like
	GitHubIssues  = "github-issues"  // open issues, through gh
)

// Sources are the names of all sources, in order of priority.
func Sources() []string {
	return []string{TeamTasks, SwarmTasks, FileChecklist, TaskMaster, SpecWeave, Markdown, GitHubIssues}
}

// Usual are the sources that are asked when nobody chose others.
func Usual() []string { return []string{TeamTasks, SwarmTasks, FileChecklist} }

// CheckSources refuses names that are no source, names that come twice, and an
// empty list.
func CheckSources(names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("no task source is named; there are %s", strings.Join(Sources(), ", "))
	}
	for i, n := range names {
		if !slices.Contains(Sources(), n) {
			return fmt.Errorf("unknown task source %q; there are %s", n, strings.Join(Sources(), ", "))
		}
		if slices.Contains(names[:i], n) {
			return fmt.Errorf("task source %s is named twice", n)
		}
	}
	return nil
}

// Task is one task as its source has it.
type Task struct {
	ID      string `json:"id"` // in its list
	Subject string `json:"subject"`
	Status  string `json:"status"` // in the words of the source; "unknown" when it has none
	Source  string `json:"source"`
	List    string `json:"list,omitempty"` // the list in the source: a team, a tag, an increment, a file
	Owner   string `json:"owner,omitempty"`
	// BlockedBy are the ids, in the same list, of tasks that have to be completed
	// before. Blocked is set while one of them is not.
	BlockedBy []string `json:"blockedBy,omitempty"`
	Blocked   bool     `json:"blocked,omitempty"`
	// Dead is set when the task is in progress and no living session has its list.
	Dead bool     `json:"ownerIsDead,omitempty"`
	Path string   `json:"path,omitempty"`
	Also []string `json:"also,omitempty"` // other places of the same task: "swarm-tasks 7 (pending)"
}

// Terminal reports whether nothing is left to do: the task is completed, done,
// closed, cancelled, skipped or failed, in any spelling of case, '-' and '_'.
func (t Task) Terminal() bool {
	return slices.Contains([]string{"completed", "done", "closed", "cancelled", "canceled", "skipped", "failed"}, t.word())
}

// Failed reports whether the task is terminal without being a success.
func (t Task) Failed() bool { return t.word() == "failed" }

// InProgress reports whether somebody is at work on the task.
func (t Task) InProgress() bool { return t.word() == "in-progress" }

func (t Task) word() string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(t.Status)), "_", "-")
}

// Count is how far a list of tasks is.
type Count struct {
	Completed int `json:"completed"` // terminal ones
	Failed    int `json:"failed"`    // of the completed ones
	Total     int `json:"total"`
	Percent   int `json:"percent"` // rounded, at most 99 while one is open; 100 when there are none
}

// CountOf counts tasks.
func CountOf(tasks []Task) Count {
	c := Count{Total: len(tasks), Percent: 100}
	for _, t := range tasks {
		if t.Terminal() {
			c.Completed++
		}
		if t.Failed() {
			c.Failed++
		}
	}
	if c.Total > 0 {
		c.Percent = (200*c.Completed + c.Total) / (2 * c.Total)
	}
	if c.Completed < c.Total {
		c.Percent = min(c.Percent, 99)
	}
	return c
}

// Remaining are the tasks that are not terminal. What can be done now comes first,
// then what is blocked; otherwise the order stays.
func Remaining(tasks []Task) []Task {
	out := []Task{}
	for _, blocked := range []bool{false, true} {
		for _, t := range tasks {
			if !t.Terminal() && t.Blocked == blocked {
				out = append(out, t)
			}
		}
	}
	return out
}
