package vitals_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"autopilot/sessions/outcome"
	"autopilot/sessions/vitals"
)

// nobody is a process id that no system gives out: the tree is empty, and uses
// no processor.
const nobody = 1 << 30

func start() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

// story is what happens around one process, in time since its start.
type story struct {
	limits  vitals.Limits
	started time.Duration                               // start of the session; zero or before
	active  func(at time.Duration) (last time.Duration) // last event by that time; negative for none
	inTool  func(at time.Duration) bool
	results []time.Duration // when results were printed
	turns   []time.Duration // when a further turn began
	late    func(at time.Duration) time.Duration
	judge   time.Duration
}

func never(time.Duration) time.Duration { return -1 }

func until(last time.Duration) func(time.Duration) time.Duration {
	return func(at time.Duration) time.Duration { return min(at, last).Truncate(time.Second) }
}

// watch plays the loop that looks at the process, up to the end of the story. It
// returns when and why the process would be ended.
func (s story) watch(end time.Duration) (at time.Duration, stop outcome.Stop, why string) {
	t0 := start()
	c := vitals.New(nobody, t0, s.limits, nil)
	results, turns := s.results, s.turns
	for at <= end {
		step := c.Next(t0.Add(at), s.judge)
		if s.late != nil {
			step += s.late(at + step)
		}
		at += step
		for len(results) > 0 && results[0] <= at || len(turns) > 0 && turns[0] <= at {
			if len(turns) == 0 || len(results) > 0 && results[0] < turns[0] {
				c.Result(t0.Add(results[0]))
				results = results[1:]
				continue
			}
			c.Working()
			turns = turns[1:]
		}
		g := vitals.Signs{Started: t0.Add(s.started)}
		if last := s.active(at); last >= 0 {
			g.Active = t0.Add(last)
		}
		if s.inTool != nil {
			g.InTool = s.inTool(at)
		}
		if stop, why := c.Look(t0.Add(at), g); stop != outcome.StopNone {
			return at, stop, why
		}
	}
	return at, outcome.StopNone, ""
}

func always(time.Duration) bool { return true }

// usual are the limits of a run that sets none.
func usual() vitals.Limits {
	return vitals.Limits{Stall: 10 * time.Minute, ToolStall: 30 * time.Minute, ExitGrace: time.Minute}
}

func with(change func(*vitals.Limits)) vitals.Limits {
	l := usual()
	change(&l)
	return l
}

func slept(from, d time.Duration) func(time.Duration) time.Duration {
	done := false
	return func(at time.Duration) time.Duration {
		if at < from || done {
			return 0
		}
		done = true
		return d
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	const minute, hour = time.Minute, time.Hour
	const look = 30 * time.Second // at most between two looks
	tests := []struct {
		name  string
		story story
		want  outcome.Stop
		from  time.Duration // not before
		to    time.Duration // not after
		says  string
	}{
		{"no event at all", story{limits: usual(), active: never}, outcome.StopHung, 10 * minute, 10*minute + look, "stall-timeout=10m0s"},
		{"events that stop", story{limits: usual(), active: until(hour)}, outcome.StopHung, 70 * minute, 70*minute + look, "stall-timeout=10m0s"},
		{"events that do not stop", story{limits: usual(), active: until(24 * hour)}, outcome.StopNone, 0, 0, ""},
		{"a tool may be silent for longer", story{limits: usual(), active: never, inTool: always}, outcome.StopHung, 30 * minute, 30*minute + look, "tool-stall-timeout=30m0s"},
		{
			"a tool is never given less",
			story{limits: with(func(l *vitals.Limits) { l.ToolStall = minute }), active: never, inTool: always},
			outcome.StopHung, 10 * minute, 10*minute + look, "",
		},
		{
			"a tool that ended in silence",
			story{limits: usual(), active: never, inTool: func(at time.Duration) bool { return at < 20*minute }},
			outcome.StopHung, 20 * minute, 20*minute + look, "stall-timeout=10m0s",
		},
		{"no stall limit", story{limits: with(func(l *vitals.Limits) { l.Stall, l.ToolStall = 0, 0 }), active: never}, outcome.StopNone, 0, 0, ""},
		{
			"a short limit",
			story{limits: with(func(l *vitals.Limits) { l.Stall, l.ToolStall = 3*time.Second, 3*time.Second }), active: never},
			outcome.StopHung, 3 * time.Second, 4 * time.Second, "",
		},
		{"looked at more often than needed", story{limits: usual(), active: never, judge: 5 * time.Second}, outcome.StopHung, 10 * minute, 10*minute + 5*time.Second, ""},

		{
			"session timeout in spite of events",
			story{limits: with(func(l *vitals.Limits) { l.Session = 2 * hour }), active: until(24 * hour)},
			outcome.StopTimeout, 2 * hour, 2*hour + look, "session-timeout 2h0m0s",
		},
		{"session timeout in silence", story{limits: with(func(l *vitals.Limits) { l.Session = 5 * minute }), active: never}, outcome.StopTimeout, 5 * minute, 5*minute + look, ""},
		{
			"session timeout counts earlier processes",
			story{limits: with(func(l *vitals.Limits) { l.Session = 2 * hour }), started: -90 * minute, active: until(24 * hour)},
			outcome.StopTimeout, 30 * minute, 30*minute + look, "",
		},

		{"stays after its result", story{limits: usual(), active: until(hour), results: []time.Duration{hour}}, outcome.StopLinger, 61 * minute, 61*minute + look, "within 1m0s"},
		{
			"another turn after its result",
			story{limits: usual(), active: until(2 * hour), results: []time.Duration{hour}, turns: []time.Duration{hour + time.Second}},
			outcome.StopHung, 130 * minute, 130*minute + look, "",
		},
		{
			"another result",
			story{limits: usual(), active: until(2 * hour), results: []time.Duration{hour, 2 * hour}, turns: []time.Duration{hour + time.Second}},
			outcome.StopLinger, 121 * minute, 121*minute + look, "",
		},
		{
			"a long grace is no stall",
			story{limits: with(func(l *vitals.Limits) { l.ExitGrace = hour }), active: never, results: []time.Duration{minute}},
			outcome.StopLinger, 61 * minute, 61*minute + look, "",
		},
		// The work is done: ending the process late is no reason to call it hung.
		{
			"the session's time ends after its last result",
			story{limits: with(func(l *vitals.Limits) { l.Session = hour }), active: until(hour - minute/2), results: []time.Duration{hour - minute/2}},
			outcome.StopLinger, hour, hour + minute, "",
		},

		{"the machine slept in silence", story{limits: usual(), active: never, late: slept(5*minute, 8*hour)}, outcome.StopHung, 8*hour + 15*minute, 8*hour + 16*minute, ""},
		{"the machine slept again and again", story{limits: usual(), active: never, late: func(at time.Duration) time.Duration { return hour }}, outcome.StopNone, 0, 0, ""},
		{
			"the machine slept while a tool ran",
			story{limits: usual(), active: never, inTool: always, late: slept(20*minute, 8*hour)},
			outcome.StopHung, 8*hour + 50*minute, 8*hour + 51*minute, "",
		},
		{
			"deadlines stay where they are",
			story{limits: with(func(l *vitals.Limits) { l.Session = 2 * hour }), active: never, late: slept(5*minute, 8*hour)},
			outcome.StopTimeout, 8 * hour, 8*hour + 6*minute, "",
		},
		{
			"a late look is no sleep",
			story{limits: usual(), active: never, late: func(time.Duration) time.Duration { return 25 * time.Second }},
			outcome.StopHung, 10 * minute, 11 * minute, "",
		},
		{
			"a short sleep beside a short limit",
			story{limits: with(func(l *vitals.Limits) { l.Stall = 10 * time.Second }), active: never, late: slept(5*time.Second, 20*time.Second)},
			outcome.StopHung, 35 * time.Second, 40 * time.Second, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, stop, why := tt.story.watch(20 * hour)
			if stop != tt.want || !strings.Contains(why, tt.says) {
				t.Fatalf("after %v: got %q (%s), want %q saying %q", at, stop, why, tt.want, tt.says)
			}
			if tt.want != outcome.StopNone && (at < tt.from || at > tt.to) {
				t.Errorf("ended after %v, want %v to %v", at, tt.from, tt.to)
			}
		})
	}
}

// TestWatchProperty draws any rhythm of events: while no gap is as long as the
// limit nothing is ended, and after the last event it is, in time.
func TestWatchProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := time.Duration(rapid.IntRange(2, 1200).Draw(rt, "limit")) * time.Second
		longest := limit * 9 / 10
		events := []time.Duration{0}
		for range rapid.IntRange(0, 8).Draw(rt, "events") {
			gap := time.Duration(rapid.Int64Range(1, int64(longest)).Draw(rt, "gap"))
			events = append(events, events[len(events)-1]+gap)
		}
		last := events[len(events)-1]
		s := story{limits: vitals.Limits{Stall: limit}, active: func(at time.Duration) time.Duration {
			seen := events[0]
			for _, e := range events {
				if e <= at {
					seen = e
				}
			}
			return seen
		}}
		at, stop, _ := s.watch(last + 3*limit)
		if stop != outcome.StopHung || at < last+limit || at > last+limit+max(limit/6, time.Second) {
			rt.Fatalf("limit %v, last event at %v: %q after %v", limit, last, stop, at)
		}
	})
}

func TestNext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limits vitals.Limits
		atMost time.Duration
		want   time.Duration
	}{
		{vitals.Limits{}, 0, 30 * time.Second},
		{usual(), 0, 30 * time.Second},
		{usual(), 15 * time.Second, 15 * time.Second},
		{usual(), time.Hour, 30 * time.Second},
		{vitals.Limits{Stall: time.Minute}, 0, 10 * time.Second},
		{vitals.Limits{ToolStall: time.Minute}, 0, 10 * time.Second},
		{vitals.Limits{Session: 6 * time.Second, Stall: time.Hour}, 0, time.Second},
		{vitals.Limits{Stall: time.Millisecond}, 0, 20 * time.Millisecond},
		{vitals.Limits{Stall: time.Millisecond}, time.Millisecond, time.Millisecond},
	}
	for _, tt := range tests {
		c := vitals.New(nobody, start(), tt.limits, nil)
		if got := c.Next(start(), tt.atMost); got != tt.want {
			t.Errorf("limits %+v, at most %v: got %v, want %v", tt.limits, tt.atMost, got, tt.want)
		}
	}
	c := vitals.New(nobody, start(), usual(), nil)
	c.Result(start())
	if got := c.Next(start(), 0); got != 10*time.Second {
		t.Errorf("after a result: got %v, want a sixth of the exit grace", got)
	}
	c.Working()
	if got := c.Next(start(), 0); got != 30*time.Second {
		t.Errorf("in a further turn: got %v, want 30s", got)
	}
}

// onlyWall moves the wall clock on while the monotonic clock stands still, as it
// does while a machine is suspended.
func onlyWall(t *testing.T, from time.Time, d time.Duration) time.Time {
	t.Helper()
	moved := from.Add(d)
	(*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&moved)).ext -= int64(d)
	if moved.Sub(from) != 0 || moved.Round(0).Sub(from.Round(0)) != d {
		t.Fatalf("the clocks moved by %v and %v, want 0 and %v", moved.Sub(from), moved.Round(0).Sub(from.Round(0)), d)
	}
	return moved
}

// TestWallClock holds each limit against a machine whose monotonic clock stood
// still.
func TestWallClock(t *testing.T) {
	t.Parallel()
	t0 := time.Now()
	later := onlyWall(t, t0, time.Hour)
	t.Run("session", func(t *testing.T) {
		t.Parallel()
		c := vitals.New(nobody, t0, vitals.Limits{Session: 30 * time.Minute}, nil)
		if stop, _ := c.Look(later, vitals.Signs{Started: t0, Active: later}); stop != outcome.StopTimeout {
			t.Errorf("got %q, want %q", stop, outcome.StopTimeout)
		}
	})
	t.Run("exit grace", func(t *testing.T) {
		t.Parallel()
		c := vitals.New(nobody, t0, usual(), nil)
		c.Result(t0)
		if stop, _ := c.Look(later, vitals.Signs{Started: t0}); stop != outcome.StopLinger {
			t.Errorf("got %q, want %q", stop, outcome.StopLinger)
		}
	})
	t.Run("sleep", func(t *testing.T) {
		t.Parallel()
		c := vitals.New(nobody, t0, usual(), nil)
		c.Next(t0, 0)
		if stop, _ := c.Look(later, vitals.Signs{Started: t0, Active: t0}); stop != outcome.StopNone {
			t.Errorf("got %q for a machine that slept, want nothing", stop)
		}
		// From here on it is awake, and silent for the whole limit.
		stop, at := outcome.StopNone, later
		for stop == outcome.StopNone && at.Before(later.Add(time.Hour)) {
			at = at.Add(c.Next(at, 0))
			stop, _ = c.Look(at, vitals.Signs{Started: t0, Active: t0})
		}
		if awake := at.Sub(later); stop != outcome.StopHung || awake < 10*time.Minute || awake > 11*time.Minute {
			t.Errorf("got %q %v after it woke, want %q after 10m", stop, awake, outcome.StopHung)
		}
	})
}

// TestClockSetBack is a wall clock that was wrong when the process started: it
// must not lengthen the limits by as much.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	wrong := start().Add(3 * time.Hour)
	for name, result := range map[string]bool{"stall": false, "exit grace": true} {
		c := vitals.New(nobody, wrong, usual(), nil)
		if result {
			c.Result(wrong)
		}
		c.Next(wrong, 0)
		stop, at := outcome.StopNone, start()
		for stop == outcome.StopNone && at.Before(wrong) {
			stop, _ = c.Look(at, vitals.Signs{Started: wrong, Active: wrong})
			at = at.Add(c.Next(at, 0))
		}
		if stop == outcome.StopNone {
			t.Errorf("%s: nothing was noticed for %v", name, at.Sub(start()))
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTranscript lets a conversation grow, or not, while the stream is silent.
func TestTranscript(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(t *testing.T, dir string)
		lives  bool
	}{
		{"nothing changes", func(*testing.T, string) {}, false},
		{"the transcript grows", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "s.jsonl"), "one two") }, true},
		{"the transcript is made", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "new.jsonl"), "x") }, true},
		{"the transcript is written anew and shorter", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "s.jsonl"), "") }, true},
		{"a sub-agent's transcript grows", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "s", "subagents", "a.jsonl"), "one two") }, true},
		{"a sub-agent's transcript is made", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "s", "subagents", "b.jsonl"), "x") }, true},
		{"it is only touched", func(t *testing.T, dir string) {
			now := time.Now().Add(time.Hour)
			if err := os.Chtimes(filepath.Join(dir, "s.jsonl"), now, now); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"another conversation grows", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "other.jsonl"), "one two") }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "s.jsonl"), "one")
			write(t, filepath.Join(dir, "s", "subagents", "a.jsonl"), "one")
			files := []string{filepath.Join(dir, "s.jsonl"), filepath.Join(dir, "new.jsonl"), filepath.Join(dir, "s", "subagents")}
			c := vitals.New(nobody, start(), usual(), files)
			changed, stop, at := false, outcome.StopNone, start()
			for stop == outcome.StopNone && at.Before(start().Add(time.Hour)) {
				at = at.Add(c.Next(at, 0))
				if !changed && at.Sub(start()) > 9*time.Minute {
					changed = true
					tt.change(t, dir)
				}
				stop, _ = c.Look(at, vitals.Signs{Started: start()})
			}
			lived := at.Sub(start()) > 11*time.Minute
			if stop != outcome.StopHung || lived != tt.lives {
				t.Errorf("got %q after %v, want it hung, and alive by the transcript: %v", stop, at.Sub(start()), tt.lives)
			}
		})
	}
}
