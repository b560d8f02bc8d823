package start

import (
	"context"
	"errors"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
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
