package story

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"autopilot/supervisor/killswitch"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// fine are facts that stand against nothing.
func fine() Facts {
	return Facts{Now: noon(), Tier: "green", Cap: 6, BudgetLeft: true, MinFree: true, Deadline: noon().Add(time.Hour)}
}

// cohortOf has stories that are written "id status dependency,dependency".
func cohortOf(isolation Isolation, most int, stories ...string) Cohort {
	c := Cohort{Isolation: isolation, Max: most, Agents: 6}
	for _, text := range stories {
		f := strings.Fields(text)
		m := Member{Story: Story{ID: f[0], Kind: Goal, Title: f[0], Goal: f[0]}, Status: Status(f[1])}
		if len(f) > 2 {
			m.After = strings.Split(f[2], ",")
		}
		c.Members = append(c.Members, m)
	}
	return c
}

// told writes actions without their words.
func told(actions []Action) []string {
	out := []string{}
	for _, a := range actions {
		var s string
		switch {
		case a.Begin != "":
			s = "begin " + a.Begin
			if len(a.Lane) > 0 {
				s += " on " + strings.Join(a.Lane, " ")
			}
		case a.Shut != "":
			s = "shut " + a.Shut
		case a.End != "":
			s = "end " + a.End
		case a.Stop != nil:
			s = "stop " + a.Stop.Reason
		}
		out = append(out, s)
	}
	return out
}

func TestDecideBegins(t *testing.T) {
	t.Parallel()
	free := []string{"a waiting", "b waiting", "c waiting", "d waiting", "e waiting", "f waiting"}
	tests := []struct {
		name   string
		most   int
		list   []string
		change func(*Cohort, *Facts)
		want   []string
	}{
		{"up to Max", 3, free, nil, []string{"begin a", "begin b", "begin c"}},
		{"beside what runs", 3, []string{"a running", "b done", "c waiting", "d waiting", "e waiting"}, nil, []string{"begin c", "begin d"}},
		{"never more than the cap", 6, free, func(_ *Cohort, f *Facts) { f.Cap = 2 }, []string{"begin a", "begin b"}},
		{"one at least", 3, free, func(_ *Cohort, f *Facts) { f.Cap = 0 }, []string{"begin a"}},
		{"one at least, whatever Max", 0, free, nil, []string{"begin a"}},
		{"four when warned", 6, free, func(_ *Cohort, f *Facts) { f.Tier, f.Cap = "warn", 6 }, []string{"begin a", "begin b", "begin c", "begin d"}},
		{"two when degraded", 6, free, func(_ *Cohort, f *Facts) { f.Tier, f.Cap = "degraded", 6 }, []string{"begin a", "begin b"}},
		{"Max counts when warned", 2, free, func(_ *Cohort, f *Facts) { f.Tier, f.Cap = "warn", 4 }, []string{"begin a", "begin b"}},
		{"no room for more", 3, []string{"a running", "b running", "c running", "d waiting"}, nil, []string{}},
		{"more run than may", 2, []string{"a running", "b running", "c running", "d waiting"}, nil, []string{}},
		{"none when critical", 3, free, func(_ *Cohort, f *Facts) { f.Tier = "critical" }, []string{}},
		{"none without a tier", 3, free, func(_ *Cohort, f *Facts) { f.Tier = "" }, []string{}},
		{"none while limited", 3, free, func(_ *Cohort, f *Facts) { f.LimitUntil = f.Now.Add(time.Minute) }, []string{}},
		{"the limit is over", 1, free, func(_ *Cohort, f *Facts) { f.LimitUntil = f.Now }, []string{"begin a"}},
		{"none while draining", 3, []string{"a running", "b waiting"}, func(_ *Cohort, f *Facts) { f.Draining = true }, []string{}},
		{"none without a disk", 3, []string{"a running", "b waiting"}, func(_ *Cohort, f *Facts) { f.MinFree = false }, []string{}},
		{"none once stopped", 3, []string{"a running", "b waiting", "c failed", "d waiting c"}, func(c *Cohort, _ *Facts) { c.Stop = &Stop{Reason: ReasonSignal} }, []string{}},
		{"no deadline", 1, free, func(_ *Cohort, f *Facts) { f.Deadline = time.Time{} }, []string{"begin a"}},
		{"by priority, 0 last, then as listed", 6, []string{"a waiting", "b waiting", "c waiting", "d waiting"}, func(c *Cohort, _ *Facts) {
			for i, p := range []int{0, 2, 1, 2} {
				c.Members[i].Priority = p
			}
		}, []string{"begin c", "begin b", "begin d", "begin a"}},
		{"only done releases", 6, []string{"a running", "b done", "c waiting a", "d waiting b", "e waiting b,a", "f waiting d"}, nil, []string{"begin d"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, f := cohortOf(Worktree, tt.most, tt.list...), fine()
			if tt.change != nil {
				tt.change(&c, &f)
			}
			before := cohortOf(Worktree, tt.most, tt.list...)
			if diff := cmp.Diff(tt.want, told(Decide(c, f))); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			for i := range before.Members {
				if c.Members[i].Status != before.Members[i].Status || c.Members[i].Lane != nil {
					t.Errorf("the cohort was changed: %+v", c.Members[i])
				}
			}
		})
	}
}

func TestDecideShuts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		list []string
		want map[string]string // story to a part of the words
	}{
		{"failed", []string{"a failed", "b waiting a"}, map[string]string{"b": "a, which has failed"}},
		{"person", []string{"a person", "b waiting a"}, map[string]string{"b": "a, which needs a person"}},
		{"stopped", []string{"a stopped", "b waiting a"}, map[string]string{"b": "a, which was stopped"}},
		{"missing", []string{"b waiting x"}, map[string]string{"b": "x, which is not in the cohort"}},
		{"in a row, against the order", []string{"c waiting b", "b waiting a", "a failed"}, map[string]string{"b": "a, which has failed", "c": "b, which cannot be begun"}},
		{"one of several", []string{"d done", "a failed", "b waiting d,a"}, map[string]string{"b": "a, which has failed"}},
		{"itself", []string{"a waiting a"}, map[string]string{"a": "a after a"}},
		{
			"ring, and what waits for it",
			[]string{"z waiting a", "a waiting b", "b waiting c", "c waiting a"},
			map[string]string{"a": "a after b after c after a", "b": "waits for", "c": "waits for", "z": "a, which cannot be begun"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			actions := Decide(cohortOf(Worktree, 3, tt.list...), fine())
			for _, a := range actions {
				if a.Shut != "" {
					got[a.Shut] = a.Why
				}
			}
			if len(got) != len(tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			for id, part := range tt.want {
				if !strings.Contains(got[id], part) {
					t.Errorf("%s: got %q, want %q in it", id, got[id], part)
				}
			}
			if last := actions[len(actions)-1]; last.Stop == nil {
				t.Errorf("got %v, want the end of the cohort behind it", told(actions))
			}
		})
	}
}

func TestDecideStops(t *testing.T) {
	t.Parallel()
	limit := func(r killswitch.Reason) func(*Cohort, *Facts) {
		return func(c *Cohort, _ *Facts) { c.Members[0].KillSwitch = r }
	}
	tests := []struct {
		name   string
		list   []string
		change func(*Cohort, *Facts)
		want   []string
	}{
		{"nothing at all", nil, nil, []string{"stop work-done"}},
		{"done", []string{"a done", "b done"}, nil, []string{"stop work-done"}},
		{"failed counts most", []string{"a person", "b failed", "c stopped", "d done"}, nil, []string{"stop stories-failed"}},
		{"person", []string{"a person", "b done"}, nil, []string{"stop person"}},
		{"what waits for a person's waits too", []string{"a person", "b shut a", "c shut b", "d done"}, nil, []string{"stop person"}},
		{"shut for a failure", []string{"a failed", "b shut a"}, nil, []string{"stop stories-failed"}},
		{"shut for something missing", []string{"a done", "b shut x"}, nil, []string{"stop stories-failed"}},
		{"shut without paths", []string{"a done", "b shut a"}, nil, []string{"stop stories-failed"}},
		{"shut in a ring", []string{"a shut b", "b shut a", "c person"}, nil, []string{"stop stories-failed"}},
		{"person and failed", []string{"a person", "b failed", "c shut a,b"}, nil, []string{"stop stories-failed"}},
		{"stopped on request", []string{"a stopped", "b done"}, nil, []string{"stop user-abort"}},
		{"stopped at a limit", []string{"a stopped", "b done"}, limit(killswitch.MaxSessionsReached), []string{"stop max-sessions-reached"}},
		{"the worse limit", []string{"a stopped", "b stopped"}, func(c *Cohort, _ *Facts) {
			c.Members[0].KillSwitch, c.Members[1].KillSwitch = killswitch.MaxSessionsReached, killswitch.ResourceOverload
		}, []string{"stop resource-overload"}},
		{"shuts first", []string{"a failed", "b waiting a"}, nil, []string{"shut b", "stop stories-failed"}},
		{"deadline, also while one runs", []string{"a running", "b waiting"}, func(_ *Cohort, f *Facts) { f.Deadline = f.Now }, []string{"stop max-hours-exceeded"}},
		{"budget, also while one runs", []string{"a running", "b waiting"}, func(_ *Cohort, f *Facts) { f.BudgetLeft = false }, []string{"stop token-budget-exceeded"}},
		{"all is done counts more than a limit", []string{"a done"}, func(_ *Cohort, f *Facts) { f.BudgetLeft, f.Deadline = false, f.Now }, []string{"stop work-done"}},
		{"drained", []string{"a done", "b waiting"}, func(_ *Cohort, f *Facts) { f.Draining = true }, []string{"stop user-abort"}},
		{"disk full and nothing to free some", []string{"a done", "b waiting"}, func(_ *Cohort, f *Facts) { f.MinFree = false }, []string{"stop resource-overload"}},
		{"disk full, but time will pass", []string{"b waiting"}, func(_ *Cohort, f *Facts) { f.MinFree, f.Tier = false, "critical" }, []string{}},
		{"limit beyond the deadline", []string{"b waiting"}, func(_ *Cohort, f *Facts) { f.LimitUntil = f.Deadline }, []string{"stop max-hours-exceeded"}},
		{"limit beyond the deadline, one runs", []string{"a running", "b waiting"}, func(_ *Cohort, f *Facts) { f.LimitUntil = f.Deadline }, []string{}},
		{"limit without a deadline", []string{"b waiting"}, func(_ *Cohort, f *Facts) { f.LimitUntil, f.Deadline = f.Now.Add(time.Hour), time.Time{} }, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, f := cohortOf(Worktree, 3, tt.list...), fine()
			if tt.change != nil {
				tt.change(&c, &f)
			}
			got := Decide(c, f)
			if diff := cmp.Diff(tt.want, told(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			for _, a := range got {
				if a.Stop != nil && (a.Stop.Detail == "" || !a.Stop.At.Equal(noon()) || a.Stop.Aborted || a.Why != a.Stop.Detail) {
					t.Errorf("stop %+v, why %q", a.Stop, a.Why)
				}
			}
		})
	}
}

func TestDecideLanes(t *testing.T) {
	t.Parallel()
	type facts struct {
		paths map[string]string // of stories, by id
		lanes []string
		held  map[string]string // lanes of running stories
	}
	tests := []struct {
		name string
		most int
		list []string
		f    facts
		want []string
	}{
		{
			"paths are the lane", 3,
			[]string{"a waiting", "b waiting"},
			facts{paths: map[string]string{"a": "src/** docs/*", "b": "web"}},
			[]string{"begin a on src/** docs/*", "begin b on web"},
		},
		{
			"none on another's", 3,
			[]string{"a waiting", "b waiting", "c waiting"},
			facts{paths: map[string]string{"a": "src/**", "b": "*/x/*.go", "c": "web/*"}},
			[]string{"begin a on src/**", "begin c on web/*"},
		},
		{
			"handed out in order", 3,
			[]string{"a waiting", "b waiting", "c waiting"},
			facts{lanes: []string{"src", "web"}},
			[]string{"begin a on src", "begin b on web"},
		},
		{
			"not what runs has", 3,
			[]string{"r running", "a waiting"},
			facts{lanes: []string{"src/**", "web"}, held: map[string]string{"r": "src/api/**"}},
			[]string{"begin a on web"},
		},
		{
			"rather what nobody wants later", 3,
			[]string{"a waiting", "b waiting", "c waiting"},
			facts{lanes: []string{"src", "web"}, paths: map[string]string{"b": "src/b.go"}},
			[]string{"begin a on web", "begin b on src/b.go"},
		},
		{
			"but the first where all are wanted", 1 + 1,
			[]string{"a waiting", "b waiting"},
			facts{lanes: []string{"src", "src/api"}, paths: map[string]string{"b": "src/api/b.go"}},
			[]string{"begin a on src"},
		},
		{
			"what is done wants nothing", 3,
			[]string{"a waiting", "b done"},
			facts{lanes: []string{"src", "web"}, paths: map[string]string{"b": "src"}},
			[]string{"begin a on src"},
		},
		{
			"never any lane", 3,
			[]string{"a waiting", "b waiting", "c waiting a"},
			facts{paths: map[string]string{"b": "src"}},
			[]string{"shut a", "shut c", "begin b on src"},
		},
		{"alone without lanes", 1, []string{"a waiting", "b waiting"}, facts{}, []string{"begin a"}},
		{"alone, one runs", 1, []string{"a running", "b waiting"}, facts{}, []string{}},
		{"who has no lane has everything", 3, []string{"r running", "b waiting"}, facts{paths: map[string]string{"b": "src"}, held: map[string]string{"r": ""}}, []string{}},
		{
			"kept for who is first", 3,
			[]string{"r running", "a waiting", "b waiting", "c waiting"},
			facts{paths: map[string]string{"a": "src/**", "b": "src/web/**", "c": "docs"}, held: map[string]string{"r": "src/api/**"}},
			[]string{"begin c on docs"},
		},
		{"both on one lane", 3, []string{"r running", "s running"}, facts{held: map[string]string{"r": "src/**", "s": "src/api"}}, []string{"end s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, f := cohortOf(None, tt.most, tt.list...), fine()
			for id, list := range tt.f.paths {
				c.Find(id).Paths = strings.Fields(list)
			}
			for id, list := range tt.f.held {
				c.Find(id).Lane = strings.Fields(list)
			}
			for _, lane := range tt.f.lanes {
				f.Lanes = append(f.Lanes, []string{lane})
			}
			if diff := cmp.Diff(tt.want, told(Decide(c, f))); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// The one that began first goes on, also when it stands behind in the list.
func TestDecideEndsTheLater(t *testing.T) {
	t.Parallel()
	c := cohortOf(None, 3, "a running", "b running", "c running")
	for i, lane := range []string{"src", "src/x", "web"} {
		c.Members[i].Lane = []string{lane}
		c.Members[i].StartedAt = noon().Add(-time.Duration(i) * time.Hour)
	}
	c.Stop = &Stop{Reason: ReasonSignal}
	if diff := cmp.Diff([]string{"end a"}, told(Decide(c, fine()))); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	c.Isolation = Worktree
	if got := told(Decide(c, fine())); len(got) > 0 {
		t.Errorf("got %v, want nothing: each has a tree of its own", got)
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	type end struct {
		status Status
		kill   killswitch.Reason
		cause  string
	}
	failed := func(r killswitch.Reason) end { return end{Failed, r, string(r)} }
	cause := func(s string) end { return end{Failed, "", s} }
	tests := []struct {
		name string
		ends []end // the last one is asked about
		want string
		by   bool // aborted
	}{
		{"one spiral", []end{failed(killswitch.Spiral)}, "", false},
		{"two spirals", []end{failed(killswitch.Spiral), failed(killswitch.Spiral)}, "twice-the-same-spiral", true},
		{"two stalls, one between", []end{failed(killswitch.StallTimeout), {Done, "", ""}, failed(killswitch.StallTimeout)}, "twice-the-same-stall-timeout", true},
		{"two carryovers", []end{failed(killswitch.CarryoverTooHigh), failed(killswitch.CarryoverTooHigh)}, "twice-the-same-carryover-too-high", true},
		{"two failed waves", []end{failed(killswitch.FailedWave), failed(killswitch.FailedWave)}, "twice-the-same-failed-wave", true},
		{"two overloads", []end{{Stopped, killswitch.ResourceOverload, ""}, failed(killswitch.ResourceOverload)}, "twice-the-same-resource-overload", true},
		{"two kinds", []end{failed(killswitch.Spiral), failed(killswitch.FailedWave)}, "", false},
		{"two errors", []end{cause("error"), cause("error")}, "twice-the-same-error", true},
		{"two deaths", []end{cause("killed"), cause("killed")}, "twice-the-same-killed", true},
		{"an error and a death", []end{cause("error"), cause("killed")}, "", false},
		{"two that gave up", []end{cause("given-up"), cause("given-up")}, "", false},
		{"two at their sessions", []end{{Stopped, killswitch.MaxSessionsReached, ""}, {Stopped, killswitch.MaxSessionsReached, ""}}, "", false},
		{"two unsure", []end{{Person, killswitch.LowConfidence, ""}, {Person, killswitch.LowConfidence, ""}}, "", false},
		{"two on request", []end{{Stopped, killswitch.UserAbort, ""}, {Stopped, killswitch.UserAbort, ""}}, "", false},
		{"budget, of which the sum decides", []end{{Stopped, killswitch.TokenBudgetExceeded, ""}}, "", false},
		{"hours", []end{{Stopped, killswitch.MaxHoursExceeded, ""}}, "max-hours-exceeded", false},
		{"done all the same", []end{failed(killswitch.Spiral), {Done, killswitch.Spiral, ""}}, "", false},
		{"the other runs again", []end{{Running, killswitch.Spiral, ""}, failed(killswitch.Spiral)}, "", false},
		{"the other is done by now", []end{{Done, killswitch.Spiral, ""}, failed(killswitch.Spiral)}, "", false},
		{"not over", []end{failed(killswitch.Spiral), {Waiting, killswitch.Spiral, ""}}, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var c Cohort
			for i, e := range tt.ends {
				c.Members = append(c.Members, Member{
					Story: Story{ID: string(rune('a' + i))}, Status: e.status, KillSwitch: e.kill, Cause: e.cause, EndedAt: noon().Add(time.Duration(i) * time.Minute),
				})
			}
			last := c.Members[len(c.Members)-1]
			got := After(c, last.ID)
			if tt.want == "" {
				if got != nil {
					t.Fatalf("got %+v, want nothing", *got)
				}
				return
			}
			want := &Stop{Reason: tt.want, Aborted: tt.by, At: last.EndedAt}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Stop{}, "Detail")); diff != "" {
				t.Fatalf("stop (-want +got):\n%s", diff)
			}
			if got.Detail == "" {
				t.Error("the stop has no words")
			}
			c.Stop = got
			if again := After(c, last.ID); again != nil {
				t.Errorf("got %+v, want nothing: the cohort is stopped", *again)
			}
		})
	}
	if got := After(Cohort{}, "nobody"); got != nil {
		t.Errorf("got %+v for nobody", *got)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	with := func(kills ...killswitch.Reason) func(*Cohort) {
		return func(c *Cohort) {
			for i, k := range kills {
				c.Members[i].KillSwitch = k
			}
		}
	}
	tests := []struct {
		name   string
		stop   string
		list   []string
		change func(*Cohort)
		want   int
	}{
		{"done", ReasonDone, []string{"a done"}, nil, 0},
		{"done, but not told so yet", "", []string{"a done"}, nil, 0},
		{"neither over nor stopped", "", []string{"a done", "b running"}, nil, 1},
		{"failed", ReasonFailed, []string{"a done", "b failed"}, nil, 3},
		{"person", ReasonPerson, []string{"a person", "b done"}, nil, 4},
		{"person's followers", ReasonPerson, []string{"a person", "b shut a", "c done"}, nil, 4},
		{"failed before person", ReasonFailed, []string{"a person", "b failed"}, nil, 3},
		{"stopped on request", "user-abort", []string{"a stopped", "b waiting"}, nil, 0},
		{"stopped on request, but one has failed", "user-abort", []string{"a stopped", "b failed", "c waiting"}, nil, 3},
		{"hours", "max-hours-exceeded", []string{"a stopped", "b waiting"}, with(killswitch.MaxHoursExceeded), 0},
		{"sessions", "max-sessions-reached", []string{"a stopped", "b done"}, with(killswitch.MaxSessionsReached), 0},
		{"budget", "token-budget-exceeded", []string{"a stopped", "b waiting"}, with(killswitch.TokenBudgetExceeded), 6},
		{"budget of a member counts", "user-abort", []string{"a stopped"}, with(killswitch.TokenBudgetExceeded), 6},
		{"person before budget", "token-budget-exceeded", []string{"a stopped", "b person"}, with(killswitch.TokenBudgetExceeded), 4},
		{"resources before budget", "token-budget-exceeded", []string{"a stopped", "b stopped"}, with(killswitch.TokenBudgetExceeded, killswitch.ResourceOverload), 5},
		{"person before resources", "resource-overload", []string{"a person", "b waiting"}, nil, 4},
		{"disk", "resource-overload", []string{"a done", "b waiting"}, nil, 5},
		{"twice", "twice-the-same-spiral", []string{"a failed", "b failed"}, nil, 3},
		{"twice, while they are counted as stopped", "twice-the-same-killed", []string{"a stopped", "b stopped"}, nil, 3},
		{"twice the machine", "twice-the-same-resource-overload", []string{"a stopped", "b stopped"}, with(killswitch.ResourceOverload, killswitch.ResourceOverload), 5},
		{"internal before failed", ReasonError, []string{"a failed"}, nil, 1},
		{"signal before all", ReasonSignal, []string{"a failed", "b person"}, nil, 130},
		{"no reason that we know", "whatever", []string{"a done"}, nil, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := cohortOf(Worktree, 3, tt.list...)
			if tt.change != nil {
				tt.change(&c)
			}
			if tt.stop != "" {
				c.Stop = &Stop{Reason: tt.stop}
			}
			if got := ExitCode(c); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
