package report_test

import (
	"fmt"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/metrics/samples"
)

func began() time.Time { return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC) }

func after(minutes int) time.Time { return began().Add(time.Duration(minutes) * time.Minute) }

func ptr[T any](v T) *T { return &v }

// nothing is a run of which only the id is known.
func nothing() report.Facts {
	return report.Facts{Version: "1.2.3", Generated: after(1), Run: ledger.Run{AutopilotRunID: "main-2026-11-20-2200-autopilot"}}
}

// one is a run that reached its goal in one session.
func one() report.Facts {
	tokens := ledger.Tokens{Input: 1200, Output: 9800, CacheCreation: 41_000, CacheRead: 812_345}
	return report.Facts{
		Version: "1.2.3", Generated: after(9),
		Run: ledger.Run{
			AutopilotRunID: "main-2026-11-20-2200-autopilot", StartedAt: ledger.Stamp(began()), CompletedAt: ledger.Stamp(after(8)), DurationSeconds: 480,
			MaxSessions: 5, MaxHours: 2, IterationsCompleted: 1, Sessions: []string{"s-1"}, Source: "goal", Goal: "make `go test` pass in pkg_a",
			TotalTokensUsed: tokens.Budgeted(), TotalCostUSD: 0.4821, Tokens: tokens, ExitCause: "work-done", ClaudeVersion: "2.1.330",
			Goals: []ledger.Goal{{Text: "make `go test` pass in pkg_a", Status: ledger.GoalAchieved, Percent: 100, Iterations: 1}},
			Termination: &ledger.Termination{
				Status: ledger.Completed, Reason: "goal_achieved", Summary: "Reached: make `go test` pass in pkg_a",
				Deliverables: []ledger.Deliverable{{Name: "go test ./...", OK: true, Proof: "exit status 0"}},
			},
			Forecast: &ledger.Forecast{
				Runs: 3, Sessions: ledger.Range{Low: 1, Likely: 2, High: 4}, Seconds: ledger.Range{Low: 300, Likely: 460, High: 900},
				Tokens: ledger.Range{Low: 20_000, Likely: 30_000, High: 45_000}, CostUSD: ledger.Range{Low: 0.2, Likely: 0.5, High: 1},
			},
		},
		Sessions: []report.SessionFacts{{
			Number: 1, ID: "5f0c", Type: "feature", Model: "claude-opus-5-5", Started: began(), Ended: after(8), Ending: "completed", Tokens: tokens, CostUSD: 0.4821,
			Files: []string{"pkg_a/a.go", "pkg_a/a_test.go"}, Commits: []string{"1a2b3c4 pkg_a: count from one"}, Summary: "The loop began at 0. It begins at 1 now.",
		}},
		Progress: []report.Point{{At: began(), Session: 0, Percent: 0}, {At: after(8), Session: 1, Percent: 100}},
		Tests:    []report.TestRun{{At: after(8), Session: 1, Passed: 48, Skipped: 2, Coverage: ptr(83.4), Summary: "ok"}},
	}
}

// night is a run over a queue of three, one of which failed and one of which waits for a
// person.
func night() report.Facts {
	f := report.Facts{
		Version: "1.2.3", Generated: after(421), Hint: "Answer what is asked and go on with 'autopilot resume'.",
		Run: ledger.Run{
			AutopilotRunID: "main-2026-11-20-2200-autopilot", StartedAt: ledger.Stamp(began()), CompletedAt: ledger.Stamp(after(420)), DurationSeconds: 25_200,
			MaxSessions: 20, MaxHours: 8, IterationsCompleted: 6, Source: "queue", TotalTokensUsed: 512_340, TotalCostUSD: 9.87654, WaitedSeconds: 1800,
			ExitCause: "needs-person", ExitCode: 4, KillSwitchDetail: ptr("0003-deploy waits for an answer"),
			Termination: &ledger.Termination{
				Status: ledger.Paused, Reason: "question", Summary: "Waits for a person after 7 sessions: 0003-deploy waits for an answer",
				NextSteps: []string{"'autopilot resume' goes on"},
			},
		},
		Items: []report.Item{
			{ID: "0001-login", Title: "Log in with a passkey", Status: report.ItemDone, Sessions: 3},
			{ID: "0002-search", Title: "Search | by tag", Status: report.ItemFailed, Why: "no further task was done in 3 sessions", Sessions: 3, Command: "autopilot queue retry 0002-search"},
			{ID: "0003-deploy", Title: "Deploy to staging", Status: report.ItemNeedsHuman, Why: "a command needs a person", Sessions: 1},
		},
		Gates: []report.Gate{
			{ID: "g-1", Subject: "git push origin main", Rule: "push", Status: report.GateDenied, By: "ada", Because: "not at night", Asked: after(60), Answered: after(65)},
			{ID: "g-2", Subject: "./deploy.sh staging", Rule: "deploy", Status: report.GatePending, Asked: after(410), Until: after(470), Command: "autopilot approve g-2"},
		},
		Tests: []report.TestRun{
			{At: after(50), Session: 1, Passed: 120, Failed: 4, Coverage: ptr(71.0), Summary: "4 of 124 failed"},
			{At: after(120), Session: 3, Passed: 131, Coverage: ptr(74.5)},
			{At: after(300), Session: 6, Broken: true, Summary: "search.go:12: undefined: tags"},
		},
		Publishing: report.Publishing{Sent: 11, Pending: 1, Refused: 1, Entries: []report.Entry{
			{Target: "github:acme/app#7", Subject: "0001-login", State: "sent", URL: "https://github.com/acme/app/issues/7", At: after(121)},
			{Target: "jira:APP-12", Subject: "0002-search", State: "refused", Why: "jira answered 404: no such issue", At: after(301)},
		}},
		Breakers: []report.Breaker{{Name: "jira", State: "open", Failures: 3, Why: "connection refused", RetryAt: after(425)}, {Name: "github", State: "closed"}},
		Reflections: []report.Reflection{
			{At: after(121), Session: 3, Reflector: "claude", Trigger: "interval", Percent: ptr(40.0), Progress: "GOOD", Decision: "continue", Reasoning: "The first piece is done and its tests hold."},
			{At: after(301), Session: 6, Trigger: "idle", Error: "no answer within 2 minutes"},
		},
		Estimate: &ledger.Forecast{
			Sessions: ledger.Range{Low: 5, Likely: 10, High: 20}, Seconds: ledger.Range{Low: 800, Likely: 3000, High: 11_000},
			Tokens: ledger.Range{Low: 160_000, Likely: 600_000, High: 2_200_000}, CostUSD: ledger.Range{Low: 1.6, Likely: 6, High: 22},
		},
	}
	endings := []string{"completed", "completed", "completed", "limited", "completed", "completed", "completed"}
	tierOf := []string{"green", "green", "warn", "degraded", "warn", "green", "green"}
	for i, ending := range endings {
		s := report.SessionFacts{
			Number: i + 1, ID: fmt.Sprintf("s-%d", i+1), Item: f.Items[min(i/3, 2)].ID, Started: after(i * 60), Ended: after(i*60 + 50), Ending: ending,
			Tokens:  ledger.Tokens{Input: 2000, Output: 11_000 + 1000*int64(i), CacheCreation: 57_000, CacheRead: 900_000},
			CostUSD: 1.25 + 0.1*float64(i), FileCount: 4, Commits: []string{fmt.Sprintf("c%d", i)}, Summary: fmt.Sprintf("Part %d of the work.", i+1),
			Caps: []ledger.Cap{{At: ledger.Stamp(after(i * 60)), Tier: tierOf[i], Cap: 6 - 2*(i%3), Signal: "ram", Refused: i % 3}},
		}
		if ending != "completed" {
			s.Cause = "usage limit, resets 03:10"
		}
		f.Run.Sessions = append(f.Run.Sessions, s.ID)
		f.Sessions = append(f.Sessions, s)
		f.Progress = append(f.Progress, report.Point{At: s.Ended, Session: i + 1, Percent: float64(min(i*10, 45))})
	}
	for i := range 43 { // a sample in ten minutes
		x := samples.Sample{At: after(i * 10), Tier: tierOf[min(i/6, 6)], AvailableGB: ptr(14 - float64(i%9)), Peers: ptr(i % 4)}
		if i%2 == 0 {
			x.SwapGB = ptr(float64(i%5) / 4)
		}
		f.Samples = append(f.Samples, x)
	}
	f.Run.SleptSeconds, f.Reward = 120, ptr(0.4321)
	f.Sessions[6].Denials, f.Sessions[6].Refused = []string{"Bash: ./deploy.sh staging"}, 2
	f.Sessions[6].NextSteps = []string{"deploy when it is allowed", "watch the logs"}
	return f
}
