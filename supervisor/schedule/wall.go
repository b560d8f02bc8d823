package schedule

import "time"

const secondsOfDay = 24 * 60 * 60

// date is a day of the calendar, as the number of days since 1 January 1970.
type date int64

func dateOf(t time.Time) date {
	y, m, d := t.Date()
	return date(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / secondsOfDay)
}

// begin is the first second of the day on a clock that shows UTC.
func (d date) begin() int64 { return int64(d) * secondsOfDay }

func (d date) fields() (m, dom, wd int) {
	t := time.Unix(d.begin(), 0).UTC()
	return int(t.Month()), t.Day(), int(t.Weekday())
}

// stretch is a time during which a zone keeps one offset from UTC, in seconds since 1970. The
// end is not part of it.
type stretch struct {
	from, to int64
	offset   int64
}

const (
	farPast    = -1 << 60
	farFuture  = 1 << 60
	dayAndMore = 36 * 60 * 60 // more than any zone is off UTC, and a day
)

func stretchAt(loc *time.Location, unix int64) stretch {
	t := time.Unix(unix, 0).In(loc)
	_, offset := t.Zone()
	s := stretch{from: farPast, to: farFuture, offset: int64(offset)}
	from, to := t.ZoneBounds()
	if !from.IsZero() {
		s.from = from.Unix()
	}
	if !to.IsZero() {
		s.to = to.Unix()
	}
	return s
}

// around are the stretches that may show times of the day d, in order.
func around(loc *time.Location, d date) []stretch {
	out := []stretch{stretchAt(loc, d.begin()-dayAndMore)}
	for {
		last := out[len(out)-1]
		if last.to > d.begin()+2*dayAndMore {
			return out
		}
		out = append(out, stretchAt(loc, last.to))
	}
}

// moment is when a clock shows something: an instant in seconds since 1970. Jumped means that
// no clock ever showed it, and the instant is the first after the jump over it.
type moment struct {
	unix   int64
	jumped bool
}

// moments are when a clock of the zone shows the second of the day d: at most one instant, or
// two when the clock was set back over it, or the end of a jump. There is none on a day that
// the zone left out as a whole. n is how many there are.
func moments(zone []stretch, d date, second int64) (at [2]moment, n int) {
	wall := d.begin() + second
	for i, s := range zone {
		unix := wall - s.offset
		switch {
		case unix >= s.to || n == len(at):
			continue
		case unix >= s.from:
			at[n] = moment{unix: unix}
			n++
		case n == 0:
			before := s.from + zone[max(0, i-1)].offset
			after := s.from + s.offset
			if before <= d.begin() && after >= d.begin()+secondsOfDay {
				return at, 0
			}
			at[0] = moment{unix: s.from, jumped: true}
			return at, 1
		}
	}
	return at, n
}
