package schedule

import (
	"slices"
	"strconv"
	"strings"
)

const (
	atLimit   = 48 // times of day in one request
	timeHint  = "write a time of day as 22:00"
	daysHint  = "write mon-fri, sat,sun, daily, weekdays or weekends"
	whichHint = `say when with --at 22:00, --window 22:00-06:00 or --cron "0 22 * * mon-fri"`
)

// Parse makes a spec of what a person typed. localZone is the IANA name of the machine's zone,
// for a request without one; LocalZone finds it. What cannot be is a *InvalidError.
func Parse(r Request, localZone string) (Spec, error) {
	zone, err := pickZone(r.Zone, localZone)
	if err != nil {
		return Spec{}, err
	}
	at, until, err := timesOf(r)
	if err != nil {
		return Spec{}, err
	}
	var wanted []pattern
	if strings.TrimSpace(r.Cron) != "" {
		wanted, err = readCron(r.Cron)
	} else {
		wanted, err = clock(at, r.Days)
	}
	if err != nil {
		return Spec{}, err
	}
	lines := normal(wanted)
	if len(lines) == 0 {
		return Spec{}, refuse("name a day that the month has", "%q never comes: no such month has that day", r.Cron)
	}
	s := Spec{Zone: zone, Until: until}
	for _, l := range lines {
		s.Cron = append(s.Cron, l.String())
	}
	return s, s.Check()
}

// Check says what is wrong with a spec that was read from somewhere. It is nil for what Parse
// returns.
func (s Spec) Check() error {
	if len(s.Cron) == 0 {
		return refuse(whichHint, "the schedule has no times")
	}
	if err := checkZone(s.Zone); err != nil {
		return err
	}
	var all []pattern
	for _, text := range s.Cron {
		lines, err := readCron(text)
		if err != nil {
			return err
		}
		all = append(all, lines...)
	}
	if !slices.ContainsFunc(all, pattern.happens) {
		return refuse("name a day that the month has", "%q never comes: no such month has that day", strings.Join(s.Cron, "; "))
	}
	if s.Until == "" {
		return nil
	}
	h, m, err := timeOfDay(s.Until)
	if err != nil {
		return err
	}
	for _, p := range all {
		if p[hour]&(1<<h) != 0 && p[minute]&(1<<m) != 0 {
			return refuse("let it end at another time than it begins; leave the end out for no end",
				"the window %s-%s is empty", s.Until, s.Until)
		}
	}
	return nil
}

// timesOf are the times of day at which a request begins and ends.
func timesOf(r Request) (at []string, until string, err error) {
	at, until = r.At, r.Until
	given := len(r.At) > 0
	switch cron := strings.TrimSpace(r.Cron) != ""; {
	case cron && given:
		return nil, "", refuse("give one of the two", "--cron and --at both say when it begins")
	case cron && r.Window != "":
		return nil, "", refuse("say when it ends with --until", "--cron and --window both say when it begins")
	case cron && r.Days != "":
		return nil, "", refuse("name the days in the cron text", "--cron and --days both name the days")
	case given && r.Window != "":
		return nil, "", refuse("give --at and --until, or --window alone", "--at and --window both say when it begins")
	case r.Until != "" && r.Window != "":
		return nil, "", refuse("give --at and --until, or --window alone", "--until and --window both say when it ends")
	case !cron && !given && r.Window == "":
		return nil, "", refuse(whichHint, "nothing says when it begins")
	}
	if r.Window != "" {
		from, to, ok := strings.Cut(r.Window, "-")
		if !ok {
			return nil, "", refuse("write a window as 22:00-06:00", "the window %q has no end", r.Window)
		}
		at, until = []string{from}, to
	}
	if until = strings.TrimSpace(until); until == "" {
		if r.Window != "" {
			return nil, "", refuse("write a window as 22:00-06:00", "the window %q has no end", r.Window)
		}
		return at, "", nil
	}
	if until == "24:00" {
		until = "00:00"
	}
	h, m, err := timeOfDay(until)
	if err != nil {
		return nil, "", err
	}
	return at, clockText(h, m), nil
}

// clock are the patterns of times of day on days of the week.
func clock(at []string, days string) ([]pattern, error) {
	if len(at) > atLimit {
		return nil, refuse("use --cron", "%d times of day are too many, at most %d are taken", len(at), atLimit)
	}
	on, err := weekdays(days)
	if err != nil {
		return nil, err
	}
	var out []pattern
	for _, item := range at {
		for text := range strings.SplitSeq(item, ",") {
			h, m, err := timeOfDay(text)
			if err != nil {
				return nil, err
			}
			p := everything()
			p[minute], p[hour], p[weekday] = 1<<m, 1<<h, on
			out = append(out, p)
		}
	}
	return out, nil
}

// weekdays is the set of days that a text such as mon-fri,sun names. Empty is all.
func weekdays(text string) (uint64, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return whole(weekday), nil
	}
	var set uint64
	for item := range strings.SplitSeq(text, ",") {
		switch item = strings.TrimSpace(item); item {
		case "daily", "*":
			set |= whole(weekday)
			continue
		case "weekdays":
			set |= setOf([]int{1, 2, 3, 4, 5})
			continue
		case "weekends":
			set |= setOf([]int{6, 0})
			continue
		}
		first, last, ranged := strings.Cut(item, "-")
		a, okA := dayNumber(first)
		b, okB := a, okA
		if ranged {
			b, okB = dayNumber(last)
		}
		if !okA || !okB {
			return 0, refuse(daysHint, "--days %q: %q is no day", text, item)
		}
		for d := a; ; d = (d + 1) % daysOfWeek {
			set |= 1 << d
			if d == b {
				break
			}
		}
	}
	return set, nil
}

// dayNumber is the number of a day of the week by its name, short or in full.
func dayNumber(s string) (int, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	full := []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
	i := slices.IndexFunc(full, func(name string) bool { return s == name || s == name[:3] })
	return i, i >= 0
}

// timeOfDay reads 22:00 and 7:05.
func timeOfDay(text string) (h, m int, err error) {
	bad := refuse(timeHint, "%q is no time of day", text)
	hours, minutes, ok := strings.Cut(strings.TrimSpace(text), ":")
	if !ok || len(hours) < 1 || len(hours) > 2 || len(minutes) != 2 || !number(hours) || !number(minutes) {
		return 0, 0, bad
	}
	h, _ = strconv.Atoi(hours) // checked by number
	m, _ = strconv.Atoi(minutes)
	if h >= hoursOfDay || m >= minutesOfHour {
		return 0, 0, bad
	}
	return h, m, nil
}

func clockText(h, m int) string {
	two := func(n int) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }
	return two(h) + ":" + two(m)
}
