package schedule

import (
	"slices"
	"strconv"
	"strings"

	cron "github.com/netresearch/go-cron"
)

const (
	cronLimit  = 300 // bytes; a line of a crontab has 1,000 for the command as well
	cronSample = `five fields, minute, hour, day of the month, month and day of the week: "0 22 * * mon-fri"`
)

// readCron reads the five fields of crontab(5), or a name for them such as @daily.
func readCron(text string) ([]pattern, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, refuse("write "+cronSample, "the cron text is empty")
	case len(text) > cronLimit:
		return nil, refuse("write "+cronSample, "the cron text has %d characters, at most %d are read", len(text), cronLimit)
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f }):
		return nil, refuse("write "+cronSample, "the cron text %q has a character that no cron text has", text)
	case strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ="):
		return nil, refuse("leave it out there and add --zone", "the cron text %q names a time zone", text)
	case strings.HasPrefix(text, "@"):
		five, err := named(text)
		if err != nil {
			return nil, err
		}
		text = five
	}
	fields := strings.Fields(text)
	if len(fields) != 5 {
		return nil, wrongCount(text, len(fields))
	}
	for i, f := range fields {
		if err := checkField(i, f); err != nil {
			return nil, err
		}
	}
	return patterns(fields)
}

// named is the five fields for a name that begins with @.
func named(text string) (string, error) {
	word, _, _ := strings.Cut(strings.ToLower(text), " ")
	switch word {
	case "@yearly", "@annually":
		return "0 0 1 1 *", nil
	case "@monthly":
		return "0 0 1 * *", nil
	case "@weekly":
		return "0 0 * * 0", nil
	case "@daily", "@midnight":
		return "0 0 * * *", nil
	case "@hourly":
		return "0 * * * *", nil
	case "@every":
		return "", refuse(`say it by the clock, as in "*/30 * * * *"`, "%s counts from a beginning that no calendar knows", text)
	case "@reboot":
		return "", refuse("name a time of day", "@reboot is no time: a schedule begins by the clock")
	}
	return "", refuse("use one of @hourly, @daily, @weekly, @monthly, @yearly", "%s is not known", word)
}

func wrongCount(text string, n int) error {
	switch n {
	case 6:
		return refuse("leave the seconds, or the year, out", "the cron text %q has six fields: schedules know neither seconds nor years", text)
	case 7:
		return refuse("leave the seconds and the year out", "the cron text %q has seven fields: schedules know neither seconds nor years", text)
	}
	return refuse("write "+cronSample, "the cron text %q has %d fields", text, n)
}

// fieldName is what a field is called towards a person.
func fieldName(field int) string {
	return [...]string{"minute", "hour", "day of the month", "month", "day of the week"}[field]
}

// checkField refuses by name what the library reads in a way of its own or what only some
// cron programs know.
func checkField(field int, text string) error {
	bad := func(way, fact string) error {
		return refuse(way, "%s %q: %s", fieldName(field), text, fact)
	}
	if strings.Contains(text, "~") {
		return bad("name the time", "~ stands for a random time, which not every cron knows")
	}
	if strings.Contains(text, "#") {
		return bad(`name the days, as in "1-7"`, "# counts weekdays of a month, which not every cron knows")
	}
	for item := range strings.SplitSeq(text, ",") {
		body, step, stepped := strings.Cut(item, "/")
		first, last, ranged := strings.Cut(body, "-")
		star := first == "*" || first == "?"
		switch {
		case item == "":
			return bad("leave the comma out", "a value is missing beside a comma")
		case star && ranged:
			return bad(`write "*" or a range`, "a range has two ends")
		case stepped && !number(step):
			return bad(`write a step as in "*/15"`, "the step is no number")
		case !star && !value(field, first):
			return unreadable(field, text, first)
		case ranged && !value(field, last):
			return unreadable(field, text, last)
		}
	}
	return nil
}

func number(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 0 && s[0] != '+'
}

func value(field int, s string) bool {
	if s != "" && number(s) {
		return true
	}
	names := []string{}
	switch field {
	case month:
		names = monthNames()
	case weekday:
		names = dayNames()
	}
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, s) })
}

func unreadable(field int, text, part string) error {
	upper := strings.ToUpper(part)
	fact, way := strconv.Quote(part)+" is not one", ""
	switch {
	case part == "":
		fact = "a value is missing"
	case strings.HasPrefix(upper, "H") && field != weekday && field != month:
		fact, way = "H stands for any time, which not every cron knows", "name the time"
	case field == day && strings.ContainsAny(upper, "LW"):
		fact, way = "L and W are not known to every cron", "name the days"
	case field == weekday && strings.HasSuffix(upper, "L"):
		fact, way = "L is not known to every cron", "name the days"
	}
	return refuse(way, "%s %q: %s", fieldName(field), text, fact)
}

func monthNames() []string {
	return []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
}

func dayNames() []string { return []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"} }

// patterns reads fields that checkField has let through.
func patterns(fields []string) ([]pattern, error) {
	for i, f := range fields {
		for item := range strings.SplitSeq(f, ",") {
			if err := checkWrap(i, f, item); err != nil {
				return nil, err
			}
		}
	}
	parser, err := cron.TryNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.DowOrDom)
	if err != nil {
		return nil, err
	}
	text := strings.Join(fields, " ")
	parsed, err := parser.Parse(text)
	if err != nil {
		return nil, refuse("write "+cronSample, "the cron text %q: %v", text, err)
	}
	got, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, refuse("write "+cronSample, "the cron text %q says no times of day", text)
	}
	p := pattern{got.Minute, got.Hour, got.Dom, got.Month, got.Dow}
	for i := range p {
		p[i] &= whole(i) // the library marks a star, and Sunday as 7, with bits of their own
	}
	return split(p, fields)
}

// checkWrap refuses a step over a range that goes around the end, because the library counts
// eight days in a week then.
func checkWrap(field int, text, item string) error {
	body, _, stepped := strings.Cut(item, "/")
	first, last, ranged := strings.Cut(body, "-")
	if !stepped || !ranged || field != weekday {
		return nil
	}
	if index(first) > index(last) {
		return refuse("name the days", "%s %q: a step over a range that goes around the end of the week", fieldName(field), text)
	}
	return nil
}

// index is the number of a day of the week.
func index(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return slices.IndexFunc(dayNames(), func(n string) bool { return strings.EqualFold(n, s) })
}

// split takes a line apart that names days of the month and of the week: it fits either.
func split(p pattern, fields []string) ([]pattern, error) {
	star := func(field int) bool { return fields[field][0] == '*' || fields[field][0] == '?' }
	free := func(field int) bool { return star(field) && p[field] == whole(field) }
	switch {
	case free(day) || free(weekday):
		return []pattern{p}, nil
	case star(day) || star(weekday):
		return nil, mixed(fields)
	}
	byDay, byWeekday := p, p
	byDay[weekday], byWeekday[day] = whole(weekday), whole(day)
	return []pattern{byDay, byWeekday}, nil
}

func mixed(fields []string) error {
	return refuse("name the days one by one, or leave one of the two out",
		`%q and %q: a step over days of the month beside days of the week means two things to two cron programs`, fields[day], fields[weekday])
}
