package start

import (
	"context"
	"errors"
	"time"

	"autopilot/cmd/internal/courier"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/stories"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
)

// RecoverDead finishes runs whose supervisor was killed. It does nothing when a
// run is on, or when no run is open.
func RecoverDead(ctx context.Context, std outside.Stdio, p job.Place, project statedir.Project) ([]supervisor.Recovered, error) {
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
	recovered, err := supervisor.Recover(project, ledgers, stories.Mend(p, std, ledgers))
	if at, bad := p.Night(false); bad == nil {
		tellLate(at, ended(project, recovered))
	}
	return recovered, err
}

// ended are the states of runs that were recovered, as far as they can be read.
func ended(project statedir.Project, recovered []supervisor.Recovered) []supervisor.State {
	var out []supervisor.State
	for _, r := range recovered {
		if st, err := supervisor.LoadState(project.RunDir(r.RunID)); err == nil {
			out = append(out, st)
		}
	}
	return out
}

// tellLate keeps for others how runs ended that could not say so themselves. What cannot
// be kept is only not told.
func tellLate(at night.Night, ended []supervisor.State) {
	for _, st := range ended {
		_ = courier.Late(at, st)
	}
}
