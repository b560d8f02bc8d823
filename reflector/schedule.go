package reflector

// Trigger says why a reflection is due.
type Trigger string

// The triggers, in the order in which they are looked for.
const (
	NotDue     Trigger = ""
	ByClaim    Trigger = "claim"       // the session says that nothing is left to do
	ByLoop     Trigger = "loop"        // the same calls again and again
	ByIdleness Trigger = "no-progress" // sessions without any effect
	ByInterval Trigger = "interval"
	BeforeLast Trigger = "before-last" // only one more session is allowed
	AtEnd      Trigger = "at-end"      // no further session is allowed
)

// MaxInterval is the largest number of sessions between two reflections that a
// smaller base value grows to.
const MaxInterval = 20

const idleUntilDue = 2 // sessions

// Moment is what decides whether a reflection is due.
type Moment struct {
	Since    int  // sessions since the last reflection, at least 1
	Interval int  // 0 switches all but claims off
	Claimed  bool // the last session says that it is done
	LoopSeen bool
	Idle     int // sessions in a row without any effect
	Left     int // sessions that are still allowed
}

// Due says whether a reflection is due after a session, and why.
func Due(m Moment) Trigger {
	switch {
	case m.Claimed:
		return ByClaim
	case m.Interval <= 0:
		return NotDue
	case m.LoopSeen:
		return ByLoop
	case m.Idle >= idleUntilDue:
		return ByIdleness
	case m.Since >= m.Interval:
		return ByInterval
	case m.Left == 1:
		return BeforeLast
	case m.Left == 0:
		return AtEnd
	}
	return NotDue
}

// NextInterval is the number of sessions until the next reflection: when it goes
// well, twice the base value, at most MaxInterval but never less than the base
// itself; else half of it, rounded down, at least 1. It is 0 when base is 0 or less.
func NextInterval(base int, a Assessment) int {
	switch {
	case base <= 0:
		return 0
	case a.Progress == Good && !a.LoopDetected:
		return max(base, min(2*base, MaxInterval))
	default:
		return max(base/2, 1)
	}
}

// Series is what is remembered from one reflection to the next.
type Series struct {
	Slow     int     `json:"slow_in_row"` // reflections in a row that found progress slow or worse
	Stuck    int     `json:"stuck_in_row"`
	Failed   int     `json:"failed_in_row"` // reflections in a row that came to nothing
	Interval int     `json:"interval"`      // sessions until the next one
	Percent  float64 `json:"percent"`
}

// After returns the series with one more assessment. Slow and stuck end with a
// good one, stuck with a slow one as well.
func (s Series) After(a Assessment, base int) Series {
	s.Failed, s.Percent, s.Interval = 0, a.PercentComplete, NextInterval(base, a)
	switch a.Progress {
	case Slow:
		s.Slow, s.Stuck = s.Slow+1, 0
	case Stuck:
		s.Slow, s.Stuck = s.Slow+1, s.Stuck+1
	default:
		s.Slow, s.Stuck = 0, 0
	}
	return s
}
