package tool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"autopilot/sessions/prompt"
	"autopilot/supervisor/tdd"
)

// Bounds of what goes out.
const (
	shownItems  = 50
	shownDetail = 8000 // characters of a text of the subtask
	shownOutput = 4000 // bytes of the output of the tests
	shownLine   = 300
)

// line keeps foreign text from breaking out of its line.
func line(s string) string { return prompt.Cut(strings.Join(strings.Fields(s), " "), shownLine) }

// sentence is a text with a dot at its end, or nothing.
func sentence(s string) string {
	if s = strings.TrimRight(strings.TrimSpace(s), "."); s == "" {
		return ""
	}
	if strings.ContainsAny(s[len(s)-1:], "!?:") {
		return s
	}
	return s + "."
}

// lines joins what is not empty.
func lines(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
}

func warnings(list []string) string {
	var out []string
	for _, w := range list {
		out = append(out, "Warning: "+sentence(line(w)))
	}
	return strings.Join(out, "\n")
}

func nextText(n tdd.Next) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Next: %s", n.Action)
	if s := n.Subtask; s != nil {
		fmt.Fprintf(&b, " of subtask %s (%s), attempt %d of %d", s.ID, line(s.Title), s.Attempt, s.MaxAttempts)
	}
	return b.String() + ". " + sentence(n.Instructions)
}

func startedText(s tdd.Started) string {
	return lines(
		fmt.Sprintf("Run %s of task %s (%s) is on branch %s, with %s to do.", s.RunID, s.TaskID, line(s.Title), s.Branch, count(s.Subtasks, "subtask")),
		warnings(s.Warnings), nextText(s.NextAction))
}

func judgedText(j tdd.Judged) string {
	verdict := "Not complete: "
	if j.Validated {
		verdict = ""
	}
	var w []string
	if j.Warning != "" {
		w = []string{j.Warning}
	}
	return lines(verdict+sentence(line(j.Message)), sentence(line(j.Suggestion)), warnings(w), nextText(j.NextAction))
}

func committedText(c tdd.Committed) string {
	subject, _, _ := strings.Cut(c.Message, "\n")
	text := "Commit " + c.CommitSHA[:min(len(c.CommitSHA), 7)]
	if subject != "" {
		text += ": " + line(subject)
	}
	return lines(text, warnings(c.Warnings), nextText(c.NextAction))
}

func resumedText(r tdd.Resumed) string {
	if !r.Resumed {
		return lines("Nothing was resumed.", nextText(r.NextAction))
	}
	return lines("Run "+r.RunID+" goes on.", nextText(r.NextAction))
}

func finalizedText(f tdd.Finalized) string {
	text := fmt.Sprintf("Branch %s has %s of this run.", f.Branch, count(f.Commits, "commit"))
	if f.Pushed != "" {
		text += " It was pushed to " + line(f.Pushed) + "."
	}
	return lines(sentence(line(f.Message)), text)
}

func stoppedText(s tdd.Stopped) string {
	text := "There was nothing to abort."
	if s.Aborted {
		text = "Run " + s.RunID + " is aborted."
		if s.Deleted {
			text = "Run " + s.RunID + " is aborted; its branch and its state are deleted."
		}
	}
	return lines(text, sentence(line(s.Note)))
}

func standingText(s tdd.Standing) string {
	where := string(s.CurrentPhase)
	if s.CurrentSubtask != "" {
		where += fmt.Sprintf(" of subtask %s, attempt %d of %d", s.CurrentSubtask, s.AttemptNumber, s.MaxAttempts)
	}
	done := len(s.Progress.Completed)
	all := done + len(s.Progress.Remaining)
	if s.Progress.Current != "" {
		all++
	}
	text := fmt.Sprintf("Run %s of task %s (%s) on branch %s is %s: %s. %d of %s complete, %s, %s.",
		s.RunID, s.TaskID, line(s.TaskTitle), s.Branch, s.Status, where, done, count(all, "subtask"), count(s.Commits, "commit"), s.Duration)
	if s.Why != "" {
		text += " " + sentence(line(s.Why))
	}
	return text
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// some are as many items as an answer takes, with the number of the others in the last
// place. It is never nil.
func some(list []string) []string {
	if len(list) <= shownItems {
		return append([]string{}, list...)
	}
	return append(slices.Clone(list[:shownItems]), fmt.Sprintf("and %d more", len(list)-shownItems))
}

// full has lists where there are none.
func full(p tdd.Progress) tdd.Progress {
	p.Completed, p.Remaining = append([]string{}, p.Completed...), append([]string{}, p.Remaining...)
	return p
}

func shortNext(n tdd.Next) tdd.Next {
	if n.Subtask != nil {
		s := *n.Subtask
		s.Title = line(s.Title)
		for _, text := range []*string{&s.Description, &s.Details, &s.TestStrategy} {
			*text = prompt.Cut(*text, shownDetail)
		}
		n.Subtask = &s
	}
	if n.Context != nil {
		c := *n.Context
		c.ExistingTests, c.FailingTests, c.ChangedFiles = some(c.ExistingTests), some(c.FailingTests), some(c.ChangedFiles)
		n.Context = &c
	}
	return n
}

func shortMeasured(m *tdd.Measured) *tdd.Measured {
	if m == nil {
		return nil
	}
	s := *m
	s.Failing = some(m.Failing)
	if at := len(m.Output) - shownOutput; at > 0 {
		s.Output = strings.ToValidUTF8("…"+m.Output[at:], "")
	}
	return &s
}

// isNone reports whether an error says that there is no run.
func isNone(err error) bool {
	r, ok := errors.AsType[*tdd.Refusal](err)
	return ok && r.Kind == tdd.Invalid
}
