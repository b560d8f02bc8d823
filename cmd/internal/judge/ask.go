package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/logs"
	"autopilot/sessions"
	"autopilot/supervisor"
	"autopilot/supervisor/mode"
	"autopilot/supervisor/source"
	"autopilot/supervisor/suitability"
)

// verdictVar hands the verdict from the guard, which may have asked a person about it, to
// the supervisor, which writes it into the log.
const verdictVar = "AUTOPILOT_VERDICT"

// AskBefore judges whether a run that begins is suitable, before anything is started: a
// person at the terminal is asked about one that is not, and without one it is refused where
// the dial says so.
func AskBefore(ctx context.Context, std *outside.Stdio, j job.Job, yes, quiet bool) error {
	std.Environ = outside.Without(std.Environ, verdictVar)
	if j.Cfg.Stories.NoSuitability || j.Story != nil {
		return nil
	}
	v, notes := verdictOn(ctx, *std, j)
	terminal := *std
	terminal.TTY = std.TTY && !quiet
	refused := &outside.Error{
		Code: supervisor.ExitPerson, Err: errors.New("nothing was started: " + v.Rationale), Way: "'autopilot suitability' says more; --yes or --no-suitability starts it all the same",
	}
	switch Follow(v, terminal.Asks(), yes) {
	case Refuse:
		return refused
	case Ask:
		fmt.Fprintf(std.Err, "%s\n", Words(v, notes)[0])
		if answer, err := std.Ask(ctx, "Start all the same? [y/N] "); err != nil || answer != "y" && answer != "Y" && answer != "yes" {
			return refused
		}
	case Start:
		if v.Dial != suitability.Advisory {
			return nil
		}
	}
	data, err := json.Marshal(Words(v, notes))
	std.Environ = append(std.Environ, verdictVar+"="+string(data))
	return err
}

func verdictOn(ctx context.Context, std outside.Stdio, j job.Job) (suitability.Verdict, []string) {
	sure := 1.0 // a person has chosen the work
	if IsLifecycle(j.Source) {
		sure = j.Source.Next(source.Request{Now: time.Now()}).Confidence
	}
	s, notes := Suitability(ctx, std, j.Place, &sure, j.Probe)
	return suitability.Judge(s), notes
}

// Told are the words of the verdict that the guard has handed down.
func Told(std *outside.Stdio) ([]string, error) {
	text := std.Getenv(verdictVar)
	if text == "" {
		return nil, nil
	}
	std.Environ = outside.Without(std.Environ, verdictVar)
	if err := os.Unsetenv(verdictVar); err != nil {
		return nil, err
	}
	var words []string
	if err := json.Unmarshal([]byte(text), &words); err != nil {
		return nil, fmt.Errorf("read %s, which the guard sets: %w", verdictVar, err)
	}
	return words, nil
}

// RecordChoice writes down for session-orchestrator which mode was recommended for a
// session, and that it had that mode.
func RecordChoice(log *slog.Logger, j job.Job, run string, a source.Assignment, session sessions.ID) {
	m := mode.Mode(a.Mode)
	err := mode.RecordAccuracy(j.Repo.Top, mode.Accuracy{Recommended: m, Chosen: m, Session: string(session), Run: run, Confidence: a.Confidence}, time.Now())
	if err != nil {
		log.Warn("the choice of the mode could not be written down", "err", logs.Redact(err.Error()))
	}
}
