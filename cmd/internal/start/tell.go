package start

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/forecast"
	"autopilot/metrics/ledger"
	"autopilot/sessions/binary"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
	"autopilot/supervisor/ending"
)

// warnRecovered says what was left of earlier runs.
func warnRecovered(log *slog.Logger, recovered []supervisor.Recovered, recoverErr error) {
	for _, r := range recovered {
		log.Warn("an earlier run was finished that had been killed", "killed", r.Killed, "run_id", r.RunID, "session_id", r.SessionID, "processes_ended", r.Processes)
		if len(r.Left) > 0 {
			log.Error("processes of an earlier run could not be ended", "run_id", r.RunID, "pids", fmt.Sprint(r.Left))
		}
	}
	if recoverErr != nil {
		log.Error("an earlier run could not be finished", "err", recoverErr.Error())
	}
}

// warnBefore puts into the log what a person should know tomorrow morning.
func warnBefore(log *slog.Logger, std outside.Stdio, j job.Job, s runSetup) {
	for _, n := range j.Cfg.Notes {
		log.Warn("a setting was moved to its bound", "detail", n)
	}
	_, notes := launch.Env(std.Environ, launch.Identity{UseAPIKey: j.Cfg.UseAPIKey})
	for _, n := range notes {
		log.Warn(n)
	}
	switch {
	case s.version == "":
		log.Warn("claude did not say its version", "path", s.claude)
	case binary.OlderThan(s.version, binary.Tested):
		log.Warn("claude is older than what autopilot is tested with", "version", s.version, "tested_from", binary.Tested)
	}
}

// heldCalls counts the calls that wait for a person.
func heldCalls(j job.Job) int {
	at, err := j.Night(false)
	if err != nil {
		return 0
	}
	list, _ := at.Gates.List(time.Now()) // what is broken is not counted
	n := 0
	for _, g := range list {
		if g.Open() {
			n++
		}
	}
	return n
}

// printSummary says how the run ended, for a person.
func printSummary(std outside.Stdio, j job.Job, out supervisor.Outcome) {
	rec := out.Record
	var b strings.Builder
	why := rec.ExitCause
	if rec.KillSwitchDetail != nil && *rec.KillSwitchDetail != "" {
		why += " (" + *rec.KillSwitchDetail + ")"
	}
	fmt.Fprintf(&b, "%s  %s\n", rec.AutopilotRunID, why)
	earlier := ""
	if t := rec.Termination; t != nil && t.Iterations > len(rec.Sessions) {
		earlier = fmt.Sprintf(" (%d before)", t.Iterations-len(rec.Sessions))
	}
	if b.WriteString(out.Told); out.Told == "" {
		fmt.Fprintf(&b, "  %d of %d sessions%s in %s, %d tokens, $%.4f\n", rec.IterationsCompleted, rec.MaxSessions, earlier,
			time.Duration(rec.DurationSeconds)*time.Second, rec.TotalTokensUsed, rec.TotalCostUSD)
	}
	for _, e := range rec.Endings {
		cause := ""
		if e.Cause != "" && e.Cause != e.Ending {
			cause = ": " + e.Cause
		}
		fmt.Fprintf(&b, "  - %s %s%s\n", e.SessionID, e.Ending, cause)
	}
	if rec.Termination != nil {
		b.WriteString(ending.Text(*rec.Termination))
	}
	if f := rec.Forecast; f != nil && rec.IterationsCompleted > 0 {
		fmt.Fprintf(&b, "  forecast    %s\n", forecast.Compare(*f, forecast.TruthOf(rec)).Text())
	}
	if n := heldCalls(j); n == 1 {
		b.WriteString("  held        1 call waits for you: autopilot gates\n")
	} else if n > 1 {
		fmt.Fprintf(&b, "  held        %d calls wait for you: autopilot gates\n", n)
	}
	if out.Manual != "" {
		fmt.Fprintf(&b, "  by hand: %s\n", out.Manual)
	}
	if out.Hint != "" {
		fmt.Fprintf(&b, "  next: %s\n", out.Hint)
	}
	fmt.Fprintf(&b, "  record: %s\n", filepath.Join(j.MetricsDir(), ledger.RunsFile))
	_ = std.Say("%s", b.String()) // a reader that went away ends nothing
}
