package desk

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/install"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
)

// recordName is the file in a project's state folder that says what init put in.
const recordName = "installed.json"

func initCommand(std outside.Stdio) *cobra.Command {
	var o install.Options
	var yes, uninstall, dryRun bool
	c := &cobra.Command{
		Use: "init", Short: "Set this repository up: hooks, MCP server, autopilot.yaml, a section in CLAUDE.md", Args: arg.None,
		Long: `Write what Claude Code needs for persistent completion into this repository: the
hooks and the limits in .claude/settings.json, the MCP server in .mcp.json, a
template autopilot.yaml, and a section in CLAUDE.md; where there are tasks of Task
Master also what test-driven work needs, in that section and in .gitignore. What is
there stays as it is, byte for byte. Everything is shown as a diff first; without --yes it is asked for.
A second init changes nothing. --uninstall takes out exactly what was put in.`,
	}
	f := c.Flags()
	f.BoolVarP(&yes, "yes", "y", false, "write without asking")
	f.BoolVar(&dryRun, "dry-run", false, "show the changes and write nothing")
	f.BoolVar(&uninstall, "uninstall", false, "take out what init put in")
	f.StringVar(&o.Command, "command", "", "`COMMAND` that starts autopilot; else autopilot when it is in PATH, or the path of this program")
	f.BoolVar(&o.NoHooks, "no-hooks", false, "leave .claude/settings.json alone")
	f.BoolVar(&o.NoMCP, "no-mcp", false, "leave .mcp.json alone")
	f.BoolVar(&o.NoInstructions, "no-instructions", false, "leave CLAUDE.md alone")
	f.BoolVar(&o.NoIgnore, "no-gitignore", false, "leave .gitignore alone")
	f.BoolVar(&o.NoConfig, "no-config", false, "leave autopilot.yaml alone")
	c.RunE = func(c *cobra.Command, _ []string) error {
		r, err := job.FindRepo(c.Context())
		if err != nil {
			return err
		}
		p, err := job.SetUp(c.Context(), std, nil)
		if err != nil {
			return err
		}
		project, err := statedir.OpenProject(p.State, r.Top)
		if err != nil {
			return &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
		}
		o.Repo, o.Record = r.Top, filepath.Join(project.Dir, recordName)
		if o.Command == "" {
			o.Command = ownCommand(std)
		}
		plan := install.Plan
		if uninstall {
			plan = install.PlanUninstall
		}
		changes, err := plan(o)
		if err != nil {
			return Refusal(err)
		}
		return apply(std, changes, yes, dryRun)
	}
	return c
}

// ownCommand is the command that starts this program.
func ownCommand(std outside.Stdio) string {
	if _, err := exec.LookPath("autopilot"); err == nil {
		return "autopilot"
	}
	return std.Self
}

func apply(std outside.Stdio, changes install.Changes, yes, dryRun bool) error {
	for _, n := range changes.Notes {
		if err := std.Say("note: %s\n", n); err != nil {
			return err
		}
	}
	if changes.Empty() {
		return std.Say("nothing to change\n")
	}
	diff := changes.Diff()
	if err := std.Say("%s", diff); err != nil || dryRun {
		return err
	}
	if !yes && diff != "" {
		if !std.InTTY {
			return outside.UsageHint("say --yes to write it, --dry-run to see it only", "nobody can be asked whether to write this: stdin is no terminal")
		}
		if err := std.Say("write this? [y/N] "); err != nil {
			return err
		}
		answer, _ := bufio.NewReader(std.In).ReadString('\n')
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			return std.Say("nothing is written\n")
		}
	}
	if err := changes.Apply(); err != nil {
		return Refusal(err)
	}
	return std.Say("done\n")
}
