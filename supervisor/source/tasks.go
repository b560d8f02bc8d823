package source

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/logs"
	"autopilot/sessions"
	"autopilot/sessions/completion"
	"autopilot/sessions/prompt"
	"autopilot/sessions/task"
)

// Tasks works on the tasks of a project until every one is terminal.
type Tasks struct {
	// Discover finds the tasks as they are now.
	Discover func(context.Context) task.Found
	// Again are the pauses after which a look is made again when some place could not
	// be read.
	Again []time.Duration
	// Report is set when the session ends with a report of its own, because it has no
	// tools for that.
	Report bool

	found task.Found // by the last Track
}

// Track is how far tracked work is.
type Track struct {
	task.Count
	Open   []string     `json:"open,omitempty"`   // what remains, in words; the first of them
	Names  []string     `json:"names,omitempty"`  // all tasks; the first of them
	Broken []task.Fault `json:"broken,omitempty"` // places that could not be read
	// Blocked is why nothing of what remains can be done; empty while something can.
	Blocked string   `json:"blocked,omitempty"`
	Empty   []string `json:"empty,omitempty"` // why sources have nothing, when none has anything
	// Person is why a person is needed; empty while none is.
	Person string `json:"person,omitempty"`
	// Failures are the pieces that failed, with why; they say more than their number.
	Failures []string `json:"failures,omitempty"`
	// Moves counts progress that is smaller than a task, where the work knows such.
	Moves int `json:"moves,omitempty"`
}

// shownTasks bounds how many tasks are named.
const shownTasks = 10

// Name is the name of the source.
func (*Tasks) Name() string { return "tasks" }

// Track looks at the tasks. Next speaks of what it has seen. A look that cannot read
// some place is made again after a moment; tasks that it then still misses count as
// they were at the last look.
func (t *Tasks) Track(ctx context.Context) Track {
	found := t.Discover(ctx)
	for _, wait := range t.Again {
		if !broken(found) || !sleep(ctx, wait) {
			break
		}
		found = t.Discover(ctx)
	}
	if broken(found) && len(found.Tasks) < len(t.found.Tasks) {
		found.Tasks = t.found.Tasks
	}
	t.found = found
	remaining := task.Remaining(found.Tasks)
	tr := Track{Count: task.CountOf(found.Tasks), Blocked: blocked(found.Tasks, remaining)}
	for _, x := range first(remaining, shownTasks) {
		tr.Open = append(tr.Open, logs.Redact(x.Subject))
	}
	for _, x := range first(found.Tasks, shownTasks) {
		tr.Names = append(tr.Names, logs.Redact(x.Subject))
	}
	for _, l := range found.Looks {
		tr.Broken = append(tr.Broken, l.Broken...)
		if tr.Total == 0 {
			tr.Empty = append(tr.Empty, l.Source+": "+l.Empty)
		}
	}
	return tr
}

func broken(f task.Found) bool {
	return slices.ContainsFunc(f.Looks, func(l task.Look) bool { return len(l.Broken) > 0 })
}

// sleep reports whether the time has passed.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// blocked says why nothing of what remains can be done: all of it waits for tasks
// that have failed, or wait for each other.
func blocked(all, remaining []task.Task) string {
	if len(remaining) == 0 || slices.ContainsFunc(remaining, func(x task.Task) bool { return !x.Blocked }) {
		return ""
	}
	var words []string
	for _, x := range first(remaining, shownTasks) {
		words = append(words, fmt.Sprintf("%s (blocked by %s)", logs.Redact(x.Subject), strings.Join(x.BlockedBy, ", ")))
	}
	text := "nothing that remains can be done: " + strings.Join(words, "; ")
	for _, x := range all {
		if x.Failed() {
			return text + "; " + x.ID + " failed"
		}
	}
	return text
}

// Next asks for another session on what remains.
func (t *Tasks) Next(r Request) Assignment {
	o := r.Objective
	state := completion.State{
		Settings: completion.Settings{MaxIterations: o.MaxSessions}, Iterations: o.Iteration, Stalled: r.Stalled, Learned: o.Learned,
	}
	var b strings.Builder
	b.WriteString(completion.Prompt(state, t.found.Tasks))
	b.WriteString("\n\n" + t.kept())
	b.WriteString(prompt.Notice(prompt.Objective{Answer: o.Answer, Question: o.Question, First: o.First, Steps: o.Steps}))
	a := Assignment{
		Mode: "tasks", SessionType: "feature", Confidence: 1, Rationale: "tasks remain", Missing: []string{},
		Steps: []sessions.Step{{Prompt: b.String()}}, Manual: "claude " + quote("Continue with the remaining tasks."),
	}
	if t.Report {
		a.Schema = prompt.ReportSchema
	}
	return a
}

// kept says where the status of the remaining tasks has to be set.
func (t *Tasks) kept() string {
	var places []string
	for _, x := range task.Remaining(t.found.Tasks) {
		place := x.Path
		if x.Source == task.TeamTasks {
			place = "your task list (TaskList, TaskUpdate)"
		}
		if place == "" {
			place = x.Source
		}
		if !slices.Contains(places, place) && len(places) < shownTasks {
			places = append(places, place)
		}
	}
	return "The tasks are kept in: " + strings.Join(places, "; ") + ". Set the status of a task there as soon as it is done and checked; " +
		"set it to failed or cancelled when it cannot be done, and say why. The run ends when every task has such a status.\n"
}

func first[T any](list []T, n int) []T { return list[:min(len(list), n)] }
