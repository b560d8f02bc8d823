package digest_test

import (
	"fmt"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/metrics/report/digest"
	"autopilot/metrics/samples"
)

func began() time.Time { return time.Date(2026, 11, 18, 22, 0, 0, 0, time.UTC) }

func after(minutes int) time.Time { return began().Add(time.Duration(minutes) * time.Minute) }

func ptr[T any](v T) *T { return &v }

// run is a run of some sessions that began so many minutes after the beginning.
func run(number, start, sessions int, change func(*digest.Run)) digest.Run {
	id := fmt.Sprintf("main-run-%d", number)
	r := digest.Run{Repository: "app", Record: ledger.Run{
		AutopilotRunID: id, StartedAt: ledger.Stamp(after(start)), CompletedAt: ledger.Stamp(after(start + sessions*60)), DurationSeconds: int64(sessions) * 3600,
		IterationsCompleted: sessions, TotalTokensUsed: int64(sessions) * 10_000, TotalCostUSD: float64(sessions) * 1.5, ExitCause: "work-done",
		Tokens:      ledger.Tokens{Input: int64(sessions) * 1000, Output: int64(sessions) * 2000, CacheCreation: int64(sessions) * 7000, CacheRead: int64(sessions) * 90_000},
		Termination: &ledger.Termination{Status: ledger.Completed, Summary: "Reached what was wanted"},
	}}
	for i := range sessions {
		at := start + i*60
		r.Sessions = append(r.Sessions, report.SessionFacts{
			Number: i + 1, ID: fmt.Sprintf("s-%d-%d", number, i), Started: after(at), Ended: after(at + 55), Ending: "completed", CostUSD: 1.4, FileCount: 3, Commits: []string{fmt.Sprintf("%d%d make it work", number, i)},
			Tokens: ledger.Tokens{Input: 1000, Output: 2000, CacheCreation: 7000, CacheRead: 90_000}, Summary: fmt.Sprintf("Part %d is done.", i+1),
			Caps: []ledger.Cap{{At: ledger.Stamp(after(at)), Tier: []string{"green", "warn"}[i%2], Cap: 4}},
		})
		r.Progress = append(r.Progress, report.Point{At: after(at + 55), Session: i + 1, Percent: float64(100 * (i + 1) / sessions)})
	}
	if change != nil {
		change(&r)
	}
	return r
}

// week is four runs in three nights, one of which coordinated another.
func week() digest.Facts {
	goal := func(text, status string) []ledger.Goal {
		return []ledger.Goal{{Text: text, Status: status, Percent: 80, Iterations: 2}}
	}
	return digest.Facts{
		Version: "1.2.3", Generated: after(3 * 1440), Since: after(-600), Repository: "app",
		Runs: []digest.Run{
			run(1, 0, 3, func(r *digest.Run) {
				r.Record.Goals, r.Reward, r.Continued = goal("make the tests pass", ledger.GoalPaused), ptr(0.0), true
				r.Record.ExitCause, r.Record.KillSwitch, r.Record.WaitedSeconds = "max-hours-exceeded", ptr("max-hours-exceeded"), 1800
				r.Record.Termination = &ledger.Termination{Status: ledger.Stopped, Summary: "Stopped after 3 hours: the time is over"}
				r.Samples = []samples.Sample{{At: after(1), Tier: "green", AvailableGB: ptr(12.0), SwapGB: ptr(0.0)}, {At: after(5), Tier: "warn", AvailableGB: ptr(5.0), SwapGB: ptr(1.0)}}
			}),
			run(2, 1440, 2, func(r *digest.Run) {
				r.Record.Goals, r.Record.ResumedFrom, r.Reward = goal("make the tests pass", ledger.GoalAchieved), "main-run-1", ptr(0.75)
				r.Record.Goals[0].FalseStops = 1
				r.Record.Termination.Deliverables = []ledger.Deliverable{{Name: "go test ./...", OK: true, Proof: "exit status 0"}, {Name: "docs/index.md", Proof: "it is not there"}}
				r.Tests = []report.TestRun{{Passed: 4, Failed: 2}, {Passed: 48, Coverage: ptr(83.4)}}
				r.Samples = []samples.Sample{{At: after(1441), Tier: "critical", AvailableGB: ptr(1.5)}, {At: after(1450), Tier: "green", AvailableGB: ptr(13.0)}}
			}),
			run(3, 2880, 1, func(r *digest.Run) {
				r.Record.ParentRunID, r.Record.Source, r.Record.IterationsCompleted = ptr("main-run-4"), "queue", 0
				r.Record.ExitCause, r.Record.ExitCode, r.Record.KillSwitch = "spiral", 3, ptr("spiral")
				r.Record.Termination = &ledger.Termination{Status: ledger.Stopped, Summary: "Stopped: one file was edited again and again"}
				r.Sessions[0].Ending = "failed"
				r.Tests = []report.TestRun{{Broken: true}}
			}),
			run(4, 2879, 0, func(r *digest.Run) {
				// What it says of sessions is said by its stories as well.
				r.Record.IterationsCompleted, r.Record.TotalTokensUsed, r.Record.TotalCostUSD, r.Record.WaitedSeconds = 2, 10_000, 1.5, 60
				r.Record.Coordinator = &ledger.Coordinator{Kind: ledger.CoordinatorKind, CohortTokens: 10_000, CohortCostUSD: 1.5}
				r.Record.ExitCause, r.Record.ExitCode, r.Record.DurationSeconds = "stories-failed", 3, 4000
				r.Record.Termination = &ledger.Termination{Status: ledger.Stopped, Summary: "1 of 2 stories is done"}
				r.Items = []report.Item{{ID: "login", Title: "Log in", Status: report.ItemDone}, {ID: "search", Title: "Search | by tag", Status: report.ItemFailed, Why: "spiral"}}
				r.TasksDone, r.Tasks = 3, 8
			}),
		},
		Open: []digest.Open{{Repository: "app", ID: "main-run-5", Words: "session 2"}},
		Needs: []digest.Need{
			{Kind: digest.Resume, Repository: "app", Text: "main-run-4: 1 of 2 stories is done", Command: "autopilot resume main-run-4", At: after(2960)},
			{Kind: digest.Merge, Repository: "app", Text: "branch autopilot/login (work tree /srv/trees/login)", Command: "git merge autopilot/login", At: after(2960)},
			{Kind: digest.Gate, Repository: "app", Text: "./deploy.sh staging", Command: "autopilot approve g-2", At: after(2900), Until: after(4400)},
			{Kind: digest.Question, Repository: "app", Text: "Which cloud?", Command: "autopilot answer main-run-2 TEXT"},
			{Kind: digest.Item, Repository: "app", Text: "0003-deploy: needs a key", Command: "autopilot queue retry 0003-deploy"},
		},
	}
}

// machine is the same over all repositories.
func machine() digest.Facts {
	f := week()
	f.Repository = ""
	f.Runs[1].Repository, f.Needs[0].Repository = "web", "web"
	f.Problems = []string{"/srv/old: its settings cannot be used"}
	return f
}

// quiet is a time in which nothing ended.
func quiet() digest.Facts {
	return digest.Facts{Version: "1.2.3", Generated: after(60), Since: after(-600), Repository: "app"}
}
