package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/outside"
	"autopilot/sessions/launch"
)

// demoScript is what the stand-in does in the demo: two sessions that work, the
// second of which leaves a process behind, and a third that starts two sub-agents
// and leaves most of its plan undone.
const demoScript = `say looking at the repository
write greeting.txt hello
commit add a greeting
usage 1200 300 0.0210
report {"planned":["greeting"],"completed":["greeting"],"carried_over":[],"summary":"Wrote a greeting.","next_steps":["add a farewell"],"needs_person":""}
result
---
write farewell.txt goodbye
commit add a farewell
leave sleep 300
usage 900 200 0.0150
report {"planned":["farewell"],"completed":["farewell"],"carried_over":[],"summary":"Wrote a farewell.","next_steps":["polish both"],"needs_person":""}
result
---
agents 2
usage 2500 700 0.0480
report {"planned":["polish","translate","publish"],"completed":["polish"],"carried_over":["translate","publish"],"summary":"Polished.","next_steps":["translate"],"needs_person":""}
result
`

func demoCommand(std outside.Stdio) *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Run the real loop on a scratch repository, with a stand-in for claude", Args: arg.None,
		Long: "Make a scratch git repository and run three sessions in it with the real loop, pty, probe and ledgers. In the\nplace of claude stands a script; no account and no network are needed. The third session trips a\nkill-switch. At the end it says where to look at what was written.",
		RunE: func(c *cobra.Command, _ []string) error { return demo(c.Context(), std) },
	}
}

func demo(ctx context.Context, std outside.Stdio) error {
	base, err := os.MkdirTemp("", "autopilot-demo-")
	if err != nil {
		return fmt.Errorf("make demo folder: %w", err)
	}
	repoDir, err := demoRepo(ctx, std, base)
	if err != nil {
		return err
	}
	claude := filepath.Join(base, "bin", "claude")
	if err := os.MkdirAll(filepath.Dir(claude), 0o700); err != nil {
		return fmt.Errorf("make demo folder: %w", err)
	}
	stub := "#!/bin/sh\nexec " + launch.Quote(std.Self) + " standin \"$@\"\n"
	if err := os.WriteFile(claude, []byte(stub), 0o700); err != nil {
		return fmt.Errorf("write stand-in: %w", err)
	}
	script := filepath.Join(base, "script")
	if err := os.WriteFile(script, []byte(demoScript), 0o600); err != nil {
		return fmt.Errorf("write script of the stand-in: %w", err)
	}
	fmt.Fprintf(std.Out, "demo in %s\n\n", base)
	std.Environ = demoEnviron(std.Environ, base, script)
	cmd := exec.CommandContext(ctx, std.Self, "-C", repoDir, "run", "write a greeting and a farewell", "--allow-nested",
		"--peer-abort", "1000", "--claude", claude)
	cmd.Env, cmd.Stdout, cmd.Stderr = std.Environ, std.Out, std.Err
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return err
	}
	code := cmd.ProcessState.ExitCode()
	fmt.Fprintf(std.Out, "\nThe run ended with exit code %d; 3 is what the kill-switch 'carryover-too-high' stands for.\nLook at:\n", code)
	for _, l := range [][2]string{
		{"the run's record", "cat " + filepath.Join(repoDir, ".orchestrator/metrics/autopilot.jsonl")},
		{"the sessions", "cat " + filepath.Join(repoDir, ".orchestrator/metrics/sessions.jsonl")},
		{"the commits", "git -C " + repoDir + " log --oneline"},
		{"logs and state", "ls -R " + filepath.Join(base, "state")},
	} {
		fmt.Fprintf(std.Out, "  %-16s %s\n", l[0], l[1])
	}
	if code != 3 {
		return &outside.Error{Code: 1, Err: fmt.Errorf("the demo ended with exit code %d, want 3", code)}
	}
	return nil
}

func demoRepo(ctx context.Context, std outside.Stdio, base string) (string, error) {
	dir := filepath.Join(base, "repo")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", dir},
		{"-C", dir, "-c", "user.name=demo", "-c", "user.email=demo@example.org", "-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", "start"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Env = std.Environ
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", outside.UsageHint("the demo needs git", "make scratch repository: %v: %s", err, strings.TrimSpace(string(out)))
		}
	}
	return dir, nil
}

// demoEnviron keeps the demo's state in its own folder and away from the
// person's configuration.
func demoEnviron(environ []string, base, script string) []string {
	var env []string
	for _, kv := range environ {
		if !strings.HasPrefix(kv, "AUTOPILOT_") && !strings.HasPrefix(kv, "XDG_") && !strings.HasPrefix(kv, "HOME=") {
			env = append(env, kv)
		}
	}
	return append(env, "HOME="+base, "XDG_STATE_HOME="+filepath.Join(base, "state"), "STANDIN_SCRIPT="+script)
}
