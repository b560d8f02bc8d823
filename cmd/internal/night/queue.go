package night

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/forecast"
	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/task"
	"autopilot/supervisor"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/queue/increment"
	"autopilot/supervisor/queue/work"
	"autopilot/supervisor/testgate"
)

// Wanted is what is to be put into a queue.
type Wanted struct {
	Increments []string // their folders, or the beginnings of them
	Goals      []string
	AllBacklog bool
	Like       queue.Item // priority, what it waits for and, for goals, its checks
}

// Enqueue puts what is wanted into the queue and returns what was not there yet. Nothing
// is added when a part of it cannot be.
func (n Night) Enqueue(w Wanted) ([]queue.Item, error) {
	items, err := n.items(w)
	if err != nil {
		return nil, err
	}
	var added []queue.Item
	err = n.Queue.Update(func(q *queue.Queue) error {
		added, err = addTo(q, items, w)
		return err
	})
	return added, err
}

// addTo adds the items that are not there. One that was named and is there already is
// refused only where it was asked for by name.
func addTo(q *queue.Queue, items []queue.Item, w Wanted) ([]queue.Item, error) {
	var added []queue.Item
	for _, it := range items {
		if _, err := q.Find(it.ID); it.Kind == queue.Increment && err == nil {
			if slices.ContainsFunc(w.Increments, func(name string) bool { return strings.HasPrefix(it.ID, name) }) && !w.AllBacklog {
				return nil, outside.UsageHint("'autopilot queue list' shows it; 'queue retry' has it done again", "%s is in the queue already", it.ID)
			}
			continue
		}
		got, err := q.Add(it, time.Now())
		if err != nil {
			return nil, err
		}
		added = append(added, got)
	}
	return added, nil
}

// items are the items that are wanted, each with what is known of it.
func (n Night) items(w Wanted) ([]queue.Item, error) {
	var out []queue.Item
	names := w.Increments
	if w.AllBacklog {
		list, faults := increment.List(n.Repo)
		for _, f := range faults {
			if filepath.Base(f.Path) != "metadata.json" {
				continue // the increment is there all the same
			}
			return nil, outside.UsageHint("mend it, or name the increments one by one", "%s: %s", f.Path, f.Why)
		}
		for _, inc := range list {
			if inc.Status != increment.Completed && inc.Status != increment.Abandoned && !slices.Contains(names, inc.ID) {
				names = append(names, inc.ID)
			}
		}
	}
	for i, id := range w.Like.After {
		if inc, err := increment.Load(n.Repo, id); err == nil {
			w.Like.After[i] = inc.ID
		}
	}
	for _, name := range names {
		inc, err := increment.Load(n.Repo, name)
		if err != nil {
			return nil, outside.UsageHint("the increments are the folders of .specweave/increments", "%v", err)
		}
		it := w.Like
		it.ID, it.Kind, it.Title, it.Type, it.Verify = inc.ID, queue.Increment, inc.Title, inc.Type, nil
		it.Estimate = queue.Estimate(len(inc.Tasks))
		if it.Priority == 0 {
			it.Priority = inc.Priority
		}
		it.After = union(inc.DependsOn, w.Like.After)
		out = append(out, it)
	}
	for _, text := range w.Goals {
		it := w.Like
		it.Kind, it.Title = queue.Goal, text
		out = append(out, it)
	}
	return out, nil
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// QueueFacts are what the choice of the next item depends on.
func (n Night) QueueFacts() queue.Facts {
	s := work.Source{Repo: n.Repo, Active: n.Cfg.Night.MaxActive, PerType: queue.DefaultPerType()}
	return s.Facts()
}

// OnQueue reports whether a source of work is the queue.
func OnQueue(src supervisor.Source) bool {
	_, ok := src.(*work.Source)
	return ok
}

// Parts are what is open of the queue that is a source of work.
func Parts(source supervisor.Source) []forecast.Part {
	src, ok := source.(*work.Source)
	if !ok {
		return nil
	}
	var out []forecast.Part
	for _, it := range src.Open() {
		p := forecast.Part{Tasks: 1}
		if it.Kind == queue.Increment {
			p.Whole = true
			if inc, err := increment.Load(src.Repo, it.ID); err == nil {
				p.Tasks = len(task.Remaining(inc.Tasks))
			}
		}
		out = append(out, p)
	}
	return out
}

// source is the source of work that the queue is. As it comes it only says what
// would be done; Begin begins. It is nil where the queue has nothing to do and
// nobody asked for it.
func (n Night) source() (*work.Source, error) {
	q, err := n.Queue.Load()
	if err != nil {
		return nil, &outside.Error{Code: supervisor.ExitError, Err: err, Way: outside.HintOf(err)}
	}
	asked := n.Cfg.Source == config.SourceQueue || len(n.Cfg.Night.Increments) > 0 || n.Cfg.Night.AllBacklog
	only, err := n.prepare(&q, false)
	if err != nil {
		return nil, err
	}
	open := q.Summary(only)
	if !asked && open.Waiting+open.InProgress == 0 {
		return nil, nil
	}
	if open.Total == 0 {
		return nil, outside.UsageHint("'autopilot queue add' fills it", "the queue is empty")
	}
	return &work.Source{
		Store: n.Queue, Preview: &q, Repo: n.Repo, Only: only, Active: n.Cfg.Night.MaxActive, PerType: queue.DefaultPerType(), Promise: n.Cfg.Night.Promise,
	}, nil
}

// prepare adds to a queue what the run was asked for, and returns the items that count,
// nil for all. A run that continues another adds nothing again: a person may have taken
// something out.
func (n Night) prepare(q *queue.Queue, resumed bool) (only []string, err error) {
	cfg := n.Cfg.Night
	var missing []string
	for _, name := range cfg.Increments {
		id, there, err := n.resolve(q, name)
		switch {
		case err != nil:
			return nil, err
		case there:
			only = append(only, id)
		case !resumed:
			missing = append(missing, id)
			only = append(only, id)
		}
	}
	if cfg.AllBacklog {
		only = nil
	}
	if resumed {
		return only, nil
	}
	items, err := n.items(Wanted{Increments: missing, AllBacklog: cfg.AllBacklog})
	if err != nil {
		return nil, err
	}
	if _, err := addTo(q, items, Wanted{AllBacklog: true}); err != nil {
		return nil, Refusal(err)
	}
	return only, nil
}

// resolve finds what a name means, among the items of the queue and the increments on
// disk together, and reports whether it is in the queue.
func (n Night) resolve(q *queue.Queue, name string) (id string, inQueue bool, err error) {
	if _, err := q.Find(name); err == nil {
		return name, true, nil
	}
	inc, err := increment.Load(n.Repo, name)
	if err == nil {
		_, missing := q.Find(inc.ID)
		return inc.ID, missing == nil, nil
	}
	id, none := q.Resolve(name)
	if errors.Is(err, increment.ErrNotFound) && none == nil {
		return id, true, nil
	}
	return "", false, outside.UsageHint("the increments are the folders of .specweave/increments, 'autopilot queue list' shows the queue", "%v", err)
}

// Beginning is what the work on a queue needs of its run.
type Beginning struct {
	Environ []string
	Folder  string // state folder of the run
	Runner  gate.Runner
	Resumed bool // the run continues another: nothing is added to the queue
	Stop    func() bool
}

// Refusal gives a refusal of the queue its exit code.
func Refusal(err error) error {
	if r, ok := errors.AsType[*queue.Refusal](err); ok {
		return outside.UsageHint(r.Way, "%v", r)
	}
	return err
}

// Begin begins the work on the queue: what was asked for is put into it. Tests and
// checks belong to the run of the runner.
func (n Night) Begin(source supervisor.Source, b Beginning) error {
	src, ok := source.(*work.Source)
	if !ok {
		return nil
	}
	src.Store = n.Queue // a plan may have been made before the folder was
	err := n.Queue.Update(func(q *queue.Queue) error {
		only, err := n.prepare(q, b.Resumed)
		src.Only = only
		return err
	})
	if err != nil {
		return Refusal(err)
	}
	src.Preview, src.RunID, src.Check, src.Stop = nil, b.Runner.RunID, b.Runner.Run, b.Stop
	src.Answer = func(r sessions.Result) string { return r.WholeAnswer(supervisor.SessionFolder(b.Folder, r.ID)) }
	src.Held = n.HeldBy
	src.Tests, err = n.Tests(true, b.Environ, b.Runner, b.Folder)
	return err
}

// Tests is the test gate of a run, nil when it has none. Where it was asked for and
// nothing can be run, or where it is set up in a way that cannot work, that is an error.
// Else it looks each time what there is to run: sessions write tests as well.
func (n Night) Tests(onQueue bool, environ []string, runner gate.Runner, folder string) (func(context.Context) work.Tested, error) {
	wanted, required := n.testsWanted(onQueue)
	if !wanted {
		return nil, nil
	}
	g := n.TestGate(environ, runner)
	if none, err := nothing(g); err != nil && (required || !none) {
		return nil, outside.UsageHint("name a test-command, or say --test-gate off", "test-gate: %v", err)
	}
	return func(ctx context.Context) work.Tested {
		if none, err := nothing(g); none && !required {
			return work.Tested{None: err.Error()}
		}
		out := work.Tested{Report: g.Run(ctx)}
		if ctx.Err() != nil {
			return out
		}
		path, err := out.Save(folder, time.Now())
		if err != nil { // what it says is in the log as well
			return out
		}
		out.Path = strings.TrimSuffix(path, ".json") + ".md"
		if statedir.Replace(out.Path, []byte(out.Handover())) != nil {
			out.Path = path
		}
		return out
	}, nil
}

// nothing reports whether a gate has nothing to run.
func nothing(g testgate.Gate) (bool, error) {
	_, err := g.Plan()
	p, is := errors.AsType[*testgate.PlanError](err)
	return is && p.Class == testgate.Structural, err
}

// CheckTests refuses a test gate that could not work, before anything starts.
func (n Night) CheckTests(onQueue bool, environ []string) error {
	_, err := n.Tests(onQueue, environ, gate.Runner{}, "")
	return err
}

// Checks makes the checks of a goal, the test gate among them where it is wanted.
func (n Night) Checks(source supervisor.Source, environ []string, runner gate.Runner, folder string) (func(context.Context, []gate.Check) []gate.Result, error) {
	if OnQueue(source) { // each item has its own
		return runner.Run, nil
	}
	tests, err := n.Tests(false, environ, runner, folder)
	if err != nil || tests == nil {
		return runner.Run, err
	}
	return func(ctx context.Context, checks []gate.Check) []gate.Result {
		out := runner.Run(ctx, checks)
		rep := tests(ctx)
		detail := rep.Summary
		if !rep.Passed && rep.Path != "" {
			detail += "; what was printed is in " + rep.Path
		}
		return append(out, gate.Result{Check: gate.Check{Kind: gate.Command, Command: "test gate", Given: true}, OK: rep.Passed || rep.None != "", Detail: detail, Took: rep.Took})
	}, nil
}

// TellItems has somebody told of the items of the queue.
func TellItems(source supervisor.Source, tell func(work.Standing)) {
	if src, ok := source.(*work.Source); ok {
		src.Tell = tell
	}
}

// Source is the queue as a source of work for a run with a goal, or without one; nil where
// the run is to work on something else. It is refused where both were asked for.
func (n Night) Source(goal string) (supervisor.Source, error) {
	cfg := n.Cfg.Night
	asked := n.Cfg.Source == config.SourceQueue || len(cfg.Increments) > 0 || cfg.AllBacklog
	if asked && goal != "" {
		return nil, outside.UsageHint("'autopilot queue add --goal TEXT' puts a goal into the queue", "the queue and a goal cannot be worked on in the same run")
	}
	if !asked && (n.Cfg.Source != config.SourceAuto || goal != "") {
		return nil, nil
	}
	if asked && n.Cfg.Source != config.SourceAuto && n.Cfg.Source != config.SourceQueue {
		return nil, outside.Usage("--increments and --all-backlog are for the queue, and --source is %s", n.Cfg.Source)
	}
	if asked && n.Cfg.Task != "" {
		return nil, outside.Usage("--task is for --source tdd; the queue has its own tasks")
	}
	src, err := n.source()
	if err != nil || src == nil {
		return nil, Refusal(err)
	}
	return src, nil
}

// HeldBy are the calls of a session that wait for a person.
func (n Night) HeldBy(session string) []string {
	list, _ := n.Gates.List(time.Now()) // what is broken is named by status and doctor
	var out []string
	for _, g := range list {
		if g.LastSession == session && g.Open() {
			out = append(out, fmt.Sprintf("%s %s (%s)", g.ID, g.Subject, g.Rules[0].Rule))
		}
	}
	return out
}

// Completed are the increments that are completed on disk.
func (n Night) Completed() []string {
	var ids []string
	for id, status := range n.QueueFacts().Increments {
		if status == increment.Completed {
			ids = append(ids, id)
		}
	}
	return ids
}

// Listed are the items of the queue that a run is to work on, those that are over and what
// it was asked for beside those included; keep puts that into the queue.
func (n Night) Listed(keep, resumed bool) ([]queue.Item, error) {
	var items []queue.Item
	collect := func(q *queue.Queue) error {
		only, err := n.prepare(q, resumed)
		items = nil
		for _, it := range q.Ordered() {
			if it.Status == queue.Done || only == nil || slices.Contains(only, it.ID) {
				items = append(items, it)
			}
		}
		return err
	}
	if keep {
		err := n.Queue.Update(collect)
		return items, Refusal(err)
	}
	q, err := n.Queue.Load()
	if err != nil {
		return nil, err
	}
	err = collect(&q)
	return items, Refusal(err)
}

// Over takes in how an item stands that another run has worked on, with a queue of its own:
// done, waiting for a person, or neither. One that a person has taken out or settled
// meanwhile stays as it is.
func (n Night) Over(id, run string, done, person bool, why string) error {
	now := time.Now()
	err := n.Queue.Update(func(q *queue.Queue) error {
		it, err := q.Find(id)
		if err != nil || it.Status.Over() {
			return nil
		}
		if err := q.Begin(id, run, now); err != nil {
			return err
		}
		switch {
		case done:
			return q.Done(id, now)
		case person:
			return q.Ask(id, why, now)
		}
		return q.Fail(id, why, now)
	})
	return Refusal(err)
}
