package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/launch"
	"autopilot/sessions/outcome"
	"autopilot/sessions/reap"
	"autopilot/supervisor/ending"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/tally"
)

const (
	orphanGrace  = 3 * time.Second
	orphanWithin = 10 * time.Second
	// signOfLife is how much longer than its last sign of life on disk a session
	// may have lived.
	signOfLife = 30 * time.Second
)

// Recovered is what Recover did for one run.
type Recovered struct {
	RunID     string
	SessionID string // the session whose record was missing; empty when none was
	Processes int    // processes of the run that were still there and were ended
	Left      []int  // those that could not be ended
	Killed    bool   // the supervisor was killed; else it could not write its records
}

// Recover finishes every open run of a project whose supervisor is gone: it
// ends its processes, writes the records that are missing and closes its state.
// The caller holds the project's lock, so that no run can begin meanwhile. Mend, which may
// be nil, brings a state up to what its run could not write any more.
func Recover(p statedir.Project, ledgers *ledger.Ledgers, mend func(folder string, s *State)) ([]Recovered, error) {
	ids, err := OpenRuns(p)
	problems := []error{err}
	var done []Recovered
	for _, id := range ids {
		s, err := LoadState(p.RunDir(id))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = closeRun(p, id) // it died before it wrote anything, and so before it started anything
		case err != nil || s.Alive():
		case s.Finished:
			err = closeRun(p, id)
		default:
			if mend != nil {
				mend(p.RunDir(id), &s)
			}
			var r Recovered
			if r, err = recoverRun(p.RunDir(id), s, ledgers); err == nil {
				done = append(done, r)
				err = closeRun(p, id)
			}
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("recover run %s: %w", id, err))
		}
	}
	return done, errors.Join(problems...)
}

func recoverRun(folder string, s State, ledgers *ledger.Ledgers) (Recovered, error) {
	r := Recovered{RunID: s.Record.AutopilotRunID}
	r.Processes, r.Left = reap.EndMarked(reap.Marker{Name: launch.TokenVar, Value: s.Token}, orphanGrace, orphanWithin)
	if s.Current != nil {
		r.SessionID = s.Current.SessionID
		if err := recoverSession(folder, &s, ledgers); err != nil {
			return r, err
		}
		s.Record.Termination = nil // it did not know of this session
	}
	rec := &s.Record
	if r.Killed = rec.ExitCause == ""; r.Killed {
		detail := "the supervisor was killed; this record was written by the next start"
		rec.ExitCause, rec.ExitCode, rec.KillSwitchDetail = string(CauseKilled), exitCode(CauseKilled), &detail
	}
	rec.CompletedAt = ledger.Stamp(s.UpdatedAt)
	rec.DurationSeconds = max(0, int64(s.UpdatedAt.Sub(time.Time(rec.StartedAt)).Round(time.Second).Seconds()))
	if rec.Termination == nil {
		t := endingOf(s)
		rec.Termination = &t
	}
	if err := ledgers.AddRun(*rec); err != nil {
		return r, err
	}
	s.Finished, s.Waiting = true, nil
	return r, statedir.ReplaceJSON(filepath.Join(folder, stateName), s)
}

// endingOf is the end of a run that could not say it itself.
func endingOf(s State) ledger.Termination {
	rec := s.Record
	f := endingFacts(s, s.Carried.Active+time.Duration(rec.DurationSeconds)*time.Second)
	f.Cause = rec.ExitCause
	if rec.KillSwitch != nil {
		f.Reason = killswitch.Reason(*rec.KillSwitch)
	}
	if rec.KillSwitchDetail != nil {
		f.Detail = *rec.KillSwitchDetail
	}
	return ending.Of(f)
}

// recoverSession writes the record of the session that was under way: from its
// own result when it had ended, else as one that was cut off.
func recoverSession(folder string, s *State, ledgers *ledger.Ledgers) error {
	id := sessions.ID(s.Current.SessionID)
	var res sessions.Result
	if err := statedir.LoadJSON(sessions.ResultPath(SessionFolder(folder, id)), &res); err != nil || res.ID != id {
		res = cutOff(folder, s)
	}
	if len(res.Report) == 0 { // a question in it must not be lost
		res.Report = logs.RedactJSON(sessions.LeftReport(sessions.ReportPath(SessionFolder(folder, id))))
	}
	by, recordID := recordOwn, string(id)
	f, found, err := recordOfPlugin(s, res.EndedAt, ledgers)
	if err != nil {
		return err
	}
	if found {
		by, recordID = recordPlugin, f.SessionID
	} else {
		rec := tally.Record(res, s.Current.SessionType)
		rec.Recovered = true
		if err := ledgers.AddSession(rec, true); err != nil {
			return err
		}
	}
	addSession(s, res, by, recordID)
	askedBy(s, res)
	recordGoals(s)
	if res.EndedAt.After(s.UpdatedAt) {
		s.UpdatedAt = res.EndedAt
	}
	return nil
}

// cutOff is the result of a session that did not come to its end: what it had
// used when that was last written down.
func cutOff(folder string, s *State) sessions.Result {
	id := sessions.ID(s.Current.SessionID)
	var res sessions.Result
	if err := statedir.LoadJSON(sessions.ProgressPath(SessionFolder(folder, id)), &res); err != nil || res.ID != id {
		res = sessions.Result{
			ID: id, RunID: s.Record.AutopilotRunID, StartedAt: s.Current.StartedAt, EndedAt: s.UpdatedAt,
			Continued: sessions.ID(s.Current.Conversation), NextStep: s.Current.NextStep,
		}
	}
	if res.EndedAt.Before(res.StartedAt) {
		res.EndedAt = res.StartedAt
	}
	res.Opened = true // perhaps; whoever continues it looks whether it is there
	res.Ending, res.Cause = outcome.Crashed, "cut off when its supervisor was killed"
	return res
}

// recordOfPlugin looks for the record that the session wrote itself before it
// was cut off, where its kind of session writes one.
func recordOfPlugin(s *State, ended time.Time, ledgers *ledger.Ledgers) (ledger.Found, bool, error) {
	if !s.Current.Records {
		return ledger.Found{}, false, nil
	}
	used := map[string]bool{}
	for _, x := range s.Record.Sessions {
		used[x] = true
	}
	return ledger.FindSession(ledgers.SessionsPath(), s.Current.LedgerOffset, ledger.Want{
		ClaudeID: s.Current.SessionID,
		RunID:    s.Record.AutopilotRunID, Since: s.Current.StartedAt, Until: ended.Add(signOfLife), Used: used,
	})
}
