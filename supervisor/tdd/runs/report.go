package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"autopilot/metrics/journal"
	"autopilot/metrics/statedir"
	"autopilot/supervisor/tdd"
)

// Report is a whole run for a person.
type Report struct {
	RunID           string        `json:"runId"`
	ProjectRoot     string        `json:"projectRoot"`
	TaskID          string        `json:"taskId"`
	TaskTitle       string        `json:"taskTitle"`
	Tag             string        `json:"tag"`
	Branch          string        `json:"branch"`
	Status          tdd.Status    `json:"status"`
	Phase           tdd.At        `json:"currentPhase"`
	Subtask         string        `json:"currentSubtask"`
	Why             string        `json:"why"`
	StartTime       time.Time     `json:"startTime"`
	EndTime         *time.Time    `json:"endTime"` // nil while the run is not over
	Duration        string        `json:"duration"`
	DurationSeconds int           `json:"durationSeconds"` // to the last change, while the run is not over
	Baseline        *Numbers      `json:"baseline"`
	Subtasks        []Part        `json:"subtasks"`
	Final           *Numbers      `json:"finalSuite"`
	Coverage        *tdd.Coverage `json:"coverage"` // of the final suite, else of the last subtask where it is known
	TotalCommits    int           `json:"totalCommits"`
	Incidents       []Incident    `json:"incidents"`
	// Note says what could not be read.
	Note string `json:"note"`
}

// Part is one subtask of a report.
type Part struct {
	ID              string   `json:"id"`
	Title           string   `json:"title"`
	Status          string   `json:"status"` // done, already-implemented, current, pending
	Attempts        int      `json:"attempts"`
	Red             *Numbers `json:"red"` // that were accepted; nil when there are none
	Green           *Numbers `json:"green"`
	Commit          string   `json:"commitSha"`
	Subject         string   `json:"commitSubject"`
	Duration        string   `json:"duration"` // empty while it is not done
	DurationSeconds int      `json:"durationSeconds"`
}

// Numbers are those of one run of tests.
type Numbers struct {
	tdd.Results
	Broken   int  `json:"broken"`   // files or packages that did not build
	Measured bool `json:"measured"` // by a run of the tests, not only reported
}

// Incident is a refusal, a pause, or what followed on one.
type Incident struct {
	TS      time.Time `json:"ts"`
	Kind    string    `json:"kind"` // refused, error, paused, resumed, aborted
	Subtask string    `json:"subtaskId"`
	Phase   string    `json:"phase"`
	Attempt int       `json:"attempt"`
	Text    string    `json:"text"`
}

// stored are the fields of a file in test-results that a report reads.
type stored struct {
	tdd.Run
	Valid *bool `json:"validated"` // nil when it was not judged
}

// Report reads a run as it is. When its state cannot be used, the report has what the
// manifest and the log say, and a Note; it is a *BrokenError when there is not even a
// manifest, and ErrNoRun when there is no such run.
func (s Store) Report(id string) (Report, error) {
	var r Report
	st, err := s.PeekRun(id)
	if err == nil {
		r = s.ofState(st)
	} else {
		m, bad := s.brief(id)
		if m.RunID == "" {
			return Report{}, bad
		}
		r = ofManifest(m)
		if r.Note == "" {
			r.Note = oneLine(err.Error())
		}
	}
	events, err := s.events(id)
	if err != nil {
		return Report{}, fmt.Errorf("report run %s: %w", id, err)
	}
	if n := len(events); r.Note != "" && r.EndTime == nil && n > 0 {
		r.lasted(events[n-1].TS)
	}
	r.tell(events)
	return r, nil
}

func (r *Report) lasted(until time.Time) {
	d := max(until.Sub(r.StartTime), 0)
	r.Duration, r.DurationSeconds = tdd.Clock(d), int(d.Seconds())
}

func ofManifest(m Manifest) Report {
	r := Report{
		RunID: m.RunID, ProjectRoot: m.ProjectRoot, TaskID: m.TaskID, Tag: m.Tag, Branch: m.Branch, Status: m.Status, Subtask: m.CurrentSubtask,
		StartTime: m.StartTime, EndTime: m.EndTime, TotalCommits: m.TotalCommits, Subtasks: []Part{}, Incidents: []Incident{}, Note: m.Note,
	}
	for _, id := range m.SubtasksCompleted {
		r.Subtasks = append(r.Subtasks, Part{ID: id, Status: "done"})
	}
	until := m.StartTime
	if m.EndTime != nil {
		until = *m.EndTime
	}
	r.lasted(until)
	return r
}

func (s Store) ofState(st tdd.State) Report {
	r := ofManifest(manifestOf(st))
	r.TaskTitle, r.Phase, r.Why, r.Subtasks = st.TaskTitle, st.CurrentPhase, st.Why, []Part{}
	if r.EndTime == nil {
		r.lasted(st.LastUpdated)
	}
	r.Baseline, _ = s.numbers(st, "baseline", st.Baseline)
	for _, t := range st.Subtasks {
		p := Part{ID: t.ID, Title: t.Title, Status: standing(st, t.ID), Attempts: st.Attempts[t.ID]}
		var red, green *tdd.Run
		if t.ID == st.CurrentSubtask {
			red, green = st.Red, st.Green
		}
		var cov *tdd.Coverage
		p.Red, _ = s.numbers(st, "subtask-"+t.ID+"-red", red)
		if p.Green, cov = s.numbers(st, "subtask-"+t.ID+"-green", green); cov != nil {
			r.Coverage = cov
		}
		for _, c := range st.Commits {
			if c.Subtask == t.ID {
				p.Commit, p.Subject = c.SHA, c.Subject
			}
		}
		r.Subtasks = append(r.Subtasks, p)
	}
	var cov *tdd.Coverage
	if r.Final, cov = s.numbers(st, "final-suite", st.Final); cov != nil {
		r.Coverage = cov
	}
	return r
}

func standing(st tdd.State, id string) string {
	switch {
	case slices.Contains(st.Implemented, id):
		return "already-implemented"
	case slices.Contains(st.CompletedSubtasks, id):
		return "done"
	case st.CurrentSubtask == id:
		return "current"
	}
	return "pending"
}

// numbers are those of the state where it has them, else those of the file. A file of
// results that were refused has none that count.
func (s Store) numbers(st tdd.State, name string, run *tdd.Run) (*Numbers, *tdd.Coverage) {
	if run == nil {
		var f stored
		if statedir.LoadJSON(s.resultsFile(st.RunID, name), &f) != nil || f.Valid != nil && !*f.Valid {
			return nil, nil
		}
		run = &f.Run
	}
	n := Numbers{Results: run.Counts()}
	cov := run.Coverage
	if m := run.Measured; m != nil {
		n.Broken, n.Measured = m.Broken, m.Counted
		cov = m.Coverage.Over(cov)
	}
	if cov == (tdd.Coverage{}) {
		return &n, nil
	}
	return &n, &cov
}

// events reads the log.
func (s Store) events(id string) ([]tdd.Activity, error) {
	var list []tdd.Activity
	err := journal.Each(s.file(id, activityName), func(_ int, line []byte) error {
		var a tdd.Activity
		if json.Unmarshal(line, &a) == nil && a.RunID == id {
			list = append(list, a)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

// tell adds what only the log knows: how long subtasks took, numbers whose file is not
// there, and what went wrong.
func (r *Report) tell(events []tdd.Activity) {
	for _, a := range slices.Backward(events) {
		if p := r.part(a.SubtaskID); p != nil && a.Event == tdd.EventTestRun && a.Error == "" && a.Passed != nil && a.Failed != nil {
			p.fill(a)
		}
	}
	begun := map[string]time.Time{}
	for _, a := range events {
		p := r.part(a.SubtaskID)
		switch {
		case a.Event == tdd.EventSubtaskStart:
			begun[a.SubtaskID] = a.TS
		case a.Event == tdd.EventSubtaskComplete && p != nil && !begun[a.SubtaskID].IsZero():
			d := max(a.TS.Sub(begun[a.SubtaskID]), 0)
			p.Duration, p.DurationSeconds = tdd.Clock(d), int(d.Seconds())
		}
		if kind := trouble(a); kind != "" {
			text := a.Error
			if text == "" {
				text = a.Message
			}
			r.Incidents = append(r.Incidents, Incident{TS: a.TS, Kind: kind, Subtask: a.SubtaskID, Phase: a.Phase, Attempt: a.Attempt, Text: text})
		}
	}
}

func (r *Report) part(id string) *Part {
	for i := range r.Subtasks {
		if r.Subtasks[i].ID == id && id != "" {
			return &r.Subtasks[i]
		}
	}
	return nil
}

// fill takes numbers where there are none.
func (p *Part) fill(a tdd.Activity) {
	n := Numbers{Results: tdd.Results{Passed: *a.Passed, Failed: *a.Failed, Total: *a.Passed + *a.Failed}}
	if a.Skipped != nil {
		n.Skipped = *a.Skipped
		n.Total += n.Skipped
	}
	switch {
	case a.Phase == string(tdd.Red) && p.Red == nil:
		p.Red = &n
	case a.Phase == string(tdd.Green) && p.Green == nil:
		p.Green = &n
	}
}

func trouble(a tdd.Activity) string {
	switch {
	case a.Event == tdd.EventTestRun && a.Error != "":
		return "refused"
	case a.Event == tdd.EventError:
		return "error"
	case a.Event == tdd.EventWarning:
		return "warning"
	case a.Event == tdd.EventPaused:
		return "paused"
	case a.Event == tdd.EventResumed:
		return "resumed"
	case a.Event == tdd.EventAborted:
		return "aborted"
	}
	return ""
}
