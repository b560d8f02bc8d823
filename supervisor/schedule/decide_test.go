package schedule_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autopilot/supervisor/schedule"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	night := schedule.Spec{Cron: []string{"0 22 * * *"}, Zone: berlin, Until: "06:00"}
	open := schedule.Spec{Cron: []string{"0 22 * * *"}, Zone: berlin}
	hourly := schedule.Spec{Cron: []string{"0 * * * *"}, Zone: berlin}
	minutely := schedule.Spec{Cron: []string{"* * * * *"}, Zone: berlin}
	twice := schedule.Spec{Cron: []string{"0 22,23 * * *"}, Zone: berlin, Until: "06:00"}
	gone := schedule.Spec{Cron: []string{"15 2 * * *"}, Zone: berlin, Until: "02:45"}
	tests := []struct {
		name      string
		spec      schedule.Spec
		now, last string // last may be empty
		want      schedule.Reason
		nominal   string
		until     string
		late      time.Duration
		missed    int
	}{
		{"on time", night, "2026-01-06 22:00 +0100", "2026-01-05 22:00 +0100", schedule.Due, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", 0, 0},
		{"for the first time", night, "2026-01-06 22:00 +0100", "", schedule.Due, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", 0, 0},
		{"a minute after", night, "2026-01-06 22:01 +0100", "2026-01-05 22:00 +0100", schedule.Due, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", time.Minute, 0},
		{"two minutes early", night, "2026-01-06 21:58 +0100", "2026-01-05 22:00 +0100", schedule.Early, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", 0, 0},
		{"three minutes early, the night before was had", night, "2026-01-06 21:57 +0100", "2026-01-05 22:00 +0100", schedule.Taken, "2026-01-05 22:00 +0100", "2026-01-06 06:00 +0100", 24*time.Hour - 3*time.Minute, 0},
		{"on time after somebody was early", night, "2026-01-06 22:00 +0100", "2026-01-06 22:00 +0100", schedule.Taken, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", 0, 0},
		{"early a second time", night, "2026-01-06 21:59 +0100", "2026-01-06 22:00 +0100", schedule.Taken, "2026-01-05 22:00 +0100", "2026-01-06 06:00 +0100", 24*time.Hour - time.Minute, 0},
		{"after a sleep, the window is open", night, "2026-01-07 03:00 +0100", "2026-01-05 22:00 +0100", schedule.Late, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", 5 * time.Hour, 0},
		{"as the window closes", night, "2026-01-07 06:00 +0100", "2026-01-05 22:00 +0100", schedule.Closed, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", 8 * time.Hour, 0},
		{"a minute before that", night, "2026-01-07 05:59 +0100", "2026-01-05 22:00 +0100", schedule.Late, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", 8*time.Hour - time.Minute, 0},
		{"at noon", night, "2026-01-07 12:00 +0100", "2026-01-05 22:00 +0100", schedule.Closed, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", 14 * time.Hour, 0},
		{"at noon, told of already", night, "2026-01-07 12:00 +0100", "2026-01-06 22:00 +0100", schedule.Taken, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", 14 * time.Hour, 0},
		{"installed after the time", night, "2026-01-06 23:00 +0100", "2026-01-06 22:30 +0100", schedule.Taken, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", time.Hour, 0},
		{"an hour late without a window", open, "2026-01-06 23:00 +0100", "2026-01-05 22:00 +0100", schedule.Late, "2026-01-06 22:00 +0100", "", time.Hour, 0},
		{"more than an hour late", open, "2026-01-06 23:01 +0100", "2026-01-05 22:00 +0100", schedule.TooLate, "2026-01-06 22:00 +0100", "", time.Hour + time.Minute, 0},
		{"three nights off", night, "2026-01-08 22:00 +0100", "2026-01-04 22:00 +0100", schedule.Due, "2026-01-08 22:00 +0100", "2026-01-09 06:00 +0100", 0, 3},
		{"a year off", night, "2026-01-08 22:00 +0100", "2025-01-04 22:00 +0100", schedule.Due, "2026-01-08 22:00 +0100", "2026-01-09 06:00 +0100", 0, 30},
		{"the later of two", twice, "2026-01-07 01:00 +0100", "2026-01-05 23:00 +0100", schedule.Late, "2026-01-06 23:00 +0100", "2026-01-07 06:00 +0100", 2 * time.Hour, 1},
		{"the clock went back an hour", hourly, "2026-01-06 22:00 +0100", "2026-01-06 22:00 +0100", schedule.Taken, "2026-01-06 22:00 +0100", "", 0, 0},
		{"the clock went back two hours", hourly, "2026-01-06 21:00 +0100", "2026-01-06 22:00 +0100", schedule.Taken, "2026-01-06 21:00 +0100", "", 0, 0},
		{"the clock was a week ahead", night, "2026-01-06 22:00 +0100", "2026-01-13 22:00 +0100", schedule.Due, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", 0, 0},
		{"the clock was set ahead over the night", night, "2026-01-07 12:00 +0100", "2026-01-05 22:00 +0100", schedule.Closed, "2026-01-06 22:00 +0100", "2026-01-07 06:00 +0100", 14 * time.Hour, 0},
		{"every minute", minutely, "2026-01-06 22:00 +0100", "2026-01-06 21:59 +0100", schedule.Due, "2026-01-06 22:00 +0100", "", 0, 0},
		{"every minute, again in the same one", minutely, "2026-01-06 22:00 +0100", "2026-01-06 22:00 +0100", schedule.Taken, "2026-01-06 22:00 +0100", "", 0, 0},
		{"the second pass of an hour", schedule.Spec{Cron: []string{"30 2 * * *"}, Zone: berlin}, "2026-10-25 02:30 +0100", "2026-10-25 02:30 +0200", schedule.Taken, "2026-10-25 02:30 +0200", "", time.Hour, 0},
		{"the second pass, when nobody took the first", schedule.Spec{Cron: []string{"30 2 * * *"}, Zone: berlin}, "2026-10-25 02:30 +0100", "2026-10-24 02:30 +0200", schedule.Late, "2026-10-25 02:30 +0200", "", time.Hour, 0},
		{"after a jump", schedule.Spec{Cron: []string{"30 2 * * *"}, Zone: berlin}, "2026-03-29 03:00 +0200", "2026-03-28 02:30 +0100", schedule.Due, "2026-03-29 03:00 +0200", "", 0, 0},
		{"a window that was jumped over", gone, "2026-03-29 03:00 +0200", "2026-03-28 02:15 +0100", schedule.Closed, "2026-03-29 03:00 +0200", "2026-03-29 03:00 +0200", 0, 0},
		{"nothing has come yet", schedule.Spec{Cron: []string{"0 22 31 2 *"}, Zone: berlin}, "2026-01-06 22:00 +0100", "", schedule.NotYet, "", "", 0, 0},
		{"nothing that can be read", schedule.Spec{Cron: []string{"x"}, Zone: berlin}, "2026-01-06 22:00 +0100", "", schedule.NotYet, "", "", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var last time.Time
			if tt.last != "" {
				last = at(t, tt.last, berlin)
			}
			got := schedule.Decide(tt.spec, at(t, tt.now, berlin), last)
			if got.Reason != tt.want || got.Late != tt.late || len(got.Missed) != tt.missed {
				t.Errorf("%s, %v late, %d missed (%s), want %s, %v, %d", got.Reason, got.Late, len(got.Missed), got.Why, tt.want, tt.late, tt.missed)
			}
			starts := tt.want == schedule.Due || tt.want == schedule.Early || tt.want == schedule.Late
			if got.Start != starts {
				t.Errorf("Start = %v, want %v", got.Start, starts)
			}
			for what, pair := range map[string][2]string{"Nominal": {when(got.Nominal), tt.nominal}, "Until": {when(got.Until), tt.until}} {
				if pair[0] != pair[1] {
					t.Errorf("%s = %s, want %s", what, pair[0], pair[1])
				}
			}
			if got.Why == "" || strings.HasSuffix(got.Why, ".") {
				t.Errorf("Why = %q", got.Why)
			}
			for i, m := range got.Missed {
				if !m.After(last) || !m.Before(got.Nominal) || i > 0 && !m.After(got.Missed[i-1]) {
					t.Errorf("missed %v between %v and %v", got.Missed, last, got.Nominal)
				}
			}
		})
	}
}

func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(stamp)
}

func TestDecideNamesTheLatestOfTheMissed(t *testing.T) {
	t.Parallel()
	night := schedule.Spec{Cron: []string{"0 22 * * *"}, Zone: berlin, Until: "06:00"}
	got := schedule.Decide(night, at(t, "2026-03-01 22:00 +0100", berlin), at(t, "2026-01-01 22:00 +0100", berlin)).Missed
	if n := len(got); n != 30 || when(got[n-1]) != "2026-02-28 22:00 +0100" || when(got[0]) != "2026-01-30 22:00 +0100" {
		t.Errorf("missed %v, want the 30 nights up to 28 February", got)
	}
}

func TestDecideSaysWhy(t *testing.T) {
	t.Parallel()
	night := schedule.Spec{Cron: []string{"0 22 * * *"}, Zone: berlin, Until: "06:00"}
	open := schedule.Spec{Cron: []string{"0 22 * * *"}, Zone: berlin}
	for _, tt := range []struct {
		spec            schedule.Spec
		now, last, want string
	}{
		{night, "2026-01-06 22:00 +0100", "2026-01-05 22:00 +0100", "it is Tue 6 Jan 22:00"},
		{night, "2026-01-06 21:59 +0100", "2026-01-05 22:00 +0100", "it is about to be Tue 6 Jan 22:00"},
		{night, "2026-01-07 03:05 +0100", "2026-01-05 22:00 +0100", "Tue 6 Jan 22:00 is 5h 5m ago, and the window is open until Wed 7 Jan 06:00"},
		{night, "2026-01-07 12:00 +0100", "2026-01-05 22:00 +0100", "Tue 6 Jan 22:00 is 14h 0m ago, and the window was over at Wed 7 Jan 06:00"},
		{open, "2026-01-06 22:30 +0100", "2026-01-05 22:00 +0100", "Tue 6 Jan 22:00 is 30m ago"},
		{schedule.Spec{Cron: []string{"0 22 1 * *"}, Zone: berlin}, "2026-01-04 00:00 +0100", "2025-12-01 22:00 +0100", "Thu 1 Jan 22:00 is 2d 2h ago"},
		{night, "2026-01-06 22:00 +0100", "2026-01-06 22:00 +0100", "Tue 6 Jan 22:00 was decided already"},
	} {
		if got := schedule.Decide(tt.spec, at(t, tt.now, berlin), at(t, tt.last, berlin)).Why; got != tt.want {
			t.Errorf("at %s after %s: %q, want %q", tt.now, tt.last, got, tt.want)
		}
	}
}

// However often and at whatever times something is woken, each nominal time begins at most
// once, in order, within its window; and when it is woken at each time, each begins.
func TestDecideTakesEachTimeOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{berlin, "America/New_York", "Australia/Lord_Howe", "UTC"}).Draw(t, "zone")
		spec := schedule.Spec{
			Cron:  []string{rapid.SampledFrom([]string{"0 22 * * *", "30 2 * * *", "0,30 1-3 * * *", "*/15 * * * *", "0 22 * * 1-5"}).Draw(t, "cron")},
			Zone:  zone,
			Until: rapid.SampledFrom([]string{"", "06:10", "02:10"}).Draw(t, "until"),
		}
		now := rapid.SampledFrom([]time.Time{
			time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 23, 12, 0, 0, 0, time.UTC),
			time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC), time.Date(2026, 10, 30, 12, 0, 0, 0, time.UTC), time.Date(2026, 4, 3, 0, 0, 0, 0, time.UTC),
		}).Draw(t, "from")
		last, _ := spec.Last(now)
		for range 60 {
			switch rapid.IntRange(0, 3).Draw(t, "wake") {
			case 0:
				now = now.Add(time.Duration(rapid.IntRange(0, 10*3600).Draw(t, "seconds")) * time.Second)
			case 1:
				now = now.Add(-time.Duration(rapid.IntRange(0, 3*3600).Draw(t, "back")) * time.Second)
			default:
				next, _ := spec.Next(now)
				now = next.Add(time.Duration(rapid.IntRange(-30, 90).Draw(t, "off")) * time.Second)
			}
			d := schedule.Decide(spec, now, last)
			if d.Nominal.IsZero() {
				t.Fatalf("at %v nothing", now)
			}
			if again, _ := spec.Last(d.Nominal); !again.Equal(d.Nominal) {
				t.Fatalf("%v is no time of %v", d.Nominal, spec)
			}
			taken := !d.Nominal.After(last)
			if taken != (d.Reason == schedule.Taken) || taken && d.Start {
				t.Fatalf("at %v after %v: %+v", now, last, d)
			}
			if d.Start && (now.Before(d.Nominal.Add(-2*time.Minute)) || !d.Until.IsZero() && !now.Before(d.Until) || d.Until.IsZero() && d.Late > time.Hour) {
				t.Fatalf("at %v begins %+v", now, d)
			}
			for m := range spec.Between(last, d.Nominal.Add(-time.Second)) {
				if !taken && len(d.Missed) < 30 && !contains(d.Missed, m) {
					t.Fatalf("at %v after %v: %v is not among the missed %v", now, last, m, d.Missed)
				}
			}
			if !taken {
				last = d.Nominal
			}
		}
	})
}

func contains(list []time.Time, t time.Time) bool {
	for _, l := range list {
		if l.Equal(t) {
			return true
		}
	}
	return false
}
