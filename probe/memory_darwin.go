package probe

import (
	"context"

	"github.com/shirou/gopsutil/v3/mem"
)

func hostSwapUsed(ctx context.Context, _ *mem.VirtualMemoryStat) (uint64, error) {
	swap, err := mem.SwapMemoryWithContext(ctx)
	if err != nil {
		return 0, err
	}
	return swap.Used, nil
}
