package cli

import (
	"context"

	"autopilot/cmd/internal/cli/judgecmd"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/judge"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/mode"
	"autopilot/supervisor/source"
	"autopilot/supervisor/suitability"
)

// liveSignals are the signals of the repository that a command was started in.
func liveSignals(std outside.Stdio) judgecmd.Live {
	return judgecmd.Live{
		Suitability: func(ctx context.Context) (suitability.Signals, []string, error) {
			p, err := job.SetUp(ctx, std, nil)
			if err != nil {
				return suitability.Signals{}, nil, err
			}
			lifecycle := source.HasLifecycle(p.Repo.Top)
			var signals *mode.Signals
			if lifecycle {
				signals, _ = judge.Mode(ctx, std, p)
			}
			sure := judge.Confidence(signals, lifecycle)
			s, notes := judge.Suitability(ctx, std, p, &sure, job.TakeSnapshot)
			return s, notes, nil
		},
		Mode: func(ctx context.Context) (*mode.Signals, []string, error) {
			p, err := job.SetUp(ctx, std, nil)
			if err != nil {
				return nil, nil, err
			}
			s, notes := judge.Mode(ctx, std, p)
			return s, notes, nil
		},
	}
}
