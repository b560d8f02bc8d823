package schedule

import (
	"fmt"
	"slices"
	"time"
)

const (
	earlyBy   = 2 * time.Minute   // what a timer may be off
	lateBy    = time.Hour         // without a window
	wrongBy   = 24 * time.Hour    // a last time further ahead was written by a wrong clock
	missedMax = 30                // times that are named
	whenForm  = "Mon 2 Jan 15:04" // in the zone of the spec
)

// Reason is why a time is taken or not.
type Reason string

// Reasons. The first three begin something.
const (
	Due     Reason = "due"
	Early   Reason = "early"    // up to two minutes ahead of its time
	Late    Reason = "late"     // more than two minutes after its time
	Taken   Reason = "taken"    // this time was decided before
	Closed  Reason = "closed"   // its window is over
	TooLate Reason = "too late" // it has no window, and more than an hour has passed
	NotYet  Reason = "not yet"  // no time of the spec has come
)

// Decision is what to do when something was woken for a schedule.
type Decision struct {
	Start  bool
	Reason Reason
	// Nominal is the time that this is about, in the zone of the spec. Whoever acts writes it
	// down as the last one, also when nothing begins because it is too late: that is how each
	// time is taken and told of once. Zero when no time has come.
	Nominal time.Time
	Until   time.Time     // by when it has to be over; zero for never
	Late    time.Duration // how much after Nominal it is, not less than 0
	Missed  []time.Time   // times between the last one and Nominal, in order; the latest 30
	Why     string        // for a person, without a dot
}

// Decide says whether something begins now. last is the nominal time that was decided last, or
// when the schedule was installed; zero when neither is known, and then nothing counts as missed.
//
// A time is taken once: whoever comes for it again gets Taken, also after the clock went back. A
// last time more than a day ahead of now is not believed. Somebody who comes up to two minutes
// early, or up to half the way from the time before where that is less, comes for the next time.
// Late is all right until the window is over, or for an hour where there is none.
func Decide(s Spec, now, last time.Time) Decision {
	p, ok := s.plan()
	if !ok {
		return Decision{Reason: NotYet, Why: "the times of the schedule cannot be read"}
	}
	if last.After(now.Add(wrongBy)) {
		last = time.Time{}
	}
	previous, came := p.last(now)
	nominal := previous
	if next, ok := p.next(now); ok && next.After(last) {
		margin := earlyBy
		if came {
			margin = min(margin, next.Sub(previous)/2)
		}
		if next.Sub(now) <= margin {
			nominal, came = next, true
		}
	}
	if !came {
		return Decision{Reason: NotYet, Why: "no time of the schedule has come yet"}
	}
	d := Decision{Nominal: nominal, Late: max(0, now.Sub(nominal))}
	d.Until, _ = s.End(nominal)
	if !nominal.After(last) {
		d.Reason, d.Why = Taken, nominal.Format(whenForm)+" was decided already"
		return d
	}
	if !last.IsZero() {
		d.Missed = p.missed(last, nominal)
	}
	d.judge(now)
	return d
}

// judge fills in what becomes of a time that nobody has taken.
func (d *Decision) judge(now time.Time) {
	when := d.Nominal.Format(whenForm)
	switch {
	case !d.Until.IsZero() && !now.Before(d.Until):
		d.Reason = Closed
		d.Why = fmt.Sprintf("%s is %s ago, and the window was over at %s", when, roughly(d.Late), d.Until.Format(whenForm))
	case d.Until.IsZero() && d.Late > lateBy:
		d.Reason = TooLate
		d.Why = fmt.Sprintf("%s is %s ago", when, roughly(d.Late))
	case now.Before(d.Nominal):
		d.Start, d.Reason = true, Early
		d.Why = "it is about to be " + when
	case d.Late > earlyBy:
		d.Start, d.Reason = true, Late
		d.Why = fmt.Sprintf("%s is %s ago", when, roughly(d.Late))
		if !d.Until.IsZero() {
			d.Why += ", and the window is open until " + d.Until.Format(whenForm)
		}
	default:
		d.Start, d.Reason = true, Due
		d.Why = "it is " + when
	}
}

// missed are the times between two others, the latest ones when they are too many.
func (p plan) missed(after, before time.Time) []time.Time {
	var out []time.Time
	for len(out) < missedMax {
		t, ok := p.last(before.Add(-time.Nanosecond))
		if !ok || !t.After(after) {
			break
		}
		out = append(out, t)
		before = t
	}
	slices.Reverse(out)
	return out
}

// roughly writes a duration as 3d 4h, 2h 5m or 7m.
func roughly(d time.Duration) string {
	minutes := int(d.Round(time.Minute) / time.Minute)
	switch hours := minutes / 60; {
	case hours >= 48:
		return fmt.Sprintf("%dd %dh", hours/24, hours%24)
	case hours > 0:
		return fmt.Sprintf("%dh %dm", hours, minutes%60)
	}
	return fmt.Sprintf("%dm", minutes)
}
