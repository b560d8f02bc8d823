package morning

import (
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report/session"
)

// View is the run as the state of a session, in the names that other programs know.
func (r Run) View(now time.Time) session.View {
	rec := r.Record
	f := session.Facts{
		RunID: rec.AutopilotRunID, Started: time.Time(rec.StartedAt), Ended: time.Time(rec.CompletedAt), LastActivity: r.State.UpdatedAt,
		Iteration: r.State.Carried.Iterations + r.State.Iteration, MaxIterations: rec.MaxSessions, MaxHours: rec.MaxHours, Promise: r.Place.Cfg.Night.Promise,
		Over: !r.State.Alive(), Waiting: r.State.Waiting != nil, End: session.End{Cause: rec.ExitCause, ExitCode: rec.ExitCode},
	}
	if rec.KillSwitch != nil {
		f.End.KillSwitch = *rec.KillSwitch
	}
	if t := rec.Termination; f.Promise != "" && t != nil {
		f.Promised = t.Status == ledger.Completed // without the promise it would not be
	}
	for i, g := range rec.Goals {
		if i > 0 {
			f.Prompt += "\n"
		}
		f.Prompt += g.Text
	}
	if q, err := r.Night.Queue.Load(); err == nil {
		for _, it := range q.Items {
			f.Items = append(f.Items, session.Item{ID: it.ID, Status: string(it.Status)})
		}
	}
	if list, err := r.Night.Gates.List(now); err == nil {
		for _, g := range list {
			f.Gates = append(f.Gates, session.Gate{ID: g.ID, Subject: g.Subject, Status: string(g.Status)})
		}
	}
	for _, b := range r.Night.Breakers.States(now) {
		f.Breakers = append(f.Breakers, session.Breaker{Service: b.Name, State: string(b.Position), Failures: b.Failures})
	}
	if t := r.State.Tasks; t != nil {
		for _, s := range t.Steps {
			f.Checkpoints = append(f.Checkpoints, session.Checkpoint{At: s.At, Iteration: s.Iteration, Percent: 100 * s.Progress})
		}
	}
	return session.Of(f)
}
