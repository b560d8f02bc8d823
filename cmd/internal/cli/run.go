package cli

import (
	"github.com/spf13/cobra"

	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/start"
)

// onlyChecked is the key in the context of a run that is only to say what it would refuse.
type onlyChecked struct{}

func runCommand(std outside.Stdio) *cobra.Command {
	var f start.Flags
	var goals []string
	var dryRun bool
	c := &cobra.Command{
		Use: `run ["GOAL"] [flags] [-- CLAUDE-ARG...]`, Short: "Run sessions until the goal is reached or a limit ends it",
		Long: `Run Claude Code sessions one after another until the work is done, a limit is
reached, or a kill-switch fires. With a goal in quotes the sessions work towards
it; without one the lifecycle of session-orchestrator is driven where its files
are there, or the tasks of the repository are worked on. --source tdd --task ID
walks one of them test by test; the settings for that are in 'autopilot config'.
What follows -- is handed to claude as it is.

With --multi-story several stories are worked on at once, each by a supervisor of its
own in a git work tree: those of --stories or --issues, else those of the queue.
'autopilot fleet' shows them.

A goal counts as reached when a session says so and every check holds: --verify,
--expect-file, and the files that the goal itself names. With --mode continuous a
reflector looks back every few sessions and decides whether to go on, to stop, or
to ask a person; guardrails bound such a run.

First Ctrl-C ends the running session cleanly and records it; a second one ends
it at once. 'autopilot stop' lets the current session finish.`,
		Example: "  autopilot run \"make the tests of ./parser pass\" --verify 'go test ./parser' --max-cost-usd 5\n" +
			"  autopilot run \"write docs/api.md for the API\" --mode continuous --max-hours 6\n" +
			"  autopilot run --source lifecycle --max-hours 8\n  autopilot run --source tdd --task 1 --max-sessions 20 --allowed-tools Bash\n  autopilot run --multi-story --stories stories.yaml --max-stories 4\n  autopilot run \"...\" -- --max-turns 40",
	}
	collect := addOptions(c)
	addSnapshotFlag(c)
	c.Flags().StringArrayVar(&goals, "goal", nil, "a further `GOAL`, taken up when those before it are reached; may be repeated")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be done; start and write nothing")
	c.Flags().BoolVar(&f.JSON, "json", false, "print the run's record (or the plan) as JSON")
	c.Flags().BoolVar(&f.ExitZero, "exit-zero", false, "exit 0 however the run ended, for cron")
	c.Flags().BoolVarP(&f.Yes, "yes", "y", false, "do not ask whether the forecast is acceptable")
	c.Flags().BoolVar(&f.Nested, "allow-nested", false, "allow a run inside a Claude Code session")
	c.RunE = func(c *cobra.Command, args []string) error {
		j, err := newJob(c, std, collect(), args, goals)
		if err != nil {
			return err
		}
		if c.Context().Value(onlyChecked{}) != nil {
			return j.Refine() // as without a terminal
		}
		if dryRun {
			return printPlan(c.Context(), std, j, f.JSON)
		}
		return start.Run(c.Context(), std, j, f, nil)
	}
	return c
}
