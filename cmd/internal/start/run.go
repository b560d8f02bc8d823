package start

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"autopilot/cmd/internal/beside"
	"autopilot/cmd/internal/company"
	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/courier"
	"autopilot/cmd/internal/courier/senders"
	"autopilot/cmd/internal/follow"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/judge"
	"autopilot/cmd/internal/meter"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/notifier"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/screen"
	"autopilot/cmd/internal/service"
	"autopilot/cmd/internal/stories"
	"autopilot/cmd/internal/vigil"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/binary"
	"autopilot/sessions/guard"
	"autopilot/sessions/launch"
	"autopilot/sessions/reap"
	"autopilot/supervisor"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/source"
)

const (
	LowDisk = 100 << 20 // bytes below which no run is started
	// memoryGoal is what the supervisor tries to stay below: it shares the machine
	// with those it runs, also when one of them prints a very long line.
	memoryGoal = 28 << 20
	// cohortGrace is what the supervisors of stories have to end in order when their
	// coordinator was killed.
	cohortGrace = 30 * time.Second
)

// Flags say how a run is started and how its end is told.
type Flags struct {
	JSON     bool // the record, not a summary, on stdout
	ExitZero bool // 0 however the run ended
	Nested   bool // allowed inside a session
	Yes      bool // do not ask whether the forecast is acceptable
}

// Run starts a run under a guard, or is the supervisor that a guard has
// started. Previous is the run that is continued, or nil.
func Run(ctx context.Context, std outside.Stdio, j job.Job, f Flags, previous *supervisor.State) error {
	token, gone, guarded := guard.Join(std.Getenv)
	if !guarded {
		return startGuarded(ctx, std, j, f, previous)
	}
	select {
	case <-gone:
		return outside.Silent(128 + int(syscall.SIGTERM)) // nothing was begun
	default:
	}
	std.Environ = guard.Clean(std.Environ)
	if err := os.Unsetenv(guard.Var); err != nil {
		return err
	}
	if err := agreedOn(&std, &j); err != nil {
		return err
	}
	verdict, err := judge.Told(&std)
	if err != nil {
		return err
	}
	if std.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
	return start(ctx, std, j, runSetup{flags: f, token: token, guardGone: gone, previous: previous, verdict: verdict})
}

// startGuarded starts the supervisor below this process, which from then on only
// guards it.
func startGuarded(ctx context.Context, std outside.Stdio, j job.Job, f Flags, previous *supervisor.State) error {
	if !f.Nested {
		if err := job.CheckNested(std); err != nil {
			return err
		}
	}
	if !j.Cfg.Night.Enabled {
		return outside.UsageHint("set enabled to true; 'autopilot config' says where it was set", "runs are switched off in this repository")
	}
	if !j.Cfg.Persistence {
		fmt.Fprintln(std.Err, "autopilot: persistence is off for this repository; nothing is run")
		return nil
	}
	if err := meter.Check(j.Cfg.Telemetry); err != nil {
		return err
	}
	if previous == nil {
		if err := askBefore(ctx, &std, &j, f); err != nil {
			return err
		}
		if err := judge.AskBefore(ctx, &std, j, f.Yes, f.JSON); err != nil {
			return err
		}
	}
	c := guard.Command{Self: std.Self, Args: std.Args, Dir: std.Dir, Environ: std.Environ, Token: uuid.NewString(), Marker: launch.TokenVar}
	if j.Cfg.Stories.Multi {
		c.Grace = cohortGrace
	}
	end, err := guard.Run(c)
	if err != nil {
		return err
	}
	switch end.Signal {
	case 0, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP:
		// It ended by itself, or was told to before it had begun.
	default:
		afterKill(ctx, std, j, end)
	}
	if end.Code == 0 {
		return nil
	}
	return outside.Silent(end.Code)
}

// afterKill writes what a supervisor that was killed could not write any more. What
// cannot be written now is left to the next start.
func afterKill(ctx context.Context, std outside.Stdio, j job.Job, end guard.End) {
	fmt.Fprintf(std.Err, "autopilot: the supervisor was killed (%v); %d processes of its session were ended\n", end.Signal, end.Ended)
	if len(end.Left) > 0 {
		fmt.Fprintf(std.Err, "autopilot: processes %v could not be ended\n", end.Left)
	}
	project, found, err := j.FindProject()
	if err != nil || !found {
		return
	}
	recovered, err := RecoverDead(ctx, std, j.Place, project)
	if err != nil {
		fmt.Fprintf(std.Err, "autopilot: its records are not written yet: %v\n", err)
	}
	if j.Story == nil { // else its coordinator tells
		vigil.Late(ctx, std, j.Place, project.Dir, ended(project, recovered))
	}
}

// start checks what can keep a run from starting, takes the lock, finishes what
// earlier runs left, and runs.
func start(ctx context.Context, std outside.Stdio, j job.Job, s runSetup) error {
	defer vigil.Early(ctx, std, j)()
	var err error
	if s.claude, s.version, err = checkClaude(ctx, std, j); err != nil {
		return err
	}
	if err := j.CheckReflector(ctx, std); err != nil {
		return err
	}
	if j.Cfg.Stories.Multi {
		if s.stories, err = stories.Ready(ctx, std, j, s.previous != nil, false); err != nil {
			return err
		}
	}
	lock, j, deviation, err := beside.Alone(ctx, std, j)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	s.lock, s.deviation = lock, deviation
	return runLocked(ctx, std, j, s)
}

func checkClaude(ctx context.Context, std outside.Stdio, j job.Job) (path, ver string, err error) {
	if path, err = job.FindClaude(j.Cfg.Claude); err != nil {
		return "", "", err
	}
	env, _ := launch.Env(std.Environ, launch.Identity{})
	if ver, err = job.ClaudeVersion(ctx, path, env); err != nil {
		return "", "", err
	}
	if binary.OlderThan(ver, binary.Oldest) {
		return "", "", outside.UsageHint("update it: npm install -g @anthropic-ai/claude-code", "claude %s at %s is too old, %s or newer is needed", ver, path, binary.Oldest)
	}
	return path, ver, nil
}

// runSetup is what start found out for runLocked.
type runSetup struct {
	flags     Flags
	token     string          // marks every process of the run
	guardGone <-chan struct{} // closed when the guard has died
	claude    string
	version   string
	lock      *statedir.Lock
	previous  *supervisor.State // the run that is continued, or nil
	sweeper   *reap.Sweeper
	notes     []string // of what was begun before the run, for its log
	deviation string   // how the run did not begin as usual
	stories   stories.Beginning
	verdict   []string // what speaks against the run, for its log
}

func runLocked(ctx context.Context, std outside.Stdio, j job.Job, s runSetup) error {
	project, err := j.OpenProject()
	if err != nil {
		return stateError(err)
	}
	if err := enoughDisk(j, project); err != nil {
		return err
	}
	ledgers, err := ledger.Open(j.MetricsDir())
	if err != nil {
		return &outside.Error{Code: outside.ExitUsage, Err: err, Way: "the ledgers are written there; make the folder writable or set --metrics-dir"}
	}
	defer func() { _ = ledgers.Close() }()
	recovered, recoverErr := supervisor.Recover(project, ledgers, stories.Mend(j.Place, std, ledgers))
	s.sweeper = reap.NewSweeper()

	at, err := j.Night(true)
	if err != nil {
		return stateError(err)
	}
	tests := gate.Runner{Dir: j.Repo.Top, Environ: insideOf(std, j), Token: s.token, APIKey: j.Cfg.UseAPIKey, Sweeper: s.sweeper}
	if s.notes, err = j.BeginTDD(ctx, std, tests, s.previous != nil); err != nil {
		return err
	}
	branch := ""
	if st, err := j.Repo.State(ctx); err == nil {
		branch = st.Branch
	}
	name := branch
	if j.Story != nil && j.Story.SharesTree() { // others are on the same branch
		name += "-" + j.Story.Story
	}
	id, folder, err := supervisor.Register(project, name, time.Now())
	if err != nil {
		return stateError(err)
	}
	if err := s.lock.Update(statedir.Holder{RunID: id}); err != nil {
		return err
	}
	if err := j.SaveSetup(folder); err != nil {
		return stateError(err)
	}
	log, live, err := screen.Open(screen.Options{
		Out: std.Err, Format: j.Cfg.LogFormat, TTY: std.TTY, Width: std.Width,
		NoColor: std.Getenv("NO_COLOR") != "", Folder: folder,
	})
	if err != nil {
		return err
	}
	defer live.Close()
	tests.RunID, tests.Timeout = id, j.Cfg.VerifyTimeout
	if err := at.Begin(j.Source, night.Beginning{
		Environ: tests.Environ, Folder: folder, Runner: tests, Resumed: s.previous != nil, Stop: func() bool { return supervisor.StopRequested(folder) != "" },
	}); err != nil {
		return err
	}
	at.Breakers.Log, at.Outbox.Log = log, log
	warnBefore(log, std, j, s)
	warnRecovered(log, recovered, recoverErr)
	for _, v := range s.verdict {
		log.Warn(v)
	}
	beside.Deviate(log, j, id, s.deviation)
	defer beside.BeSeen(std, j, id, branch, log)()
	late := ended(project, recovered)
	tellLate(at, late)
	out, err := supervise(ctx, std, j, wiring{setup: s, id: id, folder: folder, branch: branch, project: project, night: at, ledgers: ledgers, log: log, live: live, ended: late})
	live.Close()
	if s.deviation != "" && j.Worktree() != "" && out.Told == "" {
		out.Hint = strings.TrimPrefix(out.Hint+" What was done is in the work tree "+j.Repo.Top+", on branch "+branch+".", " ")
	}
	if cerr := supervisor.Close(project, id); err == nil {
		err = cerr
	}
	return conclude(std, j, s.flags, out, err)
}

// stateError is for a state folder that cannot be used.
func stateError(err error) error {
	hint := outside.HintOf(err)
	if hint == "" {
		hint = "make the folder writable, or set XDG_STATE_HOME"
	}
	return &outside.Error{Code: outside.ExitUsage, Err: err, Way: hint}
}

func enoughDisk(j job.Job, p statedir.Project) error {
	for _, dir := range []string{p.Dir, j.Repo.Top} {
		if free, err := statedir.FreeBytes(dir); err == nil && free < LowDisk {
			return outside.UsageHint("make room; at least 100 MB are wanted before a run", "the disk of %s is full: %d MB free", dir, free>>20)
		}
	}
	return nil
}

// wiring is what one run is made of.
type wiring struct {
	setup      runSetup
	id, folder string
	branch     string
	project    statedir.Project
	night      night.Night
	ledgers    *ledger.Ledgers
	log        *slog.Logger
	live       *screen.Live
	ended      []supervisor.State // runs that could not tell of their end
}

func supervise(ctx context.Context, std outside.Stdio, j job.Job, w wiring) (supervisor.Outcome, error) {
	orphaned, alive, err := company.WatchCoordinator(ctx, j)
	if err != nil {
		return supervisor.Outcome{}, err
	}
	defer alive()
	ctx, kill, poke, stop := signals(ctx, ends{guard: w.setup.guardGone, coordinator: orphaned, until: j.Until})
	defer stop()
	watch := vigil.Begin(ctx, std, j, vigil.Run{ID: w.id, Folder: w.folder, Project: w.project.Dir, Log: w.log, Ended: w.ended})
	defer func() { watch.Close(kill) }()
	tell := courier.Start(w.night, senders.Of(j.Repo.Top, std), w.id, w.log)
	defer tell.Close(kill)
	if j.Cfg.Stories.Multi {
		return stories.Coordinate(ctx, std, j, stories.Coordination{
			ID: w.id, Folder: w.folder, Branch: w.branch, Token: w.setup.token, Night: w.night, Ledgers: w.ledgers, Log: w.log, Poke: poke, Kill: kill,
			Nested: w.setup.flags.Nested, Account: company.AccountOf(std, j), Previous: w.setup.previous, LeastDisk: LowDisk, Beginning: w.setup.stories,
			TellRun: func(s supervisor.State) { watch.Saved(s); tell.Run(s) }, TellItem: tell.Item, Moved: watch.Moved,
		})
	}
	inside := std
	inside.Environ = insideOf(std, j)
	spec := j.Template(inside, w.setup.claude)
	spec.Sweeper = w.setup.sweeper
	spec.Kill, spec.Token = kill, w.setup.token
	night.TellItems(j.Source, tell.Item)
	var notes []string
	o := supervisor.Options{
		RunID: w.id, Version: outside.Version(), Goal: j.Goal, Branch: w.branch, Worktree: j.Worktree(), Source: j.Source,
		Mode: j.Cfg.Mode, Profile: j.Profile, Waits: j.Waits(), Session: spec, AgentsFor: j.Cfg.AgentsFor,
		Head: head(j), Previous: w.setup.previous,
		HasConversation: func(id string) bool { return launch.HasConversation(std.Environ, j.Repo.Top, id) },
		Probe:           watch.Probe(j.Probe, j.Cfg.AgentsFor("")), Run: sessions.Run, Ledgers: w.ledgers, Folder: w.folder, Log: w.log, Poke: poke,
		Live: func(s supervisor.Status) { watch.Moved(); w.live.Show(s) }, Saved: watch.Saved, Slept: watch.Slept, Until: j.Until,
		StopRequested: func() string { return supervisor.StopRequested(w.folder) },
		ModeRequested: func() string { return config.Mode(supervisor.ModeRequested(w.folder)) },
		Checkpoint:    checkpoints(j, w.id, tell.Run), Promise: j.Cfg.Night.Promise, Held: w.night.HeldBy,
		Announce: func() {
			for _, n := range notes {
				w.log.Info(n)
			}
			for _, n := range w.setup.notes {
				w.log.Warn(n)
			}
		},
	}
	o.Session.Variables = append(slices.Clone(spec.Variables), j.TaskListVariable(std, w.id))
	with := follow.Run{Night: w.night, Project: w.project, Log: w.log}
	if notes, err = follow.Goals(ctx, std, j, with, &o); err != nil {
		return supervisor.Outcome{}, err
	}
	o.Equip = follow.Equip(std, j, with)
	if err := follow.Memory(j, with, &o); err != nil {
		return supervisor.Outcome{}, err
	}
	if judge.IsLifecycle(j.Source) {
		o.Chosen = func(a source.Assignment, id sessions.ID) { judge.RecordChoice(w.log, j, w.id, a, id) }
	}
	if err := company.Keep(std, j, &o); err != nil {
		return supervisor.Outcome{}, err
	}
	return supervisor.Run(ctx, o)
}

// insideOf is the environment of sessions and of tests: without what only this program may
// know. Both run what an agent has written.
func insideOf(std outside.Stdio, j job.Job) []string {
	return outside.Without(std.Environ, slices.Concat(senders.Secrets(j.Cfg.Night.Sync), service.Variables(), notifier.Secrets(), []string{job.ReflectKeyVar, launch.StoryVar})...)
}

// head says which commit the repository is at.
func head(j job.Job) func(context.Context) string {
	return func(ctx context.Context) string {
		st, err := j.Repo.State(ctx)
		if err != nil {
			return ""
		}
		return st.Head
	}
}

// ends are what ends a run beside signals.
type ends struct {
	guard       <-chan struct{} // closed when the guard has died
	coordinator <-chan struct{} // and this one when the coordinator of a story has
	until       time.Time       // when the time of the run is over; zero for never
}

// over says when to look whether the time of the run is over. Timers stand still while a
// machine sleeps, so the look is taken again and again.
func (e ends) over() (look <-chan time.Time, rest func()) {
	if e.until.IsZero() {
		return nil, func() {}
	}
	tick := time.NewTicker(time.Second)
	return tick.C, tick.Stop
}

// signals turns the signals of a run into its contexts: the first interrupt,
// termination or hang-up ends the run in order, a second one at once, and a user
// signal makes a waiting run look for a stop request. A guard that dies counts as
// a termination, and so does the coordinator of a story. When its time is over a run ends
// as at the first interrupt.
func signals(parent context.Context, e ends) (ctx, kill context.Context, poke <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	kill, killNow := context.WithCancel(parent)
	woken := make(chan struct{}, 1)
	incoming := make(chan os.Signal, 4)
	wanted := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1}
	if !signal.Ignored(syscall.SIGHUP) {
		wanted = append(wanted, syscall.SIGHUP)
	}
	signal.Notify(incoming, wanted...)
	quit := make(chan struct{})
	done := make(chan struct{})
	watch := func() {
		defer close(done)
		over, rest := e.over()
		defer rest()
		for {
			select {
			case <-quit:
				return
			case <-e.guard:
				e.guard = nil
				cancel(supervisor.Interrupted{Signal: syscall.SIGTERM})
			case <-e.coordinator:
				e.coordinator = nil
				cancel(supervisor.Interrupted{Signal: syscall.SIGTERM})
			case <-over:
				if !time.Now().Round(0).Before(e.until) {
					cancel(supervisor.TimeOver{At: e.until})
				}
			case sig := <-incoming:
				switch {
				case sig == syscall.SIGUSR1:
					select {
					case woken <- struct{}{}:
					default:
					}
				case ctx.Err() == nil:
					cancel(supervisor.Interrupted{Signal: sig.(syscall.Signal)})
				default:
					killNow()
				}
			}
		}
	}
	background(watch)
	return ctx, kill, woken, func() {
		signal.Stop(incoming)
		close(quit)
		<-done
		cancel(nil)
		killNow()
	}
}

// conclude prints the end of the run and turns it into an exit code.
func conclude(std outside.Stdio, j job.Job, f Flags, out supervisor.Outcome, err error) error {
	rec := out.Record
	if f.JSON {
		data, jerr := json.Marshal(rec)
		if jerr != nil {
			return jerr
		}
		fmt.Fprintf(std.Out, "%s\n", data)
	} else {
		printSummary(std, j, out)
	}
	if err != nil {
		return err
	}
	if f.ExitZero || rec.ExitCode == 0 {
		return nil
	}
	return outside.Silent(rec.ExitCode)
}

// background runs f beside the caller, who waits for its end by other means.
func background(f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
}
