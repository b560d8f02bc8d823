package keep

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func noon() time.Time { return time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC) }

func ago(days float64) time.Time { return noon().Add(-time.Duration(days * float64(day))) }

func usual() Policy { return Policy{Days: 30, Runs: 2, CompressAfter: 7 * day} }

// old is a run that nothing keeps but a later one.
func old(id string, days float64) Run {
	return Run{ID: id, Begun: true, Settled: true, Ended: ago(days), Bytes: 100, Loose: []File{{"sessions/a/stderr.log", 70}}}
}

// project has three later runs beside those of a test, so that no limit keeps these.
func project(runs ...Run) Project {
	for i := range 3 {
		r := old(fmt.Sprintf("later-%d", i), 1)
		r.Last = i == 0
		runs = append(runs, r)
	}
	return Project{Path: "/srv/app", Dir: "/srv/state/projects/-srv-app", Runs: runs}
}

func itemOf(t *testing.T, items []Item, run string) Item {
	t.Helper()
	for _, it := range items {
		if it.Kind == KindRun && it.RunID == run {
			return it
		}
	}
	t.Fatalf("there is no item for run %s in %v", run, items)
	return Item{}
}

func TestDecideAboutOneRun(t *testing.T) {
	t.Parallel()
	with := func(change func(*Run)) Run {
		r := old("r", 100)
		change(&r)
		return r
	}
	tests := []struct {
		name   string
		run    Run
		change func(*Policy)
		action Action
		why    Why
	}{
		{name: "nothing keeps it", run: old("r", 100), action: Remove, why: Expired},
		{name: "a moment too young", run: old("r", 29.999), action: Compress, why: Recent},
		{name: "just old enough", run: old("r", 30), action: Remove, why: Expired},
		{name: "young and not compressed yet", run: old("r", 6.9), action: Retain, why: Recent},
		{name: "never compressed", run: old("r", 20), change: func(p *Policy) { p.CompressAfter = -1 }, action: Retain, why: Recent},
		{name: "nothing to compress", run: with(func(r *Run) { r.Loose, r.Ended = nil, ago(20) }), action: Retain, why: Recent},
		{name: "among the latest", run: old("r", 100), change: func(p *Policy) { p.Runs = 4 }, action: Compress, why: Latest},
		{name: "one too many", run: old("r", 100), change: func(p *Policy) { p.Runs = 3 }, action: Remove, why: Expired},
		{name: "no days", run: old("r", 0.05), change: func(p *Policy) { p.Days, p.Runs = 0, 0 }, action: Remove, why: Expired},
		{name: "no days, within the hour", run: old("r", 0.04), change: func(p *Policy) { p.Days, p.Runs = 0, 0 }, action: Retain, why: Recent},
		{name: "in the future", run: old("r", -1), action: Retain, why: Undated},
		{name: "no date", run: with(func(r *Run) { r.Ended = time.Time{} }), action: Retain, why: Undated},
		{name: "never begun", run: with(func(r *Run) { r.Begun, r.Settled = false, false }), action: Remove, why: Expired},
		{name: "on", run: with(func(r *Run) { r.Alive, r.Open, r.Settled = true, true, false }), action: Retain, why: On},
		{name: "on without its mark", run: with(func(r *Run) { r.Alive = true }), action: Retain, why: On},
		{name: "open", run: with(func(r *Run) { r.Open, r.Settled = true, false }), action: Retain, why: NotClosed},
		{name: "open and finished", run: with(func(r *Run) { r.Open = true }), action: Retain, why: NotClosed},
		{name: "open without a state", run: with(func(r *Run) { r.Open, r.Begun, r.Settled = true, false, false }), action: Retain, why: NotClosed},
		{name: "not settled", run: with(func(r *Run) { r.Settled = false }), action: Retain, why: NotClosed},
		{name: "unreadable", run: with(func(r *Run) { r.Broken = "state.json is torn" }), action: Retain, why: Unreadable},
		{name: "last", run: with(func(r *Run) { r.Last = true }), action: Retain, why: LastRun},
		{name: "asks", run: with(func(r *Run) { r.Asks, r.Resumable = true, true }), action: Retain, why: Question},
		{name: "asks, resumable allowed", run: with(func(r *Run) { r.Asks, r.Resumable = true, true }), change: func(p *Policy) { p.Resumable = true }, action: Retain, why: Question},
		{name: "referred to", run: with(func(r *Run) { r.Wanted = []string{"gate g-abc"} }), action: Retain, why: Referred},
		{name: "resumable", run: with(func(r *Run) { r.Resumable = true }), action: Retain, why: Continues},
		{name: "resumable, allowed", run: with(func(r *Run) { r.Resumable = true }), change: func(p *Policy) { p.Resumable = true }, action: Remove, why: Expired},
		{name: "work tree", run: with(func(r *Run) { r.Cohort, r.Trees = true, []string{"/srv/trees/a"} }), change: func(p *Policy) { p.Resumable = true }, action: Retain, why: Tree},
		{name: "foreign file", run: with(func(r *Run) { r.Strange = []string{"notes.txt"} }), action: Retain, why: Foreign},
		{name: "a young foreign one is not compressed", run: with(func(r *Run) { r.Strange, r.Ended = []string{"notes.txt"}, ago(20) }), action: Retain, why: Foreign},
		{name: "a young resumable one is not compressed", run: with(func(r *Run) { r.Resumable, r.Ended = true, ago(20) }), action: Retain, why: Continues},
	}
	for _, tt := range tests {
		p := usual()
		if tt.change != nil {
			tt.change(&p)
		}
		it := itemOf(t, Decide([]Project{project(tt.run)}, p, noon()), "r")
		if it.Action != tt.action || it.Why != tt.why || it.Detail == "" {
			t.Errorf("%s: %s, %s (%s), want %s, %s", tt.name, it.Action, it.Why, it.Detail, tt.action, tt.why)
		}
		if want := int64(70); it.Action == Compress && (it.Bytes != want || !cmp.Equal(it.Files, []string{"sessions/a/stderr.log"})) {
			t.Errorf("%s: compresses %v, %d bytes", tt.name, it.Files, it.Bytes)
		}
	}
}

func TestDoubtKeepsAllRunsOfAProject(t *testing.T) {
	t.Parallel()
	p := project(old("r", 100))
	p.Doubt = "gates: broken"
	it := itemOf(t, Decide([]Project{p}, usual(), noon()), "r")
	if it.Why != Unreadable || !strings.Contains(it.Detail, "gates: broken") {
		t.Errorf("got %+v", it)
	}
}

func TestDecideAboutChains(t *testing.T) {
	t.Parallel()
	chain := func(ids ...string) []Run {
		var runs []Run
		for i, id := range ids {
			r := old(id, 100-float64(i))
			if i > 0 {
				r.Before = ids[i-1]
			}
			if i < len(ids)-1 {
				r.After = ids[i+1]
			}
			runs = append(runs, r)
		}
		return runs
	}
	all := func(items []Item, ids ...string) (out []string) {
		for _, id := range ids {
			out = append(out, string(itemOf(t, items, id).Why))
		}
		return out
	}
	resumable := chain("a", "b", "c")
	resumable[2].Resumable = true
	// Only the older ones say what follows: the state of the one between cannot say it.
	backwards := chain("a", "b", "c")
	backwards[1].Before, backwards[2].Before = "", ""
	backwards[2].Resumable = true
	foreign := chain("a", "b", "c")
	foreign[1].Strange = []string{"x"}
	foreign[2].Open = true
	last := chain("a", "b", "c")
	last[2].Last = true
	loop := chain("a", "b", "c")
	loop[0].Before, loop[2].After, loop[2].Resumable = "c", "a", true
	tests := []struct {
		name string
		runs []Run
		want []string
	}{
		{"nobody goes on", chain("a", "b", "c"), []string{"expired", "expired", "expired"}},
		{"the last can be continued", resumable, []string{"chain", "chain", "resumable"}},
		{"told by the older ones", backwards, []string{"chain", "chain", "resumable"}},
		{"over one with a foreign file", foreign, []string{"chain", "chain", "not closed"}},
		{"of the last one nothing is needed", last, []string{"expired", "expired", "last"}},
		{"in a circle", loop, []string{"chain", "chain", "resumable"}},
	}
	for _, tt := range tests {
		got := all(Decide([]Project{project(tt.runs...)}, usual(), noon()), "a", "b", "c")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	// Ids are those of a project: the same in another one means nothing.
	other := project(Run{ID: "z", Begun: true, Settled: true, Resumable: true, Before: "a", Ended: ago(50)})
	other.Path, other.Dir = "/srv/other", "/srv/state/projects/-srv-other"
	items := Decide([]Project{project(old("a", 100)), other}, usual(), noon())
	if it := itemOf(t, items, "a"); it.Action != Remove {
		t.Errorf("a run of another project keeps it: %+v", it)
	}
}

func TestDecideAboutCohorts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name                 string
		change               func(cohort, story *Run)
		wantCohort, wantKept Why
	}{
		{"both are over", func(_, _ *Run) {}, Expired, Expired},
		{"a story is on", func(_, s *Run) { s.Alive = true }, Story, On},
		{"a story is open", func(_, s *Run) { s.Open = true }, Story, NotClosed},
		{"a story can be continued", func(_, s *Run) { s.Resumable = true }, Story, Continues},
		{"a story that only its parent tells", func(c, s *Run) { c.Children, s.Resumable = nil, true }, Story, Continues},
		{"a story's run is the last of its tree", func(_, s *Run) { s.Last = true }, Expired, LastRun},
		{"a work tree is there", func(c, _ *Run) { c.Trees = []string{"/srv/trees/a"} }, Tree, OfCohort},
		{"the cohort can be continued", func(c, _ *Run) { c.Resumable = true }, Continues, OfCohort},
		{"the cohort asks", func(c, _ *Run) { c.Asks = true }, Question, OfCohort},
		{"the cohort is young", func(c, _ *Run) { c.Ended = ago(20) }, Recent, OfCohort},
		{"the story has no state", func(c, s *Run) { c.Resumable, s.Begun, s.Parent = true, false, "" }, Continues, OfCohort},
		{"the story is foreign and the cohort can be continued", func(c, s *Run) { c.Resumable, s.Strange = true, []string{"x"} }, Continues, OfCohort},
	}
	for _, tt := range tests {
		cohort, story := old("c", 100), old("s", 100)
		cohort.Cohort, cohort.Children, story.Parent = true, []string{"s"}, "c"
		tt.change(&cohort, &story)
		tree := project(story)
		tree.Path, tree.Dir = "/srv/trees/a", "/srv/state/projects/-srv-trees-a"
		for _, projects := range [][]Project{{project(cohort), tree}, {tree, project(cohort)}} {
			items := Decide(projects, usual(), noon())
			c, s := itemOf(t, items, "c"), itemOf(t, items, "s")
			if c.Why != tt.wantCohort || s.Why != tt.wantKept {
				t.Errorf("%s: cohort %s (%s), story %s (%s), want %s, %s", tt.name, c.Why, c.Detail, s.Why, s.Detail, tt.wantCohort, tt.wantKept)
			}
		}
	}
	// What keeps the story of a cohort that continues another keeps that other one too.
	first, second, story := old("c1", 100), old("c2", 90), old("s", 90)
	first.Cohort, first.After = true, "c2"
	second.Cohort, second.Before, second.Children = true, "c1", []string{"s"}
	story.Parent, story.Resumable = "c2", true
	items := Decide([]Project{project(first, second, story)}, usual(), noon())
	if c1 := itemOf(t, items, "c1"); c1.Why != Chain {
		t.Errorf("the cohort that was continued: %+v", c1)
	}
}

func TestDecideAboutOrphans(t *testing.T) {
	t.Parallel()
	orphan := func(change func(*Project)) Project {
		p := Project{Path: "/srv/gone", Dir: "/srv/state/projects/-srv-gone", Missing: Gone, Bytes: 5000, Touched: ago(60), Runs: []Run{old("a", 100), old("b", 61)}}
		p.Runs[1].Last = true
		change(&p)
		return p
	}
	tests := []struct {
		name    string
		project Project
		orphans bool
		action  Action
		why     Why
	}{
		{"it goes", orphan(func(*Project) {}), true, Remove, Orphan},
		{"not asked for", orphan(func(*Project) {}), false, Retain, NoOrphans},
		{"a disk may not be mounted", orphan(func(p *Project) { p.Missing = Unseen }), true, Retain, Mount},
		{"a run is on", orphan(func(p *Project) { p.Runs[0].Alive = true }), true, Retain, On},
		{"a run is open", orphan(func(p *Project) { p.Runs[0].Open = true }), true, Retain, NotClosed},
		{"a run can be continued", orphan(func(p *Project) { p.Runs[0].Resumable = true }), true, Retain, Continues},
		{"an update waits", orphan(func(p *Project) { p.Holds = []string{"an update was not delivered"} }), true, Retain, Referred},
		{"doubt", orphan(func(p *Project) { p.Doubt = "outbox: broken"; p.Runs = nil }), true, Retain, Unreadable},
		{"a foreign file", orphan(func(p *Project) { p.Strange = []string{"notes.txt"} }), true, Retain, Foreign},
		{"a foreign file in a run", orphan(func(p *Project) { p.Runs[1].Strange = []string{"notes.txt"} }), true, Retain, Foreign},
		{"a foreign file in another run", orphan(func(p *Project) { p.Runs[0].Strange = []string{"notes.txt"} }), true, Retain, Foreign},
		{"it was written to", orphan(func(p *Project) { p.Touched = ago(3) }), true, Retain, Recent},
		{"a young run", orphan(func(p *Project) { p.Runs[1].Last, p.Runs[1].Ended = false, ago(3) }), true, Retain, Recent},
		{"no runs", orphan(func(p *Project) { p.Runs = nil }), true, Remove, Orphan},
	}
	for _, tt := range tests {
		p := usual()
		p.Orphans = tt.orphans
		items := Decide([]Project{tt.project}, p, noon())
		if it := items[0]; it.Kind != KindProject || it.Action != tt.action || it.Why != tt.why {
			t.Errorf("%s: %+v, want %s, %s", tt.name, it, tt.action, tt.why)
		}
		if whole := items[0].Action == Remove; whole != (len(items) == 1) && len(tt.project.Runs) > 0 {
			t.Errorf("%s: %d items", tt.name, len(items))
		}
	}
}

func TestOrderAndRemnants(t *testing.T) {
	t.Parallel()
	p := project(old("young", 31), old("oldest", 300))
	p.Temp, p.TempLen, p.Left = []string{"/x/.a123456789012"}, 7, []string{"/x/.gc-r"}
	var got []string
	for _, it := range Decide([]Project{p}, usual(), noon()) {
		got = append(got, string(it.Kind)+" "+it.RunID+" "+string(it.Action))
	}
	want := []string{"run oldest remove", "run young remove", "run later-0 keep", "run later-1 keep", "run later-2 keep", "temporary files  remove", "leftover  remove"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
