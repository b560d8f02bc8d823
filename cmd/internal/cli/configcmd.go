package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"

	"github.com/spf13/cobra"
)

func configCommand(std outside.Stdio) *cobra.Command {
	var asJSON, show bool
	c := &cobra.Command{
		Use: "config", Short: "Show every setting, its value and where it came from", Args: noArgs,
		Long: "Show every setting with its effective value and its origin. Layers, each over the one before: defaults,\n~/.config/autopilot/config.yaml, Session Config in CLAUDE.md or AGENTS.md, autopilot.yaml, AUTOPILOT_*\nvariables, flags.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&show, "show", true, "show the settings")
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, err := job.SetUp(c.Context(), std, nil)
		if err != nil {
			return err
		}
		if asJSON {
			return json.NewEncoder(std.Out).Encode(p.Cfg.Settings)
		}
		var b strings.Builder
		for _, s := range p.Cfg.Settings {
			fmt.Fprintf(&b, "%-22s %-28s %s\n", s.Key, job.OrNone(s.Value), s.Origin)
		}
		for _, n := range p.Cfg.Notes {
			fmt.Fprintf(&b, "note: %s\n", n)
		}
		_, err = fmt.Fprint(std.Out, b.String())
		return err
	}
	return c
}
