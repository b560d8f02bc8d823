package nightcmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
)

func breakersCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "breakers", Short: "Services that are left alone for a while after failures", Args: arg.None,
		Long: "A service that failed three times (breaker-threshold) is left alone for five minutes (breaker-reset), then one\ncall is let through to see whether it is back. What was to be sent meanwhile waits.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(c *cobra.Command, _ []string) error {
		n, err := open(c.Context(), std)
		if err != nil {
			return err
		}
		states := n.Breakers.States(time.Now())
		if asJSON {
			return std.JSON(states)
		}
		if len(states) == 0 {
			return std.Say("no service has failed yet\n")
		}
		var b strings.Builder
		for _, s := range states {
			fmt.Fprintf(&b, "%-12s %-9s %s%s  %s\n", s.Name, s.Position, s.Reason(), until(s.Until), s.Error)
		}
		return std.Say("%s", b.String())
	}
	return group(c, &cobra.Command{
		Use: "reset NAME", Short: "Let a service be called again at once", Args: arg.Exactly("the name of a service"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := ByPerson(c.Context(), std, "breakers reset"); err != nil {
				return err
			}
			n, err := open(c.Context(), std)
			if err != nil {
				return err
			}
			return reset(std, n, args[0])
		},
	})
}

func reset(std outside.Stdio, n night.Night, name string) error {
	for _, s := range n.Breakers.States(time.Now()) {
		if s.Name != name {
			continue
		}
		if err := n.Breakers.Reset(name); err != nil {
			return err
		}
		return std.Say("%s may be called again; it was %s, %s\n", name, s.Position, s.Reason())
	}
	return outside.UsageHint("'autopilot breakers' lists them", "no service is named %q", name)
}
