package start

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor"
)

// agreedVar hands what a person has agreed to from the guard to the supervisor.
const agreedVar = "AUTOPILOT_AGREED"

// agreed is what a person said before the run: what the goals mean, and that an
// ambiguous one is to be worked on as it is.
type agreed struct {
	Goals   []string `json:"goals"`
	Proceed bool     `json:"proceed"`
}

// askBefore asks a person at the terminal what an ambiguous goal means and
// whether the forecast is acceptable. Without a terminal the one is refused and
// the other printed.
func askBefore(ctx context.Context, std *outside.Stdio, j *job.Job, f Flags) error {
	asks := *std
	asks.TTY = std.TTY && !f.JSON
	if err := askGoals(ctx, asks, j); err != nil {
		return err
	}
	if !f.Yes && asks.Asks() && j.Foresees() {
		_, words, err := j.Forecast()
		if err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "forecast: %s\n", words)
		answer, err := std.Ask(ctx, "Go on? [Y/n] ")
		if err != nil || answer != "" && answer != "y" && answer != "Y" && answer != "yes" {
			return &outside.Error{Code: supervisor.ExitPerson, Err: fmt.Errorf("nothing was started: the forecast was not accepted"), Way: "--yes starts without asking"}
		}
	}
	data, err := json.Marshal(agreed{Goals: j.Texts(), Proceed: j.Cfg.ProceedWithTimeLimit})
	std.Environ = append(std.Environ, agreedVar+"="+string(data))
	return err
}

// agreedOn takes over what was agreed to before the supervisor was started.
func agreedOn(std *outside.Stdio, j *job.Job) error {
	text := std.Getenv(agreedVar)
	if text == "" {
		return j.Refine() // it was started without asking
	}
	std.Environ = outside.Without(std.Environ, agreedVar)
	if err := os.Unsetenv(agreedVar); err != nil {
		return err
	}
	var a agreed
	if err := json.Unmarshal([]byte(text), &a); err != nil || len(a.Goals) != len(j.Goals) {
		return fmt.Errorf("internal error: %s is %q", agreedVar, text)
	}
	for i, t := range a.Goals {
		if j.Goals[i].Goal != t {
			j.Refined = append(j.Refined, j.Goals[i].Goal)
			j.Replace(i, t)
		}
	}
	j.Cfg.ProceedWithTimeLimit = a.Proceed
	return nil
}

// askGoals has a person at the terminal say what an ambiguous goal means.
func askGoals(ctx context.Context, std outside.Stdio, j *job.Job) error {
	for {
		i, found := j.Ambiguous()
		if !found || j.Cfg.AutoRefineGoals || !std.Asks() {
			return j.Refine()
		}
		a := j.Goals[i]
		fmt.Fprintf(std.Err, "%s\n", a.Question())
		answer, err := std.Ask(ctx, "A, B or C? ")
		if err != nil {
			return &outside.Error{Code: supervisor.ExitPerson, Err: fmt.Errorf("the goal %q is not refined: %w", a.Goal, err)}
		}
		switch strings.ToUpper(answer) {
		case "A":
			j.Replace(i, a.Suggestion)
		case "B":
			own, err := std.Ask(ctx, "Goal: ")
			if err != nil {
				return &outside.Error{Code: supervisor.ExitPerson, Err: fmt.Errorf("the goal %q is not refined: %w", a.Goal, err)}
			}
			j.Replace(i, own)
		case "C":
			j.Cfg.ProceedWithTimeLimit = true
		}
	}
}
