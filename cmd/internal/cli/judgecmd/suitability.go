package judgecmd

import (
	"strings"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor"
	"autopilot/supervisor/suitability"
)

// Suitability is the command that says whether a run may begin without asking a person.
func Suitability(std outside.Stdio, live Live) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use: "suitability", Short: "Say whether a run may begin here without asking", Args: arg.None,
		Long: "Put this repository to four gates: the recommended mode is sure enough, fewer than one in five of the last runs\n" +
			"ended in trouble, the pipeline is not red, the machine is not critical. A limit that a run reached, a person's\n" +
			"stop and a dry run are no trouble, and what ended more than a week ago is forgotten.\n\n" +
			"Exit status 0: suitable; 3: not. A run begins unasked only where the dial is autonomous-gated as well.",
		Example: "  autopilot suitability --json\n" +
			`  echo '{"confidence":0.9,"ci":{"status":"green"},"dial":"advisory"}' | autopilot suitability --signals -`,
	}
	f.add(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, warnings, err := take(c, std, f, suitability.ParseSignals, live.Suitability)
		if err != nil {
			return err
		}
		v := suitability.Judge(s)
		v.Warnings = append(v.Warnings, oneLines(warnings)...)
		if f.asJSON {
			err = std.JSON(v)
		} else {
			err = std.Say("%s", describeVerdict(v))
		}
		if err == nil && !v.Suitable {
			err = outside.Silent(supervisor.ExitFailures)
		}
		return err
	}
	return c
}

// describeVerdict is a verdict for a person.
func describeVerdict(v suitability.Verdict) string {
	var b strings.Builder
	b.WriteString(headline(v) + "\n\n")
	rows := [][]string{{"GATE", "RESULT", "DETAIL"}}
	for _, g := range v.Gates {
		word := "ok"
		if !g.Passed {
			word = "FAIL"
		}
		rows = append(rows, []string{g.Name, word, g.Detail})
	}
	rows = append(rows, []string{"dial", "-", string(v.Dial)})
	b.WriteString(columns(rows))
	warned(&b, v.Warnings)
	return b.String()
}

func headline(v suitability.Verdict) string {
	switch {
	case v.Autonomous:
		return "suitable: a run may begin without asking"
	case v.Suitable:
		return "suitable; the dial is " + string(v.Dial)
	}
	return "not suitable: at a terminal a run asks first, elsewhere it begins and says so; with --autonomy autonomous-gated it is refused"
}
