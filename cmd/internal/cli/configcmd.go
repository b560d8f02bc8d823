package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/cli/desk"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
)

func configCommand(std outside.Stdio) *cobra.Command {
	var asJSON, show bool
	var limits desk.LimitFlags
	c := &cobra.Command{
		Use: "config", Short: "Show every setting and where it came from, or change the limits of persistent completion", Args: arg.None,
		Long: "Show every setting with its effective value and its origin. Layers, each over the one before: defaults,\n~/.config/autopilot/config.yaml, Session Config in CLAUDE.md or AGENTS.md, .taskmaster/config.json,\n.specweave/config.json (auto), autopilot.yaml, AUTOPILOT_* variables, flags.\n\n" +
			"With one of the flags for limits, change those of persistent completion ('autopilot enable') in this\nrepository, for the session that is on and for later ones.",
		Example: "  autopilot config\n  autopilot config --max-iterations 100 --timeout 480\n  autopilot config --task-sources team-tasks,markdown",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&show, "show", true, "show the settings")
	limits.Add(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		ch, changed, err := limits.Change(c)
		switch {
		case err != nil:
			return err
		case changed:
			return desk.Configure(c.Context(), std, ch, asJSON)
		}
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
		d, err := p.Desk(std, false)
		if err != nil {
			return err
		}
		s, err := d.Status(c.Context(), time.Now())
		if err != nil {
			return desk.Refusal(err)
		}
		fmt.Fprintf(&b, "persistent completion: at most %d iterations, %d minutes, tasks from %s\n", s.MaxIterations, s.TimeoutMinutes, strings.Join(s.TaskSources, ", "))
		_, err = fmt.Fprint(std.Out, b.String())
		return err
	}
	return c
}
