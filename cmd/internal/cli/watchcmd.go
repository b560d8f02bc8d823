package cli

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/stories"
)

const (
	watchLook  = 500 * time.Millisecond
	clearToEnd = "\x1b[H\x1b[J" // cursor to the top, clear what follows
)

func watchCommand(std outside.Stdio) *cobra.Command {
	c := &cobra.Command{
		Use: "watch", Short: "Show the run in this repository until it ends", Args: arg.None,
		Long: "Show on a terminal what 'autopilot status' shows, again and again until the run ends; elsewhere print one line\nfor each change. Ctrl-C ends the watching, not the run.",
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, err := job.SetUp(c.Context(), std, nil)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		return watchRun(ctx, std, p)
	}
	return c
}

func watchRun(ctx context.Context, std outside.Stdio, p job.Place) error {
	last := ""
	for {
		v, err := viewStatus(ctx, std, p)
		if err != nil {
			return err
		}
		switch {
		case std.OutTTY:
			if _, err := io.WriteString(std.Out, clearToEnd); err != nil {
				return err
			}
			if err := std.Say("%s", v.text(time.Now())); err != nil {
				return err
			}
		case !v.Running:
			return std.Say("%s", v.text(time.Now()))
		default:
			if line := v.line(); line != last {
				if last = line; std.Say("%s\n", line) != nil {
					return nil // the reader went away
				}
			}
		}
		if !v.Running {
			return nil
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
