package supervisor

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/source"
	"autopilot/supervisor/tally"
)

// goOn registers a run that continues the one of the world, with its options.
func (w *world) goOn(answer string) error {
	w.t.Helper()
	previous := w.state()
	if why := NotResumable(previous); why != "" {
		w.t.Fatalf("run %s cannot be continued: %s", w.opts.RunID, why)
	}
	o := w.opts
	if err := TakeUp(&previous, answer, o.Limits); err != nil {
		return err
	}
	w.register()
	o.RunID, o.Folder, o.Session.Token, o.Previous = w.opts.RunID, w.opts.Folder, w.opts.Session.Token, &previous
	w.opts = o
	return nil
}

// mustGoOn continues the run of the world to the end of another one.
func (w *world) mustGoOn(answer string) ledger.Run {
	w.t.Helper()
	if err := w.goOn(answer); err != nil {
		w.t.Fatal(err)
	}
	w.play(w.t.Context())
	all := w.runRecords()
	return all[len(all)-1]
}

// stopsAfter asks the run to stop when so many sessions have run.
func (w *world) stopsAfter(n int) {
	w.opts.StopRequested = func() string {
		if len(w.calls) == n {
			return "stop was requested by me"
		}
		return ""
	}
}

// TestContinuedLimits: what a run has used up stays used up in the one that
// continues it.
func TestContinuedLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		limits   func(*killswitch.Limits)
		sessions int // of the second run
		cause    killswitch.Reason
		says     string
	}{
		{"sessions", func(l *killswitch.Limits) { l.MaxSessions = 5 }, 3, killswitch.MaxSessionsReached, "iterations_completed=5 >= max-sessions=5"},
		{"tokens", func(l *killswitch.Limits) { l.MaxTokens = 400 }, 2, killswitch.TokenBudgetExceeded, "cumulative_tokens=400 >= max-tokens=400"},
		{"tokens left", func(l *killswitch.Limits) { l.MaxTokens = 350 }, 1, killswitch.TokenBudgetExceeded, "tokens left=50 < mean of the last sessions=100"},
		{"cost", func(l *killswitch.Limits) { l.MaxCostUSD = 0.75 }, 1, killswitch.TokenBudgetExceeded, "cumulative_cost_usd=0.7500"},
		{"hours", func(l *killswitch.Limits) { l.MaxHours = 3 }, 2, killswitch.MaxHoursExceeded, "elapsed=3.33h >= max-hours=3.00h"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, work(50*time.Minute).with(using(100, 0.25)))
				w.opts.Limits.MaxSessions, w.opts.Limits.MaxHours = 9, 9
				w.stopsAfter(2)
				w.play(t.Context())
				first := w.opts.RunID
				time.Sleep(72 * time.Hour) // does not count
				tt.limits(&w.opts.Limits)
				w.stopsAfter(99)
				rec := w.mustGoOn("")
				if rec.ResumedFrom != first || *rec.KillSwitch != string(tt.cause) || !strings.Contains(*rec.KillSwitchDetail, tt.says) || len(rec.Sessions) != tt.sessions || rec.IterationsCompleted != tt.sessions || rec.TotalTokensUsed != int64(100*tt.sessions) {
					t.Errorf("got %s (%s) with %d sessions and %d tokens; want %s saying %q with %d", *rec.KillSwitch, *rec.KillSwitchDetail, len(rec.Sessions), rec.TotalTokensUsed, tt.cause, tt.says, tt.sessions)
				}
				all := 2 + tt.sessions
				want := ledger.Outcomes{Successes: all}
				if tm := rec.Termination; tm.Iterations != all || tm.Outcomes != want || tm.TimeElapsed != fmt.Sprintf("%dh %dm", all*50/60, all*50%60) || rec.Goals[0].Iterations != all {
					t.Errorf("termination %+v and goals %+v, want those of all %d sessions", tm, rec.Goals, all)
				}
				if m := w.opts.Limits.MaxCostUSD; m > 0 && w.calls[2].spec.BudgetUSD != m-0.5 {
					t.Errorf("the third session may cost $%v, want what is left of $%v", w.calls[2].spec.BudgetUSD, m)
				}
				if got := w.runRecords()[0].Termination.Iterations; got != 2 {
					t.Errorf("the first record has %d iterations now", got)
				}
			})
		})
	}
}

// TestContinuedMean: what the next session is expected to use comes from the last
// ones, also from those of the run before.
func TestContinuedMean(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(1).with(using(300, 0)), work(1).with(using(300, 0)), work(1).with(using(100, 0)))
		w.opts.Limits.MaxTokens = 900
		w.stopsAfter(2)
		w.play(t.Context())
		w.stopsAfter(99)
		rec := w.mustGoOn("")
		if want := "tokens left=200 < mean of the last sessions=233 (max-tokens=900)"; *rec.KillSwitchDetail != want {
			t.Errorf("got %q after %d sessions, want %q", *rec.KillSwitchDetail, len(rec.Sessions), want)
		}
	})
}

// TestChain is a run that is continued twice: everything adds up.
func TestChain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(10*time.Minute).with(using(100, 0.1)))
		w.looks(2, goesWell().spending(50, 0.01))
		w.opts.Limits.MaxSessions, w.opts.Limits.MaxTokens = 9, 10_000
		var iterations []int
		w.opts.Source = fakeSource{"goal", func(r source.Request) source.Assignment {
			iterations = append(iterations, r.Objective.Iteration)
			return assignment("feature", 1)
		}}
		var live []int
		w.opts.Live = func(s Status) {
			if s.State == "running" && (len(live) == 0 || live[len(live)-1] != s.Iteration) {
				live = append(live, s.Iteration)
			}
		}
		for i, n := range []int{2, 3, 6} {
			w.stopsAfter(n)
			if i == 0 {
				w.play(t.Context())
			} else {
				w.mustGoOn("")
			}
			time.Sleep(time.Hour)
		}
		runs := w.runRecords()
		var tokens int64
		var reflections, sessions int
		for i, r := range runs {
			tokens += r.TotalTokensUsed
			sessions += len(r.Sessions)
			if r.Reflections != nil {
				reflections += r.Reflections.Count
			}
			if i > 0 && r.ResumedFrom != runs[i-1].AutopilotRunID {
				t.Errorf("run %d continues %q", i, r.ResumedFrom)
			}
		}
		s := w.state()
		want := Carried{Iterations: 3, Completed: 3, Spent: killswitch.Spend{Tokens: 350, CostUSD: 0.31}, Active: 30 * time.Minute, Outcomes: ledger.Outcomes{Successes: 3}}
		s.Carried.Spent.CostUSD = tally.Dollars(s.Carried.Spent.CostUSD)
		if diff := cmp.Diff(want, s.Carried); diff != "" {
			t.Errorf("carried into the last run (-want +got):\n%s", diff)
		}
		// After session 2, and after an interval of 4 after session 6.
		if len(runs) != 3 || sessions != 6 || reflections != 2 || tokens != 700 || len(w.kept) != 2 || w.kept[1].Iteration != 6 {
			t.Errorf("%d runs, %d sessions, %d reflections, %d tokens", len(runs), sessions, reflections, tokens)
		}
		if fmt.Sprint(iterations) != "[1 2 3 4 5 6]" || fmt.Sprint(live) != "[1 2 3 4 5 6]" {
			t.Errorf("iterations %v, and %v in the live line", iterations, live)
		}
		if g := s.Pursuit.Goals[0]; g.Totals.Sessions != 6 || g.Totals.Tokens != 600 || len(g.Points) != 2 || s.Record.Termination.TimeElapsed != "1h 0m" {
			t.Errorf("goal %+v after %s", g.Totals, s.Record.Termination.TimeElapsed)
		}
	})
}

// TestTakeUp is what is open again, and what is refused.
func TestTakeUp(t *testing.T) {
	t.Parallel()
	question := func(reason string) *pursuit.Question {
		return &pursuit.Question{Text: reason + "?", Reason: reason, Options: []string{}}
	}
	goal := func(status string, q *pursuit.Question) pursuit.Goal {
		return pursuit.Goal{Status: status, Question: q}
	}
	paused := func(reason string) pursuit.Goal { return goal(ledger.GoalPaused, question(reason)) }
	open, achieved := goal(ledger.GoalOpen, nil), goal(ledger.GoalAchieved, nil)
	limits := killswitch.Limits{MaxSessions: 5, MaxHours: 4}
	tests := []struct {
		name   string
		goals  []pursuit.Goal
		used   func(*State)
		limits func(*killswitch.Limits)
		answer string
		want   string // status and answer of each goal
		err    string
	}{
		{"an open goal", []pursuit.Goal{open}, nil, nil, "", "open", ""},
		{"an open goal and an answer", []pursuit.Goal{achieved, open}, nil, nil, "yes", "achieved, open yes", ""},
		{"a question without an answer", []pursuit.Goal{paused("question")}, nil, nil, "", "", "run r waits for an answer: question?"},
		{"a question with an answer", []pursuit.Goal{paused("question")}, nil, nil, "yes", "open yes question?", ""},
		{"stuck", []pursuit.Goal{paused("stuck")}, nil, nil, "", "open stuck?", ""},
		{"too slow, with an answer", []pursuit.Goal{paused("too_slow")}, nil, nil, "yes", "open yes too_slow?", ""},
		{"given up", []pursuit.Goal{goal(ledger.GoalGivenUp, nil)}, nil, nil, "", "open", ""},
		{"partial, with an answer", []pursuit.Goal{goal(ledger.GoalPartial, nil)}, nil, nil, "yes", "open yes", ""},
		{"a question, and another goal is open", []pursuit.Goal{paused("question"), open}, nil, nil, "", "paused, open", ""},
		{"one answer for two questions", []pursuit.Goal{paused("question"), paused("question")}, nil, nil, "yes", "open yes question?, paused", ""},
		{"the answer is for the goal that asked", []pursuit.Goal{goal(ledger.GoalGivenUp, nil), paused("question")}, nil, nil, "yes", "open, open yes question?", ""},
		{"the answer is for the question, not for the open goal", []pursuit.Goal{open, paused("question")}, nil, nil, "yes", "open, open yes question?", ""},
		{"a question behind one that is stuck", []pursuit.Goal{paused("stuck"), paused("question")}, nil, nil, "yes", "open yes stuck?, paused", ""},
		{"all is reached", []pursuit.Goal{achieved}, func(s *State) { s.Iteration = 9 }, nil, "", "achieved", ""},

		{"sessions", []pursuit.Goal{open}, func(s *State) { s.Iteration, s.Carried.Iterations = 2, 3 }, nil, "", "", "a limit of run r is used up: max-sessions-reached: iterations=5 >= max-sessions=5"},
		{"one session is left", []pursuit.Goal{open}, func(s *State) { s.Iteration, s.Carried.Iterations = 2, 2 }, nil, "", "open", ""},
		{"hours", []pursuit.Goal{open}, func(s *State) { s.Carried.Active, s.Record.DurationSeconds = 3*time.Hour, 3600 }, nil, "", "", "max-hours-exceeded"},
		{"tokens", []pursuit.Goal{open}, func(s *State) { s.Carried.Spent.Tokens, s.Record.TotalTokensUsed = 60, 40 }, func(l *killswitch.Limits) { l.MaxTokens = 100 }, "", "", "cumulative_tokens=100"},
		{"cost", []pursuit.Goal{open}, func(s *State) { s.Carried.Spent.CostUSD, s.Record.TotalCostUSD = 1, 1 }, func(l *killswitch.Limits) { l.MaxCostUSD = 2 }, "", "", "cumulative_cost_usd=2.0000"},
		{"less than a session is left", []pursuit.Goal{open}, func(s *State) {
			s.Record.TotalTokensUsed, s.Costs = 60, []killswitch.Spend{{Tokens: 60}}
		}, func(l *killswitch.Limits) { l.MaxTokens = 100 }, "", "", "tokens left=40 < mean of the last sessions=60"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, l := State{Pursuit: pursuit.State{Goals: tt.goals}, Record: ledger.Run{AutopilotRunID: "r"}}, limits
			s.Pursuit.Goals = append([]pursuit.Goal{}, tt.goals...)
			if tt.used != nil {
				tt.used(&s)
			}
			if tt.limits != nil {
				tt.limits(&l)
			}
			err := TakeUp(&s, tt.answer, l)
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got %v, want %q", err, tt.err)
			}
			var got []string
			for _, g := range s.Pursuit.Goals {
				got = append(got, strings.Join(strings.Fields(g.Status+" "+g.Answer+" "+g.Asked), " "))
			}
			if joined := strings.Join(got, ", "); err == nil && joined != tt.want {
				t.Errorf("goals %q, want %q", joined, tt.want)
			}
		})
	}
}

// TestNotResumable is every reason why a run cannot be continued.
func TestNotResumable(t *testing.T) {
	t.Parallel()
	good := func() State {
		return State{Finished: true, Record: ledger.Run{Termination: &ledger.Termination{Status: ledger.Stopped, Resumable: true}}}
	}
	alive := NewState(newWorld(t).opts, time.Now(), "green")
	for name, tt := range map[string]struct {
		change func(*State)
		want   string
	}{
		"stopped":          {func(*State) {}, ""},
		"interrupted":      {func(s *State) { s.Record.Termination.Status = ledger.Interrupted }, ""},
		"paused":           {func(s *State) { s.Record.Termination.Status = ledger.Paused }, ""},
		"alive":            {func(s *State) { *s = alive }, "it is still on"},
		"continued":        {func(s *State) { s.ResumedBy = "other" }, "run other continues it"},
		"not recovered":    {func(s *State) { s.Finished, s.PID = false, 1<<30 }, "its records are not written"},
		"an old record":    {func(s *State) { s.Record.Termination = nil }, "its records are not written"},
		"completed":        {func(s *State) { s.Record.Termination.Status = ledger.Completed }, "its goals are reached"},
		"nothing was done": {func(s *State) { s.Record.Termination.Resumable = false }, "it ended before its first session"},
	} {
		s := good()
		tt.change(&s)
		if got := NotResumable(s); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestMarkResumed: one run continues another, and it says so only when it can be
// continued itself.
func TestMarkResumed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(time.Minute))
		w.stopsAfter(1)
		w.play(t.Context())
		first, before := w.opts.Folder, w.state()
		if err := w.goOn(""); err != nil {
			t.Fatal(err)
		}
		resumedBy := func() string {
			s, err := LoadState(first)
			if err != nil {
				t.Fatal(err)
			}
			return s.ResumedBy
		}
		w.opts.Announce = func() {
			if by := resumedBy(); by != "" {
				t.Errorf("it is continued by %s, which is not on disk yet", by)
			}
		}
		w.at = func(moment string) {
			if by := resumedBy(); by != w.opts.RunID {
				t.Errorf("%s: it is continued by %q, want %s", moment, by, w.opts.RunID)
			}
		}
		w.stopsAfter(2)
		w.play(t.Context())
		after, err := LoadState(first)
		if err != nil {
			t.Fatal(err)
		}
		before.ResumedBy = w.opts.RunID
		if diff := cmp.Diff(before, after, stamps()); diff != "" {
			t.Errorf("state of the first run (-want +got):\n%s", diff)
		}
		if err := MarkResumed(first, w.opts.RunID); err != nil {
			t.Errorf("the same run again: %v", err)
		}
		if err := MarkResumed(first, "other"); err == nil || !strings.Contains(err.Error(), "is continued by run "+w.opts.RunID) {
			t.Errorf("another run: %v", err)
		}
		if err := MarkResumed(filepath.Join(first, "nowhere"), "other"); err == nil {
			t.Error("a run that is not there was marked")
		}
	})
}

// TestContinuedTwice: a run that another one continues already is not continued,
// and no session is started for it.
func TestContinuedTwice(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(time.Minute))
		w.stopsAfter(1)
		w.play(t.Context())
		first := w.opts.Folder
		if err := w.goOn(""); err != nil {
			t.Fatal(err)
		}
		if err := MarkResumed(first, "other"); err != nil {
			t.Fatal(err)
		}
		w.stopsAfter(9)
		out, err := w.try(t.Context())
		if err == nil || out.Record.ExitCause != string(CauseError) || len(w.calls) != 1 || len(w.runRecords()) != 2 {
			t.Errorf("got %v and %+v after %d sessions", err, out.Record, len(w.calls))
		}
	})
}

// TestContinuedChecks: what must hold comes from the settings of the new run.
func TestContinuedChecks(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, claims(time.Minute))
		w.opts.Goals = []pursuit.Goal{{Text: "make it green", Checks: []gate.Check{check("make test")}}}
		w.holding(map[string]int{"make test": 9, "make lint": 3})
		w.stopsAfter(1)
		w.play(t.Context())
		w.stopsAfter(9)
		w.opts.Goals = []pursuit.Goal{{Text: "make it green", Checks: []gate.Check{check("make lint")}}}
		w.opts.Source = source.Goal{}
		rec := w.mustGoOn("")
		if rec.ExitCause != string(CauseWorkDone) || len(rec.Sessions) != 2 || rec.Goals[0].FalseStops != 2 || len(rec.Goals[0].Deliverables) != 1 || rec.Goals[0].Deliverables[0].Name != "make lint" {
			t.Errorf("record %+v", rec)
		}
		if p := w.calls[1].spec.Steps[0].Prompt; !strings.Contains(p, "- make test: exit status 1") || !strings.Contains(p, "make it green") {
			t.Errorf("the first session of the second run was told %q", p)
		}
	})
}

// TestReachedWhenKilled is a run that was killed between the reflection that found
// its goal reached and its record: the one that continues it has nothing to do.
func TestReachedWhenKilled(t *testing.T) {
	t.Parallel()
	pictures := t.TempDir()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(time.Minute))
		w.looks(1, says(reflector.Yes, reflector.Good, 100, reflector.Continue))
		w.opts.Limits.MaxSessions = 1
		w.at = func(moment string) {
			if moment == "reflection" {
				w.copyFiles(pictures)
			}
		}
		w.play(t.Context())
		c := copied(t, w, pictures)
		c.killed()
		c.recover()
		rec := c.record()
		if tm := rec.Termination; rec.ExitCause != string(CauseKilled) || tm.Status != ledger.Interrupted || !tm.Resumable || rec.Goals[0].Status != ledger.GoalAchieved || rec.Reflections.Count != 1 {
			t.Errorf("record %+v", rec)
		}
		c.plays, c.opts = w.plays, w.opts
		c.opts.Folder, c.opts.Ledgers, c.opts.Run = c.project.RunDir(w.opts.RunID), c.ledgers, c.session
		rec = c.mustGoOn("")
		if len(c.calls) != 0 || rec.ExitCause != string(CauseWorkDone) || rec.ExitCode != ExitWanted || rec.Termination.Status != ledger.Completed || rec.Termination.Iterations != 1 {
			t.Errorf("record %+v after %d sessions", rec, len(c.calls))
		}
	})
}

// TestNotSureWhenContinued: a person took over only before the very first session.
func TestNotSureWhenContinued(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(time.Minute))
		w.stopsAfter(1)
		w.play(t.Context())
		w.stopsAfter(9)
		w.opts.Source = fakeSource{"lifecycle", func(source.Request) source.Assignment { return assignment("deep", 0.5) }}
		rec := w.mustGoOn("")
		if rec.ExitCause != string(killswitch.LowConfidence) || rec.ExitCode != ExitPerson || !rec.Termination.Resumable || NotResumable(w.state()) != "" {
			t.Errorf("record %+v", rec)
		}
	})
}
