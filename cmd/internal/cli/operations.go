package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"autopilot/cmd/internal/act"
	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/cli/keepcmd"
	"autopilot/cmd/internal/cli/notifycmd"
	"autopilot/cmd/internal/cli/schedulecmd"
	"autopilot/cmd/internal/cli/servecmd"
	"autopilot/cmd/internal/cli/upgradecmd"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/meter"
	"autopilot/cmd/internal/nightly"
	"autopilot/cmd/internal/notifier"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/serve"
	"autopilot/metrics/statedir"
	"autopilot/metrics/telemetry"
	"autopilot/sessions/prompt"
	"autopilot/sessions/repo"
	"autopilot/supervisor/notice"

	"github.com/spf13/cobra"
)

// operations are the commands around the runs of a night.
func operations(std outside.Stdio) []*cobra.Command {
	return slices.Concat(
		[]*cobra.Command{
			schedulecmd.Command(std, schedulecmd.Parts{Check: refused, Invoke: invoke, Notify: tellOnce}),
			notifycmd.Command(std, func(ctx context.Context) (notifycmd.Place, error) { return notifyPlace(ctx, std) }),
			servecmd.Command(std, func(root string) serve.Parts { return pageParts(std, root) }),
		},
		keepcmd.Commands(std), upgradecmd.Commands(std),
	)
}

// invoke is the program with other arguments, in this process.
func invoke(ctx context.Context, std outside.Stdio, args []string) int {
	std.Args = args
	root := Root(std)
	root.SetArgs(args)
	return outside.Report(std, root.ExecuteContext(ctx))
}

// refused says what the program would say at once to arguments, without beginning anything.
func refused(ctx context.Context, std outside.Stdio, args []string) error {
	std.Out, std.Err, std.Args = io.Discard, io.Discard, args
	root := Root(std)
	c, rest, err := root.Find(args)
	if err != nil || c == root {
		return unknownCommand(root, args)
	}
	if c.Name() == "run" {
		root.SetArgs(args)
		return root.ExecuteContext(context.WithValue(ctx, onlyChecked{}, true))
	}
	if err := c.ParseFlags(rest); err != nil {
		return flagError(c, err)
	}
	return c.ValidateArgs(c.Flags().Args())
}

// notifyPlace is where 'notify' was started. It works outside of a repository as well.
func notifyPlace(ctx context.Context, std outside.Stdio) (notifycmd.Place, error) {
	cfg, err := job.Personal(std, "notify")
	if err != nil {
		return notifycmd.Place{}, err
	}
	p := notifycmd.Place{Notify: cfg.Notify}
	r, err := job.FindRepo(ctx)
	if err != nil {
		p.Repo, err = os.Getwd()
		return p, err
	}
	p.Repo = r.Top
	if root, err := statedir.Root(std.Getenv, runtime.GOOS); err == nil {
		if project, found, err := statedir.FindProject(root, r.Top); err == nil && found {
			p.Dir = project.Dir
		}
	}
	return p, nil
}

// tellOnce tells a person of one thing, as far as that can be done.
func tellOnce(ctx context.Context, std outside.Stdio, n notice.Notice) {
	cfg, err := job.Personal(std, "notify")
	if err != nil {
		fmt.Fprintf(std.Err, "autopilot: nobody can be told: %v\n", err)
		return
	}
	dir := "" // the state folder of the work tree, in which a notice waits for a network that is not up yet
	if root, err := statedir.Root(std.Getenv, runtime.GOOS); err == nil && n.Repo != "" && len(cfg.Notify.Channels) > 0 {
		top := n.Repo
		if r, err := repo.Open(ctx, n.Repo); err == nil {
			top = r.Top
		}
		if project, err := statedir.OpenProject(root, top); err == nil {
			dir = project.Dir
		}
	}
	notifier.Once(ctx, cfg.Notify, notifier.Options{Dir: dir, Std: std, Log: slog.New(slog.NewTextHandler(std.Err, nil))}, n)
}

// pageParts is what the live page has from others.
func pageParts(std outside.Stdio, root string) serve.Parts {
	parts := serve.Parts{Actor: act.Actor{Self: std.Self, Environ: std.Environ, Root: root}}
	parts.Report = func(ctx context.Context, ref board.Ref, w io.Writer) error {
		run, err := board.Find(ctx, board.Options{Root: root, Environ: std.Environ, Now: time.Now()}, ref)
		if err != nil {
			return err
		}
		return reportOf(ctx, std, run, w)
	}
	if source, err := meter.NewSource(std); err == nil {
		source.Schedules = func() []telemetry.Schedule { return nightly.Known(root, time.Now()) }
		parts.Metrics = telemetry.Handler(func() telemetry.Facts { return source.Facts(context.Background()) })
	}
	return parts
}

// reportOf writes the report of a run as a page. The program does so in a process of its
// own, because a report is made in its repository and with the settings there.
func reportOf(ctx context.Context, std outside.Stdio, run board.Run, w io.Writer) error {
	c := exec.CommandContext(ctx, std.Self, "-C", run.Repo, "report", "--html", "--", run.Ref.Run)
	c.Env, c.Stdout = std.Environ, w
	var said bytes.Buffer
	c.Stderr = &said
	c.WaitDelay = time.Second
	if err := c.Run(); err != nil {
		return fmt.Errorf("make report: %w: %s", err, prompt.Cut(said.String(), 400))
	}
	return nil
}
