package config

import (
	"fmt"
	"time"
)

// clockTime is a time of day as people write it.
const clockTime = "15:04"

// untilOptions bound a run by a time of day and keep the machine awake for it.
func untilOptions() []Option {
	until := text("until", "", "time of day (06:00) or moment (2026-01-31T06:00:00+01:00) at which the run is over: a session that runs then is interrupted; empty for none", nil)
	until.apply = func(c *Config, raw []string) (moved, error) {
		v, err := one(raw)
		if err != nil {
			return moved{}, err
		}
		if _, err := Until(v, time.Now()); err != nil {
			return moved{}, err
		}
		c.Until = v
		return moved{}, nil
	}
	return []Option{
		until,
		boolean("inhibit-sleep", "false", "keep the machine from going to sleep while the run is on (systemd-inhibit, caffeinate)", func(c *Config, v bool) { c.InhibitSleep = v }),
	}
}

// Until is the moment that the until option means: of a time of day the next one, in the
// machine's time zone. Nothing means never, which is the zero time.
func Until(v string, now time.Time) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return t, nil
	}
	clock, err := time.Parse(clockTime, v)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither a time of day such as 06:00 nor a moment such as 2026-01-31T06:00:00+01:00", v)
	}
	return next(clock.Hour()*60+clock.Minute(), now), nil
}

// next is the first moment behind now whose time of day is the given minute, or where the
// clocks leave that out, the moment at which they do.
func next(minute int, now time.Time) time.Time {
	of := func(t time.Time) int { return t.Hour()*60 + t.Minute() }
	at := now.Truncate(time.Minute)
	for {
		before := of(at)
		at = at.Add(time.Minute)
		if n := of(at); n == minute || before < minute && minute < n {
			return at
		}
	}
}
