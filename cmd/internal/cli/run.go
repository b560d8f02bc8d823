package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"autopilot/cmd/internal/screen"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/binary"
	"autopilot/sessions/guard"
	"autopilot/sessions/launch"
	"autopilot/sessions/reap"
	"autopilot/supervisor"
)

const (
	interruptTime = 5 * time.Second
	terminateTime = 2 * time.Second
	lockWait      = time.Second // a status command may hold the lock for a moment
	endingWait    = 15 * time.Second
	lowDisk       = 100 << 20 // bytes below which no run is started
)

// runFlags are the flags of 'run' that are no settings.
type runFlags struct {
	dryRun, json, exitZero, nested bool
}

func runCommand(std Stdio) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: `run ["GOAL"] [flags] [-- CLAUDE-ARG...]`, Short: "Run sessions until the work or a limit ends it",
		Long: `Run Claude Code sessions one after another until the work is done, a limit is
reached, or a kill-switch fires. With a goal in quotes the sessions work towards
it; without one the lifecycle of session-orchestrator is driven where its files
are there. What follows -- is handed to claude as it is.

First Ctrl-C ends the running session cleanly and records it; a second one ends
it at once. 'autopilot stop' lets the current session finish.`,
		Example: "  autopilot run \"make the tests of ./parser pass\" --max-sessions 3 --max-cost-usd 5\n" +
			"  autopilot run --source lifecycle --max-hours 8\n  autopilot run \"...\" -- --max-turns 40",
	}
	collect := addOptions(c)
	addSnapshotFlag(c)
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "print what would be done; start and write nothing")
	c.Flags().BoolVar(&f.json, "json", false, "print the run's record (or the plan) as JSON")
	c.Flags().BoolVar(&f.exitZero, "exit-zero", false, "exit 0 however the run ended, for cron")
	c.Flags().BoolVar(&f.nested, "allow-nested", false, "allow a run inside a Claude Code session")
	c.RunE = func(c *cobra.Command, args []string) error {
		j, err := newJob(c, std, collect(), args)
		if err != nil {
			return err
		}
		if f.dryRun {
			return printPlan(c.Context(), std, j, f.json)
		}
		token, gone, guarded := guard.Join(std.getenv)
		if !guarded {
			return startGuarded(c.Context(), std, j, f)
		}
		select {
		case <-gone:
			return silent(128 + int(syscall.SIGTERM)) // nothing was begun
		default:
		}
		std.Environ = guard.Clean(std.Environ)
		if err := os.Unsetenv(guard.Var); err != nil {
			return err
		}
		return start(c.Context(), std, j, runSetup{flags: f, token: token, guardGone: gone})
	}
	return c
}

// startGuarded starts the supervisor below this process, which from then on only
// guards it.
func startGuarded(ctx context.Context, std Stdio, j job, f runFlags) error {
	if !f.nested {
		if err := checkNested(std); err != nil {
			return err
		}
	}
	if !j.cfg.Persistence {
		fmt.Fprintln(std.Err, "autopilot: persistence is off for this repository; nothing is run")
		return nil
	}
	end, err := guard.Run(guard.Command{Self: std.Self, Args: std.Args, Dir: std.Dir, Environ: std.Environ, Token: uuid.NewString(), Marker: launch.TokenVar})
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
	return silent(end.Code)
}

// afterKill writes what a supervisor that was killed could not write any more. What
// cannot be written now is left to the next start.
func afterKill(ctx context.Context, std Stdio, j job, end guard.End) {
	fmt.Fprintf(std.Err, "autopilot: the supervisor was killed (%v); %d processes of its session were ended\n", end.Signal, end.Ended)
	if len(end.Left) > 0 {
		fmt.Fprintf(std.Err, "autopilot: processes %v could not be ended\n", end.Left)
	}
	project, found, err := statedir.FindProject(j.state, j.repo.Top)
	if err != nil || !found {
		return
	}
	if _, err := recoverDead(ctx, j.place, project); err != nil {
		fmt.Fprintf(std.Err, "autopilot: its records are not written yet: %v\n", err)
	}
}

// start checks what can keep a run from starting, takes the lock, finishes what
// earlier runs left, and runs.
func start(ctx context.Context, std Stdio, j job, s runSetup) error {
	var err error
	if s.claude, s.version, err = checkClaude(ctx, std, j); err != nil {
		return err
	}
	lock, err := acquire(ctx, j)
	if err != nil {
		return lockError(err)
	}
	defer func() { _ = lock.Release() }()
	s.lock = lock
	return runLocked(ctx, std, j, s)
}

// acquire takes the project's lock. A supervisor that has lost its guard is ending,
// and is waited for.
func acquire(ctx context.Context, j job) (*statedir.Lock, error) {
	for deadline := time.Now().Add(endingWait); ; {
		short, cancel := context.WithTimeout(ctx, lockWait)
		lock, err := statedir.Acquire(short, j.lockPath(), statedir.Holder{})
		cancel()
		held, isHeld := errors.AsType[*statedir.HeldError](err)
		if !isHeld || !guard.Lost(held.Holder.PID) || time.Now().After(deadline) {
			return lock, err
		}
	}
}

func lockError(err error) error {
	if _, held := errors.AsType[*statedir.HeldError](err); held {
		return &codeError{
			code: exitHeld, err: fmt.Errorf("another run works in this repository: %w", err),
			hint: "'autopilot status' shows it, 'autopilot stop' ends it",
		}
	}
	return &codeError{code: exitUsage, err: err}
}

func checkClaude(ctx context.Context, std Stdio, j job) (path, ver string, err error) {
	if path, err = findClaude(j.cfg.Claude); err != nil {
		return "", "", err
	}
	env, _ := launch.Env(std.Environ, launch.Identity{})
	if ver, err = claudeVersion(ctx, path, env); err != nil {
		return "", "", err
	}
	if binary.OlderThan(ver, binary.Oldest) {
		return "", "", usageHint("update it: npm install -g @anthropic-ai/claude-code", "claude %s at %s is too old, %s or newer is needed", ver, path, binary.Oldest)
	}
	return path, ver, nil
}

// runSetup is what start found out for runLocked.
type runSetup struct {
	flags     runFlags
	token     string          // marks every process of the run
	guardGone <-chan struct{} // closed when the guard has died
	claude    string
	version   string
	lock      *statedir.Lock
}

func runLocked(ctx context.Context, std Stdio, j job, s runSetup) error {
	project, err := statedir.OpenProject(j.state, j.repo.Top)
	if err != nil {
		return stateError(err)
	}
	if err := enoughDisk(j, project); err != nil {
		return err
	}
	ledgers, err := ledger.Open(j.metricsDir())
	if err != nil {
		return &codeError{code: exitUsage, err: err, hint: "the ledgers are written there; make the folder writable or set --metrics-dir"}
	}
	defer func() { _ = ledgers.Close() }()
	recovered, recoverErr := supervisor.Recover(project, ledgers)

	branch := ""
	if st, err := j.repo.State(ctx); err == nil {
		branch = st.Branch
	}
	id, folder, err := supervisor.Register(project, branch, time.Now())
	if err != nil {
		return stateError(err)
	}
	if err := s.lock.Update(statedir.Holder{RunID: id}); err != nil {
		return err
	}
	log, live, err := screen.Open(screen.Options{
		Out: std.Err, Format: j.cfg.LogFormat, TTY: std.TTY, Width: std.Width,
		NoColor: std.getenv("NO_COLOR") != "", Folder: folder,
	})
	if err != nil {
		return err
	}
	defer live.Close()
	warnBefore(log, std, j, s)
	warnRecovered(log, recovered, recoverErr)
	out, err := supervise(ctx, std, j, wiring{setup: s, id: id, folder: folder, branch: branch, ledgers: ledgers, log: log, live: live})
	live.Close()
	if cerr := supervisor.Close(project, id); err == nil {
		err = cerr
	}
	return conclude(std, j, s.flags, out, err)
}

// stateError is for a state folder that cannot be used.
func stateError(err error) error {
	hint := hintOf(err)
	if hint == "" {
		hint = "make the folder writable, or set XDG_STATE_HOME"
	}
	return &codeError{code: exitUsage, err: err, hint: hint}
}

func enoughDisk(j job, p statedir.Project) error {
	for _, dir := range []string{p.Dir, j.repo.Top} {
		if free, err := statedir.FreeBytes(dir); err == nil && free < lowDisk {
			return usageHint("make room; at least 100 MB are wanted before a run", "the disk of %s is full: %d MB free", dir, free>>20)
		}
	}
	return nil
}

// wiring is what one run is made of.
type wiring struct {
	setup      runSetup
	id, folder string
	branch     string
	ledgers    *ledger.Ledgers
	log        *slog.Logger
	live       *screen.Live
}

func supervise(ctx context.Context, std Stdio, j job, w wiring) (supervisor.Outcome, error) {
	ctx, kill, poke, stop := signals(ctx, w.setup.guardGone)
	defer stop()
	spec := j.template(std, w.setup.claude)
	spec.Sweeper = reap.NewSweeper()
	spec.Kill, spec.Token = kill, w.setup.token
	return supervisor.Run(ctx, supervisor.Options{
		RunID: w.id, Version: version(), Goal: j.goal, Branch: w.branch, Worktree: j.worktree(), Source: j.source,
		Limits: j.limits(), Waits: j.waits(), Session: spec, AgentsFor: j.cfg.AgentsFor,
		Probe: j.probe, Run: sessions.Run, Ledgers: w.ledgers, Folder: w.folder, Log: w.log, Live: w.live.Show,
		StopRequested: func() string { return supervisor.StopRequested(w.folder) }, Poke: poke,
	})
}

// signals turns the signals of a run into its contexts: the first interrupt,
// termination or hang-up ends the run in order, a second one at once, and a user
// signal makes a waiting run look for a stop request. A guard that dies counts as
// a termination.
func signals(parent context.Context, guardGone <-chan struct{}) (ctx, kill context.Context, poke <-chan struct{}, stop func()) {
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
		for {
			select {
			case <-quit:
				return
			case <-guardGone:
				guardGone = nil
				cancel(supervisor.Interrupted{Signal: syscall.SIGTERM})
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
func conclude(std Stdio, j job, f runFlags, out supervisor.Outcome, err error) error {
	rec := out.Record
	if f.json {
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
	if f.exitZero || rec.ExitCode == 0 {
		return nil
	}
	return silent(rec.ExitCode)
}
