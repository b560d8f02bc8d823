package telemetry

// dashboardRows are the panels of the dashboard. Counters go up when a run ends, so what they
// gained is shown over an hour at least.
func dashboardRows() []dashboardRow {
	return []dashboardRow{
		{"Now", nowPanels()},
		{"Runs that are on", runPanels()},
		{"The machine", machinePanels()},
		{"What was done", historyPanels()},
		{"Schedules", schedulePanels()},
	}
}

const (
	statWidth, statHeight   = 4, 4
	chartWidth, chartHeight = 12, 8
)

func stat(title, about, unit, expr string, warnAt float64) panel {
	return panel{kind: "stat", title: title, about: about, unit: unit, width: statWidth, height: statHeight, warnAt: warnAt, queries: []query{{expr, ""}}}
}

func lines(title, about, unit string, stack bool, queries ...query) panel {
	return panel{kind: "timeseries", title: title, about: about, unit: unit, width: chartWidth, height: chartHeight, stack: stack, queries: queries}
}

func nowPanels() []panel {
	return []panel{
		stat("Runs that are on", "Runs, cohorts and stories in any state.", "none", `sum(autopilot_runs_active)`, 0),
		stat("Wait for a person", "Questions, held calls, items put aside, runs to resume.", "none", `sum(autopilot_needs_person)`, 1),
		stat("Since the last success", "Time since a run ended as wanted.", "s", `time() - max(autopilot_last_success_timestamp_seconds{repository=~"$repository"})`, 86400),
		stat("Cost in 24 hours", "Of runs that have ended in that time.", "currencyUSD", `sum(increase(autopilot_cost_usd_total{repository=~"$repository"}[24h]))`, 0),
		stat("Kill-switches in 24 hours", "Runs that one of the ten has ended.", "none", `sum(increase(autopilot_killswitches_total{repository=~"$repository"}[24h]))`, 1),
		stat("Missed schedules", "Schedules of which nothing was started at their last time.", "none", `sum(autopilot_schedule_missed) or vector(0)`, 1),
	}
}

func runPanels() []panel {
	of := `{repository=~"$repository"}`
	name := "{{repository}} {{run_id}} {{story}}"
	return []panel{
		{kind: "table", title: "Runs", about: "What is on, with its state.", unit: "none", width: gridWidth, height: 6, queries: []query{{`autopilot_run_info` + of, ""}}},
		lines("Progress", "How far goals or tasks are.", "percentunit", false, query{`autopilot_run_progress_ratio` + of, name}),
		lines("Sessions", "That were begun, beside how many may be.", "none", false, query{`autopilot_run_sessions` + of, name}, query{`autopilot_run_sessions_limit` + of, name + " limit"}),
		lines("Tokens so far", "By kind; cache reads are left out, as budgets do.", "short", true, query{`sum by (kind) (autopilot_run_tokens{repository=~"$repository", kind!="cache_read"})`, "{{kind}}"}),
		lines("Cost so far", "Of runs that are on.", "currencyUSD", false, query{`autopilot_run_cost_usd` + of, name}),
		lines("Waits for a limit", "Time that is left.", "s", false, query{`clamp_min(autopilot_run_wait_end_timestamp_seconds` + of + ` - time(), 0)`, name}),
		lines("Sub-agents at once", "What a run may have.", "none", false, query{`autopilot_run_agents_limit` + of, name}),
	}
}

func machinePanels() []panel {
	return []panel{
		lines("Memory", "What new work can have without swapping, and swap in use.", "bytes", false, query{`autopilot_machine_memory_available_bytes`, "available"}, query{`autopilot_machine_swap_used_bytes`, "swap used"}),
		{kind: "state-timeline", title: "Tier", about: "Which tier holds, from green with all of its room to critical with none.", unit: "none", width: chartWidth, height: chartHeight, queries: []query{{`max by (tier) (autopilot_machine_tier)`, "{{tier}}"}}},
		lines("Other Claude Code sessions", "That are nobody's of a run.", "none", false, query{`autopilot_machine_peers`, "sessions"}),
		lines("States that could not be read", "A number above zero wants a look at 'autopilot doctor'.", "none", false, query{`autopilot_state_problems`, "problems"}),
	}
}

func historyPanels() []panel {
	gained := func(by, name string) string {
		return `sum by (` + by + `) (increase(` + name + `{repository=~"$repository"}[1h])) > 0`
	}
	return []panel{
		lines("Runs that ended", "In the hour before, by cause.", "none", true, query{gained("cause", "autopilot_runs_ended_total"), "{{cause}}"}),
		lines("Sessions that ended", "In the hour before, by how.", "none", true, query{gained("ending", "autopilot_sessions_ended_total"), "{{ending}}"}),
		lines("Tokens", "Of runs that ended in the hour before, by kind.", "short", true, query{gained("kind", "autopilot_tokens_total"), "{{kind}}"}),
		lines("Cost", "Of runs that ended in the hour before.", "currencyUSD", true, query{gained("repository", "autopilot_cost_usd_total"), "{{repository}}"}),
		lines("Kill-switches", "In the hour before, by reason.", "none", true, query{gained("reason", "autopilot_killswitches_total"), "{{reason}}"}),
		lines("Where the time went", "Wall clock of runs that ended in the hour before, and what of it was waiting or sleep.", "s", false,
			query{`sum(increase(autopilot_run_duration_seconds_total{repository=~"$repository"}[1h]))`, "all"},
			query{`sum(increase(autopilot_limit_wait_seconds_total{repository=~"$repository"}[1h]))`, "waiting for a limit"},
			query{`sum(increase(autopilot_suspended_seconds_total{repository=~"$repository"}[1h]))`, "machine asleep"}),
	}
}

func schedulePanels() []panel {
	return []panel{
		lines("Since the last start", "Of each schedule.", "s", false, query{`time() - autopilot_schedule_last_start_timestamp_seconds`, "{{schedule}}"}),
		lines("Until the next start", "Of each schedule.", "s", false, query{`autopilot_schedule_next_start_timestamp_seconds - time()`, "{{schedule}}"}),
	}
}
