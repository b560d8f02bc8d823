package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/act"
	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/serve"
	"autopilot/cmd/internal/stories"
	"autopilot/cmd/internal/watch"
	"autopilot/metrics/statedir"
)

const watchLook = 500 * time.Millisecond

func watchCommand(std outside.Stdio) *cobra.Command {
	var plain bool
	c := &cobra.Command{
		Use: "watch", Short: "Watch the runs on this machine, and decide what waits for you", Args: arg.None,
		Long: "On a terminal, show all runs of this machine and each of them in full: its sessions, progress, what happens, and\nwhat waits for a person; keys stop a run, decide about held calls and answer questions ('?' lists them). The run in\nthis repository comes first. It stays when a run has ended; 'q' leaves it and prints how the run here stands.\n\nElsewhere, or with --plain, print one line for each change of the run in this repository until it ends. Leaving\nends the watching, never the run.",
	}
	c.Flags().BoolVar(&plain, "plain", false, "one line for each change, also on a terminal")
	c.RunE = func(c *cobra.Command, _ []string) error {
		ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		if !plain && std.OutTTY && std.InTTY && std.Getenv("TERM") != "dumb" {
			return watchScreen(ctx, std)
		}
		p, err := job.SetUp(c.Context(), std, nil)
		if err != nil {
			return err
		}
		return watchLines(ctx, std, p)
	}
	return c
}

// watchScreen shows all runs until the person leaves, and then how the one here stands.
func watchScreen(ctx context.Context, std outside.Stdio) error {
	root, err := statedir.Root(std.Getenv, runtime.GOOS)
	if err != nil {
		return &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	o := watch.Options{
		Board: &serve.Live{Root: root, Environ: std.Environ}, Actor: act.Actor{Self: std.Self, Environ: std.Environ, Root: root},
		Home: std.Getenv("HOME"), Zone: time.Local, Color: std.Getenv("NO_COLOR") == "", ASCII: !utf8Locale(std), In: std.In, Out: std.Out, Environ: std.Environ,
	}
	if r, err := job.FindRepo(ctx); err == nil { // without one there is none to come first
		o.Repo = r.Top
		if real, err := filepath.EvalSymlinks(r.Top); err == nil {
			o.Repo = real
		}
	}
	if _, err := watch.Run(ctx, o); err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	if ctx.Err() != nil || o.Repo == "" {
		return nil
	}
	p, err := job.SetUp(ctx, std, nil)
	if err != nil {
		return err
	}
	v, err := viewStatus(ctx, std, p)
	if err != nil || v.Record == nil {
		return err
	}
	return std.Say("%s", v.text(time.Now()))
}

// utf8Locale reports whether nothing speaks against a terminal that knows UTF-8.
func utf8Locale(std outside.Stdio) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(std.Getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// watchLines prints a line for each change until the run has ended.
func watchLines(ctx context.Context, std outside.Stdio, p job.Place) error {
	last := ""
	for {
		v, err := viewStatus(ctx, std, p)
		switch {
		case errors.Is(err, context.Canceled) && ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case !v.Running:
			return std.Say("%s", v.text(time.Now()))
		}
		if line := v.line(); line != last {
			if last = line; std.Say("%s\n", line) != nil {
				return nil // the reader went away
			}
		}
		t := time.NewTimer(watchLook)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}

// line is the state of a run in one line, without what changes by itself.
func (v statusView) line() string {
	if v.Cohort != nil {
		return v.RunID + ", " + stories.Line(*v.Cohort)
	}
	parts := []string{v.RunID, fmt.Sprintf("iteration %d of %d", v.Iteration, v.Record.MaxSessions)}
	if p := v.Progress; p != nil && p.Known {
		parts = append(parts, fmt.Sprintf("%.0f%%", p.Percent))
	}
	if v.Current != nil {
		parts = append(parts, "session "+v.Current.SessionID)
	}
	if v.Waiting != nil {
		parts = append(parts, "waits until "+v.Waiting.Until.Local().Format(time.DateTime))
	}
	if v.Stopping != "" {
		parts = append(parts, "stops after this session")
	}
	return strings.Join(append(parts, fmt.Sprintf("%d tokens", v.Record.TotalTokensUsed), fmt.Sprintf("$%.4f", v.Record.TotalCostUSD)), ", ")
}
