package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/doctor"
	"autopilot/cmd/internal/outside"
)

func doctorCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check everything a run needs; each line is ok or says how to mend it", Args: arg.None,
		Long: "Check the claude binary, its version and login, git, the lock, the disk, the ledgers and the limits of this\nmachine. A run whose supervisor was killed is finished first. Exit status 2 when something has to be\nmended before a run.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		all := doctor.Diagnose(c.Context(), std)
		bad := false
		for _, f := range all {
			bad = bad || !f.OK
		}
		var err error
		if asJSON {
			err = json.NewEncoder(std.Out).Encode(all)
		} else {
			err = std.Say("%s", doctor.Text(all))
		}
		if err != nil {
			return err
		}
		if bad {
			return outside.Silent(outside.ExitUsage)
		}
		return nil
	}
	return c
}
