package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"autopilot/sessions/commit"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/message"
)

// whole refuses a branch that has lost a commit of the run.
func (w Workflow) whole(ctx context.Context, st *tdd.State, head string) error {
	if head == st.Head {
		return nil
	}
	there, err := w.tree().Contains(ctx, head, st.Head)
	if err != nil || there {
		return err
	}
	if again, err := w.rebased(ctx, st, head); err != nil || again {
		return err
	}
	return &tdd.Refusal{
		Kind: tdd.Refused, Phase: st.CurrentPhase, Message: fmt.Sprintf("branch %s was rewritten: commit %.10s of this run is not in it any more", st.Branch, st.Head),
		Way: fmt.Sprintf("bring it back ('git reflog' shows what was done; git branch keep; git reset --keep %.10s), or give the run up: autopilot tdd abort", st.Head),
	}
}

// rebased finds the commits of the run again, by their marks, where somebody has amended
// or rebased them. It reports whether all are there.
func (w Workflow) rebased(ctx context.Context, st *tdd.State, head string) (bool, error) {
	if len(st.Commits) == 0 {
		return false, nil
	}
	messages, err := w.tree().Messages(ctx, st.BaseCommit, head)
	if err != nil {
		return false, err
	}
	commits := slices.Clone(st.Commits)
	for i, m := range commits {
		commits[i].SHA = ""
		for sha, text := range messages {
			if slices.Contains(strings.Split(text, "\n"), m.Mark) {
				commits[i].SHA = sha
			}
		}
		if commits[i].SHA == "" {
			return false, nil
		}
	}
	st.Commits, st.Head = commits, commits[len(commits)-1].SHA
	return true, nil
}

func branchWords(branch string) string {
	if branch == "" {
		return "no branch (detached HEAD)"
	}
	return "branch " + branch
}

// toBranch checks the run's branch out where that costs nobody anything.
func (w Workflow) toBranch(ctx context.Context, st *tdd.State) error {
	branch, _, err := w.tree().Current(ctx)
	if err != nil || branch == st.Branch {
		return err
	}
	ch, err := w.tree().Changes(ctx, w.ignored()...)
	if err != nil {
		return err
	}
	if len(ch.Files) > 0 {
		return &tdd.Refusal{
			Kind: tdd.Refused, Phase: st.CurrentPhase, Way: "commit or stash them, then: git switch " + st.Branch,
			Message: fmt.Sprintf("the work tree is on %s with changes (%s), and the run's branch is %s", branchWords(branch), ch.Words(), st.Branch),
		}
	}
	return w.tree().Switch(ctx, st.Branch)
}

// branch chooses the name of the run's branch. Nothing is made yet.
func (w Workflow) branch(ctx context.Context, req tdd.StartRequest, b begin) (string, error) {
	tree, name := w.tree(), req.Branch
	if name == "" {
		name = message.Branch(w.Settings.BranchPattern, b.Tag, b.TaskID, b.TaskTitle)
		other, err := tree.Conflict(ctx, name)
		if err != nil {
			return "", err
		}
		if other != "" { // a branch named like the tag stands where a folder would have to be
			name = message.Flat(name)
		}
	}
	protected, err := tree.Protected(ctx, w.Settings.Remote)
	if err != nil {
		return "", err
	}
	if commit.IsProtected(protected, name) {
		return "", invalid("choose another name with --branch", "%s is a default branch; nothing is ever committed there", name)
	}
	if name == b.BaseBranch {
		return name, nil
	}
	exists, err := tree.Exists(ctx, name)
	if err != nil {
		return "", err
	}
	if exists {
		return "", invalid(fmt.Sprintf("'git switch %s' first to go on with it, or choose another name with --branch", name), "branch already exists: %s", name)
	}
	return name, nil
}

// undo goes back to where the person was when a run could not be set up.
func (w Workflow) undo(ctx context.Context, st *tdd.State) error {
	branch, head, err := w.tree().Current(ctx)
	if err != nil || branch != st.Branch || branch == st.BaseBranch || head != st.BaseCommit {
		return err
	}
	if st.BaseBranch == "" {
		err = w.tree().Detach(ctx, st.BaseCommit)
	} else {
		err = w.tree().Switch(ctx, st.BaseBranch)
	}
	if err != nil {
		return err
	}
	return w.tree().Delete(ctx, st.Branch)
}

// makeBranch checks the run's branch out and makes it where it is not there. A git that
// a killed process has left may do the same at this moment, so what fails is looked at
// again.
func (w Workflow) makeBranch(ctx context.Context, st *tdd.State) (created bool, err error) {
	for range branchTries {
		current, _, err := w.tree().Current(ctx)
		if err != nil || current == st.Branch {
			return created, err
		}
		exists, err := w.tree().Exists(ctx, st.Branch)
		switch {
		case err != nil:
			return false, err
		case exists:
			err = w.toBranch(ctx, st)
		default:
			created = true
			err = w.tree().Make(ctx, st.Branch, st.BaseCommit)
		}
		if err == nil {
			return created, nil
		}
		if now, there := w.tree().Exists(ctx, st.Branch); there != nil || now == exists {
			return false, err // nobody else is at it
		}
	}
	return false, fmt.Errorf("check out %s: somebody else makes and removes it", st.Branch)
}

const branchTries = 5

// noBranch puts what git says of a branch into a refusal.
func noBranch(err error) error {
	if r, ok := errors.AsType[*tdd.Refusal](err); ok {
		return r
	}
	if p, ok := errors.AsType[*commit.ProtectedError](err); ok {
		return &tdd.Refusal{Kind: tdd.Refused, Message: p.Error(), Way: "choose another branch with --branch", Cause: err}
	}
	if h, ok := hinted(err); ok {
		return &tdd.Refusal{Kind: tdd.Invalid, Phase: tdd.BranchSetup, Message: err.Error(), Way: h, Cause: err}
	}
	return err
}
