package awake

import (
	"context"
	"time"
)

const (
	every = 2 * time.Second
	// Noticed is the least gap that is told. A machine that swaps can hold a process up
	// for some seconds.
	Noticed = 10 * time.Second
)

// Reading is what the clocks said at one moment.
type Reading struct {
	Wall   time.Time     // without a monotonic part
	Passed time.Duration // since some start, sleep included; nobody can set it
}

// Gap is time that is missing between two readings.
type Gap struct {
	From, To time.Time     // of the wall clock
	Slept    time.Duration // in which nothing ran; 0 when nothing is missing
	Set      time.Duration // by which the wall clock was set forward, or back when negative
}

// Between says what is missing between two readings that were meant to be a pause apart.
// What is shorter than Noticed is 0.
func Between(a, b Reading, pause time.Duration) Gap {
	g := Gap{From: a.Wall, To: b.Wall}
	passed := b.Passed - a.Passed
	if slept := passed - pause; slept >= Noticed {
		g.Slept = slept
	}
	if set := b.Wall.Sub(a.Wall) - passed; set.Abs() >= Noticed {
		g.Set = set
	}
	return g
}

// Watch calls told for each gap until the context ends. It returns then.
func Watch(ctx context.Context, told func(Gap)) {
	last := read()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := read()
		if g := Between(last, now, every); g.Slept != 0 || g.Set != 0 {
			told(g)
		}
		last = now
	}
}
