package completion

import (
	"fmt"
	"strings"
	"time"

	"autopilot/metrics/episode"
	"autopilot/sessions/task"
)

const (
	namedInCritique = 3
	namedInTask     = 8
	nameRunes       = 80
)

// counted is how far the tasks are by the criteria.
type counted struct {
	completed, total int
	open, failed     []*task.Task // open: what can be done now first, then what is blocked
}

// tally counts tasks. Where all have to succeed a failed one is open.
func tally(tasks []task.Task, criteria string) counted {
	c := counted{total: len(tasks), open: make([]*task.Task, 0, len(tasks))}
	var blocked []*task.Task
	for i := range tasks {
		t := &tasks[i]
		over := t.Terminal()
		if over && t.Failed() {
			c.failed = append(c.failed, t)
			over = criteria != AllSucceeded
		}
		switch {
		case over:
			c.completed++
		case t.Blocked:
			blocked = append(blocked, t)
		default:
			c.open = append(c.open, t)
		}
	}
	c.open = append(c.open, blocked...)
	return c
}

// percent is rounded, but 100 only when nothing is open.
func (c counted) percent() int {
	if c.total == 0 {
		return 100
	}
	p := (200*c.completed + c.total) / (2 * c.total)
	if c.completed < c.total {
		p = min(p, 99)
	}
	return p
}

// episode is the work so far, without what became of it.
func (s *State) episode(f Facts, c counted, elapsed int64) episode.Episode {
	e := episode.Episode{
		At: f.Now, SessionID: s.SessionID, Source: "session", Iterations: s.Iterations, DurationMS: elapsed, Tokens: s.Tokens,
		Task: names(c.open, namedInTask),
	}
	if len(c.open) == 0 {
		all := make([]*task.Task, len(f.Tasks))
		for i := range f.Tasks {
			all[i] = &f.Tasks[i]
		}
		e.Task = names(all, namedInTask)
	}
	best := -1
	for i, p := range s.History {
		step := episode.Step{At: time.UnixMilli(p.TS), Iteration: p.Iteration, Completed: p.Completed, Total: p.Total, Tokens: p.Tokens}
		if p.Total > 0 {
			step.Progress = float64(p.Completed) / float64(p.Total)
		}
		if i > 0 && p.Completed <= best {
			step.Signals = []string{"no-progress"}
		}
		best = max(best, p.Completed)
		e.Steps = append(e.Steps, step)
	}
	return e
}

// stallPattern says how a stall looked, from the points it lasted.
func (s *State) stallPattern(now time.Time, c counted) string {
	points := s.History[max(0, len(s.History)-s.Stalled):]
	low, high, same := c.completed, c.completed, true
	for _, p := range points {
		low, high = min(low, p.Completed), max(high, p.Completed)
		same = same && p.Total == c.total
	}
	at := fmt.Sprintf("at %d of %d complete", high, c.total)
	if low < high {
		at = fmt.Sprintf("between %d and %d of %d complete", low, high, c.total)
	}
	text := fmt.Sprintf("No progress in %d iterations", s.Stalled)
	if len(points) > 0 {
		text += fmt.Sprintf(" and %d min", max(0, now.UnixMilli()-points[0].TS)/time.Minute.Milliseconds())
	}
	switch {
	case !same:
		return text + ", " + at + ", while the number of tasks changed"
	case low < high:
		return text + ", " + at + ": tasks were completed and opened again"
	}
	return text + ", " + at + ": the same tasks remained"
}

// names lists the subjects of the first tasks in one line.
func names(tasks []*task.Task, most int) string {
	var list []string
	for _, t := range tasks[:min(most, len(tasks))] {
		list = append(list, name(t, nameRunes))
	}
	text := strings.Join(list, ", ")
	if more := len(tasks) - len(list); more > 0 {
		text += fmt.Sprintf(" (+%d more)", more)
	}
	return text
}
