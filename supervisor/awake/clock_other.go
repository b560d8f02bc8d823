//go:build !linux

package awake

import "golang.org/x/sys/unix"

// sleepless goes on in sleep on macOS, other than the clock of that name on Linux.
const sleepless = unix.CLOCK_MONOTONIC
