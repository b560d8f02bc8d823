package keep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	day = 24 * time.Hour
	// leastAge is what no policy goes below. Within its minute the id of a run that is gone
	// would be given to another.
	leastAge = time.Hour
)

// Decide says what is done about each run, each project whose work tree is missing, and what
// killed processes left, project by project and the oldest run first. A project that goes
// as a whole is one item.
func Decide(projects []Project, p Policy, now time.Time) []Item {
	d := decision{policy: p, now: now, runs: make([][]*node, len(projects))}
	for i := range projects {
		for j := range projects[i].Runs {
			n := &node{Run: &projects[i].Runs[j], project: &projects[i]}
			d.nodes, d.runs[i] = append(d.nodes, n), append(d.runs[i], n)
		}
	}
	d.protect()
	d.limits()
	var all []Item
	for i := range projects {
		all = append(all, d.ofProject(&projects[i], d.runs[i])...)
	}
	return all
}

// node is a run while it is decided about.
type node struct {
	*Run
	project *Project
	before  []*node // that it continues
	cohorts []*node // that it is a story of; several when one continues another

	why    Why // empty while nothing keeps it
	detail string
	limit  bool // kept by a limit only: its files may be compressed
}

// hold keeps a run for a reason, unless one that weighs as much keeps it already.
func (n *node) hold(why Why, detail string) (changed bool) {
	if n.why != "" && (n.why.spreads() || !why.spreads()) {
		return false
	}
	n.why, n.detail = why, detail
	return true
}

// spreads reports whether what a run that is kept for the reason depends on is kept as well.
func (w Why) spreads() bool {
	switch w {
	case On, NotClosed, Unreadable, Question, Referred, Continues, Tree, Story, Chain, OfCohort:
		return true
	}
	return false
}

// going reports whether a story of a cohort that is kept for the reason may still go on.
func (w Why) going() bool {
	switch w {
	case On, NotClosed, Unreadable, Question, Referred, Continues:
		return true
	}
	return false
}

type decision struct {
	policy Policy
	now    time.Time
	nodes  []*node
	runs   [][]*node // of each project
}

// protect marks the runs that are kept whatever their age.
func (d *decision) protect() {
	d.link()
	for _, n := range d.nodes {
		if why, detail := n.own(d.policy); why != "" {
			n.hold(why, detail)
		}
	}
	for changed := true; changed; {
		changed = false
		for _, n := range d.nodes {
			changed = n.why.spreads() && holdBefore(n) || changed
			for _, c := range n.cohorts {
				if n.why.going() {
					changed = c.hold(Story, fmt.Sprintf("run %s of a story is kept: %s", n.ID, n.detail)) || changed
				}
				if c.why.spreads() {
					changed = n.hold(OfCohort, "its cohort "+c.ID+" is kept: "+c.detail) || changed
				}
			}
		}
	}
}

// holdBefore keeps all that a run continues, back to the first.
func holdBefore(n *node) (changed bool) {
	for at := []*node{n}; len(at) > 0; at = at[1:] {
		for _, b := range at[0].before {
			if b.hold(Chain, "run "+at[0].ID+" continues it, which is kept") {
				changed, at = true, append(at, b)
			}
		}
	}
	return changed
}

// link finds what each run continues, and the cohorts of stories' runs. Ids are unique in a
// project only: a run that only may belong to a cohort is taken as one that does.
func (d *decision) link() {
	for _, runs := range d.runs {
		byID := map[string]*node{}
		for _, n := range runs {
			byID[n.ID] = n
		}
		for _, n := range runs {
			if b := byID[n.Before]; b != nil && b != n {
				n.before = append(n.before, b)
			}
			if a := byID[n.After]; a != nil && a != n {
				a.before = append(a.before, n)
			}
		}
	}
	children := map[string][]*node{}
	parents := map[string][]*node{}
	for _, n := range d.nodes {
		if n.Cohort {
			parents[n.ID] = append(parents[n.ID], n)
			for _, id := range n.Children {
				children[id] = append(children[id], n)
			}
		}
	}
	for _, n := range d.nodes {
		if n.Cohort || n.Parent == "" && n.Begun {
			continue
		}
		for _, c := range slices.Concat(children[n.ID], parents[n.Parent]) {
			if !slices.Contains(n.cohorts, c) {
				n.cohorts = append(n.cohorts, c)
			}
		}
	}
}

// own is what keeps a run by itself whatever its age.
func (n *node) own(p Policy) (Why, string) {
	switch {
	case n.Alive:
		return On, "it is on"
	case n.Broken != "":
		return Unreadable, n.Broken
	case n.Open:
		return NotClosed, "its records are not written; the next start in its repository finishes it"
	case n.Begun && !n.Settled:
		return NotClosed, "its records are not written"
	case n.Asks:
		return Question, "it waits for an answer: 'autopilot answer'"
	case len(n.Wanted) > 0:
		return Referred, strings.Join(n.Wanted, ", ") + " refers to it"
	case n.project.Doubt != "":
		return Unreadable, "what refers to it cannot be told: " + n.project.Doubt
	case n.Resumable && !p.Resumable:
		return Continues, "'autopilot resume' can continue it"
	case len(n.Trees) > 0:
		return Tree, "the work tree " + n.Trees[0] + " of a story is still there"
	case n.Last:
		return LastRun, "it is the last one of its work tree"
	case len(n.Strange) > 0:
		return Foreign, "its folder holds what this program does not write: " + n.Strange[0]
	}
	return "", ""
}

// limits decides about the runs that nothing protects.
func (d *decision) limits() {
	for _, runs := range d.runs {
		slices.SortFunc(runs, func(a, b *node) int { return cmp.Or(b.Ended.Compare(a.Ended), strings.Compare(b.ID, a.ID)) })
		for i, n := range runs {
			if n.why != "" {
				continue
			}
			switch why := d.fresh(n.Ended); {
			case why != "":
				n.why, n.detail, n.limit = why, dated(why, d.policy), why == Recent
			case i < d.policy.Runs:
				n.why, n.detail, n.limit = Latest, fmt.Sprintf("it is among the latest %d of its work tree", d.policy.Runs), true
			}
		}
	}
	for _, n := range d.nodes {
		if n.why != "" {
			continue
		}
		for _, c := range n.cohorts {
			if c.why != "" {
				n.why, n.detail, n.limit = OfCohort, "its cohort "+c.ID+" is kept: "+c.detail, c.limit
				break
			}
		}
	}
}

// fresh says why something of that time is kept, or nothing.
func (d *decision) fresh(at time.Time) Why {
	switch age := d.now.Sub(at); {
	case at.IsZero() || age < 0:
		return Undated
	case age < max(time.Duration(d.policy.Days)*day, leastAge):
		return Recent
	}
	return ""
}

func dated(why Why, p Policy) string {
	if why == Undated {
		return "when it ended cannot be told: its time lies in the future, or is missing"
	}
	if p.Days == 0 {
		return "it ended within the last hour"
	}
	return fmt.Sprintf("it ended within the last %d days", p.Days)
}

// ofProject are the items of one project, whose runs come the latest first.
func (d *decision) ofProject(p *Project, runs []*node) []Item {
	var items []Item
	base := Item{Project: p.Path, Dir: p.Dir}
	if p.Missing != "" {
		it := base
		it.Kind, it.Bytes = KindProject, p.Bytes
		if it.Action, it.Why, it.Detail = d.orphan(p, runs); it.Action == Remove {
			return []Item{it}
		}
		items = append(items, it)
	}
	for _, n := range slices.Backward(runs) {
		it := base
		it.Kind, it.RunID = KindRun, n.ID
		items = append(items, d.ofRun(n, it))
	}
	if len(p.Temp) > 0 {
		it := base
		it.Kind, it.Action, it.Why, it.Files, it.Bytes = KindTemp, Remove, Killed, p.Temp, p.TempLen
		it.Detail = "killed processes left them"
		items = append(items, it)
	}
	if len(p.Left) > 0 {
		it := base
		it.Kind, it.Action, it.Why, it.Files = KindLeft, Remove, Killed, p.Left
		it.Detail = "a gc that was killed left it"
		items = append(items, it)
	}
	return items
}

func (d *decision) ofRun(n *node, it Item) Item {
	it.Why, it.Detail, it.Bytes, it.Action = n.why, n.detail, n.Bytes, Retain
	switch {
	case n.why == "":
		it.Action, it.Why = Remove, Expired
		it.Detail = fmt.Sprintf("it ended %d days ago", int(d.now.Sub(n.Ended)/day))
		if d.policy.Runs > 0 {
			it.Detail += fmt.Sprintf(", and %d later ones are kept", d.policy.Runs)
		}
	case n.limit && d.policy.CompressAfter >= 0 && d.now.Sub(n.Ended) >= d.policy.CompressAfter && len(n.Loose) > 0:
		it.Action, it.Bytes = Compress, 0
		for _, f := range n.Loose {
			it.Files = append(it.Files, f.Name)
			it.Bytes += f.Bytes
		}
	}
	return it
}

// orphan decides about a project whose work tree is missing.
func (d *decision) orphan(p *Project, runs []*node) (Action, Why, string) {
	switch {
	case p.Missing == Unseen:
		return Retain, Mount, "neither the work tree is there nor the folder above it: a disk may not be mounted"
	case !d.policy.Orphans:
		return Retain, NoOrphans, "its work tree is gone; --orphans removes such folders"
	case p.Doubt != "":
		return Retain, Unreadable, p.Doubt
	case len(p.Holds) > 0:
		return Retain, Referred, p.Holds[0]
	case len(p.Strange) > 0:
		return Retain, Foreign, "its folder holds what this program does not write: " + p.Strange[0]
	}
	last := p.Touched
	for _, n := range runs {
		if len(n.Strange) > 0 {
			return Retain, Foreign, "run " + n.ID + " holds what this program does not write: " + n.Strange[0]
		}
		if n.why != "" && n.why != LastRun && n.why != Latest {
			return Retain, n.why, "run " + n.ID + ": " + n.detail
		}
		if n.Ended.After(last) {
			last = n.Ended
		}
	}
	if why := d.fresh(last); why != "" {
		return Retain, why, fmt.Sprintf("something in it was written within the last %d days, or when is not known", d.policy.Days)
	}
	return Remove, Orphan, "its work tree is gone"
}
