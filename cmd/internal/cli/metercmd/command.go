package metercmd

import (
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/meter"
	"autopilot/cmd/internal/nightly"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/telemetry"
)

// Command is 'metrics' with what is below it.
func Command(std outside.Stdio) *cobra.Command {
	var asJSON, prometheus bool
	c := &cobra.Command{
		Use: "metrics", Short: "Sum up all runs: goals reached, sessions needed, how right the looks back were", Args: arg.None,
		Long:    "Sum up the runs of this repository's ledger: how many goals were reached, in how many sessions, why runs\nended, how often a goal was said to be reached and was not, how right reflections and forecasts were.\n\n--prometheus prints what monitoring is told instead: how all runs of this machine are, in the text format of\nPrometheus. A run writes the same into a file for node_exporter (metrics-textfile), or pushes it to a collector\n(otlp-endpoint); 'autopilot config' explains both. 'metrics dashboard' prints a dashboard for Grafana.",
		Example: "  autopilot metrics\n  autopilot metrics --prometheus\n  autopilot metrics dashboard > autopilot-dashboard.json",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&prometheus, "prometheus", false, "print how all runs of this machine are, for Prometheus")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if prometheus {
			return text(c, std, asJSON)
		}
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
	c.AddCommand(dashboardCommand(std))
	return c
}

// text prints the metrics of the machine once. It needs no repository.
func text(c *cobra.Command, std outside.Stdio, asJSON bool) error {
	if asJSON {
		return outside.Usage("--prometheus and --json are two forms; choose one")
	}
	s, err := meter.NewSource(std)
	if err != nil {
		return err
	}
	s.Schedules = func() []telemetry.Schedule { return nightly.Known(s.Root, time.Now()) }
	_, err = std.Out.Write(telemetry.Text(s.Facts(c.Context())))
	return err
}

func dashboardCommand(std outside.Stdio) *cobra.Command {
	c := &cobra.Command{
		Use: "dashboard", Short: "Print a dashboard for Grafana, as JSON to import", Args: arg.None,
		Long: "Print a dashboard for Grafana over the metrics that a run writes or pushes. It asks which Prometheus it is to\nread, and has a stable uid, so that importing it again replaces the one before.",
	}
	c.RunE = func(*cobra.Command, []string) error {
		data, err := telemetry.Dashboard()
		if err != nil {
			return err
		}
		_, err = std.Out.Write(data)
		return err
	}
	return c
}
