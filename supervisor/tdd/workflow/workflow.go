package workflow

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/sessions/commit"
	"autopilot/sessions/repo"
	"autopilot/sessions/task/taskmaster"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/runs"
)

// Workflow walks the runs of one work tree.
type Workflow struct {
	Repo     repo.Repo
	Store    runs.Store
	Settings tdd.Settings
	Environ  []string    // of git
	Gate     gate.Runner // runs the tests
	// Ignored are files and folders, relative to the top, that are nobody's work, such
	// as the ledgers.
	Ignored []string
	// ByTools words instructions for one who has the tools of the server and no shell.
	ByTools bool
	// Waiting is told of a git that is waited for; nil for nobody.
	Waiting func(pid int)
	// Confirm asks a person; nil when there is none.
	Confirm func(ctx context.Context, question string) (bool, error)
}

const (
	stateFile  = ".taskmaster/state.json" // says which tag is current; Task Master's own
	statusDone = "done"
)

func (w Workflow) tree() commit.Tree {
	return commit.Tree{Repo: w.Repo, Environ: w.Environ, Wait: w.Waiting}
}

// ignored are paths that are never part of a subtask.
func (w Workflow) ignored() []string { return append(slices.Clone(w.Ignored), stateFile) }

// locked runs fn as the only writer of the runs of this work tree.
func (w Workflow) locked(ctx context.Context, fn func() error) error {
	lock, err := w.Store.Lock(ctx)
	if err != nil {
		return err
	}
	err = w.tidy()
	w.Gate.EndLeft() // tests of a killed command; nobody else runs some while the lock is held
	if err == nil {
		err = fn()
	}
	return errors.Join(err, lock.Release())
}

// tidy removes what killed processes have left beside Task Master's files: git would
// take it for somebody's work. Nobody else writes them while the lock is held.
func (w Workflow) tidy() error {
	var errs []error
	for _, dir := range []string{".taskmaster", ".taskmaster/tasks", "tasks"} {
		errs = append(errs, statedir.CleanTemp(filepath.Join(w.Repo.Top, filepath.FromSlash(dir)), time.Now().Add(time.Hour)))
	}
	return errors.Join(errs...)
}

// changing is locked for a run that is there: its state as it is now, with what a kill
// has left put right.
func (w Workflow) changing(ctx context.Context, fn func(*tdd.State) error) error {
	return w.locked(ctx, func() error {
		st, _, err := w.load(ctx)
		if err != nil {
			return err
		}
		return fn(st)
	})
}

// load reads the current run for writing. It reports whether a commit was found that a
// process had made and could not note any more.
func (w Workflow) load(ctx context.Context) (st *tdd.State, found bool, err error) {
	s, err := w.Store.Load()
	if err != nil {
		return nil, false, noRun(err)
	}
	s.Outbox = nil
	before := len(s.Commits)
	if err := w.mend(ctx, &s); err != nil {
		return nil, false, err
	}
	return &s, len(s.Commits) > before, nil
}

// noRun puts a missing run into words.
func noRun(err error) error {
	if errors.Is(err, runs.ErrNoRun) {
		return &tdd.Refusal{Kind: tdd.Invalid, Message: "no active workflow", Way: "start one: autopilot tdd start TASK", Cause: err}
	}
	return err
}

// save writes the state; the events in it are on disk then.
func (w Workflow) save(st *tdd.State) error {
	w.refresh(st)
	if err := w.Store.Save(*st); err != nil {
		return err
	}
	st.Outbox = nil
	return nil
}

// working refuses a run that is paused, over, or not yet on its branch, and a work tree
// that is on another branch.
func (w Workflow) working(ctx context.Context, st *tdd.State) error {
	if r := notWorking(st); r != nil {
		return r
	}
	branch, head, err := w.tree().Current(ctx)
	if err != nil {
		return err
	}
	if branch == st.Branch {
		if err := w.whole(ctx, st, head); err != nil {
			return err
		}
		return w.sameRules(st)
	}
	return &tdd.Refusal{
		Kind: tdd.Refused, Phase: st.CurrentPhase, Way: "git switch " + st.Branch,
		Message: fmt.Sprintf("the work tree is on %s, and the run's branch is %s", branchWords(branch), st.Branch),
	}
}

func notWorking(st *tdd.State) error {
	r := &tdd.Refusal{Kind: tdd.Refused, Phase: st.CurrentPhase}
	switch {
	case st.Status == tdd.OnHold:
		r.Kind, r.Message, r.Way = tdd.Paused, "the run is paused: "+st.Why, resumeWay
	case st.Status == tdd.Completed:
		r.Message, r.Way = "the workflow is complete", "start another one: autopilot tdd start TASK"
	case st.Status == tdd.Aborted:
		r.Message, r.Way = "the run was aborted", "start another one: autopilot tdd start TASK"
	case st.CurrentPhase == tdd.Preflight || st.CurrentPhase == tdd.BranchSetup:
		r.Message, r.Way = "the run was interrupted before its branch was ready", "autopilot tdd resume"
	default:
		return nil
	}
	return r
}

// theSubtask refuses a subtask that is not the current one.
func theSubtask(st *tdd.State, id string) error {
	if id == "" || id == st.CurrentSubtask || st.CurrentSubtask == "" && id == st.TaskID {
		return nil
	}
	now := st.CurrentSubtask
	if now == "" {
		now = st.TaskID
	}
	return &tdd.Refusal{
		Kind: tdd.Refused, Phase: st.CurrentPhase, Message: fmt.Sprintf("subtask %s is not the current one; that is %s, in %s", id, now, st.CurrentPhase),
		Way: "see 'autopilot tdd next'",
	}
}

// Standing says how far the current run is. It writes nothing and takes no lock.
func (w Workflow) Standing(context.Context) (tdd.Standing, error) {
	st, err := w.Store.Peek()
	if err != nil {
		return tdd.Standing{}, noRun(err)
	}
	out := st.Standing(time.Now())
	out.RunFolder = w.Store.Folder(st.RunID)
	return out, nil
}

// Resume lets the current run go on, or another one that is not over.
func (w Workflow) Resume(ctx context.Context, runID string) (tdd.Resumed, error) {
	var out tdd.Resumed
	err := w.locked(ctx, func() error {
		if runID != "" {
			if err := w.take(runID); err != nil {
				return err
			}
		}
		st, _, err := w.load(ctx)
		if err != nil {
			return err
		}
		if st.Status.Over() {
			return notWorking(st)
		}
		if st.CurrentPhase == tdd.Preflight || st.CurrentPhase == tdd.BranchSetup {
			err = w.setUp(ctx, st)
		} else {
			err = noBranch(w.toBranch(ctx, st))
		}
		if err != nil {
			return err
		}
		if st.Rules, err = w.judgedBy(); err != nil {
			return err
		}
		if err := st.Resume(time.Now()); err != nil {
			return err
		}
		if err := w.save(st); err != nil {
			return err
		}
		out = tdd.Resumed{Resumed: true, RunID: st.RunID, NextAction: w.next(st)}
		return nil
	})
	return out, err
}

// take makes another run the current one.
func (w Workflow) take(runID string) error {
	st, err := w.Store.LoadRun(runID)
	if errors.Is(err, runs.ErrNoRun) {
		return &tdd.Refusal{Kind: tdd.Invalid, Message: fmt.Sprintf("there is no run %q", runID), Way: "runs are in " + w.Store.Folder("")}
	}
	if err != nil {
		return err
	}
	now, err := w.Store.Peek()
	if err == nil && now.RunID != runID && !now.Status.Over() {
		return &tdd.Refusal{Kind: tdd.Refused, Message: fmt.Sprintf("run %s is the current one", now.RunID), Way: "autopilot tdd abort gives it up"}
	}
	if st.Status.Over() {
		return notWorking(&st)
	}
	st.Outbox = nil
	return w.Store.Save(st)
}

// confirmed asks for what must not happen by itself. Without a person to ask, the
// refusal says what is in the way.
func (w Workflow) confirmed(ctx context.Context, sure bool, question string, otherwise *tdd.Refusal) error {
	if sure {
		return nil
	}
	if w.Confirm == nil {
		return otherwise
	}
	yes, err := w.Confirm(ctx, question)
	if err != nil {
		return err
	}
	if !yes {
		return otherwise
	}
	return nil
}

// tasks reads the file of the run's task.
func (w Workflow) tasks(st *tdd.State) (*taskmaster.File, error) {
	return taskmaster.Load(w.Repo.Top, st.Tag)
}

func joined(list []string, most int) string {
	if len(list) > most {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return strings.Join(list, ", ")
}
