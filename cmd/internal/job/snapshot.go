package job

import (
	"context"
	"io"
	"os"

	"autopilot/cmd/internal/outside"
	"autopilot/probe"
)

// TakeSnapshot measures this machine.
func TakeSnapshot(ctx context.Context) probe.Snapshot {
	return probe.Take(ctx, probe.Options{Self: os.Getpid()})
}

// ReadSnapshot reads the state of a machine from a file, - for stdin.
func ReadSnapshot(std outside.Stdio, file string) (probe.Snapshot, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = io.ReadAll(io.LimitReader(std.In, 1<<20))
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return probe.Snapshot{}, outside.Usage("read snapshot: %v", err)
	}
	s, err := probe.ParseSnapshot(data)
	if err != nil {
		return s, outside.UsageHint("the fields are ram_available_gb, swap_used_gb, peers, memory_pressure_pct_free: each a number or null",
			"snapshot %s: %v", file, err)
	}
	return s, nil
}
