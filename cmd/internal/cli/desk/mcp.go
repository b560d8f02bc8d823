package desk

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/outside"
	"autopilot/sessions/completion"
	"autopilot/sessions/launch"
	"autopilot/sessions/mcpserver"
)

func mcpCommand(std outside.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "mcp [FOLDER]", Short: "Serve the tools of persistent completion over MCP, on stdin and stdout", Args: cobra.MaximumNArgs(1),
		Long: "A Model Context Protocol server for Claude Code and others, over stdio: the tools autopilot_status, _enable,\n_disable, _config, _reset, _log, _progress, _learn, _history, _predict and _report. 'autopilot init' enters it\ninto .mcp.json. FOLDER is the desk that a supervised session was given; such a session cannot switch it off\nor change its limits.",
		RunE: func(c *cobra.Command, args []string) error {
			if folder := std.Getenv(launch.DeskVar); folder != "" {
				args = []string{folder} // the repository's own entry, in a supervised session
			}
			d, err := mcpDesk(c.Context(), std, args)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return mcpserver.Serve(ctx, os.Stdin, os.Stdout, mcpserver.Options{Desk: d, Version: outside.Version(), Supervised: len(args) == 1})
		},
	}
}

func mcpDesk(ctx context.Context, std outside.Stdio, args []string) (completion.Desk, error) {
	if len(args) == 1 {
		return completion.OpenDesk(args[0])
	}
	return openDesk(ctx, std, opening{create: true})
}
