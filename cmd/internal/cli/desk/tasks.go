package desk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/sessions/task"
)

func tasksCommand(std outside.Stdio) *cobra.Command {
	var asJSON, all bool
	var sources []string
	c := &cobra.Command{
		Use: "tasks", Short: "List the tasks of this repository, with where each comes from", Args: arg.None,
		Long: "List the tasks that 'autopilot run --source tasks' and persistent completion work on, and say of each source\nwhere it was looked for and why it has none. The same task in two places counts once, in the source that\nstands first. Files that cannot be read are named. Of Claude Code's lists all of this repository's\nsessions are shown; a run works on the one that its own sessions share (--task-list).",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&all, "all", false, "ask every source, GitHub too, not only those of task-sources")
	c.Flags().StringSliceVar(&sources, "task-sources", nil, "ask these sources: "+strings.Join(task.Sources(), ", "))
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, err := job.SetUp(c.Context(), std, nil)
		if err != nil {
			return err
		}
		switch {
		case all:
			p.Cfg.TaskSources = task.Sources()
		case c.Flags().Changed("task-sources"):
			if err := task.CheckSources(sources); err != nil {
				return outside.Usage("--task-sources: %v", err)
			}
			p.Cfg.TaskSources = sources
		}
		found := p.Tasks(c.Context(), std)
		if asJSON {
			return std.JSON(struct {
				task.Count
				task.Found
			}{task.CountOf(found.Tasks), found})
		}
		return std.Say("%s", foundText(found, p.Cfg.TaskSources))
	}
	return c
}

// foundText is the list for a person.
func foundText(f task.Found, asked []string) string {
	var b strings.Builder
	n := task.CountOf(f.Tasks)
	failed := ""
	if n.Failed > 0 {
		failed = fmt.Sprintf(", %d of them failed", n.Failed)
	}
	fmt.Fprintf(&b, "%d of %d tasks complete (%d%%)%s\n", n.Completed, n.Total, n.Percent, failed)
	for _, t := range f.Tasks {
		fmt.Fprintf(&b, "  %s\n", taskLine(t))
	}
	for _, l := range f.Looks {
		words := fmt.Sprintf("%d tasks", l.Tasks)
		if l.Tasks == 0 {
			words = "none: " + l.Empty
		}
		fmt.Fprintf(&b, "source %-14s %s\n", l.Source, words)
		for _, x := range l.Broken {
			fmt.Fprintf(&b, "  cannot be read: %s: %s\n", x.Path, x.Why)
		}
	}
	var others []string
	for _, s := range task.Sources() {
		if !slices.Contains(asked, s) {
			others = append(others, s)
		}
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, "not asked: %s ('task-sources' in autopilot.yaml, or --all)\n", strings.Join(others, ", "))
	}
	return b.String()
}

func taskLine(t task.Task) string {
	line := fmt.Sprintf("%-14s %-6s %-12s %s", t.Source, t.ID, t.Status, t.Subject)
	if t.Owner != "" {
		line += " @" + t.Owner
	}
	if t.Blocked {
		line += " (blocked by " + strings.Join(t.BlockedBy, ", ") + ")"
	}
	if t.Dead {
		line += " (nobody is at it any more)"
	}
	if len(t.Also) > 0 {
		line += " (also " + strings.Join(t.Also, ", ") + ")"
	}
	return line
}
