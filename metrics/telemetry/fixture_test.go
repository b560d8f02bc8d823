package telemetry_test

import (
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/telemetry"
)

func began() time.Time { return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC) }

func after(minutes int) time.Time { return began().Add(time.Duration(minutes) * time.Minute) }

func ptr[T any](v T) *T { return &v }

// ended is a record of a run that has ended.
func ended(id, cause string, minutes int, change func(*ledger.Run)) ledger.Run {
	r := ledger.Run{
		AutopilotRunID: id, StartedAt: ledger.Stamp(after(minutes)), CompletedAt: ledger.Stamp(after(minutes + 30)), DurationSeconds: 1800, ExitCause: cause,
		Tokens: ledger.Tokens{Input: 100, Output: 20, CacheCreation: 3000, CacheRead: 40_000}, TotalTokensUsed: 3120, TotalCostUSD: 1.25,
	}
	if change != nil {
		change(&r)
	}
	return r
}

func killed(reason string, code int) func(*ledger.Run) {
	return func(r *ledger.Run) { r.KillSwitch, r.ExitCode, r.WaitedSeconds, r.SleptSeconds = &reason, code, 60, 7 }
}

// night is a machine with two runs that are on and two repositories.
func night() telemetry.Facts {
	var t telemetry.Tally
	t.Run("app", ended("a-1", "work-done", 0, nil))
	t.Run("app", ended("a-2", "spiral", 60, killed("spiral", 3)))
	t.Run("app", ended("a-3", "stories-failed", 120, func(r *ledger.Run) {
		r.Coordinator = &ledger.Coordinator{Kind: ledger.CoordinatorKind, CohortTokens: 5}
	}))
	t.Run("web", ended("w-1", "max-sessions-reached", 90, killed("max-sessions-reached", 0)))
	t.Session("app", "s-1", "completed")
	t.Session("app", "s-2", "limited")
	t.Session("app", "s-3", "completed")
	t.Know("new")
	return telemetry.Facts{
		At: after(300), Build: telemetry.Build{Version: "1.2.3", Go: "go1.26.8"},
		Runs: []telemetry.Run{
			{
				Repository: "app", ID: "main-1", Kind: telemetry.Single, State: telemetry.Waiting, Started: after(200), Sessions: 3, MaxSessions: 5, Percent: ptr(42.5), Tier: "warn", Agents: ptr(4),
				Tokens: ledger.Tokens{Input: 10, Output: 20, CacheCreation: 30, CacheRead: 400}, InFlight: 7, CostUSD: 0.5, WaitUntil: after(330),
			},
			{Repository: `we"ird\` + "\nname", ID: "main-2", Story: "login", Kind: telemetry.Story, State: telemetry.Running, Started: after(299), Sessions: 1},
		},
		Needs: []telemetry.Need{{Kind: "gate", Count: 2}}, Problems: 1,
		Repositories: t.Repositories(), Since: t.Since(),
		Machine: telemetry.Machine{AvailableBytes: ptr(17179869184.0), SwapBytes: ptr(0.0), Peers: ptr(2), Tier: "warn"},
		Schedules: []telemetry.Schedule{
			{Name: "nightly", LastStart: began(), NextStart: after(1440), Missed: ptr(false)}, {Name: "weekly", NextStart: after(9000), Missed: ptr(true)}, {Name: "new"},
		},
	}
}
