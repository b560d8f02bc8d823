package probe

import (
	"context"
	"errors"
	"fmt"

	"github.com/shirou/gopsutil/v3/mem"
)

var errNoTotal = errors.New("system states no total")

func readMemory(ctx context.Context, o Options) fill {
	host, err := mem.VirtualMemoryWithContext(ctx)
	if err == nil && host.Total == 0 {
		err = errNoTotal
	}
	if err != nil {
		return func(s *Snapshot) {
			s.absent(fmt.Errorf("read memory: %w", err), fieldRAM, fieldTotal, fieldSwap)
		}
	}
	swapUsed, swapErr := hostSwapUsed(ctx, host)
	groups, groupErr := readCgroups(o)
	return func(s *Snapshot) {
		available, by := host.Available, BoundedByHost
		if groups.hasFree && groups.free < available {
			available, by = groups.free, BoundedByCgroup
		}
		s.RAMAvailableGB, s.RAMBoundedBy = gb(available), by
		s.RAMTotalGB = gb(min(host.Total, groups.total()))
		switch {
		case groups.hasSwap:
			s.SwapUsedGB = gb(groups.swapUsed)
		case swapErr != nil:
			s.absent(fmt.Errorf("read swap: %w", swapErr), fieldSwap)
		default:
			s.SwapUsedGB = gb(swapUsed)
		}
		if groupErr != nil {
			s.absent(groupErr, fieldCgroup)
		}
	}
}
