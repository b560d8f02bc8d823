package config_test

import (
	"strings"
	"testing"
	"time"

	"autopilot/cmd/internal/config"
)

func TestUntil(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, berlin) }
	tests := []struct {
		name, v string
		now     time.Time
		want    time.Time
	}{
		{"none", "", at(10, 22, 0), time.Time{}},
		{"the next morning", "06:00", at(10, 22, 0), at(11, 6, 0)},
		{"later today", "23:30", at(10, 22, 0), at(10, 23, 30)},
		{"now is tomorrow", "22:00", at(10, 22, 0), at(11, 22, 0)},
		{"the end of the month", "06:00", at(31, 22, 0), time.Date(2026, 4, 1, 6, 0, 0, 0, berlin)},
		{"a night of eleven hours less one", "06:00", at(28, 19, 0), time.Date(2026, 3, 29, 4, 0, 0, 0, time.UTC)},
		{"a time that the clocks leave out", "02:30", at(29, 1, 45), time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)},
		{"a time that comes twice, between the two", "02:30", time.Date(2026, 10, 25, 0, 45, 0, 0, time.UTC).In(berlin), time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC)},
		{"a moment", "2026-03-11T06:00:00+01:00", at(10, 22, 0), at(11, 6, 0)},
		{"a moment that is over", "2020-01-01T00:00:00Z", at(10, 22, 0), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	for _, tt := range tests {
		if got, err := config.Until(tt.v, tt.now); err != nil || !got.Equal(tt.want) {
			t.Errorf("%s: got %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
	for _, v := range []string{"6", "24:00", "06:60", "6 am", "tomorrow", "2026-03-11"} {
		if _, err := config.Until(v, at(10, 22, 0)); err == nil || !strings.Contains(err.Error(), "06:00") {
			t.Errorf("%q: got %v, want an error with an example", v, err)
		}
	}
}
