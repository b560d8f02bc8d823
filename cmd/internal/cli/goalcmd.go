package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/outside"
	"autopilot/reflector"
	"autopilot/reflector/goal"
	"autopilot/supervisor"
)

const maxInput = 1 << 20 // bytes of a file that a command reads

func goalCommand(std outside.Stdio) *cobra.Command {
	c := &cobra.Command{
		Use: "goal", Short: "Look at a goal before anything is started", Args: unknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(goalCheckCommand(std))
	return c
}

func goalCheckCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: `check "GOAL"`, Short: "Say how the end of a goal could be told, or that it could not",
		Long: "Print the success criteria, milestones and files that a goal names, and the words in it that have no end.\nA goal whose end could not be told gets a suggestion. No model is asked. Exit status 4 when the goal\nis ambiguous, as a run would refuse it.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return outside.UsageHint(`put the goal in quotes: autopilot goal check "make the tests pass"`, "one goal is wanted, got %d words", len(args))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(_ *cobra.Command, args []string) error {
		a := goal.Analyse(args[0])
		if err := printAnalysis(std, a, asJSON); err != nil {
			return err
		}
		if a.Ambiguous {
			return outside.Silent(supervisor.ExitPerson)
		}
		return nil
	}
	return c
}

func printAnalysis(std outside.Stdio, a goal.Analysis, asJSON bool) error {
	if asJSON {
		return std.JSON(a)
	}
	var b strings.Builder
	verdict := "concrete"
	if a.Ambiguous {
		verdict = "ambiguous: " + a.Issue
	}
	fmt.Fprintf(&b, "goal        %s\nverdict     %s\nsize        %d\n", a.Goal, verdict, a.Size)
	for _, t := range a.Terms {
		fmt.Fprintf(&b, "  term      %q: %s\n", t.Text, t.Why)
	}
	for _, c := range a.Criteria {
		fmt.Fprintf(&b, "  criterion %s\n", c.Text)
	}
	for i, m := range a.Milestones {
		fmt.Fprintf(&b, "  milestone %d. %s\n", i+1, m.Text)
	}
	for _, d := range a.Deliverables {
		fmt.Fprintf(&b, "  file      %s\n", d)
	}
	if a.Suggestion != "" {
		fmt.Fprintf(&b, "suggestion  %s\n", a.Suggestion)
	}
	return std.Say("%s", b.String())
}

func reflectCommand(std outside.Stdio) *cobra.Command {
	var asJSON bool
	var file, matrix string
	var ctx reflector.Context
	c := &cobra.Command{
		Use: "reflect --assessment FILE", Short: "Print what would follow from an assessment", Args: arg.None,
		Long: "Apply the decision matrix to an assessment: a JSON object with goalAchieved (YES, NO, PARTIAL), progress\n(GOOD, SLOW, STUCK), percentComplete (0 to 100), loopDetected, recommendation (CONTINUE, STOP, ASK_USER),\nreasoning and nextSteps. --matrix strict leaves out the rules that close holes of the basic ones.",
	}
	c.Flags().StringVar(&file, "assessment", "", "read the assessment from `FILE`; - is standard input")
	c.Flags().IntVar(&ctx.Slow, "slow", 0, "reflections in a row that found progress slow, this one included")
	c.Flags().IntVar(&ctx.Stuck, "stuck", 0, "reflections in a row that found it stuck, this one included")
	c.Flags().IntVar(&ctx.Idle, "idle", 0, "sessions in a row without any effect")
	c.Flags().BoolVar(&ctx.LoopSeen, "loop-seen", false, "the tool calls themselves repeat")
	c.Flags().BoolVar(&ctx.AtLimit, "at-limit", false, "no further session is allowed")
	c.Flags().StringArrayVar(&ctx.FailedChecks, "failed-check", nil, "`CHECK` of the goal that does not hold; may be repeated")
	c.Flags().StringVar(&matrix, "matrix", string(reflector.Extended), "extended or strict")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.RunE = func(*cobra.Command, []string) error {
		if matrix != string(reflector.Extended) && matrix != string(reflector.Strict) {
			return outside.Usage("--matrix takes extended or strict, got %q", matrix)
		}
		if min(ctx.Slow, ctx.Stuck, ctx.Idle) < 0 {
			return outside.Usage("--slow, --stuck and --idle take numbers from 0")
		}
		data, err := readInput(std, "assessment", file)
		if err != nil {
			return err
		}
		a, err := reflector.ParseAssessment(data)
		if err != nil {
			return outside.UsageHint("see 'autopilot reflect --help' for the fields", "%s: %v", file, err)
		}
		d := reflector.Decide(a, ctx, reflector.Matrix(matrix))
		if asJSON {
			return std.JSON(d)
		}
		return std.Say("%s: %s (rule %s)\n%s", d.Action, d.Reason, d.Rule, listed("  - ", append(d.Guidance, d.Options...)))
	}
	return c
}

func listed(mark string, items []string) string {
	var b strings.Builder
	for _, s := range items {
		fmt.Fprintf(&b, "%s%s\n", mark, s)
	}
	return b.String()
}

// readInput reads the file that a flag names, - for standard input.
func readInput(std outside.Stdio, flag, file string) ([]byte, error) {
	if file == "" {
		return nil, outside.UsageHint("--"+flag+" - reads standard input", "--%s FILE is wanted", flag)
	}
	in := std.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, outside.Usage("--%s: %v", flag, err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	switch {
	case err != nil:
		return nil, outside.Usage("--%s: %v", flag, err)
	case len(data) > maxInput:
		return nil, outside.Usage("--%s: %s has more than %d bytes", flag, file, maxInput)
	}
	return data, nil
}
