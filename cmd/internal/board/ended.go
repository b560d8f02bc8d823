package board

import (
	"path/filepath"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/metrics/ledger"
	"autopilot/metrics/report/wording"
	"autopilot/supervisor/fleet"
)

const (
	lineRunes = 500  // of a text of one line
	textRunes = 2000 // of a text of several lines
	usualDir  = ".orchestrator/metrics"
)

// metricsOf is where the setup of the run in a folder says that the ledgers are, or nothing.
func metricsOf(folder string) string {
	s, err := job.LoadSetup(folder)
	if err != nil {
		return ""
	}
	dir := ""
	for _, f := range s.Flags {
		if f.Key == "metrics-dir" && len(f.Raw) > 0 {
			dir = f.Raw[len(f.Raw)-1]
		}
	}
	return dir
}

// ledgerDirs are the folders in which a project may have ledgers.
func (p *project) ledgerDirs() []string {
	dirs := []string{filepath.Join(p.Path, usualDir)}
	known := map[string]bool{"": true, usualDir: true}
	for _, d := range p.runs {
		if known[d.metrics] {
			continue
		}
		known[d.metrics] = true
		if filepath.IsAbs(d.metrics) {
			dirs = append(dirs, filepath.Clean(d.metrics))
		} else {
			dirs = append(dirs, filepath.Join(p.Path, d.metrics))
		}
	}
	return dirs
}

// endedRow is the row of a run that has ended, as its record says.
func endedRow(repo string, rec ledger.Run) Row {
	r := Row{
		Row: fleet.Row{
			Kind: fleet.KindRun, RunID: rec.AutopilotRunID, Repo: repo, State: fleet.StateEnded,
			Iteration: len(rec.Endings), MaxSessions: rec.MaxSessions, Tokens: rec.TotalTokensUsed, CostUSD: rec.TotalCostUSD,
			Started: time.Time(rec.StartedAt),
		},
		Goal: wording.Line(rec.Goal, lineRunes), Source: wording.Line(rec.Source, lineRunes), Cause: wording.Line(rec.ExitCause, lineRunes),
		ExitCode: rec.ExitCode, Ended: time.Time(rec.CompletedAt),
	}
	if rec.Coordinates() {
		r.Kind, r.Tokens, r.CostUSD = fleet.KindCohort, max(r.Tokens, rec.CohortTokens), max(r.CostUSD, rec.CohortCostUSD)
	}
	if rec.ParentRunID != nil {
		r.Parent = wording.Line(*rec.ParentRunID, lineRunes)
	}
	if rec.WorktreePath != nil {
		r.Worktree = *rec.WorktreePath
	}
	if t := rec.Termination; t != nil {
		r.State = stateOf(t.Status)
	}
	if d := rec.KillSwitchDetail; d != nil {
		r.Note = wording.Line(*d, lineRunes)
	}
	if n := len(rec.Caps); n > 0 {
		last := rec.Caps[n-1].Cap
		r.Tier, r.Cap = wording.Line(rec.Caps[n-1].Tier, lineRunes), &last
	}
	r.Percent = percentOf(rec)
	return r
}

// stateOf is how a run stands that ended with a status.
func stateOf(status string) fleet.State {
	switch status {
	case ledger.Completed:
		return fleet.StateDone
	case ledger.Paused:
		return fleet.StatePerson
	case ledger.Stopped:
		return fleet.StateStopped
	case ledger.Interrupted:
		return fleet.StateInterrupted
	}
	return fleet.StateEnded
}

// percentOf is how far the goals of a run were, or nil when nobody has looked.
func percentOf(rec ledger.Run) *float64 {
	if len(rec.Goals) == 0 {
		return nil
	}
	sum, known, all := 0.0, rec.Reflections != nil && rec.Reflections.Count > 0, true
	for _, g := range rec.Goals {
		if g.Status == ledger.GoalAchieved {
			sum, known = sum+100, true
			continue
		}
		all = false
		sum += g.Percent
	}
	if !known {
		return nil
	}
	v := sum / float64(len(rec.Goals))
	if !all {
		v = min(v, 99)
	}
	return &v
}
