package runs

import (
	"fmt"
	"strings"
	"time"

	"autopilot/supervisor/tdd"
)

const textRunes = 300 // of one text in a report

// Text is the report in lines, one thing in each. It has no control characters beside
// their ends.
func (r Report) Text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		if text := oneLine(fmt.Sprintf(format, args...)); text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, text)
		}
	}
	line("run", "%s", r.RunID)
	line("task", "%s %s (tag %s)", r.TaskID, short(r.TaskTitle), r.Tag)
	line("branch", "%s", r.Branch)
	line("status", "%s", r.standing())
	line("why", "%s", short(r.Why))
	line("note", "%s", short(r.Note))
	line("started", "%s", r.StartTime.UTC().Format(time.RFC3339))
	line("duration", "%s", r.Duration)
	line("commits", "%d", r.TotalCommits)
	line("baseline", "%s", r.Baseline.words())
	for _, p := range r.Subtasks {
		line("subtask", "%s", p.words())
		line("  red", "%s", p.Red.words())
		line("  green", "%s", p.Green.words())
		line("  commit", "%s %s", p.Commit, short(p.Subject))
	}
	line("final", "%s", r.Final.words())
	if r.Coverage != nil {
		line("coverage", "%s", coverage(*r.Coverage))
	}
	for _, i := range r.Incidents {
		line(i.Kind, "%s", i.words())
	}
	return b.String()
}

func (r Report) standing() string {
	s := string(r.Status)
	if r.Status.Over() || r.Phase == "" {
		return s
	}
	if r.Subtask == "" {
		return s + " at " + string(r.Phase)
	}
	return fmt.Sprintf("%s at %s of %s", s, r.Phase, r.Subtask)
}

func (n *Numbers) words() string {
	if n == nil {
		return ""
	}
	s := n.Words()
	if n.Broken > 0 {
		s += fmt.Sprintf(", %d broken", n.Broken)
	}
	if !n.Measured {
		s += " (reported)"
	}
	return s
}

func (p Part) words() string {
	s := fmt.Sprintf("%s %s", p.ID, p.Status)
	if p.Attempts > 0 {
		s += fmt.Sprintf(", attempts %d", p.Attempts)
	}
	if p.Duration != "" {
		s += ", " + p.Duration
	}
	if p.Title != "" {
		s += ": " + short(p.Title)
	}
	return s
}

func (i Incident) words() string {
	words := []string{i.TS.UTC().Format(time.RFC3339), i.Subtask, i.Phase}
	if i.Attempt > 0 {
		words = append(words, fmt.Sprintf("attempt %d", i.Attempt))
	}
	return strings.Join(words, " ") + ": " + short(i.Text)
}

func coverage(c tdd.Coverage) string {
	var parts []string
	for _, k := range []struct {
		name string
		have *float64
	}{{"lines", c.Lines}, {"branches", c.Branches}, {"functions", c.Functions}, {"statements", c.Statements}} {
		if k.have != nil {
			parts = append(parts, k.name+" "+tdd.Percent(*k.have))
		}
	}
	return strings.Join(parts, ", ")
}

// short is a text in one line of limited length.
func short(text string) string {
	text = oneLine(text)
	if runes := []rune(text); len(runes) > textRunes {
		return string(runes[:textRunes]) + ellipsis
	}
	return text
}
