package start

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/metrics/stats"
	"autopilot/reflector/goal"
	"autopilot/supervisor"
)

// RecoverDead finishes runs whose supervisor was killed. It does nothing when a
// run is on, or when no run is open.
func RecoverDead(ctx context.Context, p job.Place, project statedir.Project) ([]supervisor.Recovered, error) {
	open, err := supervisor.OpenRuns(project)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	past, cancel := context.WithDeadline(ctx, time.Now())
	defer cancel()
	lock, err := statedir.Acquire(past, p.LockPath(), statedir.Holder{})
	if _, held := errors.AsType[*statedir.HeldError](err); held {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Release() }()
	ledgers, err := ledger.Open(p.MetricsDir())
	if err != nil {
		return nil, err
	}
	defer func() { _ = ledgers.Close() }()
	return supervisor.Recover(project, ledgers)
}

// Collect reads all runs of the ledger. Lines that do not parse are passed
// over; 'doctor' names them.
func Collect(p job.Place) (*stats.Collector, error) {
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
