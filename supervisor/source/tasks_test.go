package source

import (
	"context"
	"strings"
	"testing"
	"time"

	"autopilot/sessions/prompt"
	"autopilot/sessions/task"
)

// looking is a source that finds one thing after the other; the last stays.
func looking(found ...task.Found) (*Tasks, *int) {
	n := 0
	return &Tasks{Discover: func(context.Context) task.Found {
		f := found[min(n, len(found)-1)]
		n++
		return f
	}}, &n
}

func has(tasks ...task.Task) task.Found { return task.Found{Tasks: tasks} }

func torn(tasks ...task.Task) task.Found {
	return task.Found{Tasks: tasks, Looks: []task.Look{{Source: task.GitHubIssues, Broken: []task.Fault{{Path: "gh", Why: "no route"}}}}}
}

func one(id, status string, by ...string) task.Task {
	return task.Task{ID: id, Subject: "task " + id, Status: status, Source: task.SwarmTasks, Path: "list.json", BlockedBy: by, Blocked: len(by) > 0}
}

func TestTrack(t *testing.T) {
	t.Parallel()
	src, _ := looking(has(one("1", "done"), one("2", "pending"), one("3", "failed")))
	tr := src.Track(t.Context())
	if tr.Completed != 2 || tr.Failed != 1 || tr.Total != 3 || tr.Percent != 67 || strings.Join(tr.Open, ",") != "task 2" || len(tr.Names) != 3 || tr.Blocked != "" {
		t.Errorf("got %+v", tr)
	}
}

// TestTrackLooksAgain has a place that cannot be read for a while, and then for good.
func TestTrackLooksAgain(t *testing.T) {
	t.Parallel()
	good := has(one("1", "done"), one("2", "pending"))
	src, n := looking(good, torn(), torn(), good, torn())
	src.Again = []time.Duration{time.Millisecond, time.Millisecond}
	src.Track(t.Context())
	if tr := src.Track(t.Context()); tr.Total != 2 || len(tr.Broken) > 0 || *n != 4 {
		t.Errorf("after two bad looks: %+v, %d looks", tr, *n)
	}
	tr := src.Track(t.Context())
	if tr.Total != 2 || tr.Completed != 1 || len(tr.Broken) != 1 || *n != 7 {
		t.Errorf("a place that stays broken: %+v, %d looks; want the last good count and the fault", tr, *n)
	}
	if a := src.Next(Request{}); !strings.Contains(a.Steps[0].Prompt, "- task 2 (pending)") {
		t.Errorf("the prompt forgot the tasks: %q", a.Steps[0].Prompt)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	src.Again = []time.Duration{time.Hour}
	src.Track(ended) // does not wait
}

func TestTrackDeadEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		found task.Found
		want  []string // in the words; none when something can be done
	}{
		{"by a failed one", has(one("a", "failed"), one("b", "pending", "a")), []string{"task b (blocked by a)", "a failed"}},
		{"a ring", has(one("a", "pending", "b"), one("b", "pending", "a")), []string{"task a (blocked by b)", "task b (blocked by a)"}},
		{"one is free", has(one("a", "pending"), one("b", "pending", "a")), nil},
		{"nothing remains", has(one("a", "done")), nil},
	} {
		src, _ := looking(tt.found)
		got := src.Track(t.Context()).Blocked
		if (got == "") != (tt.want == nil) {
			t.Errorf("%s: %q", tt.name, got)
		}
		for _, w := range tt.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q lacks %q", tt.name, got, w)
			}
		}
	}
}

func TestTasksNext(t *testing.T) {
	t.Parallel()
	team := one("3", "in_progress")
	team.Source, team.Path = task.TeamTasks, "/home/x/.claude/tasks/l/3.json"
	src, _ := looking(has(one("1", "done"), one("2", "pending"), team))
	src.Track(t.Context())
	a := src.Next(Request{Stalled: 5, Objective: prompt.Objective{
		Iteration: 6, MaxSessions: 9, Learned: []string{"make it small"}, First: []string{"make test: exit status 2"}, Answer: "blue", Question: "which?",
	}})
	for _, want := range []string{
		"AUTOPILOT: 1/3 tasks complete (33%).", "Iteration 6/9.", "- task 2 (pending)", "Past patterns suggest: make it small", "WARNING: No progress in 5",
		"The tasks are kept in: list.json; your task list (TaskList, TaskUpdate).", "- make test: exit status 2", "The answer: blue",
	} {
		if !strings.Contains(a.Steps[0].Prompt, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, a.Steps[0].Prompt)
		}
	}
	if a.Schema != "" || a.Confidence != 1 || a.Mode != "tasks" || a.Records {
		t.Errorf("assignment %+v", a)
	}
	src.Report = true
	if a := src.Next(Request{}); a.Schema != prompt.ReportSchema {
		t.Error("a session without tools has no way to report")
	}
}
