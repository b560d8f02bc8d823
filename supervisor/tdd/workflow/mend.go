package workflow

import (
	"context"
	"errors"
	"time"

	"autopilot/sessions/commit"
	"autopilot/supervisor/tdd"
)

// madeAlready finds the commit of this subtask where the one who asked for it was killed
// and git went on.
func (w Workflow) madeAlready(ctx context.Context, st *tdd.State, work work) (bool, error) {
	if len(work.foreign) == 0 {
		return false, nil
	}
	sha, found, err := w.tree().Find(ctx, st.Branch, st.Head, mark(st))
	if !found || err != nil {
		return false, err
	}
	c := w.message(st, work.files, "")
	p := tdd.Pending{Subtask: c.TaskID, Parent: st.Head, Subject: firstLine(c.Text(w.Settings.CommitTemplate)), Mark: c.Mark, Files: work.files}
	if err := st.Promise(time.Now(), p); err != nil {
		return false, err
	}
	if err := st.Fulfil(time.Now(), sha); err != nil {
		return false, err
	}
	return true, w.save(st)
}

// mend puts right what a kill between a promise and its fulfilment has left.
func (w Workflow) mend(ctx context.Context, st *tdd.State) error {
	p := st.Pending
	if p == nil {
		return nil
	}
	sha, found, err := w.tree().Find(ctx, st.Branch, p.Parent, p.Mark)
	astray, isAstray := errors.AsType[*commit.BranchError](err)
	if err != nil && !isAstray {
		return err
	}
	if found {
		if err := st.Fulfil(time.Now(), sha); err != nil {
			return err
		}
		return w.save(st)
	}
	if p.Was != "" && p.Was != statusDone {
		if err := w.restore(st, p); err != nil {
			return err
		}
	}
	if err := w.withdraw(st); err != nil || !isAstray {
		return err
	}
	return &tdd.Refusal{Kind: tdd.Refused, Phase: st.CurrentPhase, Message: astray.Error(), Way: astray.Hint(), Cause: astray}
}

// restore gives a subtask the status back that it had before a commit that was not made.
func (w Workflow) restore(st *tdd.State, p *tdd.Pending) error {
	file, err := w.tasks(st)
	if err != nil {
		return err
	}
	data, changed, err := file.WithStatus(p.Subtask, p.Was)
	if err != nil || !changed {
		return err
	}
	return file.Write(w.Repo.Top, data)
}
