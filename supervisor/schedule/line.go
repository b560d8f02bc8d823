package schedule

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// Line is one line of a calendar: it fits a minute when each of its parts names it. A part that
// is empty names all. Days and Weekdays are never both given.
type Line struct {
	Minutes  []int // 0 to 59
	Hours    []int // 0 to 23
	Days     []int // of the month, 1 to 31
	Months   []int // 1 to 12
	Weekdays []int // 0 is Sunday, 6 Saturday
}

// String is the line in the five fields of crontab(5), in its normal form: numbers in order,
// three and more in a row as a range, steps only over a whole hour or day.
func (l Line) String() string { return l.pattern().String() }

// Lines are the lines of the spec, in the order of Cron.
func (s Spec) Lines() ([]Line, error) {
	var out []Line
	for _, text := range s.Cron {
		all, err := readCron(text)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			out = append(out, p.line())
		}
	}
	return out, nil
}

// Normal says the same as lines with as few of them as it can, always in the same way.
// Lines that never fit a date are left out.
func Normal(lines []Line) []Line {
	all := make([]pattern, len(lines))
	for i, l := range lines {
		all[i] = l.pattern()
	}
	var out []Line
	for _, p := range normal(all) {
		out = append(out, p.line())
	}
	return out
}

// pattern is a line as sets of bits, one for each field; all bits of a field are set when any
// value will do.
type pattern [5]uint64

const (
	minute = iota
	hour
	day
	month
	weekday
)

const (
	minutesOfHour = 60
	hoursOfDay    = 24
	daysOfMonth   = 31
	monthsOfYear  = 12
	daysOfWeek    = 7
)

// whole is the field with every value that it can have.
func whole(field int) uint64 {
	switch field {
	case minute:
		return 1<<minutesOfHour - 1
	case hour:
		return 1<<hoursOfDay - 1
	case day:
		return (1<<daysOfMonth - 1) << 1
	case month:
		return (1<<monthsOfYear - 1) << 1
	default:
		return 1<<daysOfWeek - 1
	}
}

func everything() pattern {
	return pattern{whole(minute), whole(hour), whole(day), whole(month), whole(weekday)}
}

func (l Line) pattern() pattern {
	p := everything()
	for i, values := range [][]int{l.Minutes, l.Hours, l.Days, l.Months, l.Weekdays} {
		if len(values) > 0 {
			p[i] = setOf(values)
		}
	}
	return p
}

func (p pattern) line() Line {
	list := func(field int) []int {
		if p[field] == whole(field) {
			return nil
		}
		return members(p[field])
	}
	return Line{Minutes: list(minute), Hours: list(hour), Days: list(day), Months: list(month), Weekdays: list(weekday)}
}

func (p pattern) String() string {
	var fields []string
	for i, set := range p {
		fields = append(fields, fieldText(i, set))
	}
	return strings.Join(fields, " ")
}

func fieldText(field int, set uint64) string {
	if set == whole(field) {
		return "*"
	}
	if field == minute || field == hour {
		if n, ok := evenSteps(set, bits.Len64(whole(field))); ok {
			return "*/" + strconv.Itoa(n)
		}
	}
	var parts []string
	for _, r := range runs(set) {
		parts = append(parts, r.text(strconv.Itoa, 3))
	}
	return strings.Join(parts, ",")
}

// evenSteps reports that a set is every nth of size values from 0 on, without a rest that would
// make the last step a shorter one, and at least three of them.
func evenSteps(set uint64, size int) (n int, ok bool) {
	count := bits.OnesCount64(set)
	if count < 3 {
		return 0, false
	}
	n = size / count
	for v := 0; v < size; v += n {
		if set&(1<<v) == 0 {
			return 0, false
		}
	}
	return n, n > 1
}

// run is a part of a set without a hole.
type run struct{ first, last int }

// text writes the run with the names of its ends, as a range when it has at least so many.
func (r run) text(name func(int) string, ranged int) string {
	if r.last-r.first+1 >= ranged {
		return name(r.first) + "-" + name(r.last)
	}
	var parts []string
	for v := r.first; v <= r.last; v++ {
		parts = append(parts, name(v))
	}
	return strings.Join(parts, ",")
}

func runs(set uint64) []run {
	var out []run
	for _, v := range members(set) {
		if n := len(out); n > 0 && out[n-1].last == v-1 {
			out[n-1].last = v
			continue
		}
		out = append(out, run{v, v})
	}
	return out
}

func members(set uint64) []int {
	var out []int
	for ; set != 0; set &= set - 1 {
		out = append(out, bits.TrailingZeros64(set))
	}
	return out
}

func setOf(values []int) uint64 {
	var set uint64
	for _, v := range values {
		set |= 1 << v
	}
	return set
}

// times are the times of day on which something begins: for each hour its minutes.
type times [hoursOfDay]uint64

func (t *times) add(p pattern) {
	for _, h := range members(p[hour]) {
		t[h] |= p[minute]
	}
}

func (t times) count() int {
	n := 0
	for _, minutes := range t {
		n += bits.OnesCount64(minutes)
	}
	return n
}

func (t times) without(other times) times {
	for h := range t {
		t[h] &^= other[h]
	}
	return t
}

// calendar are the times of day for each weekday of each month, and for each day of each
// month. It is where lines meet, however they were cut.
type calendar struct {
	weekdays [monthsOfYear + 1][daysOfWeek]times
	days     [monthsOfYear + 1][daysOfMonth + 1]times
}

// normal is the one form of all patterns that say the same.
func normal(patterns []pattern) []pattern {
	for {
		// Days that were named in several lines may turn out to be all days.
		next := rearrange(patterns)
		if slices.Equal(next, patterns) {
			return next
		}
		patterns = next
	}
}

// rearrange puts patterns together and takes them apart again by dates with the same times, and
// within these by hours with the same minutes.
func rearrange(patterns []pattern) []pattern {
	c := new(calendar)
	for _, p := range patterns {
		if !p.happens() {
			continue
		}
		for _, m := range members(p[month]) {
			c.add(p, m)
		}
	}
	var dates []dated
	for m := 1; m <= monthsOfYear; m++ {
		always := c.weekdays[m][0]
		for w := range daysOfWeek {
			dates = note(dates, c.weekdays[m][w], pattern{day: whole(day), month: 1 << m, weekday: 1 << w})
			for h := range always {
				always[h] &= c.weekdays[m][w][h]
			}
		}
		for d := 1; d <= daysOfMonth; d++ {
			dates = note(dates, c.days[m][d].without(always), pattern{day: 1 << d, month: 1 << m, weekday: whole(weekday)})
		}
	}
	return cut(joinMonths(dates))
}

func (c *calendar) add(p pattern, m int) {
	if p[day] == whole(day) {
		for _, w := range members(p[weekday]) {
			c.weekdays[m][w].add(p)
		}
		return
	}
	for _, d := range members(p[day]) {
		c.days[m][d].add(p)
	}
}

// happens is false for a line whose days no month of it has.
func (p pattern) happens() bool {
	for _, m := range members(p[month]) {
		if p[day]&(1<<(longest(m)+1)-1) != 0 {
			return true
		}
	}
	return false
}

// longest is how many days a month has at most.
func longest(month int) int {
	switch month {
	case 2:
		return 29
	case 4, 6, 9, 11:
		return 30
	default:
		return daysOfMonth
	}
}

// dated are dates that have the same times.
type dated struct {
	dates pattern // without hours and minutes
	times times
}

// note adds dates of one month to those of the same kind, month and times.
func note(list []dated, t times, dates pattern) []dated {
	if t == (times{}) {
		return list
	}
	byWeekday := dates[day] == whole(day)
	for i, d := range list {
		if d.times == t && d.dates[month] == dates[month] && (d.dates[day] == whole(day)) == byWeekday {
			list[i].dates[day] |= dates[day]
			list[i].dates[weekday] |= dates[weekday]
			return list
		}
	}
	return append(list, dated{dates, t})
}

// joinMonths puts months together that have the same days and times.
func joinMonths(list []dated) []dated {
	var out []dated
next:
	for _, d := range list {
		for i, o := range out {
			if o.times == d.times && o.dates[day] == d.dates[day] && o.dates[weekday] == d.dates[weekday] {
				out[i].dates[month] |= d.dates[month]
				continue next
			}
		}
		out = append(out, d)
	}
	return out
}

// cut makes lines of dates: hours with the same minutes share one.
func cut(list []dated) []pattern {
	var out []pattern
	for _, d := range list {
		from := len(out)
		for h, minutes := range d.times {
			if minutes == 0 {
				continue
			}
			i := slices.IndexFunc(out[from:], func(p pattern) bool { return p[minute] == minutes })
			if i >= 0 {
				out[from+i][hour] |= 1 << h
				continue
			}
			p := d.dates
			p[minute], p[hour] = minutes, 1<<h
			out = append(out, p)
		}
	}
	return out
}
