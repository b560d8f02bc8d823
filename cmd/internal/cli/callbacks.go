package cli

import (
	"time"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/outside"
	"autopilot/sessions/hook"
	"autopilot/sessions/standin"
)

// hookCommand is what a session's hooks call.
func hookCommand(std outside.Stdio) *cobra.Command {
	c := &cobra.Command{
		Use: "hook", Short: "Answer a hook of a supervised session", Hidden: true, Args: arg.None,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use: "agent-cap FILE", Short: "Keep the cap on sub-agents in FILE", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := hook.AgentCap(std.In, std.Out, hook.CapFile(args[0]), time.Now()); err != nil {
				return &outside.Error{Code: 2, Err: err} // Claude Code refuses the call on status 2
			}
			return nil
		},
	})
	return c
}

// standinCommand is the stand-in for claude that the demo runs on.
func standinCommand(std outside.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "standin", Short: "Stand in for claude", Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			code := standin.Main(standin.Process{Args: args, Getenv: std.Getenv, Stdin: std.In, Stdout: std.Out, Stderr: std.Err})
			if code == 0 {
				return nil
			}
			return outside.Silent(code)
		},
	}
}
