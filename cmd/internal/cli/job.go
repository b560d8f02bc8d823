package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/config"
	"autopilot/probe"
	"autopilot/probe/proctree"
	"autopilot/sessions"
	"autopilot/sessions/launch"
	"autopilot/sessions/ptyrun"
	"autopilot/sessions/vitals"
	"autopilot/supervisor"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/source"
)

// job is a checked request for a run or a plan.
type job struct {
	place
	goal   string
	extra  []string // handed to claude as it is
	source supervisor.Source
	probe  func(context.Context) probe.Snapshot
}

// newJob checks everything that can be checked without starting anything.
func newJob(c *cobra.Command, std Stdio, flags []config.Value, args []string) (job, error) {
	words, extra := args, []string(nil)
	if n := c.ArgsLenAtDash(); n >= 0 {
		words, extra = args[:n], args[n:]
	}
	if len(words) > 1 {
		return job{}, usageHint(`put the goal in quotes: autopilot run "make the tests pass"`, "one goal is wanted, got %d words", len(words))
	}
	if err := launch.RefusedExtra(extra); err != nil {
		return job{}, usage("%v", err)
	}
	p, err := setUp(c, std, flags)
	if err != nil {
		return job{}, err
	}
	j := job{place: p, extra: extra}
	if len(words) == 1 {
		if j.goal = strings.TrimSpace(words[0]); j.goal == "" {
			return j, usageHint(`say what is to be reached: autopilot run "make the tests pass"`, "the goal is empty")
		}
	}
	if j.source, err = j.chooseSource(); err != nil {
		return j, err
	}
	if j.probe, err = chooseProbe(c, std); err != nil {
		return j, err
	}
	return j, j.checkPermissions(std)
}

// chooseProbe measures this machine, or rehearses with the snapshot in a file,
// which is read anew each time.
func chooseProbe(c *cobra.Command, std Stdio) (func(context.Context) probe.Snapshot, error) {
	file, err := c.Flags().GetString("snapshot")
	if err != nil || file == "" {
		return takeSnapshot, err
	}
	if _, err := readSnapshot(std, file); err != nil {
		return nil, err
	}
	return func(context.Context) probe.Snapshot {
		s, err := readSnapshot(std, file)
		if err != nil {
			return probe.Snapshot{Absent: []probe.Absence{{Signal: "snapshot", Reason: err.Error()}}}
		}
		s.TakenAt = time.Now()
		return s
	}, nil
}

func addSnapshotFlag(c *cobra.Command) {
	c.Flags().String("snapshot", "", "rehearse with the machine's state in `FILE` (as 'probe --snapshot') instead of measuring it")
}

func (j job) chooseSource() (supervisor.Source, error) {
	lifecycle := source.Lifecycle{Repo: j.repo.Top, Steps: j.cfg.LifecycleSteps}
	switch {
	case j.cfg.Source == config.SourceLifecycle && j.goal != "":
		return nil, usageHint("leave out one of the two", "--source lifecycle takes no goal, got %q", j.goal)
	case j.cfg.Source == config.SourceLifecycle:
		if len(j.cfg.LifecycleSteps) == 0 {
			return nil, usage("lifecycle-steps is empty: a lifecycle session needs at least one prompt")
		}
		return lifecycle, nil
	case j.goal != "":
		return source.Goal{Text: j.goal}, nil
	case j.cfg.Source == config.SourceGoal:
		return nil, usageHint(`autopilot run "make the tests pass"`, "--source goal needs a goal")
	case source.HasLifecycle(j.repo.Top):
		return lifecycle, nil
	default:
		return nil, usageHint(`name a goal (autopilot run "make the tests pass"), or set the repository up for session-orchestrator`,
			"there is nothing to do in %s: no goal was given and no lifecycle files are there", j.repo.Top)
	}
}

// checkPermissions refuses a mode that claude itself would refuse at each start.
func (j job) checkPermissions(std Stdio) error {
	if j.cfg.PermissionMode == config.BypassPermissions && os.Geteuid() == 0 && std.getenv("IS_SANDBOX") != "1" {
		return usageHint("run as another user, choose another --permission-mode, or set IS_SANDBOX=1 if this is a sandbox",
			"permission-mode %s is refused by claude when it runs as root", config.BypassPermissions)
	}
	return nil
}

// checkNested refuses to start a supervisor inside a session.
func checkNested(std Stdio) error {
	const way = "start it from a shell of your own, or say --allow-nested"
	if id := std.getenv(launch.RunVar); id != "" {
		return usageHint(way, "this shell belongs to a session of autopilot run %s; a run inside a run is refused", id)
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
			return usageHint(way, "this shell belongs to the Claude Code session with pid %d; a run inside a session is refused", pid)
		}
		pid = p.PPID
	}
	return nil
}

func (j job) limits() killswitch.Limits {
	return killswitch.Limits{
		MaxSessions: j.cfg.MaxSessions, MaxHours: j.cfg.MaxHours, MaxTokens: j.cfg.MaxTokens, MaxCostUSD: j.cfg.MaxCostUSD,
		PeerAbort: j.cfg.PeerAbort, CarryoverThreshold: j.cfg.CarryoverThreshold, ConfidenceThreshold: j.cfg.ConfidenceThreshold,
	}
}

func (j job) waits() supervisor.Waits {
	return supervisor.Waits{Margin: j.cfg.LimitMargin, Initial: j.cfg.BackoffInitial, Max: max(j.cfg.BackoffInitial, j.cfg.BackoffMax)}
}

// template is what all sessions of the run have in common.
func (j job) template(std Stdio, claude string) sessions.Spec {
	return sessions.Spec{
		Dir: j.repo.Top, Repo: j.repo, Ignore: j.ledgersInside(),
		Claude: claude, Environ: std.Environ, UseAPIKey: j.cfg.UseAPIKey, Model: j.cfg.Model,
		Permission: j.cfg.PermissionMode, Tools: j.cfg.AllowedTools, Extra: j.extra,
		HookCommand: launch.Quote(std.Self) + " hook agent-cap",
		Limits: sessions.Limits{
			Limits: vitals.Limits{
				Stall: j.cfg.StallTimeout, ToolStall: j.cfg.ToolStallTimeout, Session: j.cfg.SessionTimeout, ExitGrace: j.cfg.ExitGrace,
			},
			Judge: j.cfg.ProbeInterval, Ladder: ladder(),
		},
	}
}

// ledgersInside is the folder of the ledgers relative to the repository, or
// nothing when it lies elsewhere. What is written there is no session's work.
func (j job) ledgersInside() []string {
	dir := j.metricsDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(j.repo.Top, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil
	}
	return []string{filepath.ToSlash(rel)}
}

// ladder gives the CLI time to end its tools and print its result after an
// interrupt; two seconds are enough by measurement.
func ladder() ptyrun.Ladder { return ptyrun.Ladder{Interrupt: interruptTime, Terminate: terminateTime} }
