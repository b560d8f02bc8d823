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
	"autopilot/supervisor/tdd/suite"
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

// Suite is the project's test command, nil when reports are believed.
func (w Workflow) Suite() (*suite.Suite, error) { return suite.Choose(w.Repo.Top, w.Settings) }

// measure runs the tests; nil when none are known. The files that they leave or change in
// the work tree are noted in artifacts, with what they look like.
func (w Workflow) measure(ctx context.Context, by tdd.Rules, coverage bool, artifacts *map[string]string) (*tdd.Measured, error) {
	if by.TestCommand == "" {
		return nil, nil
	}
	s := suite.Suite{Command: by.TestCommand, Runner: suite.Runner(by.TestRunner)}
	scratch, err := w.Store.Scratch()
	if err != nil {
		return nil, err
	}
	before, err := w.tree().Changes(ctx, w.ignored()...)
	if err != nil {
		return nil, err
	}
	m := s.Run(ctx, suite.Options{Dir: w.Repo.Top, Scratch: scratch, Gate: w.Gate, Timeout: w.Settings.TestTimeout, Coverage: coverage && w.Settings.Thresholds.Any()})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("run the tests: %w", context.Cause(ctx))
	}
	after, err := w.tree().Changes(ctx, w.ignored()...)
	if err != nil {
		return nil, err
	}
	*artifacts = left(*artifacts, before.Prints, after.Prints)
	return &m, nil
}

// mostArtifacts bounds the files that are remembered as left by tests.
const mostArtifacts = 2000

// left are the files that tests have left, after another run of them. A file that was
// changed by somebody else since is work, and stays work.
func left(known, before, after map[string]string) map[string]string {
	out := map[string]string{}
	for f, print := range after {
		was, there := before[f]
		by, ours := known[f]
		if (!there || ours && by == was) && len(out) < mostArtifacts {
			out[f] = print
		}
	}
	return out
}

// judgedBy are the settings that a run is judged by, as they are now.
func (w Workflow) judgedBy() (tdd.Rules, error) {
	s, err := w.Suite()
	if err != nil {
		return tdd.Rules{}, err
	}
	r := tdd.Rules{AlreadyImplemented: w.Settings.AlreadyImplemented, Settings: w.testSettings()}
	if s != nil {
		r.TestCommand, r.TestRunner = s.Command, string(s.Runner)
	}
	return r, nil
}

// testSettings is what a person has chosen about the test command.
func (w Workflow) testSettings() string { return w.Settings.TestRunner + " " + w.Settings.TestCommand }

// sameRules refuses settings that were changed while the run is on: who is judged must
// not choose the judge. What can be told from the project's files may change with them;
// the command stays the one that was found.
func (w Workflow) sameRules(st *tdd.State) error {
	var what string
	switch was := st.Rules; {
	case was.Settings != w.testSettings():
		what = fmt.Sprintf("the test runner and command are %q now and were %q", w.testSettings(), was.Settings)
	case was.AlreadyImplemented != w.Settings.AlreadyImplemented:
		what = fmt.Sprintf("already-implemented is %v now and was %v", w.Settings.AlreadyImplemented, was.AlreadyImplemented)
	default:
		return nil
	}
	return &tdd.Refusal{
		Kind: tdd.Refused, Phase: st.CurrentPhase, Message: "the settings have changed since the run began: " + what,
		Way: "put them back; a person who means it says: autopilot tdd resume",
	}
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
