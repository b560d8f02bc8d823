package desk

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/sessions/completion"
	"autopilot/sessions/launch"
	"autopilot/sessions/mcpserver"
	"autopilot/sessions/task/taskmaster"
	"autopilot/supervisor/tdd/tool"
)

func mcpCommand(std outside.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "mcp [FOLDER]", Short: "Serve the tools of this program over MCP, on stdin and stdout", Args: arg.AtMost(1),
		Long: "A Model Context Protocol server for Claude Code and others, over stdio: the tools autopilot_status, _enable,\n_disable, _config, _reset, _log, _progress, _learn, _history, _predict and _report of persistent completion, and\nwhere the repository has tasks of Task Master those of test-driven work: autopilot_start, _next, _complete_phase,\n_commit, _resume, _finalize and _abort. 'autopilot init' enters it into .mcp.json. FOLDER is the desk that a\nsupervised session was given; such a session gets no tools of test-driven work, and cannot switch persistent\ncompletion off or change its limits.",
		RunE: func(c *cobra.Command, args []string) error {
			if folder := std.Getenv(launch.DeskVar); folder != "" {
				args = []string{folder} // the repository's own entry, in a supervised session
			}
			o, err := served(c.Context(), std, args)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return mcpserver.Serve(ctx, os.Stdin, os.Stdout, o)
		},
	}
}

// served is what a server offers.
func served(ctx context.Context, std outside.Stdio, args []string) (mcpserver.Options, error) {
	o := mcpserver.Options{Version: outside.Version(), Supervised: len(args) == 1}
	var err error
	if o.Supervised {
		o.Desk, err = completion.OpenDesk(args[0])
		return o, err
	}
	if o.Desk, err = openDesk(ctx, std, opening{create: true}); err != nil {
		return o, err
	}
	if _, err := os.Stat(filepath.Join(o.Desk.Place.Repo, filepath.FromSlash(taskmaster.Folder))); err != nil {
		return o, nil // there is nothing that could be worked on test by test
	}
	p, err := job.SetUp(ctx, std, nil)
	if err != nil {
		return o, err
	}
	w, err := p.Workflow(std, true)
	if err != nil {
		return o, err
	}
	w.Confirm, w.ByTools = nil, true
	o.Tools = tool.Tools(tool.Options{
		Runs: w, Steps: w, Root: p.Repo.Top, Network: o.Desk.Place.GH != nil,
		Completion: func(ctx context.Context) (completion.Status, error) { return o.Desk.Status(ctx, time.Now()) },
	})
	o.Instructions = tool.Instructions
	return o, nil
}
