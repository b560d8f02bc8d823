package schedulecmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/cli/nightcmd"
	"autopilot/cmd/internal/nightly"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/schedule"
)

const nameWanted = "the name of a schedule"

func removeCommand(std outside.Stdio) *cobra.Command {
	var yes, dry bool
	c := &cobra.Command{
		Use: "remove NAME", Short: "Take a schedule away", Args: arg.Exactly(nameWanted),
		Long: "Take a schedule away: its units, or its lines of the crontab. What is to be changed is shown first. What was not\ninstalled by autopilot is not touched. A run that is on goes on.",
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&dry, "dry-run", false, "only show what would be changed")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := nightcmd.ByPerson(c.Context(), std, "schedule remove"); err != nil {
			return err
		}
		if err := schedule.CheckName(args[0]); err != nil {
			return refusal(err)
		}
		h, err := place(std)
		if err != nil {
			return err
		}
		change, err := h.PlanRemoval(c.Context(), args[0])
		if errors.Is(err, os.ErrNotExist) || err == nil && change.Empty() {
			return outside.UsageHint("'autopilot schedule list' shows those that are", "there is no schedule %q", args[0])
		}
		if err != nil {
			return refusal(err)
		}
		if err := std.Say("%s", change.Diff()); err != nil {
			return err
		}
		if dry {
			return std.Say("nothing was changed\n")
		}
		if err := agree(c.Context(), std, "Remove schedule "+args[0]+"?", yes); err != nil {
			return err
		}
		if err := h.Apply(c.Context(), change); err != nil {
			return refusal(err)
		}
		return std.Say("schedule %s is removed\n", args[0])
	}
	return c
}

func runNowCommand(std outside.Stdio) *cobra.Command {
	c := &cobra.Command{
		Use: "run-now NAME", Short: "Start what a schedule is for, now", Args: arg.Exactly(nameWanted),
		Long: "Start a schedule now, in the way and with the environment that its unit has. It is over at the time of day that the\nschedule says. The command does not wait for it.",
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := nightcmd.ByPerson(c.Context(), std, "schedule run-now"); err != nil {
			return err
		}
		h, err := place(std)
		if err != nil {
			return err
		}
		e, err := named(h, args[0])
		if err != nil {
			return err
		}
		if nightly.On(h.Root, e.Name) {
			return &outside.Error{Code: outside.ExitHeld, Err: fmt.Errorf("schedule %s is on already", e.Name), Way: "'autopilot -C " + quoted([]string{e.Dir}) + " status' shows the run"}
		}
		started, err := h.RunNow(c.Context(), e.Name)
		if err != nil {
			return refusal(err)
		}
		if !started {
			if err := startDetached(e); err != nil {
				return err
			}
		}
		return std.Say("schedule %s was started\nlog: %s\n'autopilot -C %s status' shows the run\n", e.Name, nightly.LogFile(e.Logs, e.Name), quoted([]string{e.Dir}))
	}
	return c
}

// startDetached starts the command line of a schedule where nothing else can do it: with its
// environment alone, away from this terminal.
func startDetached(e schedule.Entry) error {
	cmd := exec.Command(e.Program, "schedule", "exec", e.Name)
	cmd.Env, cmd.Dir = e.Environ, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start schedule %s: %w", e.Name, err)
	}
	return cmd.Process.Release()
}

func showCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show NAME", Short: "Show a schedule and its units as they are installed", Args: arg.Exactly(nameWanted),
		Long: "Show a schedule, the environment that it gives to its runs, its last times, and the text of its units or of its\nlines of the crontab as they are installed.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		h, err := place(std)
		if err != nil {
			return err
		}
		s, err := shownOf(c.Context(), h, args[0], time.Now())
		if err != nil {
			return err
		}
		if asJSON {
			return std.JSON(s)
		}
		return std.Say("%s", s.text(std.Getenv("HOME")))
	}
	return c
}
