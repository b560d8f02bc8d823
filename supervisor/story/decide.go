package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"autopilot/probe/tier"
	"autopilot/supervisor/killswitch"
)

// Facts are what a decision depends on beside the cohort.
type Facts struct {
	Now        time.Time
	Tier       string     // of the machine, damped; what is no tier counts as critical
	Cap        int        // of all stories together, damped; on a green machine Cohort.Agents
	Draining   bool       // a person wants nothing more to be begun
	Lanes      [][]string // sets of patterns for stories that have no paths, in a shared tree
	LimitUntil time.Time  // when the account's usage limit is over; zero for none
	BudgetLeft bool
	Deadline   time.Time // of the cohort; zero for none
	MinFree    bool      // the disk has room for another story
}

// Action is one thing to be done. Exactly one of Begin, Shut, End and Stop is set.
type Action struct {
	Begin string   // id of a waiting story
	Lane  []string // of Begin in a shared tree: what it has to itself; empty for everything
	Shut  string   // id of a waiting story that will never be begun
	End   string   // id of a running story that must not go on now
	Stop  *Stop
	Why   string // Shut, End or Stop
}

// Decide returns what is to be done now, in this order: stories to be ended, stories that
// are shut, and then either stories to be begun or the end of the cohort. It changes
// nothing, and says the same again until it was done.
//
// Stories are begun in the order of their priorities, 1 first and 0 last, and among equals
// in the order of the list. One that cannot be begun yet holds up those behind it only
// where they would take the paths that it waits for. At most Cohort.Max run, no more than
// the machine's tier and cap allow, and at least one as long as the machine is not
// critical. In a shared tree each has a lane: its paths, or else the first of Facts.Lanes
// that is free, preferably one that no other story will want.
//
// Nothing is begun while draining, on a critical machine, during a usage limit, without
// room on the disk, without budget, and past the deadline. The last two stop the cohort at
// once. Draining and the disk do when nothing runs, for then nothing changes them, and so
// does a usage limit that lasts up to the deadline. A cohort that is stopped begins and
// shuts nothing. So where nothing runs and nothing is returned, the cohort is stopped, or
// time alone will help.
func Decide(c Cohort, f Facts) []Action {
	d := &decision{Cohort: c, facts: f, areas: map[string]area{}}
	d.Members = slices.Clone(c.Members)
	d.endConflicts()
	if c.Stop != nil {
		return d.actions
	}
	d.shut()
	if stop := d.stop(); stop != nil {
		return append(d.actions, Action{Stop: stop, Why: stop.Detail})
	}
	d.begin()
	return d.actions
}

// decision is a cohort as it will be after the actions.
type decision struct {
	Cohort
	facts   Facts
	actions []Action
	areas   map[string]area // that were read already, by their patterns
}

// meet is Overlap.
func (d *decision) meet(a, b []string) bool {
	return d.area(a).meets(d.area(b))
}

func (d *decision) area(patterns []string) area {
	key := strings.Join(patterns, "\x00")
	a, ok := d.areas[key]
	if !ok {
		a = areaOf(patterns)
		d.areas[key] = a
	}
	return a
}

// shared reports whether stories work in one tree.
func (c Cohort) shared() bool { return c.Isolation != Worktree }

// lanes reports whether stories have to keep out of each other's way.
func (c Cohort) lanes() bool { return c.shared() && c.Max > 1 }

func (d *decision) count(s Status) int { return d.Counts()[s] }

// endConflicts ends what runs on the lane of another, which only a cohort that was changed
// by hand has. The one that began first goes on.
func (d *decision) endConflicts() {
	if !d.shared() {
		return
	}
	var running []*Member
	for i := range d.Members {
		if d.Members[i].Status == Running {
			running = append(running, &d.Members[i])
		}
	}
	slices.SortStableFunc(running, func(a, b *Member) int { return a.StartedAt.Compare(b.StartedAt) })
	var kept []*Member
	for _, m := range running {
		i := slices.IndexFunc(kept, func(k *Member) bool { return d.meet(k.Lane, m.Lane) })
		if i < 0 {
			kept = append(kept, m)
			continue
		}
		d.actions = append(d.actions, Action{End: m.ID, Why: fmt.Sprintf("it may change what %s changes, in the same tree", kept[i].ID)})
	}
}

// shut takes out what will never be begun, and then what waits for that.
func (d *decision) shut() {
	for more := true; more; {
		more = false
		for i := range d.Members {
			m := &d.Members[i]
			if m.Status != Waiting {
				continue
			}
			if why := d.obstacle(*m); why != "" {
				m.Status, more = Shut, true
				d.actions = append(d.actions, Action{Shut: m.ID, Why: why})
			}
		}
	}
}

// obstacle is why a waiting story will never be begun; "" when it may.
func (d *decision) obstacle(m Member) string {
	for _, id := range m.After {
		on := d.Find(id)
		if on == nil {
			return fmt.Sprintf("waits for %s, which is not in the cohort", id)
		}
		switch on.Status {
		case Failed:
			return fmt.Sprintf("waits for %s, which has failed", id)
		case Person:
			return fmt.Sprintf("waits for %s, which needs a person", id)
		case Stopped:
			return fmt.Sprintf("waits for %s, which was stopped before it was done", id)
		case Shut:
			return fmt.Sprintf("waits for %s, which cannot be begun either", id)
		case Waiting, Running, Done:
		}
	}
	if ring := ringOf(m.ID, d.waitingFor); ring != nil {
		return "waits for itself: " + ringWords(ring)
	}
	if d.lanes() && len(m.Paths) == 0 && len(d.facts.Lanes) == 0 {
		return "it may change every file of a tree that it shares with others: give it paths, or name some with --deconflict-paths"
	}
	return ""
}

// waitingFor are the stories that have to be begun before one that is not begun.
func (d *decision) waitingFor(id string) []string {
	m := d.Find(id)
	if m == nil || m.Status != Waiting {
		return nil
	}
	return m.After
}

// stop is the decision to begin nothing more; nil when something may be begun, now or
// later.
func (d *decision) stop() *Stop {
	running, waiting := d.count(Running), d.count(Waiting)
	end := func(reason, detail string) *Stop { return &Stop{Reason: reason, Detail: detail, At: d.facts.Now} }
	late := !d.facts.Deadline.IsZero() && !d.facts.Now.Before(d.facts.Deadline)
	switch {
	case running+waiting == 0:
		return end(outcome(d.Cohort).reason, d.words())
	case late:
		return end(string(killswitch.MaxHoursExceeded), "the time of the cohort was over at "+d.facts.Deadline.UTC().Format(time.RFC3339))
	case !d.facts.BudgetLeft && waiting > 0: // what runs sees to it by itself
		return end(string(killswitch.TokenBudgetExceeded), "the budget of the cohort is used up")
	case running > 0:
		return nil
	case d.facts.Draining:
		return end(string(killswitch.UserAbort), "nothing more was to be begun, and nothing runs")
	case d.limited() && !d.facts.Deadline.IsZero() && !d.facts.LimitUntil.Before(d.facts.Deadline):
		return end(string(killswitch.MaxHoursExceeded), fmt.Sprintf("the usage limit lasts until %s, and the time of the cohort only until %s",
			d.facts.LimitUntil.UTC().Format(time.RFC3339), d.facts.Deadline.UTC().Format(time.RFC3339)))
	case d.held() || d.facts.MinFree:
		return nil
	}
	return end(string(killswitch.ResourceOverload), "the disk has no room for another story, and none runs that could free some")
}

func (d *decision) limited() bool { return d.facts.Now.Before(d.facts.LimitUntil) }

// held reports whether time alone will help.
func (d *decision) held() bool { return d.limited() || rankOf(d.facts.Tier) == worstRank }

// room is how many stories may run at once on a machine that is not critical.
func (d *decision) room() int {
	n := min(d.Max, d.facts.Cap)
	if t := tier.Tier(d.facts.Tier); t != tier.Green {
		n = min(n, t.Cap(d.Max))
	}
	return max(1, n)
}

func (d *decision) begin() {
	if d.held() || d.facts.Draining || !d.facts.MinFree {
		return
	}
	var kept [][]string // for stories that could be begun but for their paths
	for _, i := range d.order() {
		if d.count(Running) >= d.room() {
			return
		}
		m := &d.Members[i]
		if slices.ContainsFunc(m.After, func(id string) bool { return d.Find(id).Status != Done }) {
			continue
		}
		lane, ok := d.lane(*m, kept)
		if !ok {
			if len(m.Paths) > 0 {
				kept = append(kept, m.Paths)
			}
			continue
		}
		m.Status, m.Lane = Running, lane
		d.actions = append(d.actions, Action{Begin: m.ID, Lane: lane})
	}
}

// order returns where the waiting stories are in the list, in the order in which they are
// begun.
func (d *decision) order() []int {
	var out []int
	for i, m := range d.Members {
		if m.Status == Waiting {
			out = append(out, i)
		}
	}
	rank := func(i int) int {
		if p := d.Members[i].Priority; p > 0 {
			return p
		}
		return lowestPriority + 1
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// lane is what a story would have to itself. It is not ok when that is taken, or kept for
// another.
func (d *decision) lane(m Member, kept [][]string) (lane []string, ok bool) {
	if !d.shared() {
		return nil, true
	}
	choices := d.facts.Lanes
	if len(m.Paths) > 0 || !d.lanes() {
		choices = [][]string{m.Paths}
	}
	free := slices.DeleteFunc(slices.Clone(choices), func(l []string) bool {
		return slices.ContainsFunc(d.Members, func(o Member) bool { return o.Status == Running && d.meet(o.Lane, l) }) ||
			slices.ContainsFunc(kept, func(k []string) bool { return d.meet(k, l) })
	})
	switch len(free) {
	case 0:
		return nil, false
	case 1:
		return slices.Clone(free[0]), true
	}
	i := slices.IndexFunc(free, func(l []string) bool {
		return !slices.ContainsFunc(d.Members, func(o Member) bool {
			return o.Status == Waiting && o.ID != m.ID && len(o.Paths) > 0 && d.meet(o.Paths, l)
		})
	})
	return slices.Clone(free[max(i, 0)]), true
}
