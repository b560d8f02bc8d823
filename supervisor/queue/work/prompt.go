package work

import (
	"fmt"
	"path/filepath"
	"strings"

	"autopilot/sessions"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/source"
)

// Next asks for a session on the item in progress.
func (s *Source) Next(r source.Request) source.Assignment {
	a := source.Assignment{Mode: "queue", SessionType: "feature", Confidence: 1, Missing: []string{}, Schema: prompt.ReportSchema, Manual: "autopilot queue list"}
	if first := r.Objective.First; s.item == nil && len(first) > 0 { // the checks of the whole run
		var b strings.Builder
		list(&b, "Everything in the queue is done, but these checks, made from outside, fail. Put them right:", first)
		a.Rationale, a.Steps = "checks of the run fail", []sessions.Step{{Prompt: b.String()}}
		return a
	}
	if s.item == nil { // the queue was emptied meanwhile
		a.Mode, a.Confidence, a.Rationale = "", 0, "no item of the queue can be begun"
		return a
	}
	if s.Promise != "" { // a form for the answer would leave no place for it; the report comes through a tool
		a.Schema = ""
	}
	s.given, a.Work = s.item.ID, s.item.ID
	if s.repair != "" {
		a.Notice = "\n\n" + s.repair // also for a conversation that goes on with a prompt of its own
	}
	a.Rationale = fmt.Sprintf("%s is the next item of the queue", s.item.ID)
	a.Steps = []sessions.Step{{Prompt: s.prompt(r)}}
	return a
}

func (s *Source) prompt(r source.Request) string {
	var b strings.Builder
	o := r.Objective
	if s.item.Kind == queue.Increment {
		s.increment(&b)
	} else {
		fmt.Fprintf(&b, "Work towards this goal:\n\n%s\n\n", s.item.Title)
		list(&b, "It is reached when these commands, run from outside, succeed:", s.item.Verify)
	}
	fmt.Fprintf(&b, "This is session %d on it, and session %d of at most %d of the whole run. Look at the repository first: earlier sessions may have done part of it.\n\n", s.item.Sessions+1, o.Iteration, o.MaxSessions)
	if s.repair != "" {
		b.WriteString(s.repair + "\n\n")
	}
	list(&b, "It was said to be done, but these checks, made from outside, fail. Put them right first:", s.first)
	list(&b, "Earlier work in this repository suggests (check before you rely on it):", o.Learned)
	b.WriteString("Work on this item only; others come later. Leave the repository in a state in which the next session can go on. " +
		"End with the structured report. If only a person can decide something, put the question into needs_person.\n")
	b.WriteString(prompt.Promise(s.Promise))
	b.WriteString(prompt.Notice(prompt.Objective{Answer: o.Answer, Question: o.Question, First: o.First, Steps: o.Steps}))
	return b.String()
}

// openShown bounds how many open tasks a prompt names; the file has all of them.
const openShown = 30

func (s *Source) increment(b *strings.Builder) {
	dir := s.part.inc.Dir
	if rel, err := filepath.Rel(s.Repo, dir); err == nil {
		dir = filepath.ToSlash(rel)
	}
	fmt.Fprintf(b, "Work on the increment %s: %s\n\nWhat it is stands in %s/spec.md, how it is to be done in plan.md, its tasks in tasks.md of the same folder.\n", s.item.ID, s.item.Title, dir)
	open := s.part.open()
	switch {
	case s.part.total == 0:
		b.WriteString("tasks.md has no tasks yet. Write them first, in the order of the work, each as a heading '### T-001: title' with a line '**Status**: [ ] pending' below it.\n\n")
	case len(open) == 0:
		b.WriteString("All of its tasks are marked as done.\n\n")
	default:
		fmt.Fprintf(b, "%d of %d tasks are done.\n\n", s.part.done, s.part.total)
		list(b, "Open tasks:", open[:min(len(open), openShown)])
	}
	b.WriteString("Mark a task in tasks.md as completed, its check box included, as soon as it is done and checked, and not before. Leave metadata.json alone: the status of the increment is kept by autopilot.\n\n")
}

func list(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	b.WriteString(title + "\n")
	for _, x := range items {
		b.WriteString("- " + prompt.Cut(strings.Join(strings.Fields(x), " "), longest) + "\n")
	}
	b.WriteString("\n")
}

const longest = 300 // runes of an entry of a list
