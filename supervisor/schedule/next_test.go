package schedule_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/supervisor/schedule"
)

// Forms of times in the tables: with the offset, because the clock alone does not tell the
// two passes of an hour apart.
const stamp = "2006-01-02 15:04 -0700"

func at(t testing.TB, text, zone string) time.Time {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	got, err := time.Parse(stamp, text)
	if err != nil {
		t.Fatal(err)
	}
	return got.In(loc)
}

// dstNights are the nights on which the clocks of a zone jump, and what has to begin.
func dstNights() []struct {
	name, cron, zone, from string
	want                   []string
} {
	return []struct {
		name, cron, zone, from string
		want                   []string
	}{
		{
			"an hour that is left out", "30 2 * * *", berlin, "2026-03-28 12:00 +0100",
			[]string{"2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"},
		},
		{
			"two times in it begin once", "0,30 2 * * *", berlin, "2026-03-28 12:00 +0100",
			[]string{"2026-03-29 03:00 +0200", "2026-03-30 02:00 +0200", "2026-03-30 02:30 +0200"},
		},
		{
			"and once with the time after it", "30 2,3 * * *", berlin, "2026-03-28 12:00 +0100",
			[]string{"2026-03-29 03:00 +0200", "2026-03-29 03:30 +0200", "2026-03-30 02:30 +0200"},
		},
		{
			"the time at its end", "0 2,3 * * *", berlin, "2026-03-28 12:00 +0100",
			[]string{"2026-03-29 03:00 +0200", "2026-03-30 02:00 +0200", "2026-03-30 03:00 +0200"},
		},
		{
			"only on the weekday it belongs to", "30 2 * * 1", berlin, "2026-03-28 12:00 +0100",
			[]string{"2026-03-30 02:30 +0200", "2026-04-06 02:30 +0200"},
		},
		{
			"an hour that comes twice", "30 2 * * *", berlin, "2026-10-24 12:00 +0200",
			[]string{"2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"},
		},
		{
			"seen from between its passes", "30 2 * * *", berlin, "2026-10-25 02:10 +0100",
			[]string{"2026-10-26 02:30 +0100"},
		},
		{
			"every half hour rests for one", "*/30 * * * *", berlin, "2026-10-25 01:59 +0200",
			[]string{"2026-10-25 02:00 +0200", "2026-10-25 02:30 +0200", "2026-10-25 03:00 +0100", "2026-10-25 03:30 +0100"},
		},
		{
			"every half hour over the jump", "*/30 * * * *", berlin, "2026-03-29 01:15 +0100",
			[]string{"2026-03-29 01:30 +0100", "2026-03-29 03:00 +0200", "2026-03-29 03:30 +0200"},
		},
		{
			"New York in spring", "30 2 * * *", "America/New_York", "2026-03-07 12:00 -0500",
			[]string{"2026-03-08 03:00 -0400", "2026-03-09 02:30 -0400"},
		},
		{
			"New York in autumn", "30 1 * * *", "America/New_York", "2026-10-31 12:00 -0400",
			[]string{"2026-11-01 01:30 -0400", "2026-11-02 01:30 -0500"},
		},
		{
			"half an hour left out", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00 +1030",
			[]string{"2026-10-04 02:30 +1100", "2026-10-05 02:15 +1100"},
		},
		{
			"half an hour twice", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04 12:00 +1100",
			[]string{"2026-04-05 01:45 +1100", "2026-04-06 01:45 +1030"},
		},
		{
			"before the half hour", "15 1 * * *", "Australia/Lord_Howe", "2026-04-04 12:00 +1100",
			[]string{"2026-04-05 01:15 +1100", "2026-04-06 01:15 +1030"},
		},
		{
			"the last hour of a day left out", "30 23 * * *", "America/Nuuk", "2026-03-27 12:00 -0200",
			[]string{"2026-03-27 23:30 -0200", "2026-03-29 00:00 -0100", "2026-03-29 23:30 -0100"},
		},
		{
			"together with the next midnight", "0,30 0,23 * * *", "America/Nuuk", "2026-03-28 12:00 -0200",
			[]string{"2026-03-29 00:00 -0100", "2026-03-29 00:30 -0100", "2026-03-29 23:00 -0100"},
		},
		{
			"the first hour of a day left out", "30 0 * * *", "Africa/Cairo", "2026-04-23 12:00 +0200",
			[]string{"2026-04-24 01:00 +0300", "2026-04-25 00:30 +0300"},
		},
		{
			"a clock that is set back over midnight", "30 23 * * *", "Africa/Cairo", "2026-10-28 12:00 +0300",
			[]string{"2026-10-28 23:30 +0300", "2026-10-29 23:30 +0300", "2026-10-30 23:30 +0200"},
		},
		{
			"a day that was left out", "0 22 * * *", "Pacific/Apia", "2011-12-28 23:00 -1000",
			[]string{"2011-12-29 22:00 -1000", "2011-12-31 22:00 +1400", "2012-01-01 22:00 +1400"},
		},
		{
			"a weekday that was left out", "0 22 * * 5", "Pacific/Apia", "2011-12-28 23:00 -1000",
			[]string{"2012-01-06 22:00 +1400"},
		},
		{
			"29 February over 2100", "0 22 29 2 *", berlin, "2096-03-01 12:00 +0100",
			[]string{"2104-02-29 22:00 +0100"},
		},
		{
			"either kind of day", "0 22 13 * 5", "UTC", "2026-02-06 12:00 +0000",
			[]string{"2026-02-06 22:00 +0000", "2026-02-13 22:00 +0000", "2026-02-20 22:00 +0000"},
		},
	}
}

func TestNextAndLastWhenTheClocksJump(t *testing.T) {
	t.Parallel()
	for _, tt := range dstNights() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := schedule.Spec{Cron: []string{tt.cron}, Zone: tt.zone}
			now := at(t, tt.from, tt.zone)
			var forth []string
			for range tt.want {
				next, ok := s.Next(now)
				if !ok {
					t.Fatalf("nothing after %v", now)
				}
				forth = append(forth, next.Format(stamp))
				now = next
			}
			if d := cmp.Diff(tt.want, forth); d != "" {
				t.Errorf("Next (-want +got):\n%s", d)
			}
			var back []string
			for range tt.want {
				last, ok := s.Last(now)
				if !ok {
					t.Fatalf("nothing before %v", now)
				}
				back = append(back, last.Format(stamp))
				now = last.Add(-time.Nanosecond)
			}
			slices.Reverse(back)
			if d := cmp.Diff(tt.want, back); d != "" {
				t.Errorf("Last (-want +got):\n%s", d)
			}
		})
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, cron, zone, until, start, want string }{
		{"over midnight", "0 22 * * *", berlin, "06:00", "2026-01-05 22:00 +0100", "2026-01-06 06:00 +0100"},
		{"begun late", "0 22 * * *", berlin, "06:00", "2026-01-06 05:59 +0100", "2026-01-06 06:00 +0100"},
		{"begun at the end", "0 22 * * *", berlin, "06:00", "2026-01-06 06:00 +0100", "2026-01-07 06:00 +0100"},
		{"on the same day", "0 9 * * *", berlin, "17:30", "2026-01-06 09:00 +0100", "2026-01-06 17:30 +0100"},
		{"a short night", "0 22 * * *", berlin, "06:00", "2026-03-28 22:00 +0100", "2026-03-29 06:00 +0200"},
		{"a long night", "0 22 * * *", berlin, "06:00", "2026-10-24 22:00 +0200", "2026-10-25 06:00 +0100"},
		{"an end that is left out", "0 22 * * *", berlin, "02:30", "2026-03-28 22:00 +0100", "2026-03-29 03:00 +0200"},
		{"an end that comes twice", "0 22 * * *", berlin, "02:30", "2026-10-24 22:00 +0200", "2026-10-25 02:30 +0200"},
		{"begun between the two", "0 22 * * *", berlin, "02:30", "2026-10-25 02:45 +0200", "2026-10-25 02:30 +0100"},
		{"begun after both", "0 22 * * *", berlin, "02:30", "2026-10-25 02:45 +0100", "2026-10-26 02:30 +0100"},
		{"New York in spring", "0 22 * * *", "America/New_York", "02:15", "2026-03-07 22:00 -0500", "2026-03-08 03:00 -0400"},
		{"half an hour", "0 22 * * *", "Australia/Lord_Howe", "02:15", "2026-10-03 22:00 +1030", "2026-10-04 02:30 +1100"},
		{"over a day that was left out", "0 22 * * *", "Pacific/Apia", "06:00", "2011-12-29 22:00 -1000", "2011-12-31 06:00 +1400"},
		{"begun at the end of the jump, over after it", "30 2 * * *", berlin, "06:00", "2026-03-29 03:00 +0200", "2026-03-29 06:00 +0200"},
		{"all of it jumped over", "15 2 * * *", berlin, "02:45", "2026-03-29 03:00 +0200", "2026-03-29 03:00 +0200"},
		{"a window up to the end of the jump", "15 2 * * *", berlin, "03:00", "2026-03-29 03:00 +0200", "2026-03-29 03:00 +0200"},
		{"the end alone jumped over, as it begins", "0 3 * * *", berlin, "02:30", "2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"},
		{"the same with a time before it", "0 2,3 * * *", berlin, "02:30", "2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"},
		{"an end before the beginning in the jump", "45 2 * * *", berlin, "02:15", "2026-03-29 03:00 +0200", "2026-03-30 02:15 +0200"},
		{"a window over midnight jumped over", "30 23 * * *", "America/Nuuk", "23:45", "2026-03-29 00:00 -0100", "2026-03-29 00:00 -0100"},
	}
	for _, tt := range tests {
		s := schedule.Spec{Cron: []string{tt.cron}, Zone: tt.zone, Until: tt.until}
		got, ok := s.End(at(t, tt.start, tt.zone))
		if !ok || got.Format(stamp) != tt.want {
			t.Errorf("%s: End(%s) = %s, %v, want %s", tt.name, tt.start, got.Format(stamp), ok, tt.want)
		}
	}
	if got, ok := (schedule.Spec{Cron: []string{"0 22 * * *"}, Zone: berlin}).End(time.Now()); ok {
		t.Errorf("a spec without an end ends at %v", got)
	}
}

func TestJumped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		cron, zone string
		want       []string
	}{
		{"30 2 * * *", berlin, []string{"2026-03-29 03:00 +0200", "2027-03-28 03:00 +0200"}},
		{"0 22 * * *", berlin, nil},
		{"30 2,3 * * *", berlin, []string{"2026-03-29 03:00 +0200", "2027-03-28 03:00 +0200"}},
		{"0,30 2,3 * * *", berlin, nil},
		{"30 2 * * 1", berlin, nil},
		{"30 2 28-31 3 *", berlin, []string{"2026-03-29 03:00 +0200", "2027-03-28 03:00 +0200"}},
		{"30 23 * * *", "America/Nuuk", []string{"2026-03-29 00:00 -0100", "2027-03-28 00:00 -0100"}},
		{"30 23,0 * * *", "America/Nuuk", []string{"2026-03-29 00:00 -0100", "2027-03-28 00:00 -0100"}},
		{"30 2 * * *", "Asia/Tokyo", nil},
	}
	for _, tt := range tests {
		s := schedule.Spec{Cron: []string{tt.cron}, Zone: tt.zone}
		var got []string
		for _, j := range s.Jumped(at(t, "2026-01-01 00:00 +0000", "UTC"), at(t, "2028-01-01 00:00 +0000", "UTC")) {
			got = append(got, j.Format(stamp))
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.cron, tt.zone, d)
		}
	}
}

func TestSpecsThatNeverBegin(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, s := range []schedule.Spec{
		{}, {Zone: berlin}, {Cron: []string{"0 22 * * *"}}, {Cron: []string{"nonsense"}, Zone: berlin}, {Cron: []string{"0 22 31 2 *"}, Zone: berlin},
	} {
		if got, ok := s.Next(now); ok {
			t.Errorf("%+v begins at %v", s, got)
		}
		if got, ok := s.Last(now); ok {
			t.Errorf("%+v began at %v", s, got)
		}
		for got := range s.Between(now, now.AddDate(1, 0, 0)) {
			t.Errorf("%+v begins at %v", s, got)
		}
	}
}

// walk is the slow way to find what begins: it looks at what a clock shows in each minute.
func walk(l schedule.Line, loc *time.Location, from, to time.Time) []time.Time {
	fits := func(wall time.Time) bool {
		in := func(list []int, v int) bool { return len(list) == 0 || slices.Contains(list, v) }
		return in(l.Minutes, wall.Minute()) && in(l.Hours, wall.Hour()) && in(l.Days, wall.Day()) &&
			in(l.Months, int(wall.Month())) && in(l.Weekdays, int(wall.Weekday()))
	}
	shown := func(t time.Time) time.Time { // the clock's time, as if it were UTC
		y, m, d := t.In(loc).Date()
		return time.Date(y, m, d, t.In(loc).Hour(), t.In(loc).Minute(), 0, 0, time.UTC)
	}
	var out []time.Time
	seen := map[time.Time]bool{}
	previous := shown(from.Add(-48*time.Hour - time.Minute))
	for t := from.Add(-48 * time.Hour); !t.After(to); t = t.Add(time.Minute) {
		wall := shown(t)
		begins := fits(wall) && !seen[wall]
		for skipped := previous.Add(time.Minute); skipped.Before(wall); skipped = skipped.Add(time.Minute) {
			day := skipped.Truncate(24 * time.Hour)
			wholeDay := previous.Before(day) && !wall.Before(day.Add(24*time.Hour))
			begins = begins || fits(skipped) && !wholeDay
		}
		if begins && t.After(from) {
			out = append(out, t)
		}
		seen[wall], previous = true, wall
	}
	return out
}

func TestNextAgreesWithAWalkAlongTheClock(t *testing.T) {
	t.Parallel()
	nights := []struct {
		zone string
		jump time.Time
	}{
		{berlin, time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)},
		{berlin, time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)},
		{"America/New_York", time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC)},
		{"America/New_York", time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)},
		{"Australia/Lord_Howe", time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC)},
		{"Australia/Lord_Howe", time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC)},
		{"America/Nuuk", time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)},
		{"America/Nuuk", time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)},
		{"Africa/Cairo", time.Date(2026, 4, 23, 22, 0, 0, 0, time.UTC)},
		{"Africa/Cairo", time.Date(2026, 10, 29, 21, 0, 0, 0, time.UTC)},
		{"Pacific/Apia", time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC)},
		{"Pacific/Kwajalein", time.Date(1993, 8, 21, 12, 0, 0, 0, time.UTC)},
		{"Antarctica/Troll", time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)}, // two hours
	}
	rapid.Check(t, func(t *rapid.T) {
		night := rapid.SampledFrom(nights).Draw(t, "night")
		loc, err := time.LoadLocation(night.zone)
		if err != nil {
			t.Fatal(err)
		}
		l := schedule.Line{
			Minutes: rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 15, 29, 30, 45, 59}), 0, 3).Draw(t, "minutes"),
			Hours:   rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 2, 3, 4, 22, 23}), 0, 3).Draw(t, "hours"),
		}
		if rapid.Bool().Draw(t, "by weekday") {
			l.Weekdays = rapid.SliceOfN(rapid.IntRange(0, 6), 1, 3).Draw(t, "weekdays")
		}
		s := schedule.Spec{Cron: []string{l.String()}, Zone: night.zone}
		from, to := night.jump.Add(-26*time.Hour), night.jump.Add(26*time.Hour)
		want := walk(l, loc, from, to)
		if got := slices.Collect(s.Between(from, to)); !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s %s: got %v, want %v", l, night.zone, got, want)
		}
		now := from
		for i, w := range want {
			if i%(1+len(want)/20) != 0 {
				now = w
				continue
			}
			next, ok := s.Next(now)
			if !ok || !next.Equal(w) {
				t.Fatalf("%s %s: after %v comes %v, want %v", l, night.zone, now, next, w)
			}
			if last, ok := s.Last(next); !ok || !last.Equal(next) {
				t.Fatalf("%s %s: Last(%v) = %v", l, night.zone, next, last)
			}
			if last, _ := s.Last(next.Add(-time.Nanosecond)); last.After(now) {
				t.Fatalf("%s %s: Last before %v is %v, but Next of %v is not that", l, night.zone, next, last, now)
			}
			now = next
		}
		if next, ok := s.Next(now); ok && !next.After(to) {
			t.Fatalf("%s %s: after %v comes %v too", l, night.zone, now, next)
		}
	})
}

// Between times that were asked for at random instants nothing is lost and nothing comes twice.
func TestNextAndLastAreInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec, err := schedule.Parse(schedule.Request{Cron: genCron(t)},
			rapid.SampledFrom([]string{berlin, "America/New_York", "Australia/Lord_Howe", "America/Nuuk", "UTC"}).Draw(t, "zone"))
		if err != nil {
			t.Skip(err)
		}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 2*365*24*3600).Draw(t, "second")) * time.Second)
		next, ok := spec.Next(now)
		if !ok {
			t.Fatalf("%v never begins after %v", spec, now)
		}
		last, ok := spec.Last(now)
		if !next.After(now) || ok && last.After(now) {
			t.Fatalf("%v: at %v, last %v, next %v", spec, now, last, next)
		}
		if again, _ := spec.Last(next); !again.Equal(next) {
			t.Fatalf("%v: Last(Next(%v)) = %v, want %v", spec, now, again, next)
		}
		if again, _ := spec.Last(next.Add(-time.Second)); ok && !again.Equal(last) {
			t.Fatalf("%v: the last before %v is %v and %v", spec, next, last, again)
		}
		if again, _ := spec.Next(last); ok && !again.Equal(next) {
			t.Fatalf("%v: after %v comes %v, want %v", spec, last, again, next)
		}
	})
}
