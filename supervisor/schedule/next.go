package schedule

import (
	"iter"
	"math/bits"
	"slices"
	"time"
)

// horizon is how far Next and Last look. 29 February can be eight years away.
const horizon = 9 * 366

// plan is a spec that has been read.
type plan struct {
	lines []pattern
	loc   *time.Location
	until int64 // second of the day; -1 for none
}

func (s Spec) plan() (plan, bool) {
	loc, err := s.location()
	if err != nil {
		return plan{}, false
	}
	p := plan{loc: loc, until: -1}
	for _, text := range s.Cron {
		lines, err := readCron(text)
		if err != nil {
			return plan{}, false
		}
		p.lines = append(p.lines, lines...)
	}
	if s.Until != "" {
		h, m, err := timeOfDay(s.Until)
		if err != nil {
			return plan{}, false
		}
		p.until = int64(h*60+m) * 60
	}
	return p, true
}

// Next is the first instant after the given one at which something begins, in the zone of the
// spec. It is false for a spec that never begins or cannot be read.
func (s Spec) Next(after time.Time) (time.Time, bool) {
	p, ok := s.plan()
	if !ok {
		return time.Time{}, false
	}
	return p.next(after)
}

// Last is the last instant not after now at which something was to begin, in the zone of the
// spec. It is false when nothing was in the nine years before, or the spec cannot be read.
func (s Spec) Last(now time.Time) (time.Time, bool) {
	p, ok := s.plan()
	if !ok {
		return time.Time{}, false
	}
	return p.last(now)
}

// Between are the instants at which something begins, after from and not after to, in order.
func (s Spec) Between(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		p, ok := s.plan()
		if !ok {
			return
		}
		previous := from
		for d := dateOf(from.In(p.loc)) - 1; d <= dateOf(to.In(p.loc))+1; d++ {
			for _, m := range p.on(d) {
				t := time.Unix(m.unix, 0).In(p.loc)
				if !t.After(previous) {
					continue
				}
				if t.After(to) || !yield(t) {
					return
				}
				previous = t
			}
		}
	}
}

// Jumped are the instants after from and not after to at which something begins only because
// the clocks jump over its time of day. Programs that leave such a time out have to be told
// these one by one.
func (s Spec) Jumped(from, to time.Time) []time.Time {
	p, ok := s.plan()
	if !ok {
		return nil
	}
	var out []time.Time
	for at := stretchAt(p.loc, from.Unix()); at.to <= to.Unix(); {
		jump := time.Unix(at.to, 0).In(p.loc)
		if p.jumpsTo(jump) {
			out = append(out, jump)
		}
		at = stretchAt(p.loc, at.to)
	}
	return out
}

// jumpsTo reports that something begins at the end of a jump of the clocks, which they do not
// show as one of its times.
func (p plan) jumpsTo(jump time.Time) bool {
	found := false
	d := dateOf(jump)
	for _, m := range slices.Concat(p.on(d-1), p.on(d)) {
		if m.unix == jump.Unix() {
			if !m.jumped {
				return false
			}
			found = true
		}
	}
	return found
}

func (p plan) next(after time.Time) (time.Time, bool) {
	from := dateOf(after.In(p.loc)) - 1
	for d := from; d < from+horizon; d++ {
		for _, m := range p.on(d) {
			if t := time.Unix(m.unix, 0).In(p.loc); t.After(after) {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

func (p plan) last(now time.Time) (time.Time, bool) {
	from := dateOf(now.In(p.loc)) + 1
	for d := from; d > from-horizon; d-- {
		for _, m := range slices.Backward(p.on(d)) {
			if t := time.Unix(m.unix, 0).In(p.loc); !t.After(now) {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

// on is when something begins by the times of the day d, in order. Several may fall on the
// same instant.
func (p plan) on(d date) []moment {
	t := p.times(d)
	if t == (times{}) {
		return nil
	}
	zone := around(p.loc, d)
	out := make([]moment, 0, t.count())
	for h, minutes := range t {
		for ; minutes != 0; minutes &= minutes - 1 {
			m := bits.TrailingZeros64(minutes)
			if at, n := moments(zone, d, int64(h*60+m)*60); n > 0 {
				out = append(out, at[0])
			}
		}
	}
	return out
}

// times are the times of day on the day d.
func (p plan) times(d date) times {
	m, dom, wd := d.fields()
	var t times
	for _, l := range p.lines {
		if l[month]&(1<<m) != 0 && l[day]&(1<<dom) != 0 && l[weekday]&(1<<wd) != 0 {
			t.add(l)
		}
	}
	return t
}

// End is the first instant after start at which a clock in the zone of the spec shows Until or
// jumps over it. It is false when the spec has no Until. A window that lies inside of a jump of
// the clocks has no length: its end is its start.
func (s Spec) End(start time.Time) (time.Time, bool) {
	p, ok := s.plan()
	if !ok || p.until < 0 {
		return time.Time{}, false
	}
	d := dateOf(start.In(p.loc))
	if p.swallowed(start, d) {
		return start.In(p.loc), true
	}
	var end time.Time
	for day := d - 1; day <= d+3; day++ {
		at, n := moments(around(p.loc, day), day, p.until)
		for _, m := range at[:n] {
			t := time.Unix(m.unix, 0).In(p.loc)
			if t.After(start) && (end.IsZero() || t.Before(end)) {
				end = t
			}
		}
	}
	return end, !end.IsZero()
}

// swallowed reports that start is the end of a jump over times of the spec, and that Until comes
// after them and is not later than that end.
func (p plan) swallowed(start time.Time, d date) bool {
	if start.Nanosecond() != 0 || !p.jumpsTo(start.In(p.loc)) {
		return false
	}
	for _, day := range []date{d, d - 1} {
		zone := around(p.loc, day)
		latest := int64(-1)
		for h, minutes := range p.times(day) {
			for _, m := range members(minutes) {
				second := int64(h*60+m) * 60
				if at, n := moments(zone, day, second); n > 0 && at[0].unix == start.Unix() {
					latest = second
				}
			}
		}
		if latest < 0 {
			continue
		}
		end, n := moments(zone, day, p.until)
		return p.until > latest && n == 1 && end[0].unix == start.Unix()
	}
	return false
}
