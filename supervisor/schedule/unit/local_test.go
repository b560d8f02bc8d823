package unit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"howett.net/plist"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

// wakes are the lines of a crontab, or the dates of a list, as a spec in the machine's zone.
func wakes(t *testing.T, e schedule.Entry, zone string) schedule.Spec {
	t.Helper()
	spec := schedule.Spec{Zone: zone}
	if e.Backend == schedule.Cron {
		block, err := unit.Block(e, zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range block[1:] {
			if strings.HasPrefix(l, "@reboot ") {
				continue // that is no time
			}
			spec.Cron = append(spec.Cron, strings.Join(strings.Fields(l)[:5], " "))
		}
		return spec
	}
	files, err := unit.Files(e, zone)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ StartCalendarInterval []map[string]int }
	if _, err := plist.Unmarshal(files[0].Text, &list); err != nil {
		t.Fatal(err)
	}
	for _, d := range list.StartCalendarInterval {
		one := func(key string) []int {
			if v, ok := d[key]; ok {
				return []int{v}
			}
			return nil
		}
		l := schedule.Line{Minutes: one("Minute"), Hours: one("Hour"), Days: one("Day"), Months: one("Month"), Weekdays: one("Weekday")}
		spec.Cron = append(spec.Cron, l.String())
	}
	return spec
}

func machines() []struct {
	zone, of string
	cron     []string
} {
	return []struct {
		zone, of string
		cron     []string
	}{
		{berlin, berlin, []string{"0 22 * * 1-5", "30 2 1,31 * *"}},
		{berlin, berlin, []string{"*/30 9-17 * * *"}},
		{berlin, "America/New_York", []string{"0 22 * * 1-5"}},
		{"America/New_York", berlin, []string{"30 2 * * *"}},
		{"Asia/Tokyo", berlin, []string{"30 2 * * 0"}},
		{berlin, "Asia/Tokyo", []string{"30 10 * * 1-5"}},
		{"Asia/Kolkata", "America/New_York", []string{"0 22 1 * *", "0 22 * 3 6"}},
		{"America/Los_Angeles", "Pacific/Auckland", []string{"0 3 1,28-31 2,3 *"}},
		{"UTC", "America/Nuuk", []string{"30 23 * * 6"}},
		{"Australia/Lord_Howe", berlin, []string{"0 22 * * *"}},
		{"Pacific/Kiritimati", "Pacific/Niue", []string{"5 22 * * 5"}},
		{"Etc/UTC", "UTC", []string{"0 22 29 2 *"}},
	}
}

// A machine that knows its own zone only wakes the program at every time of the spec, and
// among all the times it is woken, each time of the spec begins once and not an hour late.
func TestEveryTimeOfTheSpecBeginsOnce(t *testing.T) {
	t.Parallel()
	for _, b := range []schedule.Backend{schedule.Cron, schedule.Launchd} {
		for _, m := range machines() {
			t.Run(string(b)+" "+m.zone+" "+m.of, func(t *testing.T) {
				t.Parallel()
				e := entry(b, func(e *schedule.Entry) { e.Spec = schedule.Spec{Cron: m.cron, Zone: m.of} })
				from := e.CreatedAt
				to := from.AddDate(2, 0, 0)
				woken := slices.Collect(wakes(t, e, m.zone).Between(from, to.AddDate(0, 0, 1)))
				want := slices.Collect(e.Spec.Between(from, to))
				last := from
				var got []time.Time
				for _, now := range woken {
					d := schedule.Decide(e.Spec, now, last)
					if !d.Start {
						continue
					}
					if d.Late > time.Hour || len(d.Missed) > 0 {
						t.Errorf("%v begins at %v, %v late, after %v were missed", d.Nominal, now, d.Late, d.Missed)
					}
					got, last = append(got, d.Nominal), d.Nominal
				}
				got = slices.DeleteFunc(got, to.Before)
				if len(want) == 0 && m.zone != "Etc/UTC" || !slices.EqualFunc(got, want, time.Time.Equal) {
					t.Errorf("%v begins %d times, want %d: %s", wakes(t, e, m.zone).Cron, len(got), len(want), difference(got, want))
				}
			})
		}
	}
}

func TestInTheMachinesOwnZoneNothingIsAdded(t *testing.T) {
	t.Parallel()
	e := entry(schedule.Cron, func(e *schedule.Entry) { e.Spec.Cron = []string{"0 22 * * 1-5", "30 2 1,31 * *"} })
	if got := wakes(t, e, berlin); !slices.Equal(got.Cron, e.Spec.Cron) {
		t.Errorf("lines %q, want %q", got.Cron, e.Spec.Cron)
	}
	e.Backend = schedule.Launchd
	lines, err := wakes(t, e, berlin).Lines()
	if err != nil {
		t.Fatal(err)
	}
	want, err := e.Spec.Lines()
	if err != nil {
		t.Fatal(err)
	}
	got := schedule.Normal(lines)
	if len(got) != len(want) || got[0].String() != want[0].String() || got[1].String() != want[1].String() {
		t.Errorf("dates %v, want %v", got, want)
	}
}

// From New York, Berlin at half past two is two times, and a third in the weeks in between.
func TestAnotherZoneIsAsFewLinesAsCanBe(t *testing.T) {
	t.Parallel()
	e := entry(schedule.Cron, func(e *schedule.Entry) { e.Spec = schedule.Spec{Cron: []string{"30 2 * * 1"}, Zone: berlin} })
	if got, want := wakes(t, e, "America/New_York").Cron, []string{"30 20,21 * * 0"}; !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
}
