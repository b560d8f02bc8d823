package keep

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawProjects makes projects with runs that refer to each other at random, also in ways that
// no program would write.
func drawProjects(t *rapid.T) []Project {
	id := rapid.SampledFrom([]string{"", "r0", "r1", "r2", "r3", "r4", "r5", "nobody"})
	flag := rapid.SampledFrom([]bool{false, false, false, false, true})
	var projects []Project
	for i := range rapid.IntRange(1, 3).Draw(t, "projects") {
		p := Project{Path: "/srv/p" + strconv.Itoa(i), Dir: "/srv/state/p" + strconv.Itoa(i), Touched: ago(200)}
		if flag.Draw(t, "missing") {
			p.Missing = Gone
		}
		if flag.Draw(t, "doubt") {
			p.Doubt = "doubt"
		}
		for j := range rapid.IntRange(0, 6).Draw(t, "runs") {
			r := Run{
				ID: "r" + strconv.Itoa(j), Ended: ago(rapid.Float64Range(-1, 100).Draw(t, "days")), Begun: !flag.Draw(t, "no state"), Alive: flag.Draw(t, "alive"), Open: flag.Draw(t, "open"),
				Settled: !flag.Draw(t, "unsettled"), Resumable: flag.Draw(t, "resumable"), Last: flag.Draw(t, "last"), Asks: flag.Draw(t, "asks"),
				Before: id.Draw(t, "before"), After: id.Draw(t, "after"), Parent: id.Draw(t, "parent"), Cohort: flag.Draw(t, "cohort"), Loose: []File{{"x", 1}},
			}
			if flag.Draw(t, "broken") {
				r.Broken = "broken"
			}
			if flag.Draw(t, "wanted") {
				r.Wanted = []string{"gate"}
			}
			if flag.Draw(t, "strange") {
				r.Strange = []string{"notes"}
			}
			if r.Cohort {
				r.Children = rapid.SliceOfN(id, 0, 3).Draw(t, "children")
				if flag.Draw(t, "tree") {
					r.Trees = []string{"/srv/tree"}
				}
			}
			p.Runs = append(p.Runs, r)
		}
		projects = append(projects, p)
	}
	return projects
}

// untouched are the facts that forbid everything.
func untouched(p Project, r Run, policy Policy) bool {
	return r.Alive || r.Open || r.Broken != "" || r.Begun && !r.Settled || r.Last || r.Asks || len(r.Wanted) > 0 || len(r.Strange) > 0 || len(r.Trees) > 0 || p.Doubt != "" || r.Resumable && !policy.Resumable
}

func TestNothingNeededIsTouched(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		projects := drawProjects(t)
		policy := Policy{
			Days: rapid.IntRange(0, 60).Draw(t, "keep days"), Runs: rapid.IntRange(0, 4).Draw(t, "keep runs"), CompressAfter: time.Duration(rapid.IntRange(-1, 40).Draw(t, "compress")) * day,
			Resumable: rapid.Bool().Draw(t, "include resumable"), Orphans: rapid.Bool().Draw(t, "orphans"),
		}
		items := Decide(projects, policy, noon())
		action := map[string]Action{}
		for _, it := range items {
			action[it.Dir+"/"+it.RunID] = it.Action
		}
		of := func(p Project, id string) Action {
			if a := action[p.Dir+"/"]; a == Remove {
				return Remove
			}
			return action[p.Dir+"/"+id]
		}
		for _, p := range projects {
			whole := action[p.Dir+"/"] == Remove
			for _, r := range p.Runs {
				a := of(p, r.ID)
				if untouched(p, r, policy) && a != Retain && !(whole && r.Last) {
					t.Fatalf("run %s of %s is needed and would be touched: %s", r.ID, p.Path, a)
				}
				if a == Remove && !whole && noon().Sub(r.Ended) < time.Duration(policy.Days)*day {
					t.Fatalf("run %s goes too early", r.ID)
				}
				going := r.Alive || r.Open || r.Resumable && !policy.Resumable
				if !going {
					continue
				}
				for _, b := range p.Runs {
					if b.ID == r.Before && b.ID != r.ID && of(p, b.ID) != Retain {
						t.Fatalf("run %s goes on with %s, which would be touched", r.ID, b.ID)
					}
				}
				for _, q := range projects {
					for _, c := range q.Runs {
						if c.Cohort && !r.Cohort && r.Parent != "" && (c.ID == r.Parent || slices.Contains(c.Children, r.ID)) && of(q, c.ID) != Retain {
							t.Fatalf("cohort %s of run %s would be touched", c.ID, r.ID)
						}
					}
				}
			}
			kept := slices.DeleteFunc(slices.Clone(p.Runs), func(r Run) bool { return of(p, r.ID) == Remove })
			if !whole && len(kept) < min(policy.Runs, len(p.Runs)) {
				t.Fatalf("%d runs of %s are kept, want %d at least", len(kept), p.Path, policy.Runs)
			}
		}
		if diff := cmp.Diff(items, Decide(projects, policy, noon())); diff != "" {
			t.Fatalf("a second decision is another one:\n%s", diff)
		}
		slices.Reverse(projects)
		again := Decide(projects, policy, noon())
		for _, it := range again {
			if action[it.Dir+"/"+it.RunID] != it.Action {
				t.Fatalf("in another order %s is decided otherwise", it.RunID)
			}
		}
	})
}
