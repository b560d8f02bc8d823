package supervisor

import (
	"context"
	"errors"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/supervisor/ending"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/tally"
)

// Who wrote the record of a session.
const (
	recordOwn    = "own"
	recordPlugin = "plugin"
)

// record writes the session down and counts it.
func (l *loop) record(context.Context) (event, error) {
	r := l.result
	by, id := recordOwn, string(r.ID)
	l.facts = tally.Facts(r)
	if f, ok := l.find(r.ID, r.StartedAt); ok {
		by, id = recordPlugin, f.SessionID
		l.facts.Spiral, l.facts.Failed, l.facts.Planned, l.facts.Carryover = f.Spiral, f.Failed, f.Planned, f.Carryover
		if f.RunID == "" {
			l.Log.Warn("the session's own record does not name this run; the run's record joins them", "session_id", id)
		}
	} else {
		if l.assignment.Records && r.Ending == outcome.Completed {
			l.Log.Warn("the session wrote no record of its own", "session_id", id)
		}
		rec := tally.Record(r, l.file.Current.SessionType)
		if err := l.Ledgers.AddSession(rec, false); err != nil {
			return "", err
		}
		l.records = append(l.records, rec)
	}
	l.used[id] = true
	if l.Chosen != nil {
		l.Chosen(l.assignment, sessions.ID(id))
	}
	l.count(r, by, id)
	l.tell(r.StartedAt, r.Usage.Output > 0)
	l.Log.Info("session ended", "iteration", l.iteration(), "session_id", id, "ending", string(r.Ending), "detail", r.Cause,
		"duration_ms", r.Duration().Milliseconds(), "files", len(r.Files), "commits", len(r.Commits),
		"agents", r.Agents.Started(), "agents_refused", r.Caps.RefusedCount(), "tokens", tally.Tokens(r).Budgeted(), "cost_usd", r.Usage.CostUSD)
	return recorded, nil
}

// count adds a recorded session to the run's own record. The state goes to disk
// with the next step of the loop; a crash before that repeats only this
// counting, from the ledger.
func (l *loop) count(r sessions.Result, by, id string) {
	addSession(&l.file, r, by, id)
	l.wait.Reset()
}

func addSession(s *State, r sessions.Result, by, id string) {
	rec := &s.Record
	if r.Ending == outcome.Completed {
		rec.IterationsCompleted++
		s.Outcomes.Successes++
	} else {
		s.Outcomes.Failures++
	}
	t := tally.Tokens(r)
	s.Costs = append(s.Costs, killswitch.Spend{Tokens: t.Budgeted(), CostUSD: r.Usage.CostUSD})
	s.Costs = s.Costs[max(0, len(s.Costs)-meanOf):]
	s.Last = &Last{
		Conversation: string(r.Conversation()), Iteration: s.Carried.Iterations + s.Iteration, Ending: string(r.Ending),
		Opened: r.Opened, NextStep: r.NextStep, Goal: s.Pursuit.Progress().Goal,
	}
	if s.Current != nil {
		s.Last.Work = s.Current.Work
	}
	s.Current = nil
	follow(s, r)
	recordGoals(s)
	rec.Sessions = append(rec.Sessions, id)
	rec.Tokens = rec.Tokens.Add(t)
	rec.TotalTokensUsed += t.Budgeted()
	rec.TotalCostUSD = tally.Dollars(rec.TotalCostUSD + r.Usage.CostUSD)
	rec.Endings = append(rec.Endings, ledger.Ending{
		SessionID: id, Ending: string(r.Ending), Cause: r.Cause,
		CostUSD: tally.Dollars(r.Usage.CostUSD), Tokens: t.Budgeted(), Record: by,
	})
	rec.Caps = append(rec.Caps, tally.Caps(r, id)...)
	if r.Version != "" {
		rec.ClaudeVersion = r.Version
	}
	if r.Ending == outcome.Hung {
		rec.StallRecoveryCount = 1
	}
}

// find looks for the record that a session wrote itself, where its kind of
// session writes one.
func (l *loop) find(id sessions.ID, started time.Time) (ledger.Found, bool) {
	if !l.assignment.Records {
		return ledger.Found{}, false
	}
	f, ok, err := ledger.FindSession(l.Ledgers.SessionsPath(), l.offset, ledger.Want{
		ClaudeID: string(id), RunID: l.RunID, Since: started, Until: time.Now(), Used: l.used,
	})
	if err != nil {
		l.Log.Warn("the session ledger cannot be read", "err", err.Error())
	}
	return f, ok
}

// finish writes the run down. A run record that cannot be written stays in the
// run's state, and the next start writes it.
func (l *loop) finish(context.Context) (event, error) {
	rec := &l.file.Record
	now := time.Now()
	rec.CompletedAt = ledger.Stamp(now)
	rec.DurationSeconds = max(0, int64(now.Sub(l.started.Round(0)).Round(time.Second).Seconds()))
	rec.ExitCause, rec.ExitCode = string(l.stop.cause), l.stop.code
	detail := l.stop.detail
	rec.KillSwitchDetail = &detail
	if l.stop.reason != "" {
		reason := string(l.stop.reason)
		rec.KillSwitch = &reason
	}
	rec.FallbackToManual = l.stop.cause == CauseManual
	rec.AbortedByCohort = l.Aborted != nil && l.stop.reason == killswitch.UserAbort && l.Aborted()
	recordGoals(&l.file)
	rec.Termination = l.termination()
	saved := l.save()
	if l.file.Current != nil {
		return written, saved // a session is not recorded yet: the next start does both
	}
	if saved != nil {
		rec.ExitCode = ExitError
	}
	if err := errors.Join(saved, l.verify(), l.Ledgers.AddRun(*rec)); err != nil {
		return written, err
	}
	l.file.Finished = true
	l.learn()
	t := rec.Termination
	l.Log.Info("run ended", "act", "termination", "iter", t.Iterations, "status", t.Status, "reason", t.Reason, "guard", t.Guard,
		"graceful", t.Status == ledger.Completed, "summary", t.Summary, "deliverables", t.Deliverables, "checkpointSaved", t.CheckpointSaved)
	l.checkpoint()
	return written, l.save()
}

// termination is the end of the run in words. It is part of the state that is
// saved, so it says what is true when that has worked.
func (l *loop) termination() *ledger.Termination {
	f := endingFacts(l.file, l.active())
	f.Reason, f.Cause, f.Detail = l.stop.reason, string(l.stop.cause), l.stop.detail
	f.Errors, f.TimeOver = l.Limits.MaxErrors > 1 && !l.facts.Hopeless, l.stop.timeOver
	t := ending.Of(f)
	return &t
}

func endingFacts(s State, active time.Duration) ending.Facts {
	return ending.Facts{
		Goals: s.Pursuit, Iterations: s.Carried.Iterations + s.Iteration, Active: active, Saved: true,
		Outcomes: ledger.Outcomes{Successes: s.Carried.Outcomes.Successes + s.Outcomes.Successes, Failures: s.Carried.Outcomes.Failures + s.Outcomes.Failures},
	}
}

// verify looks once more for the records of the run's sessions and appends
// those that a program which rewrites the whole file has lost.
func (l *loop) verify() error {
	for _, rec := range l.records {
		if err := l.Ledgers.AddSession(rec, true); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) outcome() Outcome {
	o := Outcome{Record: l.file.Record, Manual: l.manual}
	if l.stop != nil {
		if o.Hint = l.stop.reason.Hint(); l.stop.timeOver {
			o.Hint = ""
		}
	}
	return o
}
