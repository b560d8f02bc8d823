package drive

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"autopilot/sessions/prompt"
	"autopilot/supervisor/source"
	"autopilot/supervisor/tdd"
)

const (
	maxRules = 32 << 10 // bytes of one file of the project
	maxField = 4000     // runes of a field of a task
)

// prompt is what the session of the next step is told: the project's rules, the task,
// and what to do.
func (s *Source) prompt(r source.Request) string {
	n := s.next
	files := s.Rules
	if n.Action == tdd.ActionRed && s.Generator != "" {
		files = append(append([]string{}, files...), s.Generator)
	}
	var parts []string
	for _, f := range files {
		if text := s.read(s.Repo, f); text != "" {
			parts = append(parts, text)
		}
	}
	parts = append(parts, "<TASK CONTEXT>", taskContext(n), "<INSTRUCTION>", s.instruction(n))
	if notice := prompt.Notice(prompt.Objective{Answer: r.Objective.Answer, Question: r.Objective.Question, First: r.Objective.First, Steps: r.Objective.Steps, Learned: r.Objective.Learned}); notice != "" {
		parts = append(parts, notice)
	}
	return strings.Join(parts, "\n\n")
}

// read is a regular file below a folder, or nothing.
func (s *Source) read(dir, name string) string {
	if dir == "" {
		return ""
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRules))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
}

func taskContext(n tdd.Next) string {
	var b strings.Builder
	if w := n.Subtask; w != nil {
		fmt.Fprintf(&b, "Subtask %s: %s\n", w.ID, prompt.Cut(w.Title, maxField))
		for _, f := range [][2]string{{"Description", w.Description}, {"Details", w.Details}, {"Test strategy", w.TestStrategy}} {
			if f[1] != "" {
				fmt.Fprintf(&b, "%s: %s\n", f[0], prompt.Cut(f[1], maxField))
			}
		}
		if w.Attempt > 1 {
			fmt.Fprintf(&b, "Attempt: %d of %d\n", w.Attempt, w.MaxAttempts)
		}
	}
	if c := n.Context; c != nil {
		fmt.Fprintf(&b, "Branch: %s\n", c.Branch)
		for _, f := range [][2]string{
			{"Test command", c.TestCommand}, {"Test files match", c.TestPattern}, {"Existing tests", list(c.ExistingTests)}, {"Failing tests", list(c.FailingTests)}, {"Changed so far", list(c.ChangedFiles)},
		} {
			if f[1] != "" {
				fmt.Fprintf(&b, "%s: %s\n", f[0], f[1])
			}
		}
		if c.LastRefusal != "" {
			fmt.Fprintf(&b, "The last attempt was refused: %s\n", prompt.Cut(c.LastRefusal, maxField))
		}
	}
	return strings.TrimSpace(b.String())
}

// shown bounds a list in a prompt.
const shown = 40

func list(names []string) string {
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// bounds are said in every instruction.
const bounds = "You are in one step of a test-driven run that autopilot supervises. It runs the tests itself when you stop, makes the commits, and decides what comes next. " +
	"Do this step and nothing else, then stop. Do not commit, do not switch branches, do not change .taskmaster/, and do not run 'autopilot tdd'."

// instruction says what to do. A template of the person's takes the place of our words.
func (s *Source) instruction(n tdd.Next) string {
	text := s.read(s.Templates, n.Action+".md")
	if text == "" {
		text = ours(n)
	}
	id, title, branch, command := "", "", "", ""
	if n.Subtask != nil {
		id, title = n.Subtask.ID, n.Subtask.Title
	}
	if n.Context != nil {
		branch, command = n.Context.Branch, n.Context.TestCommand
	}
	text = strings.NewReplacer("{id}", id, "{title}", title, "{branch}", branch, "{testCommand}", command).Replace(text)
	if s.Believe {
		text += "\n\nRun the tests before you stop, and put the numbers of that run into your report: they decide whether this step is done."
	}
	return text + "\n\n" + bounds
}

func ours(n tdd.Next) string {
	switch n.Action {
	case tdd.ActionRed:
		return "RED: write tests for subtask {id}, and only tests. They describe the behavior that the subtask asks for and that is not there yet, so they have to fail now, " +
			"for that reason and no other. Follow the form of the existing tests. Change no code that is not a test. Run the tests once to see them fail."
	case tdd.ActionGreen:
		return "GREEN: write the smallest code for subtask {id} that makes all tests pass. Leave the tests of the red step as they are: do not delete, skip or weaken one. " +
			"Run the whole test command and go on until everything passes."
	case tdd.ActionCommit:
		return "COMMIT: the commit of subtask {id} did not go through; above is why. Mend what it says, without changing what the tests ask for. The tests have to pass afterwards. The commit is made for you then."
	case tdd.ActionFinalize:
		return "FINALIZE: every subtask is complete, but the whole suite does not let the run end; above is why. Mend it, without deleting, skipping or weakening a test. The commit is made for you then."
	}
	return n.Instructions
}
