package tally

import (
	"math"
	"slices"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/killswitch"
)

// Dollars rounds an amount to a millionth: sums of binary fractions have noise
// behind that.
func Dollars(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// Tokens is what a session used, by kind.
func Tokens(r sessions.Result) ledger.Tokens {
	return ledger.Tokens{Input: r.Usage.Input, Output: r.Usage.Output, CacheCreation: r.Usage.CacheCreation, CacheRead: r.Usage.CacheRead}
}

// Caps lists the caps that held in a session, each with what it refused.
func Caps(r sessions.Result, id string) []ledger.Cap {
	var out []ledger.Cap
	for _, c := range r.Caps.Changes {
		out = append(out, ledger.Cap{SessionID: id, At: ledger.Stamp(c.At), Tier: c.Tier, Cap: c.Cap, Signal: c.Signal, Refused: c.Refused})
	}
	return out
}

// Facts are the facts for the kill-switches as we measured them ourselves.
func Facts(r sessions.Result) killswitch.After {
	f := killswitch.After{Spiral: &r.Agents.Spiral, Failed: &r.Agents.Failed}
	switch r.Ending {
	case outcome.Hung:
		f.Stalled = r.Cause
	case outcome.Failed, outcome.Crashed, outcome.NoWork, outcome.Auth, outcome.Credit:
		f.Broken = string(r.Ending) + ": " + r.Cause
		f.Hopeless = r.Ending == outcome.Auth || r.Ending == outcome.Credit
	}
	if e := Effectiveness(r); e != nil {
		f.Planned, f.Carryover = &e.PlannedIssues, e.Carryover
	}
	return f
}

// Effectiveness is how much of its plan a session says it did, or nil.
func Effectiveness(r sessions.Result) *ledger.Effectiveness {
	if len(r.Report) == 0 {
		return nil
	}
	rep, err := prompt.ParseReport(r.Report)
	if err != nil {
		return nil
	}
	carry := len(rep.CarriedOver)
	e := &ledger.Effectiveness{PlannedIssues: len(rep.Planned), Completed: len(rep.Completed), Carryover: &carry}
	rate := 1.0
	if e.PlannedIssues > 0 {
		rate = min(1, float64(e.Completed)/float64(e.PlannedIssues))
	}
	e.CompletionRate = &rate
	return e
}

// Record is the line of the session ledger for a session that did not
// write one itself.
func Record(r sessions.Result, sessionType string) ledger.Session {
	if !slices.Contains(ledger.SessionTypes(), sessionType) {
		sessionType = "feature"
	}
	t := Tokens(r)
	in := t.Input + t.CacheCreation + t.CacheRead
	status := ledger.StatusAbandoned
	if r.Ending == outcome.Completed {
		status = ledger.StatusCompleted
	}
	if r.EndedAt.Before(r.StartedAt) {
		r.EndedAt = r.StartedAt // the clock was set back
	}
	rec := ledger.Session{
		SchemaVersion: ledger.SessionSchema, SessionID: string(r.ID), SessionType: sessionType, Platform: "claude", Branch: r.Branch,
		StartedAt: ledger.Stamp(r.StartedAt), CompletedAt: ledger.Stamp(r.EndedAt), DurationSeconds: int64(r.Duration().Round(time.Second).Seconds()),
		Waves: []ledger.Wave{}, TotalAgents: r.Agents.Started(), TotalFilesChanged: len(r.Files),
		AgentSummary:  ledger.Agents{Complete: r.Agents.Complete, Partial: r.Agents.Partial, Failed: r.Agents.Failed, Spiral: r.Agents.Spiral},
		Effectiveness: Effectiveness(r), TokenInput: &in, TokenOutput: &t.Output, Status: status, AutopilotRunID: r.RunID,
		Ending: string(r.Ending), EndingCause: r.Cause, CostUSD: Dollars(r.Usage.CostUSD), Processes: r.Processes, Model: r.Model,
		ClaudeVersion: r.Version, Commits: r.Commits, Caps: Caps(r, string(r.ID)),
	}
	if rep, err := prompt.ParseReport(r.Report); err == nil {
		rec.Summary = rep.Summary
	}
	return rec
}
