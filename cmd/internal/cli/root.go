package cli

import (
	"fmt"
	"os"
	"strings"

	"autopilot/cmd/internal/cli/desk"
	"autopilot/cmd/internal/cli/fleetcmd"
	"autopilot/cmd/internal/cli/judgecmd"
	"autopilot/cmd/internal/cli/metercmd"
	"autopilot/cmd/internal/cli/nightcmd"
	"autopilot/cmd/internal/cli/tddcmd"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/stories"

	"github.com/spf13/cobra"
)

const rootIntro = `autopilot supervises Claude Code from outside. It looks at the machine, decides
whether another session may start and how large it may be, runs 'claude -p',
watches it, ends it cleanly, and writes down what happened.

Start:  autopilot plan "GOAL"      what a run would do
        autopilot run "GOAL"       do it
Stop:   autopilot stop             after the current session
        autopilot stop --now       at once (so does Ctrl-C)
        autopilot cancel           at once; what is held is denied, what was begun waits again
Go on:  autopilot resume, autopilot answer TEXT
Look:   autopilot status, watch, serve, report, tasks, runs, sessions, metrics, doctor
Night:  autopilot schedule         start runs by the clock
        autopilot notify           who is told when a person is needed
        autopilot queue            increments and goals, one after the other
        autopilot gates, approve   calls that are held until a person approves
Many:   autopilot run --multi-story, fleet
Tasks:  autopilot init, enable     keep a session at work until its tasks are done
        autopilot tdd              work on a task test by test

Exit status:
`

// rootLong is the help of the program, with the table of exit codes.
func rootLong() string {
	var b strings.Builder
	b.WriteString(rootIntro)
	for _, c := range ExitCodes() {
		fmt.Fprintf(&b, "  %-19s %s\n", c[0], c[1])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Root is the program's command with all others below it.
func Root(std outside.Stdio) *cobra.Command {
	root := &cobra.Command{
		Use: "autopilot", Short: "Supervise Claude Code sessions, unattended", Long: rootLong(),
		SilenceUsage: true, SilenceErrors: true, DisableSuggestions: true,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.Args = unknownCommand
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringP("dir", "C", "", "work as if started in `DIR`")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		dir, err := c.Flags().GetString("dir")
		if err != nil || dir == "" {
			return nil // the stand-in parses its own flags
		}
		if err := os.Chdir(dir); err != nil {
			return outside.Usage("-C: %v", err)
		}
		return nil
	}
	root.AddCommand(
		runCommand(std), planCommand(std), statusCommand(std), watchCommand(std), stopCommand(std), cancelCommand(std), resumeCommand(std), answerCommand(std),
		setCommand(std), goalCommand(std), reflectCommand(std), metercmd.Command(std), probeCommand(std),
		sessionsCommand(std), runsCommand(std), doctorCommand(std), configCommand(std), demoCommand(std),
		hookCommand(std), standinCommand(std),
	)
	root.AddCommand(desk.Commands(std)...)
	root.AddCommand(tddcmd.Command(std))
	root.AddCommand(nightcmd.Commands(std)...)
	root.AddCommand(fleetcmd.Command(std, stories.CleanAll(std)))
	root.AddCommand(judgecmd.Commands(std, liveSignals(std))...)
	root.AddCommand(operations(std)...)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = func(c *cobra.Command, args []string) error { return unknownCommand(c, args) }
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	return root
}

// helpCommand shows the help of a command and refuses one that is not there.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command",
		RunE: func(c *cobra.Command, args []string) error {
			target, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(c.Root(), args)
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}

// unknownCommand refuses a word that is no command of c and names the nearest.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	return outside.UsageHint(nearest(c.CommandPath(), args[0], names), "unknown command %q", args[0])
}

// flagError names the nearest flag for one that is not known.
func flagError(c *cobra.Command, err error) error {
	words := err.Error()
	flag, unknown := strings.CutPrefix(words, "unknown flag: --")
	if !unknown {
		words, _, _ = strings.Cut(words, ": strconv.")
		return outside.UsageHint("see '"+c.CommandPath()+" --help'", "%s", words)
	}
	return outside.UsageHint(nearestFlag(c, flag), "unknown flag --%s", flag)
}
