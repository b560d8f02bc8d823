package unit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"autopilot/supervisor/schedule"
)

// File is a file that a service manager reads.
type File struct {
	Name string // without a folder
	Text []byte
}

// Files are the files of an entry: the service and the timer for systemd, one list for launchd,
// none for cron. machineZone is the zone that the services of the machine go by; "" when it
// is not known, which systemd can do without.
func Files(e schedule.Entry, machineZone string) ([]File, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	switch e.Backend {
	case schedule.Systemd:
		return systemdFiles(e)
	case schedule.Launchd:
		return launchdFiles(e, machineZone)
	}
	return nil, nil
}

// Names are the names of the files that an entry of the name may have with a backend.
func Names(name string, b schedule.Backend) []string {
	switch b {
	case schedule.Systemd:
		return []string{ServiceName(name), TimerName(name)}
	case schedule.Launchd:
		return []string{Label(name) + ".plist"}
	}
	return nil
}

// Of is the name of the schedule that a file with this name and text was written for. It is false
// for a file of somebody else.
func Of(f File) (string, bool) {
	var found string
	switch {
	case strings.HasSuffix(f.Name, ".service"), strings.HasSuffix(f.Name, ".timer"):
		found = ofSystemd(f.Text)
	case strings.HasSuffix(f.Name, ".plist"):
		found = ofPlist(f.Text)
	}
	if found == "" {
		return "", false
	}
	for _, b := range []schedule.Backend{schedule.Systemd, schedule.Launchd} {
		if slices.Contains(Names(found, b), f.Name) {
			return found, true
		}
	}
	return "", false
}

// command is what every kind of unit starts.
func command(e schedule.Entry) []string { return []string{e.Program, "schedule", "exec", e.Name} }

// variable is the value of a variable in the environment of an entry.
func variable(e schedule.Entry, name string) string {
	for _, kv := range e.Environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

const (
	nearYears = 2
	farYears  = 5 // a leap day and every length of February
)

// localLines is the calendar of an entry in the zone of the machine.
func localLines(e schedule.Entry, machineZone string) ([]schedule.Line, error) {
	lines, err := e.Spec.Lines()
	if err != nil || e.Spec.Zone == machineZone {
		return lines, err
	}
	loc, err := time.LoadLocation(machineZone)
	if err != nil || machineZone == "" {
		return nil, &schedule.InvalidError{
			Fact: fmt.Sprintf("%s knows the machine's time zone only, and its name is not known", e.Backend),
			Way:  "set /etc/localtime as a link into the folder of the zone files",
		}
	}
	var out []schedule.Line
	for _, l := range lines {
		out = append(out, elsewhere(e, l, loc)...)
	}
	return schedule.Normal(out), nil
}

type clockTime struct{ hour, minute int }

// elsewhere are the local times that one line falls on, and more dates than it does where that
// keeps them few.
func elsewhere(e schedule.Entry, l schedule.Line, loc *time.Location) []schedule.Line {
	spec := schedule.Spec{Cron: []string{l.String()}, Zone: e.Spec.Zone}
	years := nearYears
	if len(l.Days) > 0 || len(l.Months) > 0 {
		years = farYears
	}
	found := map[clockTime]*schedule.Line{}
	for t := range spec.Between(e.CreatedAt, e.CreatedAt.AddDate(years, 0, 0)) {
		t = t.In(loc)
		at := clockTime{t.Hour(), t.Minute()}
		if found[at] == nil {
			found[at] = &schedule.Line{Hours: []int{at.hour}, Minutes: []int{at.minute}}
		}
		add := func(to *[]int, wanted bool, v int) {
			if wanted && !slices.Contains(*to, v) {
				*to = append(*to, v)
			}
		}
		add(&found[at].Days, len(l.Days) > 0, t.Day())
		add(&found[at].Weekdays, len(l.Weekdays) > 0, int(t.Weekday()))
		add(&found[at].Months, len(l.Months) > 0, int(t.Month()))
	}
	var out []schedule.Line
	for _, line := range found {
		out = append(out, *line)
	}
	return out
}

func tooMany(e schedule.Entry, n, limit int, what string) error {
	way := "choose fewer times"
	fact := fmt.Sprintf("%q becomes %d %s, at most %d are written", e.Spec.Words(), n, what, limit)
	if e.Backend == schedule.Cron {
		way = "choose fewer times, the machine's own time zone, or a machine with systemd"
	}
	return &schedule.InvalidError{Fact: fact, Way: way}
}

func lines(text []byte) []string {
	var out []string
	for l := range bytes.Lines(text) {
		out = append(out, string(l))
	}
	return out
}
