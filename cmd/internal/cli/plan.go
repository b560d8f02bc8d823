package cli

import (
	"context"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/stories"
)

func planCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	var goals []string
	c := &cobra.Command{
		Use: `plan ["GOAL"] [flags] [-- CLAUDE-ARG...]`, Short: "Print what a run would do; start and write nothing",
		Long: "Print, for each planned iteration, the mode with its confidence and the reason, the tier of the\nmachine with the signal that decided it, the prompts, and every limit with its origin. The same as\n'autopilot run --dry-run'.",
	}
	collect := addOptions(c)
	addSnapshotFlag(c)
	c.Flags().StringArrayVar(&goals, "goal", nil, "a further `GOAL`; may be repeated")
	c.Flags().BoolVar(&asJSON, "json", false, "print the plan as JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		j, err := newJob(c, std, collect(), args, goals)
		if err != nil {
			return err
		}
		return printPlan(c.Context(), std, j, asJSON)
	}
	return c
}

func printPlan(ctx context.Context, std outside.Stdio, j job.Job, asJSON bool) error {
	if j.Cfg.Stories.Multi {
		p, err := stories.MakePlan(ctx, std, j)
		if err != nil {
			return err
		}
		if asJSON {
			return std.JSON(p)
		}
		return std.Say("%s", p.Text())
	}
	p := job.MakePlan(ctx, std, j)
	if asJSON {
		return std.JSON(p)
	}
	return std.Say("%s", p.Text())
}
