package workflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"autopilot/sessions/commit"
	"autopilot/sessions/task/taskmaster"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/message"
)

// Commit commits what the current subtask changed, with its status in the task file,
// and goes on to the next one. While the run is finalized it commits what was mended.
// What was changed after the tests passed is tested again first.
func (w Workflow) Commit(ctx context.Context, req tdd.CommitRequest) (tdd.Committed, error) {
	var out tdd.Committed
	err := w.locked(ctx, func() error {
		st, found, err := w.load(ctx)
		if err != nil {
			return err
		}
		if last := len(st.Commits) - 1; found && (req.SubtaskID == "" || req.SubtaskID == st.Commits[last].Subtask) {
			out = w.committed(st)
			return nil
		}
		if err := w.working(ctx, st); err != nil {
			return err
		}
		if st.CurrentPhase != tdd.Commit && st.CurrentPhase != tdd.Finalize {
			return &tdd.Refusal{
				Kind: tdd.Refused, Phase: st.CurrentPhase, Message: fmt.Sprintf("not in COMMIT phase: the run is in %s", st.CurrentPhase),
				Way: "complete RED and GREEN first; see 'autopilot tdd next'",
			}
		}
		if err := theSubtask(st, req.SubtaskID); err != nil {
			return err
		}
		if out, err = w.commit(ctx, st, req); err != nil {
			return w.counted(st, err)
		}
		return nil
	})
	return out, err
}

// counted counts a commit that was refused as an attempt, and has the next answer say
// why. That nothing is to be committed while the run is finalized is no attempt.
func (w Workflow) counted(st *tdd.State, err error) error {
	r, ok := errors.AsType[*tdd.Refusal](err)
	_, hook := errors.AsType[*commit.HookError](err)
	if !ok || r.Kind != tdd.Refused || !hook && st.CurrentPhase != tdd.Commit {
		return err
	}
	if failed := w.count(st, tdd.Step{Verdict: tdd.Verdict{Message: r.Message}, Now: time.Now()}, r); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// count counts a refusal as an attempt at the step. The last one pauses the run, and the
// refusal says so.
func (w Workflow) count(st *tdd.State, step tdd.Step, r *tdd.Refusal) error {
	paused, err := st.Refuse(step)
	if err != nil {
		return err
	}
	if paused {
		r.Kind, r.Way = tdd.Paused, resumeWay
	}
	return w.save(st)
}

// resumeWay is the way out of a pause.
const resumeWay = "look at it, then: autopilot tdd resume"

// committed is the answer where the commit that was asked for is there already.
func (w Workflow) committed(st *tdd.State) tdd.Committed {
	last := st.Commits[len(st.Commits)-1]
	return tdd.Committed{CommitSHA: last.SHA, Message: last.Subject, Files: []string{}, NextAction: w.next(st)}
}

func (w Workflow) commit(ctx context.Context, st *tdd.State, req tdd.CommitRequest) (tdd.Committed, error) {
	var out tdd.Committed
	work, err := w.work(ctx, st)
	if err != nil {
		return out, err
	}
	if done, err := w.madeAlready(ctx, st, work); done || err != nil {
		if err == nil {
			out = w.committed(st)
		}
		return out, err
	}
	files, err := w.chosen(st, work, req.Files)
	if err != nil {
		return out, err
	}
	if req.Files == nil {
		if err := w.unasked(st, work, files); err != nil {
			return out, err
		}
	}
	if err := w.otherStatuses(ctx, st, work); err != nil {
		return out, err
	}
	if out.Warnings, err = w.stillGreen(ctx, st, work); err != nil {
		return out, err
	}
	out.Warnings = append(out.Warnings, notTaken(work, files)...)
	implemented := slices.Contains(st.Implemented, st.CurrentSubtask)
	if len(files) == 0 && len(work.foreign) == 0 && !implemented {
		return out, &tdd.Refusal{Kind: tdd.Refused, Phase: st.CurrentPhase, Message: tdd.NothingToCommit, Way: "nothing has been changed since the last commit; see 'git status'"}
	}
	if len(work.foreign) > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d commits were made on the branch by others than this workflow", len(work.foreign)))
	}
	c := w.message(st, append(slices.Clone(files), work.files...), req.Message)
	one := change{id: st.CurrentSubtask, message: c, files: files}
	m, err := w.make(ctx, st, one)
	if err != nil {
		return out, err
	}
	out.CommitSHA, out.Message, out.Files = m.sha, c.Text(w.Settings.CommitTemplate), m.files
	out.Warnings = append(out.Warnings, m.warnings...)
	out.NextAction = w.next(st)
	return out, nil
}

// chosen are the files that go into the commit.
func (w Workflow) chosen(st *tdd.State, work work, given []string) ([]string, error) {
	if given == nil {
		if len(work.both) > 0 {
			return nil, &tdd.Refusal{
				Kind: tdd.Refused, Phase: st.CurrentPhase, Way: "name what is to be committed with --files, or take your changes out",
				Message: "changed before the run began and again in it: " + joined(work.both, 5),
			}
		}
		return work.pending, nil
	}
	var out []string
	for _, f := range given {
		rel := filepath.ToSlash(filepath.Clean(f))
		if filepath.IsAbs(f) {
			if r, err := filepath.Rel(w.Repo.Top, f); err == nil {
				rel = filepath.ToSlash(r)
			}
		}
		if !slices.Contains(work.changes.Files, rel) {
			return nil, &tdd.Refusal{Kind: tdd.Invalid, Phase: st.CurrentPhase, Message: fmt.Sprintf("%s is not changed", f), Way: "paths are relative to the top of the repository; see 'git status'"}
		}
		out = append(out, rel)
	}
	return slices.Compact(slices.Sorted(slices.Values(out))), nil
}

// stillGreen makes sure that what is committed is what passed. What was changed since is
// judged again as a green step is, and its numbers count then.
func (w Workflow) stillGreen(ctx context.Context, st *tdd.State, now work) (warnings []string, err error) {
	if st.CurrentPhase == tdd.Finalize {
		return nil, nil // the whole suite comes afterwards
	}
	if g := st.Green; g != nil {
		cov := g.Coverage
		if g.Measured != nil {
			cov = g.Measured.Coverage.Over(cov)
		}
		if low := cov.Below(w.Settings.Thresholds); low != "" {
			return nil, w.reopen(st, "coverage is too low: "+low)
		}
	}
	if st.Tree == now.digest {
		return nil, nil
	}
	m, err := w.measure(ctx, st.Rules, true, &st.Artifacts)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, w.reopen(st, "files were changed after the tests passed; run the tests and report again")
	}
	e := tdd.Evidence{Measured: m, Gone: w.gone(st)}
	step, err := w.step(ctx, st, e, nil)
	if err != nil {
		return nil, err
	}
	green := *st
	green.CurrentPhase = tdd.Green
	if slices.Contains(st.Implemented, st.CurrentSubtask) {
		green.Red = nil
	}
	if v := tdd.Judge(green, e, w.Settings); !v.Valid {
		return nil, w.reopen(st, fmt.Sprintf("files were changed after the tests passed, and now they do not: %s", v.Message))
	}
	if said := w.suspicious(st, step); said != "" {
		warnings = append(warnings, said)
	}
	return warnings, st.Again(step)
}

// reopen goes back to green.
func (w Workflow) reopen(st *tdd.State, why string) error {
	if err := st.Reopen(time.Now(), why); err != nil {
		return err
	}
	if err := w.save(st); err != nil {
		return err
	}
	return &tdd.Refusal{Kind: tdd.Refused, Phase: st.CurrentPhase, Message: why, Way: "the run is back in GREEN: make the tests pass and report, then commit"}
}

// message is the commit of the current subtask, or of what was mended at the end.
func (w Workflow) message(st *tdd.State, files []string, summary string) message.Commit {
	id := st.CurrentSubtask
	if id == "" {
		id = st.TaskID
	}
	c := message.Commit{
		Type:  message.Type(files, w.isTest(st.Rules), w.Settings.CommitType),
		Scope: message.Scope(files), Summary: summary, TaskID: id, TaskTitle: st.Title(id), Phase: "COMMIT", Tag: st.Tag, Mark: mark(st),
	}
	if st.CurrentPhase == tdd.Finalize {
		c.Phase, c.Type = "FINALIZE", "fix"
		if summary == "" {
			c.Summary = "mend what the full test suite found"
		}
	}
	if c.Summary == "" {
		c.Summary = message.Summary(c.TaskTitle)
	}
	if sub := w.subtask(st); sub != nil {
		c.Body = sub.Description
	}
	run := st.Green
	if run == nil {
		run = st.Red
	}
	if run != nil {
		c.Results = new(run.Counts())
		c.Coverage = run.Coverage
		if run.Measured != nil {
			c.Coverage = run.Measured.Coverage.Over(run.Coverage)
		}
	}
	if slices.Contains(st.Implemented, st.CurrentSubtask) && st.CurrentSubtask != "" {
		c.Type = "test"
		c.Extra = append(c.Extra, "Already implemented: no new test failed before the implementation.")
	}
	return c
}

// mark is a line that no other commit has. It is the same when the commit is tried
// again.
func mark(st *tdd.State) string {
	id := st.CurrentSubtask
	if id == "" {
		id = fmt.Sprintf("%s-%d", st.CurrentPhase, len(st.Commits))
	}
	return fmt.Sprintf("Autopilot-Run: %s %s", st.RunID, id)
}

// change is a commit to make, with the status of the task or subtask that it completes.
type change struct {
	id      string // whose status becomes done; empty for nothing
	message message.Commit
	files   []string
}

// make makes a commit in an order in which a kill between any two steps can be put
// right: the promise, the status in the task file, the commit, the state.
func (w Workflow) make(ctx context.Context, st *tdd.State, c change) (made, error) {
	text := c.message.Text(w.Settings.CommitTemplate)
	p := tdd.Pending{Subtask: c.message.TaskID, Parent: st.Head, Subject: firstLine(text), Mark: c.message.Mark, Files: c.files}
	edit, err := w.status(ctx, st, c)
	if err != nil {
		return made{}, broken(st, err)
	}
	p.Was = edit.was
	if edit.commit {
		p.Files = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(p.Files), st.TasksFile))))
	}
	out := made{files: p.Files}
	if edit.note != "" {
		out.warnings = append(out.warnings, edit.note)
	}
	if err := st.Promise(time.Now(), p); err != nil {
		return made{}, err
	}
	if err := w.save(st); err != nil {
		return made{}, err
	}
	if edit.after != nil {
		if err := edit.file.Write(w.Repo.Top, edit.after); err != nil {
			return made{}, errors.Join(err, w.withdraw(st))
		}
	}
	_, head, err := w.tree().Current(ctx)
	if err == nil {
		out.sha, err = w.tree().Commit(ctx, commit.Commit{Branch: st.Branch, Parent: head, Remote: w.Settings.Remote, Message: text, Files: p.Files})
	}
	switch {
	case err != nil && ctx.Err() != nil: // the next command finds out what became of it
		return made{}, fmt.Errorf("commit: %w", context.Cause(ctx))
	case out.sha == "" && err != nil:
		return made{}, errors.Join(w.notMade(st, err), w.takeBack(edit))
	case err != nil: // the commit is made, and something beside it is not as it should be
		out.warnings = append(out.warnings, err.Error())
	}
	if err := w.ours(ctx, st); err != nil {
		return made{}, err
	}
	if err := st.Fulfil(time.Now(), out.sha); err != nil {
		return made{}, err
	}
	return out, w.save(st)
}

// ours notes what the task file looks like with a status that we have changed, where the
// rest of it is the person's.
func (w Workflow) ours(ctx context.Context, st *tdd.State) error {
	if _, mine := st.Mine[st.TasksFile]; !mine {
		return nil
	}
	ch, err := w.tree().Changes(ctx, w.ignored()...)
	if err != nil {
		return err
	}
	st.Mine = maps.Clone(st.Mine)
	if st.Mine[st.TasksFile] = ch.Prints[st.TasksFile]; ch.Prints[st.TasksFile] == "" {
		delete(st.Mine, st.TasksFile)
	}
	return nil
}

// made is a commit that was made.
type made struct {
	sha      string
	files    []string
	warnings []string
}

func firstLine(text string) string {
	line, _, _ := bytes.Cut([]byte(text), []byte("\n"))
	return string(line)
}

// statusEdit is the change of one status in the task file.
type statusEdit struct {
	file   *taskmaster.File
	before []byte
	after  []byte // nil when it stays
	was    string
	commit bool // the file goes into the commit
	note   string
}

func (w Workflow) status(ctx context.Context, st *tdd.State, c change) (statusEdit, error) {
	var e statusEdit
	if c.id == "" {
		return e, nil
	}
	file, err := w.tasks(st)
	if err != nil {
		return e, err
	}
	e.file, e.was, e.before = file, file.Status(c.id), file.Data()
	data, changed, err := file.WithStatus(c.id, statusDone)
	if err != nil {
		return e, err
	}
	if changed {
		e.after = data
	}
	e.commit = changed || slices.Contains(c.files, st.TasksFile)
	_, mine := st.Mine[st.TasksFile]
	hidden, err := w.tree().Hidden(ctx, st.TasksFile)
	switch {
	case err != nil:
		return e, err
	case hidden:
		e.commit, e.note = false, st.TasksFile+" is ignored by git: its status is changed and not committed"
	case mine && !slices.Contains(c.files, st.TasksFile):
		e.commit, e.note = false, st.TasksFile+" was changed before the run began: its status is changed and not committed"
	}
	if !changed {
		e.note = ""
	}
	return e, nil
}

// takeBack undoes the change of the status where the file is still as we wrote it.
func (w Workflow) takeBack(e statusEdit) error {
	if e.after == nil {
		return nil
	}
	if err := e.file.Write(w.Repo.Top, e.before); !errors.Is(err, taskmaster.ErrChanged) {
		return err
	}
	return nil // somebody else has written it meanwhile
}

func (w Workflow) withdraw(st *tdd.State) error {
	st.Withdraw(time.Now())
	return w.save(st)
}

// notMade says why a commit was not made.
func (w Workflow) notMade(st *tdd.State, err error) error {
	st.Withdraw(time.Now())
	r := &tdd.Refusal{Kind: tdd.Refused, Phase: st.CurrentPhase, Message: err.Error(), Cause: err}
	r.Way, _ = hinted(err)
	if hook, ok := errors.AsType[*commit.HookError](err); ok {
		r.Message = "the commit was refused by a hook of the repository: " + hook.Output
		r.Way = "mend what it says, and commit again"
	}
	if errors.Is(err, commit.ErrNothing) {
		r.Message = tdd.NothingToCommit
	}
	return errors.Join(r, w.save(st))
}
