package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

const rootLong = `autopilot supervises Claude Code from outside. It looks at the machine, decides
whether another session may start and how large it may be, runs 'claude -p',
watches it, ends it cleanly, and writes down what happened.

Start:  autopilot plan "GOAL"      what a run would do
        autopilot run "GOAL"       do it
Stop:   autopilot stop             after the current session
        autopilot stop --now       at once (so does Ctrl-C)
Look:   autopilot status, autopilot runs, autopilot sessions, autopilot doctor`

func newRoot(std Stdio) *cobra.Command {
	root := &cobra.Command{
		Use: "autopilot", Short: "Supervise Claude Code sessions, unattended", Long: rootLong,
		SilenceUsage: true, SilenceErrors: true, DisableSuggestions: true,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				names = append(names, sub.Name())
			}
		}
		return usageHint(nearest(args[0], names), "unknown command %q", args[0])
	}
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringP("dir", "C", "", "work as if started in `DIR`")
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(
		runCommand(std), planCommand(std), statusCommand(std), stopCommand(std), probeCommand(std),
		sessionsCommand(std), runsCommand(std), doctorCommand(std), configCommand(std), demoCommand(std),
		versionCommand(std), manCommand(std), hookCommand(std), guardCommand(std), standinCommand(std),
	)
	return root
}

// flagError names the nearest flag for one that is not known.
func flagError(c *cobra.Command, err error) error {
	words := err.Error()
	flag, unknown := strings.CutPrefix(words, "unknown flag: --")
	if !unknown {
		return usageHint("see 'autopilot "+c.Name()+" --help'", "%s", words)
	}
	return usageHint(nearestFlag(c, flag), "unknown flag --%s", flag)
}

// noArgs refuses arguments by name.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageHint("see 'autopilot "+c.Name()+" --help'", "%s takes no argument, got %q", c.Name(), args[0])
	}
	return nil
}
