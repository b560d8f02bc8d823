package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"autopilot/sessions/task/taskmaster"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/message"
	"autopilot/supervisor/tdd/runs"
)

// Finalize runs the whole suite, completes the task in its file with a commit of its
// own, and ends the run. A suite that fails is a refusal and counts as an attempt. With
// Push the branch goes to the remote, also when the run was ended before.
func (w Workflow) Finalize(ctx context.Context, req tdd.FinalizeRequest) (tdd.Finalized, error) {
	var out tdd.Finalized
	err := w.changing(ctx, func(st *tdd.State) error {
		if st.Status == tdd.Completed && req.Push {
			out = finalized(st)
			out.Message = "the run was complete already"
			return w.push(ctx, st, &out)
		}
		if err := w.working(ctx, st); err != nil {
			return err
		}
		if st.CurrentPhase != tdd.Finalize {
			return &tdd.Refusal{
				Kind: tdd.Refused, Phase: st.CurrentPhase, Message: fmt.Sprintf("cannot finalize: the run is in %s of subtask %s", st.CurrentPhase, st.CurrentSubtask),
				Way: "complete every subtask first; see 'autopilot tdd next'",
			}
		}
		work, err := w.work(ctx, st)
		if err != nil {
			return err
		}
		if err := w.allDone(st); err != nil {
			return err
		}
		if len(work.pending)+len(work.both) > 0 {
			return &tdd.Refusal{
				Kind: tdd.Refused, Phase: st.CurrentPhase, Message: fmt.Sprintf("cannot finalize: the working tree has uncommitted changes (%s)", work.changes.Words()),
				Way: "'autopilot tdd commit' commits them",
			}
		}
		if err := w.finalize(ctx, st, &out); err != nil {
			return err
		}
		if work, err = w.work(ctx, st); err == nil {
			out.Warnings = notTaken(work, nil)
		}
		if err != nil || !req.Push {
			return err
		}
		return w.push(ctx, st, &out)
	})
	return out, err
}

// allDone refuses a run that has a subtask whose status says otherwise.
func (w Workflow) allDone(st *tdd.State) error {
	file, err := w.tasks(st)
	if err != nil {
		return broken(st, err)
	}
	var open []string
	for _, id := range st.CompletedSubtasks {
		if !taskmaster.Met(file.Status(id)) {
			open = append(open, id)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return &tdd.Refusal{
		Kind: tdd.Refused, Phase: st.CurrentPhase, Message: fmt.Sprintf("cannot finalize: %s was committed as done, and %s says otherwise", joined(open, 5), st.TasksFile),
		Way: "see what became of it: git log -p -- " + st.TasksFile,
	}
}

func (w Workflow) finalize(ctx context.Context, st *tdd.State, out *tdd.Finalized) error {
	m, err := w.measure(ctx, st.Rules, true, &st.Artifacts)
	if err != nil {
		return err
	}
	step := tdd.Step{Run: tdd.Run{At: time.Now().UTC(), Measured: m}, Verdict: tdd.JudgeFinal(*st, m, w.Settings), Now: time.Now()}
	if m != nil {
		res := results{Phase: st.CurrentPhase, Attempt: st.AttemptNumber, Run: step.Run, Valid: step.Verdict.Valid, Message: step.Verdict.Message}
		if err := w.Store.PutResults(st.RunID, "final-suite", res); err != nil {
			return err
		}
	}
	if !step.Verdict.Valid {
		r := &tdd.Refusal{Kind: tdd.Refused, Phase: st.CurrentPhase, Message: step.Verdict.Message, Way: step.Verdict.Suggestion}
		if err := w.count(st, step, r); err != nil {
			return err
		}
		return r
	}
	sha, err := w.closeTask(ctx, st)
	if err != nil {
		return err
	}
	if err := st.Finish(step); err != nil {
		return err
	}
	if err := w.save(st); err != nil {
		return err
	}
	*out = finalized(st)
	out.Message, out.CommitSHA = step.Verdict.Message, sha
	return nil
}

func finalized(st *tdd.State) tdd.Finalized {
	out := tdd.Finalized{Completed: true, RunID: st.RunID, Branch: st.Branch, Commits: len(st.Commits)}
	if st.Final != nil {
		out.Results, out.Coverage = new(st.Final.Counts()), &st.Final.Measured.Coverage
	}
	return out
}

// closeTask sets the task itself to done, where it is not, and commits that.
func (w Workflow) closeTask(ctx context.Context, st *tdd.State) (string, error) {
	file, err := w.tasks(st)
	if err != nil {
		return "", err
	}
	if file.Status(st.TaskID) == statusDone {
		return "", nil
	}
	c := message.Commit{
		Type: "chore", Scope: "tasks", Summary: "complete task " + st.TaskID, TaskID: st.TaskID, TaskTitle: st.TaskTitle, Phase: "FINALIZE", Tag: st.Tag, Mark: mark(st),
	}
	one := change{id: st.TaskID, message: c}
	e, err := w.status(ctx, st, one)
	if err != nil {
		return "", broken(st, err)
	}
	if !e.commit { // git has nothing to do with the file
		if e.after != nil {
			err = file.Write(w.Repo.Top, e.after)
		}
		return "", err
	}
	m, err := w.make(ctx, st, one)
	return m.sha, err
}

func (w Workflow) push(ctx context.Context, st *tdd.State, out *tdd.Finalized) error {
	if err := w.tree().Push(ctx, w.Settings.Remote, st.Branch); err != nil {
		return &tdd.Refusal{
			Kind: tdd.Refused, Phase: st.CurrentPhase, Message: fmt.Sprintf("the run is complete, but %s could not be pushed: %v", st.Branch, err), Cause: err,
			Way: "mend it, then: autopilot tdd finalize --push",
		}
	}
	out.Pushed = w.Settings.Remote + " " + st.Branch
	st.Pushed(time.Now(), out.Pushed)
	return w.save(st)
}

// Abort gives the current run up, whatever its state is. With Cleanup its branch and its
// folder are deleted as well, after a confirmation.
func (w Workflow) Abort(ctx context.Context, req tdd.AbortRequest) (tdd.Stopped, error) {
	var out tdd.Stopped
	err := w.locked(ctx, func() error {
		st, err := w.Store.Load()
		_, unsettled := errors.AsType[*runs.UnsettledError](err)
		switch broken, isBroken := errors.AsType[*runs.BrokenError](err); {
		case isBroken:
			return w.abortBroken(req, broken, &out)
		case err != nil && !unsettled:
			return noRun(err)
		}
		st.Outbox = nil
		mended := w.mend(ctx, &st)
		out = tdd.Stopped{Aborted: true, RunID: st.RunID, Branch: st.Branch, Progress: st.Progress(), Note: "branch and commits are left as they are"}
		if req.Cleanup {
			if out.Note, err = w.cleanup(ctx, req, &st); err != nil {
				return err
			}
			out.Deleted = true
			return nil
		}
		if mended != nil {
			out.Note += "; whether its last commit was made is not known: " + mended.Error()
		}
		if st.Status.Over() {
			out.Note = fmt.Sprintf("the run was %s already", st.Status)
			return nil
		}
		st.Abort(time.Now())
		if err := w.save(&st); err != nil {
			if _, unsettled := errors.AsType[*runs.UnsettledError](err); !unsettled {
				return err
			}
			out.Note += "; not all of its files could be brought up to date: " + err.Error()
		}
		return nil
	})
	return out, err
}

func (w Workflow) abortBroken(req tdd.AbortRequest, broken *runs.BrokenError, out *tdd.Stopped) error {
	*out = tdd.Stopped{
		Aborted: true, RunID: broken.RunID, Progress: tdd.Progress{Completed: []string{}, Remaining: []string{}},
		Note: fmt.Sprintf("its state cannot be read (%v) and was put aside; its branch is left as it is", broken.Err),
	}
	if _, err := w.Store.Abort(time.Now()); err != nil {
		return err
	}
	if !req.Cleanup || broken.RunID == "" {
		return nil
	}
	out.Note = fmt.Sprintf("its state could not be read (%v) and is deleted; which branch it had is not known", broken.Err)
	out.Deleted = true
	return w.Store.Remove(broken.RunID)
}

// cleanup deletes what a run has made, and nothing else: a branch on which somebody else
// has committed stays. That the run is complete is part of the question.
func (w Workflow) cleanup(ctx context.Context, req tdd.AbortRequest, st *tdd.State) (note string, err error) {
	tree := w.tree()
	tip, err := tree.Tip(ctx, st.Branch)
	if err != nil {
		return "", err
	}
	made, err := w.ofTheRun(ctx, st, tip)
	if err != nil {
		return "", err
	}
	words := fmt.Sprintf("--cleanup deletes branch %s with %d commits and the run's folder", st.Branch, made)
	if st.Status == tdd.Completed {
		words += ", although the run is complete"
	}
	err = w.confirmed(ctx, req.NoConfirm, words+". Go on?", &tdd.Refusal{Kind: tdd.Refused, Phase: st.CurrentPhase, Message: words, Way: "say --no-confirm to do so"})
	if err != nil {
		return "", err
	}
	note = "the state of the run is deleted; its branch was there before and stays"
	if tip != "" && st.Branch != st.BaseBranch {
		if err := w.leave(ctx, st); err != nil {
			return "", err
		}
		if err := tree.Delete(ctx, st.Branch); err != nil {
			return "", noBranch(err)
		}
		note = fmt.Sprintf("branch and state of the run are deleted; the branch was at %s", tip)
	}
	if st.PreviousTag != "" {
		if _, _, err := taskmaster.SwitchTag(w.Repo.Top, st.PreviousTag, time.Now()); err != nil {
			note += "; the tag could not be switched back: " + err.Error()
		}
	}
	return note, w.Store.Remove(st.RunID)
}

// ofTheRun counts the commits of a branch that are the run's. It refuses a branch that
// has others.
func (w Workflow) ofTheRun(ctx context.Context, st *tdd.State, tip string) (int, error) {
	if tip == "" || st.Branch == st.BaseBranch {
		return 0, nil
	}
	all, err := w.tree().Between(ctx, st.BaseCommit, tip)
	if err != nil {
		return 0, err
	}
	var others []string
	for _, sha := range all {
		if !slices.ContainsFunc(st.Commits, func(m tdd.Made) bool { return m.SHA == sha }) {
			others = append(others, sha[:min(10, len(sha))])
		}
	}
	if len(others) > 0 {
		return 0, &tdd.Refusal{
			Kind: tdd.Refused, Phase: st.CurrentPhase, Message: fmt.Sprintf("branch %s has commits that this run did not make: %s", st.Branch, joined(others, 5)),
			Way: fmt.Sprintf("abort without --cleanup keeps it; to delete it all the same: git branch -D %s", st.Branch),
		}
	}
	return len(all), nil
}

// leave goes back to where the run began.
func (w Workflow) leave(ctx context.Context, st *tdd.State) error {
	branch, _, err := w.tree().Current(ctx)
	if err != nil || branch != st.Branch {
		return err
	}
	work, err := w.work(ctx, st)
	if err != nil {
		return err
	}
	if len(work.pending)+len(work.both) > 0 {
		return &tdd.Refusal{
			Kind: tdd.Refused, Phase: st.CurrentPhase, Message: fmt.Sprintf("the work tree has changes that would be mixed with %s: %s", st.BaseBranch, joined(work.changes.Files, 5)),
			Way: "discard or stash them, then abort again",
		}
	}
	if st.BaseBranch == "" {
		return w.tree().Detach(ctx, st.BaseCommit)
	}
	return w.tree().Switch(ctx, st.BaseBranch)
}

// Report is the whole run for a reader; an empty id is the current one.
func (w Workflow) Report(id string) (runs.Report, error) {
	if id == "" {
		st, err := w.Store.Peek()
		if err != nil {
			return runs.Report{}, noRun(err)
		}
		id = st.RunID
	}
	r, err := w.Store.Report(id)
	if errors.Is(err, runs.ErrNoRun) {
		err = &tdd.Refusal{Kind: tdd.Invalid, Message: fmt.Sprintf("there is no run %q", id), Way: "'autopilot tdd runs' lists them", Cause: err}
	}
	return r, err
}
