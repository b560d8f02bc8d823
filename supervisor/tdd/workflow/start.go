package workflow

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"autopilot/sessions/task/taskmaster"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/message"
	"autopilot/supervisor/tdd/runs"
	"autopilot/supervisor/tdd/suite"
)

// Start checks that the task and the place are fit for a run, runs the tests once, makes
// the branch, and begins with the first subtask. Where something is refused, everything
// is as it was.
func (w Workflow) Start(ctx context.Context, req tdd.StartRequest) (tdd.Started, error) {
	var out tdd.Started
	err := w.locked(ctx, func() error {
		var err error
		out, err = w.start(ctx, req)
		return err
	})
	return out, err
}

func invalid(way, format string, args ...any) *tdd.Refusal {
	return &tdd.Refusal{Kind: tdd.Invalid, Phase: tdd.Preflight, Message: fmt.Sprintf(format, args...), Way: way}
}

func (w Workflow) start(ctx context.Context, req tdd.StartRequest) (tdd.Started, error) {
	var out tdd.Started
	if !w.Settings.Enabled {
		return out, invalid("set tdd: true in autopilot.yaml", "test-driven runs are switched off by the setting tdd")
	}
	if err := w.vacant(); err != nil {
		return out, err
	}
	file, task, err := w.task(req)
	if err != nil {
		return out, err
	}
	begin, err := w.preflight(ctx, req, file, task)
	if err != nil {
		return out, err
	}
	if unmet := file.Unmet(task); len(unmet) > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("task %s depends on %s, not done yet", task.ID, strings.Join(unmet, ", ")))
	}
	now := time.Now()
	begin.RunID, begin.Now = w.Store.NewID(file.Tag, task.ID, now), now
	st := tdd.Begin(begin.Start)
	st.Branch = begin.branch
	if err := st.Checked(now, map[string]bool{"git": true, "test": begin.Baseline != nil, "tools": true}); err != nil {
		return out, err
	}
	w.refresh(&st)
	if err := w.Store.Create(st); err != nil {
		return out, err
	}
	st.Outbox = nil
	if begin.Baseline != nil {
		if err := w.Store.PutResults(st.RunID, "baseline", begin.Baseline); err != nil {
			return out, err
		}
	}
	if err := w.setUp(ctx, &st); err != nil {
		return out, errors.Join(err, w.undo(context.WithoutCancel(ctx), &st), w.Store.Remove(st.RunID))
	}
	out.Warnings = append(out.Warnings, w.otherSuites()...)
	out.RunID, out.TaskID, out.Title, out.Tag, out.Branch = st.RunID, st.TaskID, st.TaskTitle, st.Tag, st.Branch
	out.Subtasks, out.NextAction = len(st.Subtasks), w.next(&st)
	return out, nil
}

// Preview says what a run would begin with. Nothing is made, and neither git nor the
// tests are asked.
func (w Workflow) Preview(req tdd.StartRequest) (tdd.Next, []tdd.Subtask, error) {
	file, task, err := w.task(req)
	if err != nil {
		return tdd.Next{}, nil, err
	}
	subs, err := subtasks(file, task)
	if err != nil {
		return tdd.Next{}, nil, err
	}
	by, err := w.judgedBy()
	if err != nil {
		return tdd.Next{}, nil, err
	}
	st := tdd.Begin(tdd.Start{TaskID: task.ID, TaskTitle: task.Title, Tag: file.Tag, Subtasks: subs, MaxAttempts: w.Settings.MaxAttempts, Rules: by, Now: time.Now()})
	st.CurrentPhase, st.CurrentSubtask = tdd.Red, subs[0].ID
	st.Branch = message.Branch(w.Settings.BranchPattern, file.Tag, task.ID, task.Title)
	return w.next(&st), subs, nil
}

// subtasks are the open parts of a task, in the order in which they can be done.
func subtasks(file *taskmaster.File, task taskmaster.Task) ([]tdd.Subtask, error) {
	open, err := file.Open(task)
	if err != nil {
		return nil, refusal(err)
	}
	if len(open) == 0 {
		return nil, invalid("set the status of what is to be done again to pending", "all subtasks for task %s are already completed; nothing to do", task.ID)
	}
	var out []tdd.Subtask
	for _, t := range open {
		out = append(out, tdd.Subtask{ID: t.ID, Title: t.Title, After: t.Dependencies})
	}
	return out, nil
}

// otherSuites names test commands of the project that are not run.
func (w Workflow) otherSuites() []string {
	if w.Settings.TestCommand != tdd.TestsAuto {
		return nil
	}
	all := suite.Detect(w.Repo.Top)
	s, err := w.Suite()
	if err != nil || s == nil || len(all) < 2 {
		return nil
	}
	var others []string
	for _, o := range all {
		if o.Command != s.Command {
			others = append(others, fmt.Sprintf("'%s' (%s)", o.Command, o.Why))
		}
	}
	if len(others) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the tests are run with '%s'; not run are %s; the setting test-command can run them all", s.Command, joined(others, 5))}
}

// vacant refuses a second run in the work tree.
func (w Workflow) vacant() error {
	st, err := w.Store.Peek()
	switch {
	case errors.Is(err, runs.ErrNoRun):
		return nil
	case err != nil:
		return err
	case st.Status.Over():
		return nil
	}
	return &tdd.Refusal{
		Kind: tdd.Refused, Phase: st.CurrentPhase, Message: fmt.Sprintf("workflow state already exists: run %s of task %s is %s", st.RunID, st.TaskID, st.Status),
		Way: "autopilot tdd resume goes on with it, autopilot tdd abort gives it up",
	}
}

// task finds the task and says why it cannot be worked on.
func (w Workflow) task(req tdd.StartRequest) (*taskmaster.File, taskmaster.Task, error) {
	file, err := taskmaster.Load(w.Repo.Top, req.Tag)
	if err != nil {
		return nil, taskmaster.Task{}, refusal(err)
	}
	task, err := file.Task(req.TaskID)
	if err != nil {
		return nil, task, refusal(err)
	}
	return file, task, nil
}

// refusal makes one of an error that knows its way out.
func refusal(err error) error {
	r := invalid("", "%v", err)
	r.Way, _ = hinted(err)
	r.Cause = err
	return r
}

// begin is what the preflight finds out.
type begin struct {
	tdd.Start
	branch string
}

func (w Workflow) preflight(ctx context.Context, req tdd.StartRequest, file *taskmaster.File, task taskmaster.Task) (begin, error) {
	if err := w.resolve(file); err != nil {
		return begin{}, err
	}
	b := begin{Start: tdd.Start{
		TaskID: task.ID, TaskTitle: task.Title, Tag: file.Tag, ProjectRoot: w.Repo.Top, TasksFile: file.Path, MaxAttempts: w.Settings.MaxAttempts,
	}}
	if req.MaxAttempts > 0 {
		b.MaxAttempts = req.MaxAttempts
	}
	var err error
	if b.Subtasks, err = subtasks(file, task); err != nil {
		return b, err
	}
	if b.BaseBranch, b.BaseCommit, err = w.tree().Current(ctx); err != nil {
		return b, err
	}
	if b.BaseCommit == "" {
		return b, invalid("commit what is there first", "the repository has no commit yet")
	}
	if busy := w.tree().Busy(); busy != "" {
		return b, invalid("finish it, or abort it", "%s is in progress in this work tree", busy)
	}
	if b.branch, err = w.branch(ctx, req, b); err != nil {
		return b, err
	}
	if b.Mine, err = w.clean(ctx, req.NoConfirm); err != nil {
		return b, err
	}
	if b.Rules, err = w.judgedBy(); err != nil {
		return b, err
	}
	b.Baseline, err = w.baseline(ctx, req.NoConfirm, b.Rules, &b.Artifacts)
	return b, err
}

// resolve names the task file as git knows it: a link is not what changes with a status.
func (w Workflow) resolve(file *taskmaster.File) error {
	real, err := filepath.EvalSymlinks(filepath.Join(w.Repo.Top, filepath.FromSlash(file.Path)))
	if err != nil {
		return err
	}
	top, err := filepath.EvalSymlinks(w.Repo.Top)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(top, real)
	if err != nil || !filepath.IsLocal(rel) {
		return invalid("move it into the repository", "%s leads out of the repository", file.Path)
	}
	file.Path = filepath.ToSlash(rel)
	return nil
}

// clean looks at what is changed before the run begins. It is the person's.
func (w Workflow) clean(ctx context.Context, sure bool) (map[string]string, error) {
	ch, err := w.tree().Changes(ctx, w.ignored()...)
	if err != nil || len(ch.Files) == 0 {
		return nil, err
	}
	words := fmt.Sprintf("working tree is not clean: %s (%s)", w.Repo.Top, ch.Words())
	way := "commit or stash them, or say --no-confirm: they are left alone and not committed then"
	if ch.Unmerged > 0 {
		return nil, invalid("resolve them first", "%s", words)
	}
	err = w.confirmed(ctx, sure || !w.Settings.RequireClean, words+". These changes are left alone and not committed. Go on?", invalid(way, "%s", words))
	return ch.Prints, err
}

// baseline is what the tests say before anything is changed.
func (w Workflow) baseline(ctx context.Context, sure bool, by tdd.Rules, artifacts *map[string]string) (*tdd.Run, error) {
	m, err := w.measure(ctx, by, false, artifacts)
	if m == nil || err != nil {
		return nil, err
	}
	if m.Bad() {
		words := fmt.Sprintf("the tests fail before anything is changed: '%s': %s", m.Command, m.Detail)
		if len(m.Failing) > 0 {
			words += ": " + joined(m.Failing, 5)
		}
		err := w.confirmed(ctx, sure, words+". No step can become green until they pass. Go on?", invalid("make them pass first, or say --no-confirm", "%s", words))
		if err != nil {
			return nil, err
		}
	}
	files, err := w.tree().Files(ctx)
	if err != nil {
		return nil, err
	}
	run := &tdd.Run{At: time.Now().UTC(), Measured: m}
	isTest := w.isTest(by)
	for _, f := range files {
		if isTest(f) && len(run.Files) < maxNamed {
			run.Files = append(run.Files, f)
		}
	}
	return run, nil
}

// maxNamed bounds the files that are named in a state or an answer.
const maxNamed = 100

// setUp makes the branch and switches the tag. It may be called again after a kill.
func (w Workflow) setUp(ctx context.Context, st *tdd.State) error {
	created, err := w.makeBranch(ctx, st)
	if err != nil {
		return noBranch(err)
	}
	from, switched, err := taskmaster.SwitchTag(w.Repo.Top, st.Tag, time.Now())
	if err != nil {
		return err
	}
	if !switched {
		from = ""
	}
	if err := st.Branched(time.Now(), st.Branch, from, created); err != nil {
		return err
	}
	return w.save(st)
}

// hinted is the way out that an error knows.
func hinted(err error) (string, bool) {
	h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	if !ok {
		return "", false
	}
	return h.Hint(), true
}
