package fleetcmd

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/cli/nightcmd"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/screen"
	"autopilot/metrics/statedir"
	"autopilot/probe/peer"
	"autopilot/supervisor/fleet"
)

// Cleaned is what was done about one work tree, or would be.
type Cleaned struct {
	Path    string `json:"path"`
	Branch  string `json:"branch,omitempty"`
	Removed bool   `json:"removed"` // in a dry run: it would be
	Why     string `json:"why"`     // it was removed or kept, in a few words
}

// Clean removes the work trees of cohorts that have ended where nothing in them would be
// lost, in all repositories. With dryRun it only says what it would do. What it did before
// an error comes together with it.
type Clean func(ctx context.Context, dryRun bool) ([]Cleaned, error)

// Command is 'fleet' with what is below it.
func Command(std outside.Stdio, clean Clean) *cobra.Command {
	return command(std, clean, fleet.Sessions)
}

// sessions lists the Claude Code sessions of the machine.
type sessions func(context.Context) ([]peer.Session, error)

func command(std outside.Stdio, clean Clean, peers sessions) *cobra.Command {
	var asJSON, late bool
	c := &cobra.Command{
		Use: "fleet", Short: "Show the runs, stories and other Claude Code sessions on this machine", Args: arg.None,
		Long: "Show what is on in all repositories: runs, cohorts with their stories, and Claude Code sessions that were\nnot started by autopilot (peers). It needs no repository and reads no settings. A state that is 'dead' is that of\na run whose supervisor is gone; the next start in its repository finishes it.",
		Example: "  autopilot fleet\n  autopilot fleet --json\n  autopilot fleet stop main-2026-01-31    # a beginning that only one run has is enough\n" +
			"  autopilot fleet stop --all --now\n  autopilot fleet clean --dry-run",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&late, "recent", false, "also what ended within the last 24 hours")
	c.RunE = func(c *cobra.Command, _ []string) error {
		o, err := options(std)
		if err != nil {
			return err
		}
		o.All, o.Peers = late, peers
		rows, problems := fleet.List(c.Context(), o)
		if asJSON {
			return printJSON(std, rows, problems)
		}
		for _, p := range problems {
			fmt.Fprintf(std.Err, "autopilot: %s\n", screen.Plain(p.Error()))
		}
		return std.Say("%s", Text(rows, std.Getenv("HOME"), std.Width))
	}
	c.AddCommand(stopCommand(std), cleanCommand(std, clean))
	return c
}

func options(std outside.Stdio) (fleet.Options, error) {
	root, err := statedir.Root(std.Getenv, runtime.GOOS)
	if err != nil {
		return fleet.Options{}, &outside.Error{Code: outside.ExitUsage, Err: err}
	}
	return fleet.Options{Root: root, Now: time.Now()}, nil
}

func printJSON(std outside.Stdio, rows []fleet.Row, problems []error) error {
	words := make([]string, len(problems))
	for i, p := range problems {
		words[i] = p.Error()
	}
	if rows == nil {
		rows = []fleet.Row{}
	}
	return std.JSON(map[string]any{"rows": rows, "problems": words})
}

// byPerson refuses a command inside a session of any run of this machine, not only of one
// in the folder that the command was started in.
func byPerson(c *cobra.Command, std outside.Stdio, o fleet.Options, what string) error {
	if err := nightcmd.ByPerson(c.Context(), std, what); err != nil {
		return err
	}
	if id := fleet.Inside(c.Context(), o, os.Getpid()); id != "" {
		return outside.UsageHint("a person does it, in a shell of their own", "%s is not for a session of autopilot, and this is one of run %s", what, id)
	}
	return nil
}
