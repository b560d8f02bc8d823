package runs

import (
	"errors"
	"fmt"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/tdd"
)

// Manifest is the content of manifest.json: a run in short.
type Manifest struct {
	RunID             string     `json:"runId"`
	ProjectRoot       string     `json:"projectRoot"`
	TaskID            string     `json:"taskId"`
	Tag               string     `json:"tag"`
	Branch            string     `json:"branch"`
	StartTime         time.Time  `json:"startTime"`
	EndTime           *time.Time `json:"endTime"` // nil while the run is not over
	Status            tdd.Status `json:"status"`
	CurrentPhase      string     `json:"currentPhase"` // red, green and commit are subtask-loop
	CurrentSubtask    string     `json:"currentSubtask"`
	SubtasksCompleted []string   `json:"subtasksCompleted"`
	// SubtasksFailed is the current subtask, when the run is paused in it.
	SubtasksFailed []string `json:"subtasksFailed"`
	TotalCommits   int      `json:"totalCommits"`
	// Note says that the state of the run was put aside, and why.
	Note string `json:"note,omitempty"`
}

func manifestOf(st tdd.State) Manifest {
	m := Manifest{
		RunID: st.RunID, ProjectRoot: st.ProjectRoot, TaskID: st.TaskID, Tag: st.Tag, Branch: st.Branch, StartTime: st.StartTime.UTC(),
		Status: st.Status, CurrentPhase: st.CurrentPhase.Phase(), CurrentSubtask: st.CurrentSubtask,
		SubtasksCompleted: append([]string{}, st.CompletedSubtasks...), SubtasksFailed: []string{}, TotalCommits: len(st.Commits),
	}
	if !st.EndTime.IsZero() {
		end := st.EndTime.UTC()
		m.EndTime = &end
	}
	if st.Status == tdd.OnHold && st.CurrentSubtask != "" {
		m.SubtasksFailed = append(m.SubtasksFailed, st.CurrentSubtask)
	}
	return m
}

// brief is a run in short: from its state where that can be read, else from the
// manifest. With an error there may be a manifest all the same.
func (s Store) brief(id string) (Manifest, error) {
	st, err := s.PeekRun(id)
	if err == nil {
		return manifestOf(st), nil
	}
	var m Manifest
	if statedir.LoadJSON(s.file(id, manifestName), &m) != nil || m.RunID != id {
		return Manifest{}, err
	}
	m.SubtasksCompleted, m.SubtasksFailed = append([]string{}, m.SubtasksCompleted...), append([]string{}, m.SubtasksFailed...)
	if m.Status.Over() {
		err = nil // it was put aside
	}
	return m, err
}

// List returns all runs, the newest first. Those whose state cannot be used are named
// in the error, which therefore may come together with a list, in which they stand
// with what their manifest says, if it says something. Folders that are not named like
// a run are left out.
func (s Store) List() ([]Manifest, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	var list []Manifest
	var bad []error
	for _, id := range ids {
		m, err := s.brief(id)
		if err != nil && !errors.Is(err, ErrNoRun) {
			bad = append(bad, fmt.Errorf("list runs: %w", err))
		}
		if m.RunID != "" {
			list = append(list, m)
		}
	}
	return list, errors.Join(bad...)
}
