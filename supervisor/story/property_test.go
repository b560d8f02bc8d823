package story

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// cohort is drawn with dependencies that may be missing or go in rings, and lanes.
func drawCohort(t *rapid.T) (Cohort, [][]string) {
	patterns := []string{"src/**", "src/api", "src/web/*.ts", "docs", "**/*.md", "{docs,web}/x", "web/[a-m]*", "web/[n-z]*"}
	c := Cohort{
		Isolation: rapid.SampledFrom([]Isolation{Worktree, None}).Draw(t, "isolation"),
		Max:       rapid.IntRange(0, 5).Draw(t, "max"),
		Agents:    rapid.IntRange(0, 9).Draw(t, "agents"),
	}
	n := rapid.IntRange(0, 9).Draw(t, "stories")
	for i := range n {
		m := Member{Story: Story{ID: fmt.Sprint(i), Priority: rapid.IntRange(0, 3).Draw(t, "priority")}, Status: Waiting}
		for range rapid.IntRange(0, 2).Draw(t, "dependencies") {
			// Mostly on earlier ones; with the number of stories itself on nobody.
			k := rapid.IntRange(0, max(0, i-1)).Draw(t, "on")
			if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
				k = rapid.IntRange(0, n).Draw(t, "on any")
			} else if i == 0 {
				continue
			}
			m.After = append(m.After, fmt.Sprint(k))
		}
		m.Paths = rapid.SliceOfN(rapid.SampledFrom(patterns), 0, 2).Draw(t, "paths")
		c.Members = append(c.Members, m)
	}
	var lanes [][]string
	for _, p := range rapid.SliceOfN(rapid.SampledFrom(patterns), 0, 3).Draw(t, "lanes") {
		lanes = append(lanes, []string{p})
	}
	return c, lanes
}

// allowed is how many may run at once, said in another way than in the code.
func allowed(c Cohort, f Facts) int {
	of := map[string]int{"green": 1 << 20, "warn": 4, "degraded": 2}[f.Tier]
	if of == 0 {
		return 0
	}
	n := c.Max
	if of < n {
		n = of
	}
	if f.Cap < n {
		n = f.Cap
	}
	if n < 1 {
		n = 1
	}
	return n
}

func running(c Cohort) []*Member {
	var out []*Member
	for i := range c.Members {
		if c.Members[i].Status == Running {
			out = append(out, &c.Members[i])
		}
	}
	return out
}

// carryOut does what was decided, and checks each step.
func carryOut(t *rapid.T, c *Cohort, f Facts, actions []Action) {
	for _, a := range actions {
		set := 0
		for _, is := range []bool{a.Begin != "", a.Shut != "", a.End != "", a.Stop != nil} {
			if is {
				set++
			}
		}
		if set != 1 || c.Stop != nil {
			t.Fatalf("action %+v, stopped %v", a, c.Stop)
		}
		if (a.Begin == "") != (a.Why != "") {
			t.Fatalf("action %+v has words where it should not, or none", a)
		}
		switch {
		case a.End != "":
			t.Fatalf("%+v, where all was begun by the rules", a)
		case a.Stop != nil:
			c.Stop = a.Stop
		case a.Shut != "":
			m := c.Find(a.Shut)
			if m.Status != Waiting {
				t.Fatalf("%s is shut and was %s", m.ID, m.Status)
			}
			m.Status, m.Why = Shut, a.Why
		default:
			carryOutBegin(t, c, f, a)
		}
	}
}

func carryOutBegin(t *rapid.T, c *Cohort, f Facts, a Action) {
	m := c.Find(a.Begin)
	if m.Status != Waiting {
		t.Fatalf("%s is begun and was %s", m.ID, m.Status)
	}
	if f.Draining || !f.BudgetLeft || !f.MinFree || f.Tier == "critical" || f.Now.Before(f.LimitUntil) || !f.Now.Before(f.Deadline) {
		t.Fatalf("%s is begun with %+v", m.ID, f)
	}
	for _, id := range m.After {
		if on := c.Find(id); on == nil || on.Status != Done {
			t.Fatalf("%s is begun before %s", m.ID, id)
		}
	}
	if n := len(running(*c)) + 1; n > allowed(*c, f) {
		t.Fatalf("%d run where %d may, with %+v", n, allowed(*c, f), f)
	}
	if c.Isolation == None {
		for _, o := range running(*c) {
			if Overlap(o.Lane, a.Lane) {
				t.Fatalf("%s has %v beside %s with %v", m.ID, a.Lane, o.ID, o.Lane)
			}
		}
		given := slices.ContainsFunc(f.Lanes, func(l []string) bool { return slices.Equal(l, a.Lane) })
		switch {
		case len(m.Paths) > 0 && !slices.Equal(m.Paths, a.Lane):
			t.Fatalf("%s has the lane %v and the paths %v", m.ID, a.Lane, m.Paths)
		case len(m.Paths) == 0 && c.Max > 1 && !given:
			t.Fatalf("%s has the lane %v, which is none of %v", m.ID, a.Lane, f.Lanes)
		}
	} else if a.Lane != nil {
		t.Fatalf("%s has the lane %v in a tree of its own", m.ID, a.Lane)
	}
	m.Status, m.Lane = Running, a.Lane
}

// Any order of events keeps the promises of the package, and comes to an end.
func TestCohortEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, lanes := drawCohort(t)
		f := Facts{Now: noon(), Deadline: noon().Add(1000 * time.Hour), Lanes: lanes, BudgetLeft: true, MinFree: true, Tier: "green", Cap: c.Agents}
		for step := 0; c.Stop == nil; step++ {
			if step > 60 { // trouble and luck are over by then, so that it must end
				f.Tier, f.Cap, f.LimitUntil = "green", c.Agents, time.Time{}
			} else {
				f.Tier = rapid.SampledFrom([]string{"green", "green", "warn", "degraded", "critical"}).Draw(t, "tier")
				f.Cap = map[string]int{"green": c.Agents, "warn": min(c.Agents, 4), "degraded": min(c.Agents, 2)}[f.Tier]
				f.MinFree = rapid.IntRange(0, 19).Draw(t, "disk") > 0
				f.Draining = f.Draining || rapid.IntRange(0, 49).Draw(t, "draining") == 0
				f.BudgetLeft = f.BudgetLeft && rapid.IntRange(0, 99).Draw(t, "budget") > 0
				if rapid.IntRange(0, 9).Draw(t, "limit") == 0 {
					f.LimitUntil = f.Now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "until")) * time.Minute)
				}
			}
			if step > 200 {
				t.Fatalf("the cohort does not end: %+v", c)
			}
			actions := Decide(c, f)
			carryOut(t, &c, f, actions)
			if again := Decide(c, f); len(again) > 0 {
				t.Fatalf("a second decision says %v", told(again))
			}
			held := f.Tier == "critical" || f.Now.Before(f.LimitUntil)
			if len(running(c)) == 0 && c.Stop == nil && !held {
				t.Fatalf("nothing runs, nothing is begun and nothing is held up: %+v with %+v", c, f)
			}
			checkShares(t, c, f)
			finishSome(t, &c, f.Now)
			f.Now = f.Now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
		}
		for _, m := range c.Members {
			if m.Status == Shut && m.Why == "" {
				t.Fatalf("%s is shut without a word", m.ID)
			}
			if m.Status == Waiting && c.Stop.Reason == ReasonDone {
				t.Fatalf("the work is done, and %s waits", m.ID)
			}
		}
		if ExitCode(c) == 0 && slices.ContainsFunc(c.Members, func(m Member) bool { return m.Status == Failed || m.Status == Person }) {
			t.Fatalf("exit code 0 of %+v", c)
		}
	})
}

func checkShares(t *rapid.T, c Cohort, f Facts) {
	sum, shares := 0, Shares(c, f.Cap, f.Tier == "critical")
	for _, s := range shares {
		sum += s.Cap
	}
	if len(shares) != len(running(c)) || sum > max(0, f.Cap) {
		t.Fatalf("shares %+v of %d among %d", shares, f.Cap, len(running(c)))
	}
}

// finishSome ends any of the running stories; by its end at least one has, now and then.
func finishSome(t *rapid.T, c *Cohort, now time.Time) {
	for _, m := range running(*c) {
		if !rapid.Bool().Draw(t, "ends") {
			continue
		}
		m.Status = rapid.SampledFrom([]Status{Done, Done, Done, Failed, Person, Stopped}).Draw(t, "as")
		m.EndedAt = now
		if m.Status == Failed {
			m.Cause = rapid.SampledFrom([]string{"error", "killed", "given-up", "no-progress"}).Draw(t, "cause")
		}
		if stop := After(*c, m.ID); stop != nil && c.Stop == nil {
			same := 0
			for _, o := range c.Members {
				if o.Status == Failed && o.Cause == m.Cause {
					same++
				}
			}
			if !stop.Aborted || same < 2 {
				t.Fatalf("stop %+v after %d of %s", stop, same, m.Cause)
			}
			c.Stop = stop
		}
	}
}

// What runs of one tree has been begun at most once on each path, whoever else is waiting:
// one story after the other gets its turn also where all want the same.
func TestAllOnOnePath(t *testing.T) {
	t.Parallel()
	c := cohortOf(None, 4, "a waiting", "b waiting", "c waiting", "d waiting a")
	f := fine()
	f.Lanes = [][]string{{"src"}}
	var order []string
	for range 20 {
		for _, a := range Decide(c, f) {
			switch {
			case a.Begin != "":
				order = append(order, a.Begin)
				c.Find(a.Begin).Status, c.Find(a.Begin).Lane = Running, a.Lane
			case a.Stop != nil:
				c.Stop = a.Stop
			}
		}
		if n := len(running(c)); n > 1 {
			t.Fatalf("%d run on one path", n)
		}
		for _, m := range running(c) {
			m.Status = Done
		}
	}
	if got := fmt.Sprint(order); got != "[a b c d]" || c.Stop == nil || c.Stop.Reason != ReasonDone {
		t.Errorf("got %s and %+v, want a b c d and the work done", got, c.Stop)
	}
}
