package judgecmd

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/mode"
)

// recommended is the answer of 'mode' for a machine.
type recommended struct {
	mode.Recommendation
	Runnable bool     `json:"runnable"` // a run can do a session of this mode
	Warnings []string `json:"warnings"`
}

// Mode is the command that says which kind of session comes next.
func Mode(std outside.Stdio, live Live) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use: "mode", Short: "Say which mode the next session is to have, and why", Args: arg.None,
		Long: "Recommend the mode of the next session from the signals that session-orchestrator keeps in the repository, with\n" +
			"the share that each signal has in the confidence, and the signals that are missing.",
		Example: "  autopilot mode\n" +
			`  echo '{"recommendedMode":"deep","bootstrapLock":{"tier":"deep"}}' | autopilot mode --signals - --json`,
	}
	f.add(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, warnings, err := take(c, std, f, parseMode, live.Mode)
		if err != nil {
			return err
		}
		rec := mode.Select(s)
		answer := recommended{Recommendation: rec, Runnable: mode.Runnable(rec.Mode), Warnings: oneLines(warnings)}
		if f.asJSON {
			return std.JSON(answer)
		}
		return std.Say("%s", describeMode(answer))
	}
	return c
}

func parseMode(data []byte) (*mode.Signals, error) {
	s, err := mode.ParseSignals(data)
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// describeMode is a recommendation for a person.
func describeMode(r recommended) string {
	var b strings.Builder
	name := string(r.Mode)
	if _, ok, why := mode.Executable(r.Recommendation); !ok {
		name += "  (" + why + ")"
	}
	b.WriteString(columns([][]string{
		{"mode", name},
		{"confidence", fmt.Sprintf("%.2f", r.Confidence)},
		{"why", r.Rationale},
		{"context pressure", string(r.ContextPressure)},
	}))
	if len(r.Parts) > 0 {
		rows := [][]string{{"SIGNAL", "SHARE", "WHY"}}
		for _, p := range r.Parts {
			rows = append(rows, []string{p.Name, share(p.Value), p.Why})
		}
		b.WriteString("\n" + columns(rows))
	}
	if len(r.Alternatives) > 0 {
		rows := [][]string{{"ALTERNATIVE", "CONFIDENCE"}}
		for _, a := range r.Alternatives {
			rows = append(rows, []string{string(a.Mode), fmt.Sprintf("%.2f", a.Confidence)})
		}
		b.WriteString("\n" + columns(rows))
	}
	if len(r.Missing) > 0 || len(r.Warnings) > 0 {
		b.WriteString("\n")
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "missing: %s\n", oneLine(strings.Join(r.Missing, ", ")))
	}
	warned(&b, r.Warnings)
	return b.String()
}

// share shows what a signal adds or takes away; 0 is a signal that changed nothing.
func share(v float64) string {
	if v == 0 {
		return "0"
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if v > 0 {
		text = "+" + text
	}
	return text
}
