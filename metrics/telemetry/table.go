package telemetry

import (
	"cmp"
	"slices"
	"time"

	"autopilot/metrics/ledger"
)

// Type is what a metric is.
type Type string

// Types of metrics.
const (
	Gauge   Type = "gauge"   // goes up and down
	Counter Type = "counter" // only goes up
	Info    Type = "info"    // always 1; its labels say something
)

// Metric describes one metric.
type Metric struct {
	Name   string // as Prometheus has it, _total and _info included
	Type   Type
	Unit   string // seconds, bytes, ratio or usd, which the name ends in; empty for a count
	Help   string
	Labels []string
}

// Metrics are all metrics in the order in which they are told.
func Metrics() []Metric {
	var out []Metric
	for _, m := range table() {
		out = append(out, m.Metric)
	}
	return out
}

// Bounds on what is told one by one.
const (
	maxRuns      = 200
	maxSchedules = 100
)

// metric is a metric and where its values come from.
type metric struct {
	Metric

	collect func(f Facts, to sink)
}

// sink takes a value with the values of the labels, in the order of the metric's labels.
type sink func(v float64, labels ...string)

func table() []metric {
	var all []metric
	for _, part := range [][]metric{ofProgram(), ofRuns(), ofRepositories(), ofMachine(), ofSchedules()} {
		all = append(all, part...)
	}
	return all
}

func gauge(name, unit, help string, labels []string, collect func(Facts, sink)) metric {
	return metric{Metric{name, Gauge, unit, help, labels}, collect}
}

func counter(name, unit, help string, labels []string, collect func(Facts, sink)) metric {
	return metric{Metric{name, Counter, unit, help, labels}, collect}
}

func info(name, help string, labels []string, collect func(Facts, sink)) metric {
	return metric{Metric{name, Info, "", help, labels}, collect}
}

func ofProgram() []metric {
	return []metric{
		info("autopilot_build_info", "Version of autopilot and of the Go that it was built with.", []string{"version", "goversion"}, func(f Facts, to sink) {
			to(1, f.Build.Version, f.Build.Go)
		}),
		gauge("autopilot_collected_timestamp_seconds", "seconds", "When these metrics were gathered.", nil, func(f Facts, to sink) { moment(to, f.At) }),
		gauge("autopilot_state_problems", "", "States of runs or projects that could not be read.", nil, func(f Facts, to sink) { to(float64(f.Problems)) }),
		gauge("autopilot_needs_person", "", "Questions, held calls, items put aside and runs to resume that wait for a person.", []string{"kind"}, func(f Facts, to sink) {
			for _, kind := range NeedKinds() {
				n := 0
				for _, need := range f.Needs {
					if need.Kind == kind {
						n += need.Count
					}
				}
				to(float64(n), kind)
			}
		}),
		gauge("autopilot_runs_active", "", "Runs, cohorts and their stories that are on.", []string{"state"}, func(f Facts, to sink) {
			for _, s := range States() {
				n := 0
				for _, r := range f.Runs {
					if r.State == s {
						n++
					}
				}
				to(float64(n), string(s))
			}
		}),
	}
}

// ofRun labels tell one run that is on from the others.
func ofRun(more ...string) []string {
	return append([]string{"repository", "run_id", "story"}, more...)
}

// eachRun makes a metric of the runs that are on.
func eachRun(one func(r Run, to sink)) func(Facts, sink) {
	return func(f Facts, to sink) {
		for _, r := range f.Runs[:min(len(f.Runs), maxRuns)] {
			one(r, func(v float64, labels ...string) { to(v, append([]string{r.Repository, r.ID, r.Story}, labels...)...) })
		}
	}
}

func ofRuns() []metric {
	return []metric{
		info("autopilot_run_info", "A run that is on.", ofRun("kind", "state"), eachRun(func(r Run, to sink) { to(1, string(r.Kind), string(r.State)) })),
		gauge("autopilot_run_start_timestamp_seconds", "seconds", "When a run that is on began.", ofRun(), eachRun(func(r Run, to sink) { moment(to, r.Started) })),
		gauge("autopilot_run_sessions", "", "Sessions that a run has begun, those of the runs that it continues included.", ofRun(), eachRun(func(r Run, to sink) { to(float64(r.Sessions)) })),
		gauge("autopilot_run_sessions_limit", "", "Sessions that a run may begin.", ofRun(), eachRun(func(r Run, to sink) {
			if r.MaxSessions > 0 {
				to(float64(r.MaxSessions))
			}
		})),
		gauge("autopilot_run_progress_ratio", "ratio", "How far the goals or tasks of a run are, from 0 to 1.", ofRun(), eachRun(func(r Run, to sink) {
			if p := r.Percent; p != nil && *p >= 0 && *p <= 100 {
				to(*p / 100)
			}
		})),
		gauge("autopilot_run_agents_limit", "", "Sub-agents that a run may have at once.", ofRun(), eachRun(func(r Run, to sink) {
			if r.Agents != nil {
				to(float64(*r.Agents))
			}
		})),
		gauge("autopilot_run_tier", "", "Tier of the machine that a run goes by: 1 for the one that holds, 0 for the others.", ofRun("tier"), eachRun(func(r Run, to sink) { tierSet(to, r.Tier) })),
		gauge("autopilot_run_tokens", "", "Tokens of a run so far by kind; in_flight are those of the session that runs, without cache reads.", ofRun("kind"), eachRun(func(r Run, to sink) {
			tokens(to, r.Tokens)
			to(float64(r.InFlight), "in_flight")
		})),
		gauge("autopilot_run_cost_usd", "usd", "What a run has cost so far, in US dollars.", ofRun(), eachRun(func(r Run, to sink) { to(r.CostUSD) })),
		gauge("autopilot_run_wait_end_timestamp_seconds", "seconds", "Until when a run waits for a limit of the API.", ofRun(), eachRun(func(r Run, to sink) { moment(to, r.WaitUntil) })),
	}
}

// eachRepository makes a metric of the ledgers.
func eachRepository(one func(r Repository, to sink)) func(Facts, sink) {
	return func(f Facts, to sink) {
		for _, r := range f.Repositories[:min(len(f.Repositories), maxRepositories)] {
			one(r, func(v float64, labels ...string) { to(v, append([]string{r.Name}, labels...)...) })
		}
	}
}

func ofRepositories() []metric {
	of := func(more ...string) []string { return append([]string{"repository"}, more...) }
	return []metric{
		counter("autopilot_runs_ended_total", "", "Runs that have ended, by what they were and why they ended.", of("kind", "cause"), eachRepository(func(r Repository, to sink) {
			for _, e := range sortedKeys(r.Ended, func(a, b Ending) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Cause, b.Cause)) }) {
				to(float64(r.Ended[e]), string(e.Kind), e.Cause)
			}
		})),
		counter("autopilot_sessions_ended_total", "", "Sessions that have ended, by how.", of("ending"), eachRepository(func(r Repository, to sink) { names(to, r.Sessions) })),
		counter("autopilot_killswitches_total", "", "Kill-switches that have ended a run, by reason.", of("reason"), eachRepository(func(r Repository, to sink) { names(to, r.Switches) })),
		counter("autopilot_tokens_total", "", "Tokens of runs that have ended by kind; unsorted are those of records that do not tell their kind.", of("kind"), eachRepository(func(r Repository, to sink) {
			tokens(to, r.Tokens)
			to(float64(r.Unsorted), "unsorted")
		})),
		counter("autopilot_cost_usd_total", "usd", "What runs that have ended have cost, in US dollars.", of(), eachRepository(func(r Repository, to sink) { to(r.CostUSD) })),
		counter("autopilot_run_duration_seconds_total", "seconds", "Wall clock of runs that have ended, waiting included.", of(), eachRepository(func(r Repository, to sink) { to(float64(r.Seconds)) })),
		counter("autopilot_limit_wait_seconds_total", "seconds", "Time in which runs that have ended waited for a limit of the API.", of(), eachRepository(func(r Repository, to sink) { to(float64(r.Waited)) })),
		counter("autopilot_suspended_seconds_total", "seconds", "Time in which the machine slept during runs that have ended.", of(), eachRepository(func(r Repository, to sink) { to(float64(r.Slept)) })),
		gauge("autopilot_last_run_timestamp_seconds", "seconds", "When the last run ended.", of(), eachRepository(func(r Repository, to sink) { moment(to, r.LastRun) })),
		gauge("autopilot_last_success_timestamp_seconds", "seconds", "When the last run that ended as wanted did so.", of(), eachRepository(func(r Repository, to sink) { moment(to, r.LastSuccess) })),
	}
}

func ofMachine() []metric {
	return []metric{
		gauge("autopilot_machine_memory_available_bytes", "bytes", "Memory that new work can have without swapping.", nil, func(f Facts, to sink) {
			if v := f.Machine.AvailableBytes; v != nil {
				to(*v)
			}
		}),
		gauge("autopilot_machine_swap_used_bytes", "bytes", "Swap in use.", nil, func(f Facts, to sink) {
			if v := f.Machine.SwapBytes; v != nil {
				to(*v)
			}
		}),
		gauge("autopilot_machine_peers", "", "Claude Code sessions on this machine that are nobody's of a run.", nil, func(f Facts, to sink) {
			if n := f.Machine.Peers; n != nil {
				to(float64(*n))
			}
		}),
		gauge("autopilot_machine_tier", "", "Tier of the machine: 1 for the one that holds, 0 for the others.", []string{"tier"}, func(f Facts, to sink) { tierSet(to, f.Machine.Tier) }),
	}
}

func ofSchedules() []metric {
	each := func(one func(s Schedule, to sink)) func(Facts, sink) {
		return func(f Facts, to sink) {
			for _, s := range f.Schedules[:min(len(f.Schedules), maxSchedules)] {
				one(s, func(v float64, _ ...string) { to(v, s.Name) })
			}
		}
	}
	of := []string{"schedule"}
	return []metric{
		gauge("autopilot_schedule_last_start_timestamp_seconds", "seconds", "When a schedule has started a run last.", of, each(func(s Schedule, to sink) { moment(to, s.LastStart) })),
		gauge("autopilot_schedule_next_start_timestamp_seconds", "seconds", "When a schedule starts a run next.", of, each(func(s Schedule, to sink) { moment(to, s.NextStart) })),
		gauge("autopilot_schedule_missed", "", "1 when nothing was started at the last time of a schedule, else 0.", of, each(func(s Schedule, to sink) {
			if s.Missed != nil {
				v := 0.0
				if *s.Missed {
					v = 1
				}
				to(v)
			}
		})),
	}
}

// moment tells a time that is known.
func moment(to sink, t time.Time) {
	if t.Year() > 1970 && t.Year() < 10_000 {
		to(float64(t.UnixMilli()) / 1000)
	}
}

// tierSet tells each tier, and none when it is not known which one holds.
func tierSet(to sink, holds string) {
	if !slices.Contains(Tiers(), holds) {
		return
	}
	for _, t := range Tiers() {
		v := 0.0
		if t == holds {
			v = 1
		}
		to(v, t)
	}
}

func tokens(to sink, t ledger.Tokens) {
	to(float64(t.Input), "input")
	to(float64(t.Output), "output")
	to(float64(t.CacheCreation), "cache_creation")
	to(float64(t.CacheRead), "cache_read")
}

func names(to sink, m map[string]int64) {
	for _, name := range sortedKeys(m, cmp.Compare[string]) {
		to(float64(m[name]), name)
	}
}
