package vitals

import (
	"fmt"
	"os"
	"slices"
	"time"

	"autopilot/probe/proctree"
	"autopilot/sessions/outcome"
)

const (
	// maxLook is the longest time between two looks at a running session.
	maxLook = 30 * time.Second
	// leastLook bounds how often very short limits are checked.
	leastLook = 20 * time.Millisecond
	// sleepGap is how much later than planned a look may come before the
	// machine, or the supervisor, must have been asleep; half a limit is enough
	// where that is shorter.
	sleepGap = 30 * time.Second
	// leastWindow is the shortest time over which CPU time is judged.
	leastWindow = 2 * time.Second
	// busyShare is the share of one processor above which a session's tree is
	// at work. An idle CLI stays far below, with its timers.
	busyShare = 0.1
)

// Limits bound a process.
type Limits struct {
	Stall     time.Duration // no sign of life while the model works; 0 is no limit
	ToolStall time.Duration // no sign of life while a tool runs; never shorter than Stall
	Session   time.Duration // the whole session, over all its processes; 0 is no limit
	ExitGrace time.Duration // from the last result to the exit of the process
}

// Clock follows the signs of life of one process.
type Clock struct {
	pid         int
	transcripts []string
	limits      Limits
	alive       time.Time // last sign of life of any kind
	active      time.Time // last event of the stream that was taken into account
	planned     time.Time // when the next look was due
	resultAt    time.Time // when the last result came; zero while a turn runs
	sample      sample
}

type sample struct {
	at    time.Time
	procs []proctree.Process // the tree
	size  int64
}

// ready reports whether a process of the tree has or wants a processor. On a
// machine that is too busy to give it one, that is work too.
func (s sample) ready() bool {
	return slices.ContainsFunc(s.procs, func(p proctree.Process) bool { return p.State == 'R' })
}

// Signs are what the stream says at the moment of a look.
type Signs struct {
	Active  time.Time // last event that counts; zero before the first
	InTool  bool      // a tool call is open
	Started time.Time // start of the session, moved on by the waits between its processes
}

// New starts the clock of a process. The transcripts are the files and folders
// whose growth counts as a sign of life.
func New(pid int, now time.Time, l Limits, transcripts []string) *Clock {
	return &Clock{pid: pid, alive: wall(now), limits: l, transcripts: transcripts}
}

// Result notes that a result was printed: from now on only the exit is waited for.
func (c *Clock) Result(now time.Time) { c.resultAt = wall(now) }

// Working notes that a further turn began.
func (c *Clock) Working() { c.resultAt = time.Time{} }

// wall drops the monotonic reading, which stands still while a machine sleeps.
func wall(t time.Time) time.Time { return t.Round(0) }

// Look decides whether the process must be ended, and why.
func (c *Clock) Look(now time.Time, g Signs) (outcome.Stop, string) {
	l := c.limits
	now = wall(now)
	c.notAfter(now)
	limit, clock := l.Stall, "stall-timeout"
	if g.InTool {
		limit, clock = max(l.ToolStall, l.Stall), "tool-stall-timeout"
	}
	if late := now.Sub(c.planned); !c.planned.IsZero() && (late > sleepGap || limit > 0 && late > limit/2) {
		c.alive = now
	}
	if !g.Active.Equal(c.active) {
		c.active = g.Active
		if a := wall(g.Active); a.After(c.alive) && !a.After(now) {
			c.alive = a
		}
	}
	if !c.resultAt.IsZero() {
		if now.Sub(wall(c.resultAt)) >= l.ExitGrace {
			return outcome.StopLinger, fmt.Sprintf("the process did not exit within %v after its last result", l.ExitGrace)
		}
		return outcome.StopNone, ""
	}
	if l.Session > 0 && now.Sub(wall(g.Started)) >= l.Session {
		return outcome.StopTimeout, fmt.Sprintf("session-timeout %v reached", l.Session)
	}
	silent := now.Sub(c.alive)
	if limit <= 0 || silent < quietBefore(limit) {
		return outcome.StopNone, ""
	}
	c.takeSample(now, limit)
	silent = now.Sub(c.alive)
	if silent >= limit {
		return outcome.StopHung, fmt.Sprintf("no event, no transcript growth and no CPU for %v >= %s=%v", silent.Round(time.Second), clock, limit)
	}
	return outcome.StopNone, ""
}

// notAfter takes back moments that lie in the future because the clock was set
// back: they would lengthen every limit by as much.
func (c *Clock) notAfter(now time.Time) {
	if c.alive.After(now) {
		c.alive = now
	}
	if c.resultAt.After(now) {
		c.resultAt = now
	}
}

// quietBefore is how long the stream is silent before the process tree and the
// transcript are looked at: most sessions never get there.
func quietBefore(limit time.Duration) time.Duration { return limit / 3 }

// window is how long CPU time is added up before it is judged: an idle CLI works
// in short bursts.
func window(limit time.Duration) time.Duration { return max(limit/4, leastWindow) }

// takeSample looks at the processes and the transcript size and compares them with
// the sample that began the window.
func (c *Clock) takeSample(now time.Time, limit time.Duration) {
	cur := sample{at: now, size: c.transcriptSize()}
	if table, err := proctree.Take(proctree.Root); err == nil {
		cur.procs = table.Descendants(c.pid)
		if p, ok := table.Get(c.pid); ok {
			cur.procs = append(cur.procs, p)
		}
	}
	first := c.sample
	if first.at.Before(c.alive) || first.at.After(now) {
		c.sample = cur
		return
	}
	passed := cur.at.Sub(first.at)
	if passed < window(limit) && now.Sub(c.alive) < limit && cur.size == first.size {
		return
	}
	c.sample = cur
	worked := float64(proctree.Worked(first.procs, cur.procs)) > busyShare*float64(passed)
	if worked || first.ready() && cur.ready() || cur.size != first.size {
		c.alive = now
	}
}

// Next is the time until the process has to be looked at again; at most is an
// upper bound of the caller's, 0 for none.
func (c *Clock) Next(now time.Time, atMost time.Duration) time.Duration {
	d := maxLook
	if atMost > 0 {
		d = min(d, atMost)
	}
	for _, l := range []time.Duration{c.limits.Stall, c.limits.ToolStall, c.limits.Session} {
		if l > 0 {
			d = min(d, max(l/6, leastLook))
		}
	}
	if !c.resultAt.IsZero() {
		d = min(d, max(c.limits.ExitGrace/6, leastLook))
	}
	c.planned = wall(now).Add(d)
	return d
}

func (c *Clock) transcriptSize() int64 {
	var n int64
	for _, name := range c.transcripts {
		fi, err := os.Stat(name)
		if err != nil {
			continue
		}
		n += fi.Size()
		if !fi.IsDir() {
			continue
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if fi, err := e.Info(); err == nil {
				n += fi.Size()
			}
		}
	}
	return n
}
