package probe

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

var errNoPSI = errors.New("macOS keeps no such account")

// readPressure asks for the level that the system's own memory_pressure program
// prints as the percentage of free memory.
func readPressure(context.Context, Options) fill {
	level, err := unix.SysctlUint32("kern.memorystatus_level")
	return func(s *Snapshot) {
		if err != nil {
			s.absent(fmt.Errorf("read memory pressure: %w", err), fieldPressure)
			return
		}
		v := float64(level)
		s.MemoryPressurePctFree = &v
	}
}

func readPSI(context.Context, Options) fill {
	return func(s *Snapshot) { s.absent(errNoPSI, fieldPSI) }
}
