package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/launch"
	"autopilot/sessions/outcome"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/source"
)

// moment is what a killed supervisor has left: a copy of all its files.
type moment struct {
	name     string
	dir      string
	started  int // sessions that had been started
	finished bool
}

// copied makes a world of the files that another one had at a moment.
func copied(t *testing.T, w *world, from string) *world {
	t.Helper()
	c := &world{t: t, project: statedir.Project{Path: w.project.Path, Dir: filepath.Join(from, "state")}, metrics: filepath.Join(from, "metrics"), at: func(string) {}}
	c.reopen()
	t.Cleanup(func() { _ = c.ledgers.Close() })
	c.opts.RunID, c.opts.Folder = w.opts.RunID, c.project.RunDir(w.opts.RunID)
	return c
}

// copyFiles copies what is on disk about the run now.
func (w *world) copyFiles(to string) {
	w.t.Helper()
	for from, name := range map[string]string{w.project.Dir: "state", w.metrics: "metrics"} {
		if err := os.CopyFS(filepath.Join(to, name), os.DirFS(from)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestKilledAtEveryMoment takes a picture of the files whenever the loop asks
// the outside for something, and recovers from each of them: every session that
// had been started is recorded once, in order, and the run once.
func TestKilledAtEveryMoment(t *testing.T) {
	t.Parallel()
	pictures := t.TempDir()
	var moments []moment
	var w *world
	bubble(t, func(t *testing.T) {
		cost := func(r *sessions.Result) { r.Usage = outcome.Usage{Input: 100, CostUSD: 0.1} }
		w = newWorld(t, completed(time.Minute).with(cost), limitedFor(time.Minute, time.Hour).with(cost), completed(time.Minute).with(cost), ends(outcome.Failed, time.Minute).with(cost))
		w.at = func(name string) {
			m := moment{name: name, dir: filepath.Join(pictures, fmt.Sprint(len(moments))), started: len(w.ids())}
			w.copyFiles(m.dir)
			s, err := LoadState(filepath.Join(m.dir, "state", "runs", w.opts.RunID))
			m.finished = err == nil && s.Finished
			moments = append(moments, m)
		}
		w.play(t.Context())
	})
	if len(moments) < 20 {
		t.Fatalf("%d moments, want many", len(moments))
	}
	total := len(w.ids())
	for i, m := range moments {
		t.Run(fmt.Sprintf("%d %s", i, m.name), func(t *testing.T) {
			t.Parallel()
			c := copied(t, w, m.dir)
			if !m.finished {
				c.killed()
			}
			for again := range 3 {
				done := c.recover()
				if want := map[bool]int{true: 1}[again == 0 && !m.finished]; len(done) != want {
					t.Fatalf("time %d: recovered %+v, want %d runs", again, done, want)
				}
			}
			rec, records := c.record(), c.sessionRecords()
			var ids []string
			for _, r := range records {
				ids = append(ids, r.SessionID)
			}
			if fmt.Sprint(ids) != fmt.Sprint(rec.Sessions) || fmt.Sprint(ids) != fmt.Sprint(w.ids()[:len(ids)]) {
				t.Errorf("session records %v, the run names %v, %v ran", ids, rec.Sessions, w.ids())
			}
			// A session that is named in the state may not have been started yet.
			if len(ids) < m.started || len(ids) > min(m.started+1, total) {
				t.Errorf("%d sessions are recorded, %d had been started", len(ids), m.started)
			}
			checkRecovered(t, c, rec)
			if len(c.open()) != 0 {
				t.Errorf("runs %v stay open", c.open())
			}
		})
	}
}

// checkRecovered holds the sums of a run's record against its sessions'.
func checkRecovered(t *testing.T, w *world, rec ledger.Run) {
	t.Helper()
	counted, tokens := 0, int64(0)
	for _, r := range w.sessionRecords() {
		if r.Ending == string(outcome.Completed) {
			counted++
		}
		if r.TokenInput != nil {
			tokens += *r.TokenInput
		}
		if r.AutopilotRunID != rec.AutopilotRunID {
			t.Errorf("session %s belongs to %s", r.SessionID, r.AutopilotRunID)
		}
	}
	if rec.IterationsCompleted != counted || rec.TotalTokensUsed != tokens || len(rec.Endings) != len(rec.Sessions) {
		t.Errorf("record %+v, want %d iterations and %d tokens", rec, counted, tokens)
	}
	if s := w.state(); !s.Finished || s.Current != nil || s.Waiting != nil {
		t.Errorf("state %+v, want it finished", s)
	}
	if rec.KillSwitch == nil != (rec.ExitCause == string(CauseKilled)) || rec.ExitCause == "" {
		t.Errorf("kill switch %v beside the cause %q", rec.KillSwitch, rec.ExitCause)
	}
}

// crashed is a run whose supervisor was killed in its second session. What the
// session left is up to the test.
func crashed(t *testing.T, leave func(w *world, s sessions.Spec)) *world {
	t.Helper()
	w := newWorld(t)
	stopped := errors.New("killed here")
	pictures := t.TempDir()
	w.plays = []play{completed(time.Minute), {do: func(_ context.Context, s sessions.Spec) {
		if leave != nil {
			if err := os.Remove(sessions.ProgressPath(s.Folder)); err != nil {
				t.Fatal(err)
			}
			leave(w, s)
		}
		w.copyFiles(pictures)
	}, result: sessions.Result{Ending: outcome.Completed}}}
	w.opts.Limits.MaxSessions = 2
	if _, err := w.try(t.Context()); err != nil && !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	c := copied(t, w, pictures)
	c.calls, c.started = w.calls, w.started
	c.killed()
	return c
}

func TestRecoverSession(t *testing.T) {
	t.Parallel()
	result := func(change func(*sessions.Result)) func(*world, sessions.Spec) {
		return func(w *world, s sessions.Spec) {
			r := sessions.Result{
				ID: s.ID, RunID: s.RunID, Ending: outcome.Completed, StartedAt: time.Now(), EndedAt: time.Now().Add(time.Minute), Files: []string{"a"}, Usage: outcome.Usage{Input: 70, CostUSD: 0.5},
			}
			change(&r)
			w.keep(sessions.ResultPath(s.Folder), r)
		}
	}
	progress := func(w *world, s sessions.Spec) {
		w.keep(sessions.ProgressPath(s.Folder), sessions.Result{ID: s.ID, StartedAt: time.Now(), EndedAt: time.Now().Add(20 * time.Second), Usage: outcome.Usage{Input: 30, CostUSD: 0.25}})
	}
	both := func(w *world, s sessions.Spec) {
		progress(w, s)
		if err := os.WriteFile(sessions.ResultPath(s.Folder), []byte(`{"id":`), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		leave  func(*world, sessions.Spec)
		ending outcome.Ending
		tokens int64
		cost   float64
		ends   time.Duration // after its start
	}{
		{"nothing", func(*world, sessions.Spec) {}, outcome.Crashed, 0, 0, 0},
		{"its progress", progress, outcome.Crashed, 30, 0.25, 20 * time.Second},
		{"its result", result(func(*sessions.Result) {}), outcome.Completed, 70, 0.5, time.Minute},
		{"the result of a limit", result(func(r *sessions.Result) { r.Ending = outcome.Limited }), outcome.Limited, 70, 0.5, time.Minute},
		{"another session's result", result(func(r *sessions.Result) { r.ID = "other" }), outcome.Crashed, 0, 0, 0},
		{"a broken result and its progress", both, outcome.Crashed, 30, 0.25, 20 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := crashed(t, tt.leave)
				time.Sleep(100 * time.Hour) // until somebody looks
				done := w.recover()
				id := w.ids()[1]
				if len(done) != 1 || done[0].RunID != w.opts.RunID || done[0].SessionID != id || !done[0].Killed {
					t.Fatalf("recovered %+v", done)
				}
				records := w.sessionRecords()
				if len(records) != 2 {
					t.Fatalf("%d session records, want two", len(records))
				}
				got := records[1]
				if got.SessionID != id || got.Ending != string(tt.ending) || !got.Recovered || got.CostUSD != tt.cost || *got.TokenInput != tt.tokens {
					t.Errorf("record %+v, want %s with %d tokens and $%v", got, tt.ending, tt.tokens, tt.cost)
				}
				if (got.Ending == string(outcome.Crashed)) != strings.Contains(got.EndingCause, "cut off") {
					t.Errorf("cause %q of %s", got.EndingCause, got.Ending)
				}
				begin := w.started.Add(time.Minute)
				if end := time.Time(got.CompletedAt); !time.Time(got.StartedAt).Equal(begin) || end.Before(begin.Add(tt.ends)) || end.After(begin.Add(tt.ends+time.Minute)) {
					t.Errorf("from %v to %v, want from %v and about %v", time.Time(got.StartedAt), end, begin, tt.ends)
				}
				checkRecoveredRun(t, w, tt.ending)
			})
		})
	}
}

func checkRecoveredRun(t *testing.T, w *world, ending outcome.Ending) {
	t.Helper()
	rec := w.record()
	want := 1
	if ending == outcome.Completed {
		want = 2
	}
	if rec.KillSwitch != nil || rec.ExitCause != string(CauseKilled) || rec.ExitCode != exitCode(CauseKilled) || rec.IterationsCompleted != want || rec.Endings[1].Ending != string(ending) || rec.FallbackToManual {
		t.Errorf("run record %+v", rec)
	}
	// It is not known when the supervisor died, but not days later.
	if rec.DurationSeconds < 60 || rec.DurationSeconds > 600 || time.Time(rec.CompletedAt).After(w.started.Add(10*time.Minute)) {
		t.Errorf("the run took %d s and ended %v", rec.DurationSeconds, time.Time(rec.CompletedAt).Sub(w.started))
	}
}

// TestRecoverQuestionLeftByTools has a session leave a question through its tools before its
// supervisor is killed.
func TestRecoverQuestionLeftByTools(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := crashed(t, func(w *world, s sessions.Spec) {
			path := sessions.ReportPath(s.Folder)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				w.t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(`{"summary":"half of it","needs_person":"which colour?"}`), 0o600); err != nil {
				w.t.Fatal(err)
			}
		})
		w.recover()
		if r := w.sessionRecords()[1]; r.Summary != "half of it" {
			t.Errorf("the session's record has the summary %q", r.Summary)
		}
		if r := w.record(); r.Termination == nil || r.Termination.Question != "which colour?" || !r.Termination.AwaitingUserInput {
			t.Errorf("the run ends with %+v", r.Termination)
		}
	})
}

// TestRecoverBeforeAnySession is a supervisor that died early.
func TestRecoverBeforeAnySession(t *testing.T) {
	t.Parallel()
	t.Run("before its state", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		if done := w.recover(); done != nil || len(w.open()) != 0 || len(w.runRecords()) != 0 {
			t.Errorf("recovered %+v, open %v, %d records; want nothing left and nothing written", done, w.open(), len(w.runRecords()))
		}
	})
	t.Run("before its first session", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		s := NewState(w.opts, time.Now(), "green")
		s.UpdatedAt = time.Now()
		saveState(t, w.opts.Folder, s)
		w.killed()
		done := w.recover()
		if len(done) != 1 || done[0].SessionID != "" || len(w.open()) != 0 || len(w.sessionRecords()) != 0 {
			t.Errorf("recovered %+v, open %v", done, w.open())
		}
		if rec := w.record(); rec.ExitCause != string(CauseKilled) || rec.Sessions == nil || rec.KillSwitchDetail == nil {
			t.Errorf("record %+v", rec)
		}
	})
}

// TestRecoverLeavesTheLivingAlone: status and doctor recover as well.
func TestRecoverLeavesTheLivingAlone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(time.Minute).doing(nil))
		w.opts.Limits.MaxSessions = 1
		w.plays[0].do = func(context.Context, sessions.Spec) {
			if done := w.recover(); done != nil || len(w.open()) != 1 {
				t.Errorf("recovered %+v of a running supervisor, open %v", done, w.open())
			}
		}
		w.play(t.Context())
		if rec := w.record(); rec.ExitCause != string(killswitch.MaxSessionsReached) || len(w.sessionRecords()) != 1 {
			t.Errorf("record %+v", rec)
		}
	})
}

// TestRecoverEndsProcesses of the run, and of no other.
func TestRecoverEndsProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := NewState(w.opts, time.Now(), "green")
	s.Token, s.UpdatedAt = "token-"+w.opts.Folder, time.Now()
	saveState(t, w.opts.Folder, s)
	w.killed()
	ours, others := process(t, launch.TokenVar+"="+s.Token), process(t, launch.TokenVar+"="+s.Token+"2")
	done := w.recover()
	if len(done) != 1 || done[0].Processes != 1 || done[0].Left != nil {
		t.Errorf("recovered %+v, want one process ended", done)
	}
	if err := ours.Wait(); err == nil {
		t.Error("the process of the run exited by itself")
	}
	if err := others.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("another run's process was ended: %v", err)
	}
}

// TestRecoverPluginRecord is a session that wrote its own record before it was
// cut off, or that others may be mistaken for.
func TestRecoverPluginRecord(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		write func(w *world, s sessions.Spec) // before the supervisor is killed
		later func(w *world)                  // after it
		want  string                          // record of the session; empty for our own
	}{
		{"its own", func(w *world, s sessions.Spec) {
			w.appendSession(map[string]any{"session_id": "plugin-2", "autopilot_run_id": s.RunID})
		}, nil, "plugin-2"},
		{"by its time", func(w *world, _ sessions.Spec) { w.appendSession(map[string]any{"session_id": "plugin-2"}) }, nil, "plugin-2"},
		{"none", nil, nil, ""},
		{"a person's session on the next day", nil, func(w *world) {
			time.Sleep(24 * time.Hour)
			w.appendSession(map[string]any{"session_id": "by-hand"})
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				pictures := t.TempDir()
				w := newWorld(t)
				w.opts.Limits.MaxSessions = 1
				w.opts.Source = fakeSource{"lifecycle", func(source.Request) source.Assignment {
					a := assignment("feature", 1)
					a.Records = true
					return a
				}}
				w.plays = []play{{result: sessions.Result{Ending: outcome.Completed}, do: func(_ context.Context, s sessions.Spec) {
					if tt.write != nil {
						tt.write(w, s)
					}
					w.copyFiles(pictures)
				}}}
				w.play(t.Context())
				c := copied(t, w, pictures)
				c.killed()
				if tt.later != nil {
					tt.later(c)
				}
				time.Sleep(24 * time.Hour)
				c.recover()
				want, by := tt.want, recordPlugin
				if want == "" {
					want, by = w.ids()[0], recordOwn
				}
				rec := c.record()
				if len(rec.Sessions) != 1 || rec.Sessions[0] != want || rec.Endings[0].Record != by {
					t.Errorf("the session is recorded as %v by the %s record, want %s by the %s one", rec.Sessions, rec.Endings[0].Record, want, by)
				}
			})
		})
	}
}

// TestRecoverSeveral: what cannot be read does not keep the others from being
// finished.
func TestRecoverSeveral(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := func() string {
		s := NewState(w.opts, time.Now(), "green")
		s.UpdatedAt = time.Now()
		saveState(t, w.opts.Folder, s)
		w.killed()
		return w.opts.RunID
	}
	first := good()
	w.register()
	broken := w.opts.RunID
	if err := os.WriteFile(filepath.Join(w.opts.Folder, stateName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.register()
	newer := w.opts.RunID
	if err := os.WriteFile(filepath.Join(w.opts.Folder, stateName), []byte(`{"version":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.register()
	last := good()
	done, err := Recover(w.project, w.ledgers, nil)
	if err == nil || !strings.Contains(err.Error(), "recover run "+broken) || !strings.Contains(err.Error(), "version 99 is not known") {
		t.Errorf("error %v, want one that names both", err)
	}
	if len(done) != 2 || len(w.runRecords()) != 2 {
		t.Errorf("recovered %+v with %d records, want two", done, len(w.runRecords()))
	}
	if diff := cmp.Diff([]string{broken, newer}, w.open()); diff != "" {
		t.Errorf("open runs (-want +got), of which %s and %s were good:\n%s", first, last, diff)
	}
}

// TestLedgerCannotBeWritten: what could not be recorded is by the next start.
func TestLedgerCannotBeWritten(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		session int // during which the ledgers become unwritable; 0 is after all of them
		want    int // sessions
	}{{"the first session", 1, 1}, {"the second session", 2, 2}, {"the run", 0, 2}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, completed(time.Minute).with(func(r *sessions.Result) { r.Usage.Input = 10 }).doing(nil))
				w.opts.Limits.MaxSessions = 2
				w.plays[0].do = func(context.Context, sessions.Spec) {
					if len(w.calls) == tt.session {
						_ = w.ledgers.Close()
					}
				}
				if tt.session == 0 {
					w.at = func(name string) {
						if name == "live finishing" {
							_ = w.ledgers.Close()
						}
					}
				}
				out, err := w.try(t.Context())
				if !errors.Is(err, os.ErrClosed) {
					t.Fatalf("got %v, want the ledger's error", err)
				}
				if tt.session > 0 && (out.Record.ExitCause != string(CauseError) || out.Record.ExitCode != ExitError) {
					t.Errorf("outcome %+v, want an error", out.Record)
				}
				s := w.state()
				if s.Finished || (s.Current != nil) != (tt.session > 0) || len(w.runRecords()) != 0 {
					t.Errorf("state %+v, want the run open", s)
				}
				if err := Close(w.project, w.opts.RunID); err != nil || len(w.open()) != 1 {
					t.Errorf("closing it gave %v, open %v; want it to stay open", err, w.open())
				}
				w.reopen()
				w.killed()
				for range 2 {
					w.recover()
				}
				rec := w.record()
				if len(rec.Sessions) != tt.want || len(w.sessionRecords()) != tt.want || rec.IterationsCompleted != tt.want || rec.TotalTokensUsed != int64(10*tt.want) || len(w.open()) != 0 {
					t.Errorf("record %+v with %d session records, want %d sessions", rec, len(w.sessionRecords()), tt.want)
				}
				if want := map[bool]string{true: string(killswitch.MaxSessionsReached), false: string(CauseError)}[tt.session == 0]; rec.ExitCause != want {
					t.Errorf("cause %s, want %s", rec.ExitCause, want)
				}
			})
		})
	}
}

// TestSessionCannotBeStarted is a binary that has gone: the run ends with that,
// and with its records.
func TestSessionCannotBeStarted(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(time.Minute), play{err: errors.New("start /bin/claude: no such file or directory")})
		out, err := w.try(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no such file") || out.Record.ExitCode != ExitError || out.Record.ExitCause != string(CauseError) {
			t.Fatalf("got %+v, %v", out.Record, err)
		}
		if got := w.runRecords(); len(got) != 1 {
			t.Errorf("%d run records at the end of the run, want one: the ledger can be written", len(got))
		}
		w.killed()
		w.recover()
		rec := w.record()
		if rec.ExitCause != string(CauseError) || !strings.Contains(*rec.KillSwitchDetail, "no such file") || rec.IterationsCompleted != 1 || rec.KillSwitch != nil {
			t.Errorf("record %+v", rec)
		}
		for _, r := range w.sessionRecords()[1:] {
			if strings.Contains(r.EndingCause, "supervisor was killed") {
				t.Errorf("session %s is said to be %q", r.SessionID, r.EndingCause)
			}
		}
	})
}

// TestStateCannotBeWritten: nothing is started that nobody would know of.
func TestStateCannotBeWritten(t *testing.T) {
	t.Parallel()
	t.Run("at the start", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			w := newWorld(t, completed(time.Minute))
			if err := os.RemoveAll(w.opts.Folder); err != nil {
				t.Fatal(err)
			}
			if _, err := w.try(t.Context()); err == nil || len(w.calls) != 0 || len(w.runRecords()) != 0 {
				t.Errorf("got %v after %d sessions", err, len(w.calls))
			}
		})
	})
	t.Run("before the second session", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T) {
			w := newWorld(t, completed(time.Minute))
			w.at = func(name string) {
				if name == "live checking" && len(w.calls) == 1 {
					if err := os.RemoveAll(w.opts.Folder); err != nil {
						t.Fatal(err)
					}
				}
			}
			out, err := w.try(t.Context())
			if err == nil || len(w.calls) != 1 || out.Record.ExitCause != string(CauseError) {
				t.Errorf("got %v after %d sessions, cause %s", err, len(w.calls), out.Record.ExitCause)
			}
			rec := w.record()
			if rec.ExitCode != ExitError || len(rec.Sessions) != 1 || len(w.sessionRecords()) != 1 {
				t.Errorf("record %+v, want the run recorded: the ledger can be written", rec)
			}
		})
	})
}
