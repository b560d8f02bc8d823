package job

import (
	"encoding/json"
	"path/filepath"
	"time"

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

// Forecast says what a run towards the goals will take, from earlier runs.
func (j Job) Forecast() (forecast.Expectation, error) {
	all, err := j.Place.Runs()
	if err != nil {
		return forecast.Expectation{}, err
	}
	return forecast.Make(all.Samples(), j.Size(), forecast.Limits{
		Sessions: j.Cfg.MaxSessions, Seconds: j.Cfg.MaxHours * time.Hour.Seconds(), Tokens: float64(j.Cfg.MaxTokens), CostUSD: j.Cfg.MaxCostUSD,
	}), nil
}
