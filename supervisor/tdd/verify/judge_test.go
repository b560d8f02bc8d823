package verify

import (
	"fmt"
	"strings"
	"testing"

	"autopilot/supervisor/tdd"
)

// honest is a claim and the facts that bear it out.
func honest() (Claim, Facts) {
	c := exampleClaim()
	c.Tests = &Tests{Passed: 12, Skipped: 2}
	return c, Facts{
		Template: usualTemplate, TaskFile: InCommit, TaskPath: "tasks.json", Title: "Say  hello - to a\nname", Status: "done",
		Files: []string{"greet.go", "greet_test.go", "tasks.json"}, Tests: []string{"greet_test.go"},
		Run: &Run{TaskID: "1", Tag: "master", Counts: &tdd.Results{Passed: 12, Skipped: 2, Total: 14}},
	}
}

// closing is the commit that completes the task.
func closing() (Claim, Facts) {
	c, f := honest()
	c.Subject, c.Type, c.Scope, c.Summary = "chore(tasks): complete task 1 (task 1)", "chore", "tasks", "complete task 1"
	c.TaskID, c.Title, c.Phase, c.Step, c.Tests, c.Coverage = "1", "Greeter", phaseFinalize, "finalize-2", nil, nil
	f.Title, f.Files, f.Tests, f.Run.Counts = "Greeter", []string{"tasks.json"}, nil, nil
	return c, f
}

// mending is a commit of what the whole suite found.
func mending() (Claim, Facts) {
	c, f := closing()
	c.Subject, c.Type, c.Scope, c.Summary = "fix(greet): mend what the full test suite found (task 1)", "fix", "greet", "mend what the full test suite found"
	c.Tests, f.Status, f.Files = &Tests{Passed: 3}, "pending", []string{"greet.go"}
	return c, f
}

// said is what the findings say: broken rules with "!", others with what they could not
// look at.
func said(list []Finding) string {
	var out []string
	for _, f := range list {
		switch {
		case !f.OK:
			out = append(out, fmt.Sprintf("!%s: %s", f.Rule, f.Detail))
		case f.Detail != "":
			out = append(out, fmt.Sprintf("%s: %s", f.Rule, f.Detail))
		}
	}
	return strings.Join(out, "; ")
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		of     func() (Claim, Facts)
		change func(*Claim, *Facts)
		want   string
	}{
		{"honest", honest, func(*Claim, *Facts) {}, ""},
		{"closing", closing, func(*Claim, *Facts) {}, ""},
		{"mending", mending, func(*Claim, *Facts) {}, ""},

		{"another type", honest, func(c *Claim, _ *Facts) { c.Type, c.Subject = "wip", "wip: x" }, `!message: the subject "wip: x" is neither conventional nor of the form ` + usualTemplate},
		{"the subject names another task", honest, func(c *Claim, _ *Facts) { c.Subject = "feat(greet): x (task 1.2)" }, "!message: the subject names task 1.2, the line Task names 1.1"},
		{"another template", honest, func(c *Claim, f *Facts) { f.Template, c.Type, c.Subject = "[{taskId}] {msg}", "", "[1.1] say hello" }, ""},
		{"another template names another task", honest, func(c *Claim, f *Facts) { f.Template, c.Type, c.Subject = "[{taskId}] {msg}", "", "[1.2] say hello" }, "!message: the subject names task 1.2"},
		{"an older form", honest, func(_ *Claim, f *Facts) { f.Template = "[{taskId}] {msg}" }, ""},
		{"an older form names another task", honest, func(c *Claim, f *Facts) { f.Template, c.Subject = "[{taskId}] {msg}", "feat: x (task 1.2)" }, "!message: the subject names task 1.2"},
		{"a template without an id", honest, func(c *Claim, f *Facts) { f.Template, c.Subject = "{type}: {msg}", "feat: say hello" }, ""},
		{"signs of regular expressions", honest, func(c *Claim, f *Facts) { f.Template, c.Type, c.Subject = "+({scope}) {msg}*", "", "+ say hello*" }, ""},
		{"id and summary without a gap", honest, func(c *Claim, f *Facts) { f.Template, c.Type, c.Subject = "{taskId}{msg}", "", "1.1say hello" }, ""},
		{"an unknown phase", honest, func(c *Claim, _ *Facts) { c.Phase = "REVIEW" }, `!message: there is no phase "REVIEW"`},
		{"the task as a subtask", honest, func(c *Claim, f *Facts) { c.TaskID, c.Step, c.Subject = "1", "1", "feat: x" }, "!message: 1 is not what a commit in the phase COMMIT is about"},
		{"the run was at another subtask", honest, func(c *Claim, _ *Facts) { c.Step = "1.2" }, "!message: the line Autopilot-Run names 1.2, the line Task 1.1"},
		{"the run was not at its end", closing, func(c *Claim, _ *Facts) { c.Step = "1.1" }, "!message: the line Autopilot-Run names 1.1 in the phase FINALIZE"},

		{"no such task", honest, func(_ *Claim, f *Facts) { f.Problem, f.Title, f.Status = "tasks.json has no task 1", "", "" }, "!task: tasks.json has no task 1"},
		{"the task file is removed", honest, func(_ *Claim, f *Facts) { f.TaskFile = Removed }, "!task: the commit removes tasks.json"},
		{"the task file is ignored", honest, func(_ *Claim, f *Facts) { f.TaskFile, f.Problem, f.Status = Nowhere, "none", "" }, "task: the task file is not versioned"},
		{"another title", honest, func(c *Claim, _ *Facts) { c.Title = "Shout" }, `!title: the message says "Shout", the task is "Say hello - to a name"`},
		{"no title", honest, func(c *Claim, _ *Facts) { c.Title = "" }, `!title: the message says ""`},
		{"not done", honest, func(_ *Claim, f *Facts) { f.Status = "in-progress" }, `!status: 1.1 is "in-progress", not done`},
		{"without a status", honest, func(_ *Claim, f *Facts) { f.Status = "" }, `!status: 1.1 is without a status, not done`},
		{"closing what is not done", closing, func(_ *Claim, f *Facts) { f.Status = "pending" }, `!status: 1 is "pending", not done`},

		{"a run that is not known", honest, func(_ *Claim, f *Facts) { f.Run = nil }, "run: the run is not known here: its task and its numbers are not compared"},
		{"a run of another task", honest, func(_ *Claim, f *Facts) { f.Run.TaskID = "2" }, "!run: the run is one of task 2 under the tag master"},
		{"a run of another tag", honest, func(_ *Claim, f *Facts) { f.Run.Tag = "next" }, "!run: the run is one of task 1 under the tag next"},
		{"a tag that a message cannot hold", honest, func(c *Claim, f *Facts) { f.Run.Tag, c.Tag = "a\tb", "a b" }, ""},

		{"nothing but the task file", honest, func(_ *Claim, f *Facts) { f.Files = []string{"tasks.json"} }, "!work: nothing beside the task file was changed"},
		{"nothing at all", honest, func(_ *Claim, f *Facts) { f.Files = nil }, "!work: nothing beside the task file was changed"},
		{"committed by others before", honest, func(_ *Claim, f *Facts) { f.Files, f.Earlier = []string{"tasks.json"}, []string{"a_test.go"} }, ""},
		{"only the task file by others", honest, func(_ *Claim, f *Facts) { f.Files, f.Earlier = nil, []string{"tasks.json"} }, "!work: nothing beside"},
		{"already implemented", honest, func(c *Claim, f *Facts) {
			c.Implemented, c.Type, f.Files, f.Tests = true, "test", []string{"tasks.json"}, nil
		}, ""},
		{"no test among them", honest, func(_ *Claim, f *Facts) { f.Tests = nil }, "work: no changed file is recognised as one of tests"},
		{"docs", honest, func(c *Claim, f *Facts) { c.Type, f.Tests = "docs", nil }, ""},
		{"more in the last commit", closing, func(_ *Claim, f *Facts) { f.Files = append(f.Files, "x.go") }, "work: it changes 1 files beside the task file"},

		{"no numbers", honest, func(c *Claim, _ *Facts) { c.Tests = nil }, "!tests: the message names no numbers of tests"},
		{"a test fails", honest, func(c *Claim, _ *Facts) { c.Tests.Failed = 2 }, "!tests: 2 tests fail"},
		{"a test fails in what was mended", mending, func(c *Claim, _ *Facts) { c.Tests.Failed = 2 }, "!tests: 2 tests fail"},
		{"more pass", honest, func(c *Claim, _ *Facts) { c.Tests.Passed = 99 }, "!tests: the message says 99 passing, 2 skipped, the run has kept 12 passing, 2 skipped"},
		{"fewer are skipped", honest, func(c *Claim, _ *Facts) { c.Tests.Skipped = 0 }, "!tests: the message says 12 passing, the run"},
		{"numbers that are not kept", honest, func(_ *Claim, f *Facts) { f.Run.Counts = nil }, "tests: the numbers of the run are not known here"},
	} {
		c, f := tt.of()
		tt.change(&c, &f)
		got := said(Judge(c, f))
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" || strings.Count(got, "!") != strings.Count(tt.want, "!") {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
