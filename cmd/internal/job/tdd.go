package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/drive"
	"autopilot/supervisor/tdd/runs"
	"autopilot/supervisor/tdd/workflow"
)

// Workflow walks the test-driven runs of this work tree. The state folder of a project
// that has none is made when create is set; else it has no runs.
func (p Place) Workflow(std outside.Stdio, create bool) (workflow.Workflow, error) {
	dir, err := p.tddDir(std, create)
	if err != nil {
		return workflow.Workflow{}, err
	}
	w := workflow.Workflow{
		Repo: p.Repo, Store: runs.Store{Dir: dir}, Settings: p.Cfg.TDD, Environ: std.Environ, Ignored: append(p.inside(p.MetricsDir()), p.inside(p.Cfg.CheckpointDir)...),
		Gate: gate.Runner{Environ: std.Environ, APIKey: p.Cfg.UseAPIKey, Token: "tdd-" + statedir.Slug(dir)},
	}
	if std.Asks() {
		w.Confirm = func(ctx context.Context, question string) (bool, error) {
			reply, err := std.Ask(ctx, question+" [y/N] ")
			return strings.EqualFold(reply, "y") || strings.EqualFold(reply, "yes"), err
		}
	}
	return w, nil
}

// tddDir is the folder of the test-driven runs of this work tree: in its state folder,
// or below the folder of the setting tdd-storage, where a work tree has one named after
// its path.
func (p Place) tddDir(std outside.Stdio, create bool) (string, error) {
	if p.Cfg.TDD.Storage != "" {
		base := p.tddStorage(std)
		if !filepath.IsAbs(base) {
			return "", outside.UsageHint("set HOME, or give an absolute path", "tdd-storage %q cannot be found: HOME is %q", p.Cfg.TDD.Storage, std.Getenv("HOME"))
		}
		return filepath.Join(base, "projects", statedir.Slug(p.Repo.Top)), nil
	}
	project, found, err := p.FindProject()
	if err == nil && !found && create {
		project, err = p.OpenProject()
		found = true
	}
	if err != nil || !found {
		return filepath.Join(p.State, "none"), err
	}
	return filepath.Join(project.Dir, "tdd"), nil
}

// tddStorage is the folder of the setting tdd-storage, empty when there is none.
func (p Place) tddStorage(std outside.Stdio) string {
	if rest, ok := strings.CutPrefix(p.Cfg.TDD.Storage, "~/"); ok {
		return filepath.Join(std.Getenv("HOME"), rest)
	}
	return p.Cfg.TDD.Storage
}

// OnTDD reports whether the job walks a task test by test.
func (j Job) OnTDD() bool {
	_, ok := j.Source.(*drive.Source)
	return ok
}

// tddSource is the source of work that a task is, test by test. As it comes it only
// says what would be done; BeginTDD begins.
func (j Job) tddSource(ctx context.Context, std outside.Stdio) (supervisor.Source, error) {
	if j.Cfg.Task == "" {
		return nil, outside.UsageHint("autopilot run --source tdd --task 1", "--source tdd needs the id of a task")
	}
	w, err := j.Workflow(std, false)
	if err != nil {
		return nil, err
	}
	src := &drive.Source{
		Walker: w, Standing: w.Standing, Repo: j.Repo.Top, Rules: drive.RuleFiles(), Generator: drive.GeneratorFile,
		Templates: filepath.Join(cmp.Or(j.tddStorage(std), j.State), "cache", "templates"),
	}
	st, err := w.Standing(ctx)
	if err != nil || st.Status.Over() || st.TaskID != j.Cfg.Task { // there is no run to go on with
		src.Preview = func() (tdd.Next, []tdd.Subtask, error) {
			return w.Preview(tdd.StartRequest{TaskID: j.Cfg.Task, Tag: j.Cfg.TaskTag})
		}
	}
	s, err := w.Suite()
	if err != nil {
		return nil, refusalError(err)
	}
	src.Believe = s == nil
	if src.Preview == nil {
		return src, nil
	}
	if _, _, err := src.Preview(); err != nil {
		return nil, refusalError(err)
	}
	return src, nil
}

// refusalError gives a refusal its exit code.
func refusalError(err error) error {
	r, ok := errors.AsType[*tdd.Refusal](err)
	if !ok {
		return err
	}
	return &outside.Error{Code: RefusalCode(r), Err: r, Way: r.Way}
}

// RefusalCode is the exit code of a refusal.
func RefusalCode(r *tdd.Refusal) int {
	switch r.Kind {
	case tdd.Invalid:
		return outside.ExitUsage
	case tdd.Paused:
		return supervisor.ExitPerson
	case tdd.Refused:
		return supervisor.ExitFailures
	}
	return supervisor.ExitError
}

// BeginTDD begins the test-driven run of the job, or goes on with one that is there. A
// paused one goes on only where a person asked for that by continuing the run of the
// loop. The tests and the processes that they start belong to that run. The notes are
// for its log.
func (j Job) BeginTDD(ctx context.Context, std outside.Stdio, tests gate.Runner, resumed bool) (notes []string, err error) {
	src, ok := j.Source.(*drive.Source)
	if !ok {
		return nil, nil
	}
	w, err := j.Workflow(std, true)
	if err != nil {
		return nil, err
	}
	w.Confirm, w.Gate = nil, tests
	src.Walker, src.Standing, src.Preview = w, w.Standing, nil
	st, err := w.Standing(ctx)
	switch r, refused := errors.AsType[*tdd.Refusal](err); {
	case err != nil && (!refused || r.Kind != tdd.Invalid):
		return nil, refusalError(err)
	case err != nil || st.Status.Over():
		started, err := w.Start(ctx, tdd.StartRequest{TaskID: j.Cfg.Task, Tag: j.Cfg.TaskTag})
		if err != nil {
			return nil, refusalError(err)
		}
		return append(started.Warnings, j.enough(2*started.Subtasks)...), nil
	case j.Cfg.TaskTag != "" && st.Tag != j.Cfg.TaskTag:
		return nil, outside.UsageHint("'autopilot tdd resume' goes on with it, 'autopilot tdd abort' gives it up", "test-driven run %s of tag %s is %s in this work tree", st.RunID, st.Tag, st.Status)
	case st.TaskID != j.Cfg.Task:
		return nil, outside.UsageHint("'autopilot tdd resume' goes on with it, 'autopilot tdd abort' gives it up", "test-driven run %s of task %s is %s in this work tree", st.RunID, st.TaskID, st.Status)
	case st.Status == tdd.OnHold && !resumed:
		return nil, &outside.Error{Code: supervisor.ExitPerson, Err: fmt.Errorf("test-driven run %s is paused: %s", st.RunID, st.Why), Way: "look at it, then 'autopilot tdd resume', and start again"}
	}
	if _, err := w.Resume(ctx, ""); err != nil {
		return nil, refusalError(err)
	}
	src.Resumed = true
	return append(notes, "test-driven run "+st.RunID+" goes on"), nil
}

// enough warns where a task needs more sessions than the run may have.
func (j Job) enough(least int) []string {
	if j.Cfg.MaxSessions >= least {
		return nil
	}
	return []string{fmt.Sprintf("the task takes %d sessions at least, and max-sessions is %d: 'autopilot resume --max-sessions N' goes on where this run ends", least, j.Cfg.MaxSessions)}
}
