package cli

import (
	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
)

func metricsCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "metrics", Short: "Sum up all runs: goals reached, sessions needed, how right the looks back were", Args: arg.None,
		Long: "Sum up the runs of this repository's ledger: how many goals were reached, in how many sessions, why runs\nended, how often a goal was said to be reached and was not, how right reflections and forecasts were.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, err := job.SetUp(c.Context(), std, nil)
		if err != nil {
			return err
		}
		all, err := p.Runs()
		if err != nil {
			return err
		}
		if asJSON {
			return std.JSON(all.Metrics())
		}
		return std.Say("%s", all.Metrics().Text())
	}
	return c
}
