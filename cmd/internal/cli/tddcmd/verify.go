package tddcmd

import (
	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor"
)

func verifyCommand(std outside.Stdio) *cobra.Command {
	var asJSON, ask bool
	c := &cobra.Command{
		Use: "verify [REV | REV..REV]", Short: "Check that commits do what their messages say", Args: arg.AtMost(1),
		Long: "Check commits of runs, HEAD or those named, oldest first: that the message can be read, that its task exists in the\n" +
			"task file as of that commit, has that title and is done, that something was changed, and that the numbers of tests\n" +
			"are those that the run has kept, where it is known here. Commits of others are listed only. With --ask the reflector\n" +
			"that the settings choose is asked whether each commit does what its task asks for, a question for each.\n\n" +
			"Exit status: 0 all hold, 1 a model did not answer, 2 no such commit, or none of a task, 3 one is broken or a model\nsays no.",
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON; a refusal goes to stderr")
	c.Flags().BoolVar(&ask, "ask", false, "ask a model for its opinion too")
	c.RunE = func(c *cobra.Command, args []string) error {
		revisions := "HEAD"
		if len(args) > 0 {
			revisions = args[0]
		}
		r, err := job.VerifyCommits(c.Context(), std, revisions, ask)
		if err != nil {
			return refused(std, asJSON, err)
		}
		if asJSON {
			err = std.JSON(r)
		} else {
			err = std.Say("%s", r.Text())
		}
		switch {
		case err != nil:
			return err
		case !r.OK:
			return outside.Silent(supervisor.ExitFailures)
		case r.Unanswered() > 0:
			return outside.Silent(supervisor.ExitError)
		}
		return nil
	}
	return c
}
