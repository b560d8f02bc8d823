package peer

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/shirou/gopsutil/v3/common"
	"github.com/shirou/gopsutil/v3/process"

	"autopilot/probe/internal/procfile"
)

// candidates is the first pass: one cheap read for every process, in order of
// pid. The names of most rule them out.
func candidates(ctx context.Context, root string) ([]int, error) {
	// Named in the context, so that the library's own environment variable
	// cannot send it to another folder than us.
	env := common.EnvMap{common.HostProcEnvKey: root}
	pids, err := process.PidsWithContext(context.WithValue(ctx, common.EnvKey, env))
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []int
	buf := make([]byte, 64)
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		comm, err := procfile.Read(root+"/"+strconv.Itoa(int(pid))+"/comm", buf)
		if err != nil {
			continue // it has ended, or is hidden from us
		}
		if kindOf(string(bytes.TrimSuffix(comm, []byte("\n")))) != other {
			found = append(found, int(pid))
		}
	}
	return found, nil
}
