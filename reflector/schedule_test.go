package reflector

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		m    Moment
		want Trigger
	}{
		{"nothing", Moment{Since: 1, Interval: 10, Left: 5}, NotDue},
		{"a claim", Moment{Since: 1, Interval: 10, Claimed: true, Left: 5}, ByClaim},
		{"a loop", Moment{Since: 1, Interval: 10, LoopSeen: true, Left: 5}, ByLoop},
		{"one idle session", Moment{Since: 1, Interval: 10, Idle: 1, Left: 5}, NotDue},
		{"two idle sessions", Moment{Since: 1, Interval: 10, Idle: 2, Left: 5}, ByIdleness},
		{"more idle sessions", Moment{Since: 1, Interval: 10, Idle: 3, Left: 5}, ByIdleness},
		{"just before the interval", Moment{Since: 9, Interval: 10, Left: 5}, NotDue},
		{"the interval", Moment{Since: 10, Interval: 10, Left: 5}, ByInterval},
		{"after the interval", Moment{Since: 11, Interval: 10, Left: 5}, ByInterval},
		{"every session", Moment{Since: 1, Interval: 1, Left: 5}, ByInterval},
		{"two left", Moment{Since: 1, Interval: 10, Left: 2}, NotDue},
		{"one left", Moment{Since: 1, Interval: 10, Left: 1}, BeforeLast},
		{"none left", Moment{Since: 1, Interval: 10}, AtEnd},

		{"off", Moment{Since: 99, LoopSeen: true, Idle: 9, Left: 1}, NotDue},
		{"off, at the end", Moment{Since: 99}, NotDue},
		{"off, and a claim", Moment{Since: 1, Claimed: true, Left: 5}, ByClaim},
		{"less than off", Moment{Since: 99, Interval: -1, LoopSeen: true}, NotDue},

		{"a claim before all", Moment{Since: 10, Interval: 10, Claimed: true, LoopSeen: true, Idle: 2}, ByClaim},
		{"a loop before idleness", Moment{Since: 10, Interval: 10, LoopSeen: true, Idle: 2}, ByLoop},
		{"idleness before the interval", Moment{Since: 10, Interval: 10, Idle: 2}, ByIdleness},
		{"the interval before the last", Moment{Since: 10, Interval: 10, Left: 1}, ByInterval},
		{"the interval before the end", Moment{Since: 10, Interval: 10}, ByInterval},
	} {
		if got := Due(c.m); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestNextInterval(t *testing.T) {
	t.Parallel()
	good, slow, stuck := Assessment{Progress: Good}, Assessment{Progress: Slow}, Assessment{Progress: Stuck}
	loop := Assessment{Progress: Good, LoopDetected: true}
	for _, c := range []struct {
		name string
		base int
		a    Assessment
		want int
	}{
		{"good", 4, good, 8},
		{"good, to the bound", 10, good, 20},
		{"good, beyond the bound", 11, good, 20},
		{"good, at the bound", 20, good, 20},
		{"good, more than the bound was asked for", 30, good, 30},
		{"good, much more", math.MaxInt, good, math.MaxInt},
		{"slow", 10, slow, 5},
		{"slow, odd", 5, slow, 2},
		{"slow, at least one", 1, slow, 1},
		{"stuck", 10, stuck, 5},
		{"good in a loop", 10, loop, 5},
		{"off", 0, good, 0},
		{"off and slow", 0, slow, 0},
		{"less than off", -3, stuck, 0},
	} {
		if got := NextInterval(c.base, c.a); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestSeriesAfter(t *testing.T) {
	t.Parallel()
	from := Series{Slow: 2, Stuck: 1, Failed: 3, Interval: 7, Percent: 30}
	for _, c := range []struct {
		name string
		a    Assessment
		base int
		want Series
	}{
		{"good", Assessment{Progress: Good, PercentComplete: 45}, 10, Series{Interval: 20, Percent: 45}},
		{"slow", Assessment{Progress: Slow, PercentComplete: 31}, 10, Series{Slow: 3, Interval: 5, Percent: 31}},
		{"stuck", Assessment{Progress: Stuck, PercentComplete: 30}, 10, Series{Slow: 3, Stuck: 2, Interval: 5, Percent: 30}},
		{"backwards", Assessment{Progress: Stuck, PercentComplete: 5}, 10, Series{Slow: 3, Stuck: 2, Interval: 5, Percent: 5}},
		{"off", Assessment{Progress: Good, PercentComplete: 45}, 0, Series{Percent: 45}},
	} {
		if diff := cmp.Diff(c.want, from.After(c.a, c.base)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}

	var s Series
	for i, step := range []struct {
		p           Progress
		slow, stuck int
	}{{Slow, 1, 0}, {Stuck, 2, 1}, {Stuck, 3, 2}, {Slow, 4, 0}, {Stuck, 5, 1}, {Good, 0, 0}, {Slow, 1, 0}} {
		if s = s.After(Assessment{Progress: step.p}, 10); s.Slow != step.slow || s.Stuck != step.stuck {
			t.Errorf("after %d: %d slow and %d stuck in a row, want %d and %d", i+1, s.Slow, s.Stuck, step.slow, step.stuck)
		}
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	none, files, commits := Session{Calls: 9, Completed: []string{"a lot"}}, Session{Files: 1}, Session{Commits: 1}
	for _, c := range []struct {
		name string
		list []Session
		want int
	}{
		{"no session", nil, 0},
		{"one with files", []Session{none, files}, 0},
		{"one with commits", []Session{none, commits}, 0},
		{"one without", []Session{files, none}, 1},
		{"three without, after one with", []Session{none, commits, none, none, none}, 3},
		{"none with", []Session{none, none}, 2},
	} {
		if got := (Input{Sessions: c.list}).Idle(); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestFailedChecks(t *testing.T) {
	t.Parallel()
	in := Input{Checks: []Check{{Name: "build", OK: true, Detail: "ok"}, {Name: "tests", Detail: "exit status 1"}, {Name: "README.md", Detail: "is missing", Given: true}}}
	if diff := cmp.Diff([]string{"tests: exit status 1", "README.md: is missing"}, in.FailedChecks()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (Input{}).FailedChecks(); len(got) > 0 {
		t.Errorf("no checks: got %q", got)
	}
}
