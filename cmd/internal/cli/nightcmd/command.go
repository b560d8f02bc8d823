package nightcmd

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/probe/proctree"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
)

// Commands are the commands of this package.
func Commands(std outside.Stdio) []*cobra.Command {
	return []*cobra.Command{
		queueCommand(std), gatesCommand(std), approveCommand(std), denyCommand(std), syncCommand(std), breakersCommand(std), reportCommand(std),
	}
}

// group is a command that only has others below it.
func group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	if c.Args == nil {
		c.Args = arg.None
	}
	if c.RunE == nil {
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	c.AddCommand(below...)
	return c
}

// place is the work tree with what it has for a night. What changes it makes its folder.
func place(ctx context.Context, std outside.Stdio, change bool) (job.Place, night.Night, error) {
	p, err := job.SetUp(ctx, std, nil)
	if err != nil {
		return p, night.Night{}, err
	}
	n, err := p.Night(change)
	return p, n, err
}

// ByPerson refuses a command inside a supervised session: an agent is not to decide what
// it may do, or what it is to work on.
func ByPerson(ctx context.Context, std outside.Stdio, what string) error {
	if std.Getenv(launch.RunVar) == "" && std.Getenv(launch.SessionVar) == "" && !belowRun(ctx, std) {
		return nil
	}
	return outside.UsageHint("a person does it, in a shell of their own", "%s is not for a session of autopilot", what)
}

// generations bounds how far up processes are looked at.
const generations = 64

// belowRun reports whether this process was started by the run in this repository: a
// variable is easily taken away, a parent is not.
func belowRun(ctx context.Context, std outside.Stdio) bool {
	p, err := job.SetUpBare(ctx, std)
	if err != nil {
		return false
	}
	project, found, err := p.FindProject()
	if err != nil || !found {
		return false
	}
	id, err := supervisor.LastRun(project)
	if err != nil || id == "" {
		return false
	}
	st, err := supervisor.LoadState(project.RunDir(id))
	if err != nil || !st.Alive() {
		return false
	}
	for pid, n := os.Getppid(), 0; pid > 1 && n < generations; n++ {
		if pid == st.PID || proctree.HasEnv(pid, launch.TokenVar, st.Token) {
			return true
		}
		up, err := proctree.Read(proctree.Root, pid)
		if err != nil {
			return false
		}
		pid = up.PPID
	}
	return false
}
