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

// Started is when the machine was started, by its present clock on the wall. It is not known
// where the clock that goes on in sleep cannot be read.
func Started() (at time.Time, known bool) {
	r := read()
	if r.Passed == time.Duration(r.Wall.UnixNano()) {
		return time.Time{}, false
	}
	return r.Wall.Add(-r.Passed), true
}
