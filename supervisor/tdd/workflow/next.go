package workflow

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/suite"
)

// Next says what has to be done now. It writes nothing and takes no lock.
func (w Workflow) Next(context.Context) (tdd.Next, error) {
	st, err := w.Store.Peek()
	if err != nil {
		return tdd.Next{}, noRun(err)
	}
	if r, ok := notWorking(&st).(*tdd.Refusal); ok && r != nil && !st.Status.Over() && st.Status != tdd.OnHold {
		return tdd.Next{}, r
	}
	return w.next(&st), nil
}

func (w Workflow) next(st *tdd.State) tdd.Next {
	n := tdd.Next{Action: action(st)}
	switch n.Action {
	case tdd.ActionComplete, tdd.ActionPaused:
		n.Instructions = w.instructions(st, n.Action)
		return n
	}
	n.Subtask = w.subtask(st)
	n.Context = w.context(st)
	n.Instructions = w.elsewhere(st) + w.instructions(st, n.Action)
	return n
}

// elsewhere says that the work tree is on another branch. Git is not asked, which would
// take longer than all the rest.
func (w Workflow) elsewhere(st *tdd.State) string {
	data, err := os.ReadFile(filepath.Join(w.Repo.GitDir, "HEAD"))
	branch, named := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: refs/heads/")
	if err != nil || strings.HasSuffix(branch, ".invalid") || named && branch == st.Branch { // the latter: refs are kept in tables
		return ""
	}
	if !named {
		branch = ""
	}
	return fmt.Sprintf("First: git switch %s; the work tree is on %s. ", st.Branch, branchWords(branch))
}

func action(st *tdd.State) string {
	switch {
	case st.Status.Over():
		return tdd.ActionComplete
	case st.Status == tdd.OnHold:
		return tdd.ActionPaused
	}
	return map[tdd.At]string{tdd.Red: tdd.ActionRed, tdd.Green: tdd.ActionGreen, tdd.Commit: tdd.ActionCommit, tdd.Finalize: tdd.ActionFinalize}[st.CurrentPhase]
}

// subtask is the current subtask as its file has it now.
func (w Workflow) subtask(st *tdd.State) *tdd.Work {
	if st.CurrentSubtask == "" {
		return nil
	}
	out := &tdd.Work{ID: st.CurrentSubtask, Title: st.Title(st.CurrentSubtask), Attempt: st.AttemptNumber, MaxAttempts: st.MaxAttempts}
	now := st
	if stamp := w.stamp(st); stamp == "" || stamp != st.TasksStamp {
		fresh := *st
		fresh.Subtasks = slices.Clone(st.Subtasks)
		w.reread(&fresh)
		now = &fresh
	}
	if i := slices.IndexFunc(now.Subtasks, func(s tdd.Subtask) bool { return s.ID == st.CurrentSubtask }); i >= 0 {
		s := now.Subtasks[i]
		out.Title, out.Description, out.Details, out.TestStrategy = s.Title, s.Description, s.Details, s.TestStrategy
	}
	return out
}

// stamp tells one content of the task file from another; empty when there is none.
func (w Workflow) stamp(st *tdd.State) string {
	info, err := os.Stat(filepath.Join(w.Repo.Top, filepath.FromSlash(st.TasksFile)))
	if err != nil || st.TasksFile == "" {
		return ""
	}
	return fmt.Sprintf("%d-%d", info.Size(), info.ModTime().UnixNano())
}

// refresh keeps the texts of the subtasks in the state, so that who asks what is next
// need not wait for a large file to be read. It changes nothing where they are known.
func (w Workflow) refresh(st *tdd.State) {
	stamp := w.stamp(st)
	if stamp == st.TasksStamp {
		return
	}
	st.Subtasks, st.TasksStamp = slices.Clone(st.Subtasks), ""
	if w.reread(st) && w.stamp(st) == stamp { // it may have been written in between
		st.TasksStamp = stamp
	}
}

// maxTexts bounds the texts of all subtasks in a state, in bytes.
const maxTexts = 256 << 10

// reread takes the texts of the subtasks from their file. What the file has no more
// stays as it was known. It reports whether they are few enough to be kept.
func (w Workflow) reread(st *tdd.State) bool {
	f, err := w.tasks(st)
	if err != nil {
		return false
	}
	t, err := f.Task(st.TaskID)
	if err != nil {
		return false
	}
	st.TaskTitle = t.Title
	size := 0
	for _, now := range t.Subtasks {
		i := slices.IndexFunc(st.Subtasks, func(s tdd.Subtask) bool { return s.ID == now.ID })
		if i < 0 {
			continue
		}
		s := &st.Subtasks[i]
		s.Title, s.Description, s.Details, s.TestStrategy = now.Title, now.Description, now.Details, now.TestStrategy
		size += len(s.Title) + len(s.Description) + len(s.Details) + len(s.TestStrategy)
	}
	return size <= maxTexts
}

func (w Workflow) context(st *tdd.State) *tdd.Context {
	c := &tdd.Context{ProjectRoot: w.Repo.Top, Branch: st.Branch, TestPattern: w.Settings.TestPattern, ExistingTests: []string{}, LastRefusal: st.Why}
	c.TestCommand = st.Rules.TestCommand
	if c.TestPattern == "" {
		c.TestPattern = suite.Pattern(suite.Runner(st.Rules.TestRunner))
	}
	if st.Baseline != nil {
		c.ExistingTests = append(c.ExistingTests, st.Baseline.Files...)
	}
	c.FailingTests = st.NextAction.Context.FailingTests
	if st.CurrentPhase != tdd.Red {
		c.ChangedFiles = append(c.ChangedFiles, st.NextAction.Context.TestFiles...)
		c.ChangedFiles = append(c.ChangedFiles, st.NextAction.Context.ImplementationFiles...)
	}
	return c
}

// instructions say in words what has to be done.
func (w Workflow) instructions(st *tdd.State, action string) string {
	var text string
	switch action {
	case tdd.ActionRed:
		text = "Write tests for this subtask that fail: they ask for behavior that is not there yet. " +
			"Change test files only. Run the tests and report the numbers: " + w.report(st, tdd.Red)
	case tdd.ActionGreen:
		text = "Implement the smallest code that makes the failing tests pass. Leave the tests as they are. " +
			"Run the tests and report the numbers, with the coverage where you have it: " + w.report(st, tdd.Green)
	case tdd.ActionCommit:
		text = "Commit the subtask: " + w.way("autopilot_commit", "autopilot tdd commit "+st.CurrentSubtask) + ". Do not use git yourself."
	case tdd.ActionFinalize:
		text = "Every subtask is complete. Run the full suite and end the run: " + w.way("autopilot_finalize", "autopilot tdd finalize") + "."
	case tdd.ActionPaused:
		return fmt.Sprintf("Stop: %s. A person has to look at it; 'autopilot tdd resume' goes on.", strings.TrimSuffix(st.Why, "."))
	case tdd.ActionComplete:
		if st.Status == tdd.Aborted {
			return "The run was aborted. There is nothing left to do."
		}
		return "The workflow is over. There is nothing left to do."
	}
	if st.Why != "" {
		text = strings.TrimSuffix(text, ".") + fmt.Sprintf(". Last time this was refused: %s.", strings.TrimSuffix(st.Why, "."))
	}
	return text
}

// way is how the one who asks takes a step.
func (w Workflow) way(tool, command string) string {
	if w.ByTools {
		return tool
	}
	return command
}

func (w Workflow) report(st *tdd.State, phase tdd.At) string {
	numbers := "--results failed:N,passed:N"
	if phase == tdd.Green {
		numbers = "--results passed:N,failed:0 --coverage N"
	}
	return w.way("autopilot_complete_phase", fmt.Sprintf("autopilot tdd complete %s %s %s", phase, st.CurrentSubtask, numbers))
}
