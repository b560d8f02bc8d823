package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
	"autopilot/probe"
	"autopilot/sessions"
	"autopilot/sessions/hook"
	"autopilot/sessions/outcome"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/source"
)

// TestRunToItsLimit is a run without trouble, with everything that is in its
// records.
func TestRunToItsLimit(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		work := completed(10 * time.Minute).with(func(r *sessions.Result) {
			r.Usage = outcome.Usage{Input: 100, Output: 20, CacheCreation: 7, CacheRead: 9000, CostUSD: 0.1}
			r.Agents = outcome.Agents{Complete: 3, Partial: 1}
			r.Version, r.Model, r.Processes = "2.1.330", "claude-opus-5-5", 1
			r.Files, r.Commits, r.Measured = []string{"a", "b"}, []string{"c0ffee"}, true
			r.Report = planned(4, 1)
		})
		lowered := work.with(func(r *sessions.Result) {
			r.Caps.Changes = []hook.Change{{At: time.Now().Add(20*time.Minute + 5*time.Second), Cap: 2, Tier: "degraded", Signal: "ram", Refused: 2}}
		})
		w := newWorld(t, work, work, lowered)
		w.opts.Limits.MaxSessions, w.opts.Limits.MaxTokens, w.opts.Goal, w.opts.Worktree = 3, 1000, "a goal", "/repo/tree"
		out := w.play(t.Context())

		ids := w.ids()
		if len(ids) != 3 {
			t.Fatalf("sessions %v, want three", ids)
		}
		kill, detail, verdict, tree := string(killswitch.MaxSessionsReached), "iterations_completed=3 >= max-sessions=3", "green", "/repo/tree"
		host := out.Record.HostClass
		begin := w.started
		want := ledger.Run{
			SchemaVersion: 1, AutopilotRunID: w.opts.RunID, StartedAt: ledger.Stamp(begin), CompletedAt: ledger.Stamp(begin.Add(30 * time.Minute)), DurationSeconds: 1800,
			MaxSessions: 3, MaxHours: 4, ConfidenceThreshold: 0.85, IterationsCompleted: 3, KillSwitch: &kill, KillSwitchDetail: &detail, Sessions: ids,
			HostClass: host, ResourceVerdictAtStart: &verdict, TotalTokensUsed: 381, WorktreePath: &tree, ExitCause: kill, Source: "goal", Goal: "a goal", TotalCostUSD: 0.3,
			Tokens: ledger.Tokens{Input: 300, Output: 60, CacheCreation: 21, CacheRead: 27000}, Version: "test", ClaudeVersion: "2.1.330",
		}
		want.Goals = []ledger.Goal{{Text: "the goal", Status: "open", Iterations: 3, Deliverables: []ledger.Deliverable{}}}
		want.Termination = &ledger.Termination{
			Status: "stopped", Reason: "max_iterations", Guard: "MAX_ITERATIONS", Summary: "Stopped after 3 sessions: " + detail, Iterations: 3, TimeElapsed: "30m",
			Outcomes: ledger.Outcomes{Successes: 3}, Deliverables: []ledger.Deliverable{}, CheckpointSaved: true, Resumable: true,
			NextSteps: []string{"'autopilot resume --max-sessions N' goes on with a higher limit"},
		}
		for i, id := range ids {
			want.Endings = append(want.Endings, ledger.Ending{SessionID: id, Ending: "completed", Cause: "completed", CostUSD: 0.1, Tokens: 127, Record: "own"})
			want.Caps = append(want.Caps, ledger.Cap{SessionID: id, At: ledger.Stamp(begin.Add(time.Duration(i) * 10 * time.Minute)), Tier: "green", Cap: 6, Signal: "ram"})
		}
		want.Caps = append(want.Caps, ledger.Cap{SessionID: ids[2], At: ledger.Stamp(begin.Add(20*time.Minute + 5*time.Second)), Tier: "degraded", Cap: 2, Signal: "ram", Refused: 2})
		if diff := cmp.Diff(want, w.record(), stamps()); diff != "" {
			t.Errorf("run record (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, out.Record, stamps()); diff != "" {
			t.Errorf("outcome (-want +got):\n%s", diff)
		}
		if out.Hint != killswitch.MaxSessionsReached.Hint() || out.Manual != "" {
			t.Errorf("hint %q, manual %q", out.Hint, out.Manual)
		}
		checkSessionRecord(t, w, w.sessionRecords()[1], begin)
		s := w.state()
		if !s.Finished || s.Current != nil || s.Waiting != nil || s.Iteration != 3 || cmp.Diff(want, s.Record, stamps()) != "" {
			t.Errorf("state %+v, want it finished with the same record", s)
		}
		if err := Close(w.project, w.opts.RunID); err != nil || len(w.open()) != 0 {
			t.Errorf("the run stays open: %v, %v", w.open(), err)
		}
		round := []string{"selecting", "running", "running", "recording", "judging", "looking", "checking"} // running is told again with each sign of life
		states := append(append(append([]string{}, round...), round...), round...)
		if diff := cmp.Diff(append(states, "finishing", "finished"), w.states); diff != "" {
			t.Errorf("states (-want +got):\n%s", diff)
		}
	})
}

func stamps() cmp.Option {
	return cmp.Transformer("stamp", func(s ledger.Stamp) string { return time.Time(s).UTC().Format(time.RFC3339Nano) })
}

// checkSessionRecord looks at the record of the second of three sessions.
func checkSessionRecord(t *testing.T, w *world, got ledger.Session, begin time.Time) {
	t.Helper()
	in, out, carry, rate := int64(9107), int64(20), 1, 0.75
	want := ledger.Session{
		SchemaVersion: 2, SessionID: w.ids()[1], SessionType: "feature", Platform: "claude", Branch: "main",
		StartedAt: ledger.Stamp(begin.Add(10 * time.Minute)), CompletedAt: ledger.Stamp(begin.Add(20 * time.Minute)), DurationSeconds: 600,
		Waves: []ledger.Wave{}, AgentSummary: ledger.Agents{Complete: 3, Partial: 1}, TotalAgents: 4, TotalFilesChanged: 2,
		Effectiveness: &ledger.Effectiveness{PlannedIssues: 4, Completed: 3, Carryover: &carry, CompletionRate: &rate},
		TokenInput:    &in, TokenOutput: &out, Status: "completed", AutopilotRunID: w.opts.RunID,
		Ending: "completed", EndingCause: "completed", CostUSD: 0.1, Processes: 1, Model: "claude-opus-5-5", ClaudeVersion: "2.1.330", Commits: []string{"c0ffee"}, Summary: "s",
		Caps: []ledger.Cap{{SessionID: w.ids()[1], At: ledger.Stamp(begin.Add(10 * time.Minute)), Tier: "green", Cap: 6, Signal: "ram"}},
	}
	if diff := cmp.Diff(want, got, stamps()); diff != "" {
		t.Errorf("session record (-want +got):\n%s", diff)
	}
}

// TestRecordsAsWritten are the bytes that other programs read.
func TestRecordsAsWritten(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(1500*time.Millisecond))
		w.opts.Limits.MaxSessions = 1
		w.play(t.Context())
		data, err := os.ReadFile(filepath.Join(w.metrics, ledger.RunsFile))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"schema_version":1,"autopilot_run_id":"` + w.opts.RunID + `","started_at":"2000-01-01T00:00:00.000Z","completed_at":"2000-01-01T00:00:01.500Z","duration_seconds":2,` +
			`"max_sessions":1,"max_hours":4,"confidence_threshold":0.85,"iterations_completed":1,"kill_switch":"max-sessions-reached","kill_switch_detail":"iterations_completed=1 >= max-sessions=1",` +
			`"sessions":["` + w.ids()[0] + `"],"host_class":"`
		if !strings.HasPrefix(string(data), want) {
			t.Errorf("got  %s\nwant %s...", data, want)
		}
		rest := `","resource_verdict_at_start":"green","fallback_to_manual":false,"dry_run":false,"total_tokens_used":0,"worktree_path":null,"parent_run_id":null,` +
			`"stall_recovery_count":0,"blocked_by_issue":null,"aborted_by_cohort":false,"spiral_recovery_count":0,"exit_cause":"max-sessions-reached","exit_code":0,`
		if !strings.Contains(string(data), rest) {
			t.Errorf("got  %s\nwant ...%s...", data, rest)
		}
		sessions, err := os.ReadFile(w.ledgers.SessionsPath())
		if err != nil {
			t.Fatal(err)
		}
		if p := ledger.Problems(sessions[:len(sessions)-1]); p != nil {
			t.Errorf("session record %s: %v", sessions, p)
		}
	})
}

// TestAfterSession is every reason to stop after a session.
func TestAfterSession(t *testing.T) {
	t.Parallel()
	agents := func(a outcome.Agents) func(*sessions.Result) { return func(r *sessions.Result) { r.Agents = a } }
	reported := func(j json.RawMessage) func(*sessions.Result) { return func(r *sessions.Result) { r.Report = j } }
	broken := func(e outcome.Ending) play { return ends(e, time.Minute) }
	tests := []struct {
		name   string
		play   play
		cause  Cause
		reason killswitch.Reason // none when the cause is another
		code   int
		counts int
		says   string
	}{
		{"spiral", completed(1).with(agents(outcome.Agents{Complete: 1, Spiral: 1})), "spiral", killswitch.Spiral, ExitFailures, 1, "agent_summary.spiral=1"},
		{"failed agents", completed(1).with(agents(outcome.Agents{Failed: 2})), "failed-wave", killswitch.FailedWave, ExitFailures, 1, "agent_summary.failed=2"},
		{"spiral before failed agents", completed(1).with(agents(outcome.Agents{Failed: 2, Spiral: 1})), "spiral", killswitch.Spiral, ExitFailures, 1, ""},
		{"partial agents are none", completed(1).with(agents(outcome.Agents{Partial: 2})), "max-sessions-reached", killswitch.MaxSessionsReached, ExitWanted, 1, ""},
		{"hung", broken(outcome.Hung), "stall-timeout", killswitch.StallTimeout, ExitFailures, 0, "hung"},
		{"hung before spiral", broken(outcome.Hung).with(agents(outcome.Agents{Spiral: 1})), "stall-timeout", killswitch.StallTimeout, ExitFailures, 0, ""},
		{"failed", broken(outcome.Failed), "failed-wave", killswitch.FailedWave, ExitFailures, 0, "failed: failed"},
		{"crashed", broken(outcome.Crashed), "failed-wave", killswitch.FailedWave, ExitFailures, 0, "crashed"},
		{"auth", broken(outcome.Auth), "failed-wave", killswitch.FailedWave, ExitFailures, 0, "auth"},
		{"credit", broken(outcome.Credit), "failed-wave", killswitch.FailedWave, ExitFailures, 0, "credit"},
		{"no work", broken(outcome.NoWork), "failed-wave", killswitch.FailedWave, ExitFailures, 0, "no-work"},
		{"cancelled by somebody", broken(outcome.Cancelled), "user-abort", killswitch.UserAbort, ExitInterrupt, 0, "session cancelled"},
		{"budget", broken(outcome.Failed).with(func(r *sessions.Result) { r.Budget = true }), "token-budget-exceeded", killswitch.TokenBudgetExceeded, ExitBudget, 0, "rest of the budget"},
		{"carryover", completed(1).with(reported(planned(5, 3))), "carryover-too-high", killswitch.CarryoverTooHigh, ExitFailures, 1, "carryover/planned=0.6 > threshold=0.5 (carryover=3, planned=5)"},
		{"half is carried over", completed(1).with(reported(planned(4, 2))), "max-sessions-reached", killswitch.MaxSessionsReached, ExitWanted, 1, ""},
		{"nothing was planned", completed(1).with(reported(planned(0, 0))), "max-sessions-reached", killswitch.MaxSessionsReached, ExitWanted, 1, ""},
		{
			"needs a person", completed(1).with(reported(report(`{"planned":["a"],"completed":[],"carried_over":[],"next_steps":[],"needs_person":"which one?"}`))),
			CausePerson, "", ExitPerson, 1, "which one?",
		},
		{"a kill-switch before a person", completed(1).with(func(r *sessions.Result) {
			r.Report, r.Agents.Failed = report(`{"planned":["a"],"needs_person":"which one?"}`), 1
		}), "failed-wave", killswitch.FailedWave, ExitFailures, 1, ""},
		{"done", completed(1).with(reported(report(`{"planned":["a"],"completed":["a"],"carried_over":[],"next_steps":[],"needs_person":""}`))), CauseWorkDone, "", ExitWanted, 1, "nothing is left"},
		{"a broken report", completed(1).with(reported(report(`["x"]`))), "max-sessions-reached", killswitch.MaxSessionsReached, ExitWanted, 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, tt.play)
				w.opts.Limits.MaxSessions = 1
				out := w.play(t.Context())
				rec := w.record()
				if rec.ExitCause != string(tt.cause) || rec.ExitCode != tt.code || rec.IterationsCompleted != tt.counts || !strings.Contains(*rec.KillSwitchDetail, tt.says) {
					t.Errorf("got %s (%s), code %d, %d iterations; want %s saying %q, code %d, %d", rec.ExitCause, *rec.KillSwitchDetail, rec.ExitCode, rec.IterationsCompleted, tt.cause, tt.says, tt.code, tt.counts)
				}
				if tt.reason == "" && rec.KillSwitch != nil || tt.reason != "" && (rec.KillSwitch == nil || *rec.KillSwitch != string(tt.reason)) {
					t.Errorf("kill switch %v, want %q", rec.KillSwitch, tt.reason)
				}
				if (out.Hint != "") != (tt.reason != "") {
					t.Errorf("hint %q for %s", out.Hint, tt.cause)
				}
				if want := map[bool]int{true: 1}[tt.play.result.Ending == outcome.Hung]; rec.StallRecoveryCount != want {
					t.Errorf("stall_recovery_count %d, want %d", rec.StallRecoveryCount, want)
				}
				if got := w.sessionRecords(); len(got) != 1 || got[0].Ending != string(tt.play.result.Ending) || (got[0].Status == "completed") != (tt.play.result.Ending == outcome.Completed) {
					t.Errorf("session records %+v, want one that says %s", got, tt.play.result.Ending)
				}
			})
		})
	}
}

// TestBeforeSession is every reason not to start another one.
func TestBeforeSession(t *testing.T) {
	t.Parallel()
	costs := func(usd ...float64) []play {
		var all []play
		for _, c := range usd {
			all = append(all, completed(time.Minute).with(func(r *sessions.Result) { r.Usage = outcome.Usage{Input: int64(c * 1000), CacheRead: 1e6, CostUSD: c} }))
		}
		return all
	}
	peers := func(n int, ram float64) func(*world) {
		return func(w *world) { w.opts.Probe = func(context.Context) probe.Snapshot { return snapshot(ram, n) } }
	}
	cost := func(usd float64) func(*world) { return func(w *world) { w.opts.Limits.MaxCostUSD = usd } }
	tests := []struct {
		name   string
		plays  []play
		change func(*world)
		want   killswitch.Reason
		code   int
		runs   int
		says   string
	}{
		{"sessions", costs(1), func(w *world) { w.opts.Limits.MaxSessions = 2 }, killswitch.MaxSessionsReached, ExitWanted, 2, ""},
		{"hours", []play{completed(50 * time.Minute)}, func(w *world) { w.opts.Limits.MaxHours = 1 }, killswitch.MaxHoursExceeded, ExitWanted, 2, "elapsed=1.67h >= max-hours=1.00h"},
		{"hours, exactly", []play{completed(30 * time.Minute)}, func(w *world) { w.opts.Limits.MaxHours = 0.5 }, killswitch.MaxHoursExceeded, ExitWanted, 1, ""},
		{"cost", costs(0.5, 0.5, 0.5), cost(1), killswitch.TokenBudgetExceeded, ExitBudget, 2, "cumulative_cost_usd=1.0000 >= max-cost-usd=1.0000"},
		{"what is left is less than the mean", costs(0.4, 0.4), cost(1), killswitch.TokenBudgetExceeded, ExitBudget, 2, "cost left=0.2000 < mean of the last sessions=0.4000"},
		{"what is left is the mean", costs(0.25, 0.25), cost(0.75), killswitch.TokenBudgetExceeded, ExitBudget, 3, ""},
		{"only the last three count", costs(1, 0.125), func(w *world) { w.opts.Limits.MaxCostUSD, w.opts.Limits.MaxSessions = 2, 9 }, killswitch.MaxSessionsReached, ExitWanted, 9, ""},
		{"the mean of three", costs(0.1, 0.1, 0.1, 1), cost(1.65), killswitch.TokenBudgetExceeded, ExitBudget, 4, "mean of the last sessions=0.4000"},
		{"tokens", costs(0.5, 0.5), func(w *world) { w.opts.Limits.MaxTokens = 1000 }, killswitch.TokenBudgetExceeded, ExitBudget, 2, "cumulative_tokens=1000 >= max-tokens=1000"},
		{"tokens left", costs(0.4, 0.4), func(w *world) { w.opts.Limits.MaxTokens = 1000 }, killswitch.TokenBudgetExceeded, ExitBudget, 2, "tokens left=200 < mean of the last sessions=400"},
		{"overload", nil, peers(7, 16), killswitch.ResourceOverload, ExitResources, 0, "verdict=critical peers=7 > threshold=6"},
		{"critical with few peers", costs(0), peers(6, 0.5), killswitch.MaxSessionsReached, ExitWanted, 5, ""},
		{"a stop request", nil, func(w *world) { w.opts.StopRequested = func() string { return "stop was requested by me" } }, killswitch.UserAbort, ExitWanted, 0, "stop was requested by me"},
		{"a stop request during a session", []play{completed(time.Hour)}, func(w *world) {
			w.opts.StopRequested = func() string {
				if len(w.calls) > 0 {
					return "stop was requested by me"
				}
				return ""
			}
		}, killswitch.UserAbort, ExitWanted, 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, tt.plays...)
				tt.change(w)
				w.play(t.Context())
				rec := w.record()
				if rec.KillSwitch == nil || *rec.KillSwitch != string(tt.want) || rec.ExitCause != string(tt.want) || rec.ExitCode != tt.code || !strings.Contains(*rec.KillSwitchDetail, tt.says) {
					t.Errorf("got %v (%s), code %d; want %s saying %q, code %d", rec.ExitCause, *rec.KillSwitchDetail, rec.ExitCode, tt.want, tt.says, tt.code)
				}
				if len(w.calls) != tt.runs || rec.IterationsCompleted != tt.runs || len(w.sessionRecords()) != tt.runs {
					t.Errorf("%d sessions ran, %d counted, %d recorded; want %d", len(w.calls), rec.IterationsCompleted, len(w.sessionRecords()), tt.runs)
				}
			})
		})
	}
}

// TestConfidence hands the first iteration over to a person and stops a later one.
func TestConfidence(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		confidence []float64
		mode       string // of the last
		threshold  float64
		manual     bool
		runs       int
		says       string
	}{
		{"sure", []float64{0.85}, "deep", 0.85, false, 1, ""},
		{"not sure at first", []float64{0.84}, "deep", 0.85, true, 0, "confidence=0.84 < threshold=0.85 (mode=deep); because; missing signals: [trend]"},
		{"not sure later", []float64{1, 1, 0.5}, "deep", 0.85, false, 2, "confidence=0.5 < threshold=0.85"},
		{"no mode at first", []float64{1}, "", 0, true, 0, "no mode was recommended"},
		{"no mode later", []float64{1, 1}, "", 0, false, 1, "no mode was recommended"},
		{"not a number", []float64{math.NaN()}, "deep", 0, true, 0, "NaN"},
		{"no threshold", []float64{0}, "deep", 0, false, 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, completed(time.Minute))
				w.opts.Limits.ConfidenceThreshold, w.opts.Limits.MaxSessions = tt.threshold, len(tt.confidence)
				var asked []int
				w.opts.Source = fakeSource{"lifecycle", func(r source.Request) source.Assignment {
					asked = append(asked, r.Objective.Iteration)
					mode := "deep"
					if r.Objective.Iteration == len(tt.confidence) {
						mode = tt.mode
					}
					return assignment(mode, tt.confidence[r.Objective.Iteration-1])
				}}
				out := w.play(t.Context())
				rec := w.record()
				if len(w.calls) != tt.runs || rec.FallbackToManual != tt.manual || !strings.Contains(*rec.KillSwitchDetail, tt.says) {
					t.Errorf("%d sessions, manual %v, %q; want %d, %v, %q", len(w.calls), rec.FallbackToManual, *rec.KillSwitchDetail, tt.runs, tt.manual, tt.says)
				}
				switch {
				case tt.manual:
					if rec.KillSwitch != nil || rec.ExitCause != string(CauseManual) || rec.ExitCode != ExitPerson || out.Manual != "claude /session "+tt.mode || out.Hint != "" {
						t.Errorf("got %+v, manual %q, hint %q", rec, out.Manual, out.Hint)
					}
				case tt.runs < len(tt.confidence):
					if rec.KillSwitch == nil || *rec.KillSwitch != string(killswitch.LowConfidence) || rec.ExitCode != ExitPerson || out.Manual != "" {
						t.Errorf("got %+v, manual %q", rec, out.Manual)
					}
				case *rec.KillSwitch != string(killswitch.MaxSessionsReached):
					t.Errorf("got %s, want it to run on", *rec.KillSwitch)
				}
				for i, n := range asked {
					if n != i+1 {
						t.Errorf("the source was asked for iterations %v", asked)
					}
				}
			})
		})
	}
}

// TestSpec is what a session is given.
func TestSpec(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		work := completed(time.Minute).with(func(r *sessions.Result) { r.Usage.CostUSD, r.Report = 0.2, planned(2, 1) })
		w := newWorld(t, work)
		w.opts.Limits.MaxSessions, w.opts.Limits.MaxCostUSD = 2, 1
		w.opts.Session.Model, w.opts.Session.Claude = "sonnet", "/bin/claude"
		w.opts.AgentsFor = func(mode string) int { return map[string]int{"deep": 3, "": 9}[mode] }
		machine := snapshot(16, 0)
		w.opts.Probe = func(context.Context) probe.Snapshot { return machine }
		var requests []source.Request
		w.opts.Source = fakeSource{"lifecycle", func(r source.Request) source.Assignment {
			requests = append(requests, r)
			a := assignment("deep", 1)
			a.Schema = "a schema"
			return a
		}}
		var judged []hook.Change
		w.plays[0].do = func(ctx context.Context, s sessions.Spec) {
			machine = snapshot(16, 7)
			judged = append(judged, s.Judge(ctx))
			machine = snapshot(16, 0)
			judged = append(judged, s.Judge(ctx))
			// The state on disk names the session while it runs.
			st := w.state()
			if st.Current == nil || st.Current.SessionID != string(s.ID) || st.Current.Mode != "deep" || st.Finished || st.Iteration != len(w.calls) || st.Token != w.opts.Session.Token {
				t.Errorf("state of a running session: %+v", st)
			}
			if len(st.Record.Sessions) != len(w.calls)-1 || st.Record.ExitCause != "" {
				t.Errorf("the run's record so far: %+v", st.Record)
			}
		}
		w.play(t.Context())
		if len(w.calls) != 2 {
			t.Fatalf("%d sessions, want two", len(w.calls))
		}
		for i, c := range w.calls {
			s := c.spec
			if s.RunID != w.opts.RunID || s.Folder != SessionFolder(w.opts.Folder, s.ID) || s.Model != "sonnet" || s.Claude != "/bin/claude" || s.Schema != "a schema" || s.Satisfied != nil || s.Continue != nil {
				t.Errorf("session %d was given %+v", i, s)
			}
			if diff := cmp.Diff([]sessions.Step{{Prompt: "do it"}}, s.Steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if s.Cap.Cap != 3 || s.Cap.Tier != "green" {
				t.Errorf("cap %+v, want 3 for this mode on a green machine", s.Cap)
			}
			if want := 1 - 0.2*float64(i); s.BudgetUSD != want {
				t.Errorf("budget %v, want %v", s.BudgetUSD, want)
			}
		}
		if first, second := w.calls[0].spec, w.calls[1].spec; first.ID == second.ID || first.Previous != nil || second.Previous == nil || second.Previous.ID != first.ID {
			t.Errorf("the second session does not follow the first: %v, %v", first.Previous, second.Previous)
		}
		for i := 0; i < len(judged); i += 2 {
			if judged[i].Cap != 0 || judged[i].Tier != "critical" || judged[i].Signal != "peers" || judged[i+1].Cap != 3 {
				t.Errorf("a new look at the machine gave %+v", judged[i:i+2])
			}
		}
		if p := requests[1].Objective.Past; len(requests[0].Objective.Past) != 0 || len(p) != 1 || p[0].Iteration != 1 || p[0].Ending != "completed" || p[0].Report == nil || requests[1].Objective.MaxSessions != 2 {
			t.Errorf("the source was told %+v", requests)
		}
	})
}

// TestPluginRecord is a session that writes its own record: it counts more than
// what we saw.
func TestPluginRecord(t *testing.T) {
	t.Parallel()
	lifecycle := fakeSource{"lifecycle", func(source.Request) source.Assignment {
		a := assignment("feature", 1)
		a.Records = true
		return a
	}}
	agents := func(failed, spiral int) map[string]any {
		return map[string]any{"complete": 1, "partial": 0, "failed": failed, "spiral": spiral}
	}
	tests := []struct {
		name   string
		writes map[string]any // nil writes nothing
		sees   sessions.Result
		want   killswitch.Reason
		by     string
	}{
		{"its agents failed, we saw none", map[string]any{"agent_summary": agents(1, 0)}, sessions.Result{}, killswitch.FailedWave, recordPlugin},
		{"we saw one fail, it says none did", map[string]any{}, sessions.Result{Agents: outcome.Agents{Failed: 1}}, killswitch.MaxSessionsReached, recordPlugin},
		{"its agents went in circles", map[string]any{"agent_summary": agents(0, 2)}, sessions.Result{}, killswitch.Spiral, recordPlugin},
		{"its carryover", map[string]any{"effectiveness": map[string]any{"planned_issues": 4, "completed": 1, "carryover": 3}}, sessions.Result{}, killswitch.CarryoverTooHigh, recordPlugin},
		{"it says nothing of a carryover", map[string]any{"effectiveness": map[string]any{"planned_issues": 4, "carryover": nil}}, sessions.Result{Report: planned(4, 4)}, killswitch.MaxSessionsReached, recordPlugin},
		{"it ended badly whatever it wrote", map[string]any{}, sessions.Result{Ending: outcome.Crashed}, killswitch.FailedWave, recordPlugin},
		{"it wrote nothing", nil, sessions.Result{Agents: outcome.Agents{Failed: 1}}, killswitch.FailedWave, recordOwn},
		{"an abandoned stub is not its record", map[string]any{"status": "abandoned"}, sessions.Result{}, killswitch.MaxSessionsReached, recordOwn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				satisfied := []bool{}
				w := newWorld(t)
				if tt.sees.Ending == "" {
					tt.sees.Ending = outcome.Completed
				}
				w.plays = []play{{lasts: time.Minute, result: tt.sees, do: func(_ context.Context, s sessions.Spec) {
					satisfied = append(satisfied, s.Satisfied())
					if tt.writes == nil {
						return
					}
					fields := map[string]any{"session_id": "main-2000-01-01-feature-1", "autopilot_run_id": s.RunID}
					for k, v := range tt.writes {
						fields[k] = v
					}
					w.appendSession(fields)
					satisfied = append(satisfied, s.Satisfied())
				}}}
				w.opts.Source, w.opts.Limits.MaxSessions = lifecycle, 1
				if tt.sees.Ending != outcome.Completed {
					w.opts.Limits.MaxSessions = 2
				}
				w.play(t.Context())
				rec := w.record()
				if *rec.KillSwitch != string(tt.want) || rec.Endings[0].Record != tt.by {
					t.Errorf("got %s (%s) by the %s record, want %s by the %s one", *rec.KillSwitch, *rec.KillSwitchDetail, rec.Endings[0].Record, tt.want, tt.by)
				}
				id, records := w.ids()[0], 1
				if tt.by == recordPlugin {
					id = "main-2000-01-01-feature-1"
				} else if tt.writes != nil {
					records = 2 // the stub and ours
				}
				if rec.Sessions[0] != id || rec.Endings[0].SessionID != id || len(w.sessionRecords()) != records {
					t.Errorf("sessions %v with %d records, want %s with %d", rec.Sessions, len(w.sessionRecords()), id, records)
				}
				if tt.by == recordPlugin && fmt.Sprint(satisfied) != "[false true]" {
					t.Errorf("satisfied before and after the record: %v", satisfied)
				}
			})
		})
	}
}

// TestPluginRecordOfEachSession: a record is taken once, and "the last line" is
// nobody's.
func TestPluginRecordOfEachSession(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.plays = []play{{lasts: time.Minute, result: sessions.Result{Ending: outcome.Completed}, do: func(_ context.Context, s sessions.Spec) {
			if n := len(w.calls); n != 2 {
				w.appendSession(map[string]any{"session_id": fmt.Sprintf("plugin-%d", n), "autopilot_run_id": s.RunID})
				w.appendSession(map[string]any{"session_id": fmt.Sprintf("other-%d", n), "autopilot_run_id": "another run"})
			}
		}}}
		w.opts.Limits.MaxSessions = 3
		w.opts.Source = fakeSource{"lifecycle", func(source.Request) source.Assignment {
			a := assignment("feature", 1)
			a.Records = true
			return a
		}}
		w.play(t.Context())
		if diff := cmp.Diff([]string{"plugin-1", w.ids()[1], "plugin-3"}, w.record().Sessions); diff != "" {
			t.Errorf("sessions (-want +got):\n%s", diff)
		}
		if !strings.Contains(w.log.String(), "the session wrote no record of its own") {
			t.Error("nothing is said about the missing record")
		}
	})
}

// TestRewrittenLedger is another program that replaces the session ledger by its
// own version of it, as it was before ours was appended.
func TestRewrittenLedger(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(time.Minute), completed(time.Minute).doing(nil))
		w.plays[1].do = func(context.Context, sessions.Spec) {
			tmp := w.ledgers.SessionsPath() + ".tmp"
			if err := os.WriteFile(tmp, []byte(`{"session_id":"theirs"}`+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(tmp, w.ledgers.SessionsPath()); err != nil {
				t.Fatal(err)
			}
		}
		w.opts.Limits.MaxSessions = 2
		w.play(t.Context())
		var got []string
		for _, r := range w.sessionRecords() {
			got = append(got, r.SessionID)
		}
		ids := w.ids()
		if diff := cmp.Diff([]string{"theirs", ids[1], ids[0]}, got); diff != "" {
			t.Errorf("session records (-want +got):\n%s", diff)
		}
	})
}
