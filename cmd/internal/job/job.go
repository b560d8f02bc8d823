package job

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/courier/senders"
	"autopilot/cmd/internal/outside"
	"autopilot/probe"
	"autopilot/probe/proctree"
	"autopilot/reflector/goal"
	"autopilot/sessions"
	"autopilot/sessions/launch"
	"autopilot/sessions/ptyrun"
	"autopilot/sessions/vitals"
	"autopilot/supervisor"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/source"
)

// Job is a checked request for a run or a plan.
type Job struct {
	Place
	Goal    string // the first of the goals
	Goals   []goal.Analysis
	Refined []string // goals that were replaced by the suggested ones
	Extra   []string // handed to claude as it is
	Source  supervisor.Source
	Probe   func(context.Context) probe.Snapshot
	Until   time.Time // when the time of the run is over; zero for never

	verify, expect []gate.Check
	request        Request
}

// Request is what a person typed.
type Request struct {
	Words    []string // the first goal
	Goals    []string // further ones
	Extra    []string // handed to claude as it is
	Flags    []config.Value
	Snapshot string // file with the machine's state, for a rehearsal
	from     string // another work tree, whose settings and ledgers hold; empty for none
}

// New checks everything that can be checked without starting anything.
func New(ctx context.Context, std outside.Stdio, r Request) (Job, error) {
	if len(r.Words) > 1 {
		return Job{}, outside.UsageHint(`put the goal in quotes: autopilot run "make the tests pass"`, "one goal is wanted, got %d words", len(r.Words))
	}
	if err := launch.RefusedExtra(r.Extra); err != nil {
		return Job{}, outside.Usage("%v", err)
	}
	p, err := setUpFrom(ctx, std, r.Flags, r.from)
	if err != nil {
		return Job{}, err
	}
	j := Job{Place: p, Extra: r.Extra, request: r}
	if err := j.readGoals(append(slices.Clone(r.Words), r.Goals...)); err != nil {
		return j, err
	}
	if len(j.Goals) > 0 {
		j.Goal = j.Goals[0].Goal
	}
	if way, err := j.Cfg.CheckStories(); err != nil {
		return j, outside.UsageHint(way, "%v", err)
	}
	if j.Source, err = j.chooseSource(ctx, std); err != nil {
		return j, err
	}
	if j.Probe, err = chooseProbe(std, r.Snapshot); err != nil {
		return j, err
	}
	if err := j.endsAt(time.Now()); err != nil {
		return j, err
	}
	if err := senders.Check(senders.Of(p.Repo.Top, std), p.Cfg.Night.Sync); err != nil {
		return j, err
	}
	if n, err := j.Night(false); err == nil {
		if err := n.CheckTests(j.OnQueue(), std.Environ); err != nil {
			return j, err
		}
	}
	return j, j.checkPermissions(std)
}

// endsAt takes over when the time of the run is over.
func (j *Job) endsAt(now time.Time) (err error) {
	if j.Until, err = config.Until(j.Cfg.Until, now); err != nil {
		return outside.Usage("until: %v", err)
	}
	if !j.Until.IsZero() && !j.Until.After(now) {
		return outside.UsageHint("name a later --until, or none", "the time of the run was over at %s", j.Cfg.Until)
	}
	return nil
}

// Again makes the job anew, for another work tree of the repository that this process has
// changed to. Settings and ledgers stay those of the first one.
func (j Job) Again(ctx context.Context, std outside.Stdio) (Job, error) {
	r := j.request
	r.from = j.Repo.Top
	return New(ctx, std, r)
}

// chooseProbe measures this machine, or rehearses with the snapshot in a file,
// which is read anew each time.
func chooseProbe(std outside.Stdio, file string) (func(context.Context) probe.Snapshot, error) {
	if file == "" {
		return TakeSnapshot, nil
	}
	if _, err := ReadSnapshot(std, file); err != nil {
		return nil, err
	}
	return func(context.Context) probe.Snapshot {
		s, err := ReadSnapshot(std, file)
		if err != nil {
			return probe.Snapshot{Absent: []probe.Absence{{Signal: "snapshot", Reason: err.Error()}}}
		}
		s.TakenAt = time.Now()
		return s
	}, nil
}

func (j Job) chooseSource(ctx context.Context, std outside.Stdio) (supervisor.Source, error) {
	lifecycle := source.Lifecycle{Repo: j.Repo.Top, Steps: j.Cfg.LifecycleSteps}
	tasks := j.taskSource(std)
	if j.Cfg.Stories.Multi {
		return j.manySource()
	}
	n, err := j.Night(false)
	if err != nil {
		return nil, &outside.Error{Code: outside.ExitUsage, Err: err, Way: "make the state folder readable, or set XDG_STATE_HOME"}
	}
	if src, err := n.Source(j.Goal); src != nil || err != nil {
		return src, err
	}
	switch {
	case slices.Contains([]string{config.SourceLifecycle, config.SourceTasks, config.SourceTDD}, j.Cfg.Source) && j.Goal != "":
		return nil, outside.UsageHint("leave out one of the two", "--source %s takes no goal, got %q", j.Cfg.Source, j.Goal)
	case j.Cfg.Source == config.SourceTDD:
		return j.tddSource(ctx, std)
	case j.Cfg.Task != "":
		return nil, outside.UsageHint("autopilot run --source tdd --task "+j.Cfg.Task, "--task is for --source tdd; the source is %s", j.Cfg.Source)
	case j.Cfg.Source == config.SourceTasks:
		return tasks, nil
	case j.Cfg.Source == config.SourceLifecycle:
		if len(j.Cfg.LifecycleSteps) == 0 {
			return nil, outside.Usage("lifecycle-steps is empty: a lifecycle session needs at least one prompt")
		}
		return lifecycle, nil
	case j.Goal != "":
		return source.Goal{Promise: j.Cfg.Night.Promise}, nil
	case j.Cfg.Source == config.SourceGoal:
		return nil, outside.UsageHint(`autopilot run "make the tests pass"`, "--source goal needs a goal")
	case source.HasLifecycle(j.Repo.Top):
		return lifecycle, nil
	}
	if t := tasks.Track(ctx); t.Total > 0 || len(t.Broken) > 0 {
		return tasks, nil
	}
	return nil, outside.UsageHint(`name a goal (autopilot run "make the tests pass"), write down tasks ('autopilot tasks' says where), or set the repository up for session-orchestrator`,
		"there is nothing to do in %s: no goal was given, and neither tasks nor lifecycle files are there", j.Repo.Top)
}

// checkPermissions refuses a mode that claude itself would refuse at each start.
func (j Job) checkPermissions(std outside.Stdio) error {
	if j.Cfg.PermissionMode == config.BypassPermissions && os.Geteuid() == 0 && std.Getenv("IS_SANDBOX") != "1" {
		return outside.UsageHint("run as another user, choose another --permission-mode, or set IS_SANDBOX=1 if this is a sandbox",
			"permission-mode %s is refused by claude when it runs as root", config.BypassPermissions)
	}
	return nil
}

// CheckNested refuses to start a supervisor inside a session.
func CheckNested(std outside.Stdio) error {
	const way = "start it from a shell of your own, or say --allow-nested"
	if id := std.Getenv(launch.RunVar); id != "" {
		return outside.UsageHint(way, "this shell belongs to a session of autopilot run %s; a run inside a run is refused", id)
	}
	table, err := proctree.Take(proctree.Root)
	if err != nil {
		return nil // cannot be told; the variable above is the sure sign
	}
	for pid, depth := os.Getppid(), 0; pid > 1 && depth < 64; depth++ {
		p, ok := table.Get(pid)
		if !ok {
			break
		}
		if p.Comm == "claude" {
			return outside.UsageHint(way, "this shell belongs to the Claude Code session with pid %d; a run inside a session is refused", pid)
		}
		pid = p.PPID
	}
	return nil
}

// queueErrors is how many sessions in a row may go wrong in a run through the queue when
// nobody has said otherwise: an item fails before the run does.
const queueErrors = 3

// set reports whether somebody has set an option.
func (j Job) set(key string) bool {
	return slices.ContainsFunc(j.Cfg.Settings, func(s config.Setting) bool { return s.Key == key && s.Origin != "default" })
}

// Limits are the bounds of the run.
func (j Job) Limits() killswitch.Limits {
	if j.OnQueue() && !j.set("max-consecutive-errors") {
		j.Cfg.MaxErrors = max(j.Cfg.MaxErrors, queueErrors)
	}
	return killswitch.Limits{
		MaxSessions: j.Cfg.MaxSessions, MaxHours: j.Cfg.MaxHours, MaxTokens: j.Cfg.MaxTokens, MaxCostUSD: j.Cfg.MaxCostUSD,
		MaxErrors: j.Cfg.MaxErrors, PeerAbort: j.Cfg.PeerAbort, CarryoverThreshold: j.Cfg.CarryoverThreshold, ConfidenceThreshold: j.Cfg.ConfidenceThreshold,
	}
}

// Waits bound the waiting for limits of the API.
func (j Job) Waits() supervisor.Waits {
	return supervisor.Waits{Margin: j.Cfg.LimitMargin, Initial: j.Cfg.BackoffInitial, Max: max(j.Cfg.BackoffInitial, j.Cfg.BackoffMax)}
}

// Template is what all sessions of the run have in common.
func (j Job) Template(std outside.Stdio, claude string) sessions.Spec {
	return sessions.Spec{
		Dir: j.Repo.Top, Repo: j.Repo, Ignore: slices.Concat(j.inside(j.MetricsDir()), j.inside(j.Cfg.CheckpointDir)),
		Claude: claude, Environ: std.Environ, UseAPIKey: j.Cfg.UseAPIKey, Model: j.Cfg.Model,
		Permission: j.Cfg.PermissionMode, Tools: j.Cfg.AllowedTools, Extra: j.Extra,
		HookCommand: launch.Quote(std.Self) + " hook agent-cap", Variables: taskVariables(),
		Limits: sessions.Limits{
			Limits: vitals.Limits{
				Stall: j.Cfg.StallTimeout, ToolStall: j.Cfg.ToolStallTimeout, Session: j.Cfg.SessionTimeout, ExitGrace: j.Cfg.ExitGrace,
			},
			Judge: j.Cfg.ProbeInterval, Ladder: ladder(),
		},
	}
}

// inside is a folder of ours relative to the repository, or nothing when it lies
// elsewhere. What is written there is no session's work.
func (p Place) inside(dir string) []string {
	if dir == "" {
		return nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(p.Repo.Top, dir)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(p.Repo.Top, dir)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil
	}
	return []string{filepath.ToSlash(rel)}
}

// ladder gives the CLI time to end its tools and print its result after an
// interrupt; two seconds are enough by measurement.
const (
	interruptTime = 5 * time.Second
	terminateTime = 2 * time.Second
)

func ladder() ptyrun.Ladder { return ptyrun.Ladder{Interrupt: interruptTime, Terminate: terminateTime} }
