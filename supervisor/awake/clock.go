package awake

import (
	"time"

	"golang.org/x/sys/unix"
)

// read takes a reading. Where the clock that goes on in sleep cannot be read, the wall
// clock stands for it, and a clock that was set looks like sleep.
func read() Reading {
	wall := time.Now().Round(0)
	var ts unix.Timespec
	if err := unix.ClockGettime(sleepless, &ts); err != nil {
		return Reading{Wall: wall, Passed: time.Duration(wall.UnixNano())}
	}
	return Reading{Wall: wall, Passed: time.Duration(ts.Nano())}
}
