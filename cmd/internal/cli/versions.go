package cli

import (
	"fmt"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/outside"

	"github.com/spf13/cobra"
)

func versionCommand(std outside.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of autopilot", Args: arg.None,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(std.Out, "autopilot %s\n", outside.Version())
			return err
		},
	}
}
