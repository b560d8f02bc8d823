package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

const timesInWords = 8 // times of day that are still told one by one

// Words says the spec to a person: Mon-Fri at 22:00 until 06:00, Europe/Berlin.
func (s Spec) Words() string {
	p, ok := s.plan()
	if !ok {
		return "at times that cannot be read"
	}
	var phrases []string
	for i := 0; i < len(p.lines); {
		l := p.lines[i]
		var t times
		for ; i < len(p.lines) && sameDates(p.lines[i], l); i++ {
			t.add(p.lines[i])
		}
		phrases = append(phrases, datesInWords(l)+" "+t.words())
	}
	out := strings.Join(phrases, "; ")
	if s.Until != "" {
		out += " until " + s.Until
	}
	return out + ", " + s.Zone
}

func sameDates(a, b pattern) bool {
	a[minute], a[hour] = b[minute], b[hour]
	return a == b
}

func datesInWords(l pattern) string {
	var out string
	switch {
	case l[weekday] != whole(weekday):
		out = weekdaysInWords(l[weekday])
	case l[day] == whole(day):
		out = "daily"
	case bits.OnesCount64(l[day]) == 1:
		out = "on day " + inWords(l[day], strconv.Itoa) + " of the month"
	default:
		out = "on days " + inWords(l[day], strconv.Itoa) + " of the month"
	}
	if l[month] != whole(month) {
		out += " in " + inWords(l[month], func(m int) string { return monthNames()[m-1] })
	}
	return out
}

// weekdaysInWords counts the week from Monday on.
func weekdaysInWords(set uint64) string {
	fromMonday := set>>1 | set&1<<6
	return inWords(fromMonday, func(d int) string { return dayNames()[(d+1)%daysOfWeek] })
}

func inWords(set uint64, name func(int) string) string {
	var parts []string
	for _, r := range runs(set) {
		parts = append(parts, strings.ReplaceAll(r.text(name, 3), ",", ", "))
	}
	return strings.Join(parts, ", ")
}

func (t times) words() string {
	var list []string
	same, hours, minutes := true, uint64(0), uint64(0)
	for h, set := range t {
		for _, m := range members(set) {
			list = append(list, clockText(h, m))
		}
		if set == 0 {
			continue
		}
		same = same && (minutes == 0 || set == minutes)
		hours, minutes = hours|1<<h, set
	}
	n := len(list)
	switch {
	case n == 1:
		return "at " + list[0]
	case n <= timesInWords:
		return "at " + strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	case !same:
		return fmt.Sprintf("at %s and %d other times until %s", list[0], n-2, list[n-1])
	}
	every := "at minute " + inWords(minutes, strconv.Itoa)
	if step, ok := evenSteps(minutes, minutesOfHour); ok {
		every = fmt.Sprintf("every %d minutes", step)
	} else if minutes == whole(minute) {
		every = "every minute"
	}
	if hours == whole(hour) {
		if minutes == 1 {
			return "every hour"
		}
		return every + " of every hour"
	}
	return every + " of the hours " + inWords(hours, strconv.Itoa)
}
