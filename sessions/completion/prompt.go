package completion

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"autopilot/sessions/task"
)

const (
	shownTasks    = 5
	subjectRunes  = 120
	statusRunes   = 30
	blockerRunes  = 24
	shownBlockers = 3
	shownLessons  = 3
	lessonRunes   = 200
)

// Prompt is what an agent that is sent on is told. It has less than 9,000 bytes
// whatever the tasks are called, because Claude Code cuts what a hook says at 10,000
// characters. Texts of tasks are data: each stays within its line.
func Prompt(s State, tasks []task.Task) string {
	return prompt(s, tasks, tally(tasks, s.Criteria))
}

func prompt(s State, tasks []task.Task, c counted) string {
	var b strings.Builder
	fmt.Fprintf(&b, "AUTOPILOT: %d/%d tasks complete (%d%%).\n", c.completed, c.total, c.percent())
	if s.MaxIterations > 0 {
		fmt.Fprintf(&b, "Iteration %d/%d.\n", s.Iterations, s.MaxIterations)
	} else {
		fmt.Fprintf(&b, "Iteration %d.\n", s.Iterations)
	}
	b.WriteString("Remaining tasks:\n")
	for _, t := range c.open[:min(shownTasks, len(c.open))] {
		b.WriteString("- " + describe(t, tasks) + "\n")
	}
	if more := len(c.open) - shownTasks; more > 0 {
		fmt.Fprintf(&b, "... and %d more\n", more)
	}
	var lessons []string
	for _, l := range s.Learned[:min(shownLessons, len(s.Learned))] {
		if l = line(l, lessonRunes); l != "" {
			lessons = append(lessons, l)
		}
	}
	if len(lessons) > 0 {
		b.WriteString("Past patterns suggest: " + strings.Join(lessons, "; ") + "\n")
	}
	if s.Stalled >= StallWarning {
		fmt.Fprintf(&b, "WARNING: No progress in %d iterations. Consider:\n", s.Stalled)
		b.WriteString("- splitting what remains into smaller subtasks\n")
		b.WriteString("- taking a different approach\n")
		b.WriteString("- finding out whether tasks are blocked on external dependencies\n")
	}
	b.WriteString("Continue working on the remaining tasks. Do not stop until all are complete.")
	return b.String()
}

// describe is one task in one line.
func describe(t *task.Task, all []task.Task) string {
	text := name(t, subjectRunes) + " (" + cmp.Or(line(t.Status, statusRunes), "unknown") + ")"
	if t.Blocked {
		text += " (blocked by " + blockers(t, all) + ")"
	}
	if t.Dead {
		text += " (the agent that had it is gone: take it over)"
	}
	return text
}

// blockers names what a task waits for: of the tasks it names those that are not
// over, if that can be told.
func blockers(t *task.Task, all []task.Task) string {
	waits := make(map[string]bool, len(t.BlockedBy))
	for _, id := range t.BlockedBy {
		waits[id] = true
	}
	for i := range all {
		o := &all[i]
		if o.Source == t.Source && o.List == t.List && waits[o.ID] && o.Terminal() {
			waits[o.ID] = false
		}
	}
	open := slices.DeleteFunc(slices.Clone(t.BlockedBy), func(id string) bool { return !waits[id] })
	if len(open) == 0 {
		open = t.BlockedBy
	}
	if len(open) == 0 {
		return "other tasks"
	}
	var shown []string
	for _, id := range open[:min(shownBlockers, len(open))] {
		shown = append(shown, line(id, blockerRunes))
	}
	text := strings.Join(shown, ", ")
	if more := len(open) - shownBlockers; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// name is what a task is called, in one line.
func name(t *task.Task, runes int) string {
	return cmp.Or(line(t.Subject, runes), line(t.ID, runes), "task without a name")
}

// line makes one line of at most so many runes of a text that somebody else wrote.
// Control characters become blanks; marks that reverse the direction of what
// follows, and so the words of others, go.
func line(text string, runes int) string {
	// A text of megabytes is not worth looking at as a whole.
	if most := utf8.UTFMax * (runes + 1) * 4; len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most]
	}
	var b strings.Builder
	n, gap := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			gap = n > 0
			continue
		}
		if unicode.Is(unicode.Bidi_Control, r) {
			continue
		}
		if gap {
			b.WriteByte(' ')
			n, gap = n+1, false
		}
		b.WriteRune(r)
		if n++; n > runes {
			return cut(b.String(), runes)
		}
	}
	return b.String()
}

// cut shortens a text that is longer than so many runes, and shows that.
func cut(text string, runes int) string {
	for i := range text {
		if runes--; runes == 0 {
			return strings.TrimRight(text[:i], " ") + "…"
		}
	}
	return text
}
