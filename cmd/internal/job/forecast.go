package job

import (
	"encoding/json"
	"path/filepath"
	"time"

	"autopilot/cmd/internal/night"
	"autopilot/metrics/forecast"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/metrics/stats"
	"autopilot/reflector/goal"
)

// Runs reads all runs of the ledger. Lines that do not parse are passed
// over; 'doctor' names them.
func (p Place) Runs() (*stats.Collector, error) {
	all := stats.Collector{Size: func(text string) int { return goal.Analyse(text).Size }}
	err := journal.Each(filepath.Join(p.MetricsDir(), ledger.RunsFile), func(_ int, line []byte) error {
		var r ledger.Run
		if json.Unmarshal(line, &r) == nil && r.AutopilotRunID != "" {
			all.Add(r)
		}
		return nil
	})
	return &all, err
}

// Foresees reports whether anything can be said of what the run will take.
func (j Job) Foresees() bool { return len(j.Goals) > 0 || j.OnQueue() }

// Forecast says what the run will take, as numbers and in words: a run towards goals from
// earlier runs, one through the queue from how many tasks are open there.
func (j Job) Forecast() (ledger.Forecast, string, error) {
	all, err := j.Place.Runs()
	if err != nil {
		return ledger.Forecast{}, "", err
	}
	limits := forecast.Limits{
		Sessions: j.Cfg.MaxSessions, Seconds: j.Cfg.MaxHours * time.Hour.Seconds(), Tokens: float64(j.Cfg.MaxTokens), CostUSD: j.Cfg.MaxCostUSD,
	}
	if j.OnQueue() {
		g := forecast.Cold(forecast.Work{Parts: night.Parts(j.Source), Model: j.Cfg.Model}, all.Samples(), limits)
		return g.Forecast, g.Text(), nil
	}
	e := forecast.Make(all.Samples(), j.Size(), limits)
	return e.Forecast, e.Text(), nil
}

// OnQueue reports whether the job works through the queue.
func (j Job) OnQueue() bool { return night.OnQueue(j.Source) }
