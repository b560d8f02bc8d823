package schedulecmd

import (
	"errors"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/cli/nightcmd"
	"autopilot/cmd/internal/nightly"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

// Parts are what the program that the commands belong to does for them.
type Parts = nightly.Parts

// Command is 'schedule' with what is below it.
func Command(std outside.Stdio, parts Parts) *cobra.Command {
	c := &cobra.Command{
		Use: "schedule", Short: "Start runs by the clock: systemd, launchd or cron", Args: arg.None,
		Long: "Install schedules that start runs by the clock. A schedule has days and times, or a window such as\n22:00-06:00 at whose end the run is over, in a time zone; the folder and command that it was installed with; and\nthe environment of that moment: PATH, HOME, the claude binary and the options that are set. Secrets go into a file\nof mode 0600 (--env-file). What is cut off in its window, by a kill, a power cut or a reboot, goes on\nin it, three times at most.\n\n" +
			"Everything that can be checked is checked when a schedule is installed; 'autopilot schedule doctor' checks it again\ninside the environment that the units have. Every change is shown before it is made.",
		Example: "  autopilot schedule install nightly --window 22:00-06:00 --days mon-fri -- run --source queue --max-cost-usd 20\n" +
			"  autopilot schedule install --at 22:00 --until 06:00 --env-file ~/.config/autopilot/secrets -- run \"make the tests pass\"\n" +
			"  autopilot schedule doctor nightly\n  autopilot schedule list\n  autopilot schedule run-now nightly",
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		installCommand(std, parts), listCommand(std), showCommand(std), removeCommand(std), runNowCommand(std), doctorCommand(std, parts), execCommand(std, parts),
	)
	return c
}

// place is where the schedules of this person live.
func place(std outside.Stdio) (host.Host, error) {
	h, err := host.Here(std.Getenv, std.Environ)
	if err != nil {
		return h, &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	return h, nil
}

// night is the executing side for the state folder of the environment.
func night(std outside.Stdio, parts Parts) (nightly.Night, error) {
	root, err := statedir.Root(std.Getenv, runtime.GOOS)
	if err != nil {
		return nightly.Night{}, &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	return nightly.Night{Parts: parts, Std: std, Root: root}, nil
}

// refusal makes what a package below says about bad input an error of exit code 2. The way
// out stays.
func refusal(err error) error {
	var known *outside.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	var invalid *schedule.InvalidError
	var foreign *host.NotOursError
	var changed *host.ChangedError
	if errors.As(err, &invalid) || errors.As(err, &foreign) || errors.As(err, &changed) || errors.Is(err, exec.ErrNotFound) {
		return &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	return err
}

// named loads the entry of a schedule.
func named(h host.Host, name string) (schedule.Entry, error) {
	if err := schedule.CheckName(name); err != nil {
		return schedule.Entry{}, refusal(err)
	}
	e, err := h.Load(name)
	if errors.Is(err, os.ErrNotExist) {
		return e, outside.UsageHint("'autopilot schedule list' shows those that are", "there is no schedule %q", name)
	}
	return e, refusal(err)
}

// execCommand is what the units call.
func execCommand(std outside.Stdio, parts Parts) *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use: "exec NAME", Short: "Do what a schedule is for, when it is time", Args: arg.Exactly("the name of a schedule"), Hidden: true,
		Long: "What the units of a schedule call when it is time. It decides whether something is to begin, and begins it.",
	}
	c.Flags().BoolVar(&check, "check", false, "begin nothing; print what would keep a run from beginning, as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := nightcmd.ByPerson(c.Context(), std, "schedule exec"); err != nil {
			return err
		}
		n, err := night(std, parts)
		if err != nil {
			return err
		}
		if !check {
			if code := n.Exec(c.Context(), args[0]); code != 0 {
				return outside.Silent(code)
			}
			return nil
		}
		e, err := host.Load(n.Root, args[0])
		if err != nil {
			return refusal(err)
		}
		return std.JSON(n.Inspect(c.Context(), e))
	}
	return c
}
