package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func versionCommand(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of autopilot", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(std.Out, "autopilot %s\n", version())
			return err
		},
	}
}
