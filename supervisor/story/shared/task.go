package shared

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/supervisor/story"
)

// Version is the version of the task's file.
const Version = 1

const taskFile = "task.json"

// Process is one process of this machine: a pid alone may belong to another one later.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // stamp of its start, as package proctree has it
}

// Alive reports whether the process still runs. One that the process table has, but
// that cannot be looked at just now, counts as alive: ending work for a passing lack of
// descriptors would be worse than asking again.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return false
	}
	row, err := proctree.Read(proctree.Root, p.PID)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return row.Start == p.Start && !row.Dead()
}

// Task is what the supervisor of a story has to know of its cohort. It is written before
// a supervisor starts and not changed while it runs.
type Task struct {
	Version        int     `json:"version"`
	Cohort         string  `json:"cohort"` // run id of the coordinator
	Story          string  `json:"story"`  // id, unique in the cohort
	Folder         string  `json:"folder"` // where this file is
	Coordinator    Process `json:"coordinator"`
	Main           string  `json:"main"`     // top of the repository that the cohort works for
	Worktree       string  `json:"worktree"` // where this story works; Main itself without isolation
	Branch         string  `json:"branch,omitempty"`
	Isolation      string  `json:"isolation"`                  // a story.Isolation
	Metrics        string  `json:"metrics"`                    // folder of the ledgers, one for all stories
	IssueBlockedBy int     `json:"issue_blocked_by,omitempty"` // issue that the story waited for, for the record; 0 for none

	// Lane are the patterns below Main that the story has to itself while it runs;
	// empty for the whole tree.
	Lane []string `json:"lane,omitempty"`

	// The limits are those of the whole cohort.
	MaxHours   float64   `json:"max_hours"`              // wall clock, since the coordinator started
	Deadline   time.Time `json:"deadline,omitzero"`      // when those hours are over
	MaxTokens  int64     `json:"max_tokens,omitempty"`   // 0 is no limit
	MaxCostUSD float64   `json:"max_cost_usd,omitempty"` // 0 is no limit
}

// SharesTree reports whether other stories work in the same tree.
func (t Task) SharesTree() bool { return t.Isolation == string(story.None) }

// SaveTask writes the task of a story into its folder, which it creates when it is
// missing, with the version of this package. When it has returned nil the task survives
// a power cut. A full disk is a *statedir.FullError.
func SaveTask(folder string, t Task) error {
	t.Version = Version
	if err := t.check(); err != nil {
		return fmt.Errorf("save task in %s: %w", folder, err)
	}
	if err := statedir.MakeDir(folder); err != nil {
		return fmt.Errorf("save task: %w", err)
	}
	if err := statedir.ReplaceJSON(filepath.Join(folder, taskFile), t); err != nil {
		return fmt.Errorf("save task: %w", err)
	}
	return nil
}

// LoadTask reads the task in the folder of a story. The error wraps fs.ErrNotExist when
// there is none; any other means that it is broken, or of a version that is not known.
func LoadTask(folder string) (Task, error) {
	return load(folder, taskFile, "task", Task.check)
}

func (t Task) check() error {
	switch {
	case t.Version != Version:
		return fmt.Errorf("version %d is not known", t.Version)
	case t.Cohort == "":
		return errors.New("it names no cohort")
	case t.Story == "":
		return errors.New("it names no story")
	case t.MaxTokens < 0 || t.MaxCostUSD < 0:
		return errors.New("a budget is negative")
	}
	return nil
}

// load reads one of the files in the folder of a story, and has it checked.
func load[T any](folder, file, what string, check func(T) error) (T, error) {
	var v, none T
	path := filepath.Join(folder, file)
	if err := statedir.LoadJSON(path, &v); err != nil {
		return none, fmt.Errorf("load %s: %w", what, err)
	}
	if err := check(v); err != nil {
		return none, fmt.Errorf("load %s: %s is broken: %w", what, path, err)
	}
	return v, nil
}
