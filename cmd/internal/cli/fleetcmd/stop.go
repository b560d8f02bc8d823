package fleetcmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/screen"
	"autopilot/supervisor/fleet"
)

func stopCommand(std outside.Stdio) *cobra.Command {
	var all, now bool
	c := &cobra.Command{
		Use: "stop [RUN...]", Short: "Stop runs, cohorts or single stories, in whatever repository",
		Long: "Ask runs to stop after their current session, or with --now to end it. RUN is the id of a run or of a story,\na beginning of one that no other has, COHORT/STORY, or the pid that 'autopilot fleet' shows. When one of them is\nunknown or could mean several, nothing is stopped. A cohort stops with its stories, a story that is named stops\nalone. The command does not wait for the end.",
	}
	c.Flags().BoolVar(&all, "all", false, "every run and cohort on this machine")
	c.Flags().BoolVar(&now, "now", false, "end the current sessions as well, in order")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 && !all:
			return outside.UsageHint("'autopilot fleet' shows what is on; --all stops all of it", "fleet stop needs a run")
		case len(args) > 0 && all:
			return outside.Usage("fleet stop takes runs or --all, not both")
		}
		o, err := options(std)
		if err != nil {
			return err
		}
		if err := byPerson(c, std, o, "fleet stop"); err != nil {
			return err
		}
		return told(std, fleet.Stop(c.Context(), o, asShown(args), all, now))
	}
	return c
}

// asShown takes off what the table puts behind an id that it cuts.
func asShown(args []string) []string {
	ids := make([]string, len(args))
	for i, a := range args {
		ids[i] = strings.TrimSuffix(strings.TrimSpace(a), ellipsis)
	}
	return ids
}

// told says what was done, and is an error when something was not.
func told(std outside.Stdio, done []fleet.Stopped) error {
	var failed []error
	refused := false
	for _, s := range done {
		switch {
		case s.How == fleet.Refused:
			refused = true
			failed = append(failed, s.Err)
		case s.Err != nil && s.RunID == "" && s.Story == "":
			failed = append(failed, fmt.Errorf("what is on may be more: %w", s.Err))
		case s.Err != nil:
			failed = append(failed, fmt.Errorf("stop %s: %w", called(s), s.Err))
		default:
			fmt.Fprintln(std.Out, screen.Plain(called(s)+" "+deed(s)))
		}
	}
	switch {
	case refused:
		return &outside.Error{Code: outside.ExitUsage, Err: errors.Join(failed...), Way: "'autopilot fleet' shows what is on; nothing was stopped"}
	case len(failed) > 0:
		return errors.Join(failed...)
	case len(done) == 0:
		return std.Say("nothing is on\n")
	}
	return nil
}

func called(s fleet.Stopped) string {
	if s.Kind == fleet.KindStory {
		return "story " + s.Story + " in " + s.Repo
	}
	return string(s.Kind) + " " + s.RunID + " in " + s.Repo
}

func deed(s fleet.Stopped) string {
	switch {
	case s.How == fleet.NotOn:
		return "is not on"
	case s.How == fleet.Signalled && s.Kind == fleet.KindCohort:
		return "ends now, with its stories"
	case s.How == fleet.Signalled:
		return "ends now"
	case s.Kind == fleet.KindCohort:
		return "stops after the current sessions of its stories"
	}
	return "stops after its current session"
}

func cleanCommand(std outside.Stdio, clean Clean) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use: "clean", Short: "Remove the work trees of ended cohorts that are merged or empty", Args: arg.AtMost(0),
		Long: "Remove the work trees that ended cohorts left behind, in all repositories, where nothing in them would be lost:\ntheir branch is merged, or has nothing new. The others are kept, and it is said why.",
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would be removed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		o, err := options(std)
		if err != nil {
			return err
		}
		if err := byPerson(c, std, o, "fleet clean"); err != nil {
			return err
		}
		done, err := clean(c.Context(), dry)
		if err != nil && len(done) == 0 {
			return err
		}
		return errors.Join(err, std.Say("%s", cleanText(done, dry)))
	}
	return c
}

func cleanText(done []Cleaned, dry bool) string {
	if len(done) == 0 {
		return "no ended cohort has left a work tree\n"
	}
	var b strings.Builder
	for _, t := range done {
		deed := "kept"
		switch {
		case t.Removed && dry:
			deed = "would remove"
		case t.Removed:
			deed = "removed"
		}
		line := deed + " " + t.Path
		if t.Branch != "" {
			line += " (branch " + t.Branch + ")"
		}
		if t.Why != "" {
			line += ": " + t.Why
		}
		b.WriteString(plain(line) + "\n")
	}
	return b.String()
}
