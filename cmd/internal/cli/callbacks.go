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
	for name, short := range map[string]string{agentCap: "Keep the cap on sub-agents in FILE", gate: "Hold a call for a person, by the rules in FILE"} {
		c.AddCommand(&cobra.Command{
			Use: name + " FILE", Short: short, Args: cobra.ExactArgs(1),
			RunE: func(_ *cobra.Command, args []string) error { return answerHook(std, name, args[0]) },
		})
	}
	return c
}

// Hooks that Claude Code waits for before each call.
const (
	agentCap = "agent-cap"
	gate     = "gate"
)

// quickHook answers such a hook without the tree of commands. It reports false for
// anything else.
func quickHook(std outside.Stdio, args []string) (code int, ok bool) {
	if len(args) != 3 || args[0] != "hook" || args[1] != agentCap && args[1] != gate {
		return 0, false
	}
	return outside.Report(std, answerHook(std, args[1], args[2])), true
}

// answerHook answers the hook of a name with the file of its session. Claude Code refuses
// the call on status 2.
func answerHook(std outside.Stdio, name, file string) error {
	var err error
	if name == agentCap {
		err = hook.AgentCap(std.In, std.Out, hook.CapFile(file), time.Now())
	} else {
		var desk hook.GateDesk
		if desk, err = hook.LoadGate(file); err == nil {
			err = hook.Gate(std.In, std.Out, desk, time.Now())
		}
	}
	if err != nil {
		return &outside.Error{Code: 2, Err: err}
	}
	return nil
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
