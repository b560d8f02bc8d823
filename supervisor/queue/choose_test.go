package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shown is a choice as text: the id, and what is held; "!" stands before what is shut.
func shown(c Choice) []string {
	first := "none"
	if c.Item != nil {
		first = c.Item.ID
	}
	out := []string{first}
	for _, h := range c.Held {
		mark := ""
		if h.Shut {
			mark = "!"
		}
		out = append(out, mark+h.ID+": "+h.Why)
	}
	return out
}

func TestChoose(t *testing.T) {
	t.Parallel()
	inc := func(id string, s Status, after ...string) Item {
		return Item{ID: id, Kind: Increment, Status: s, After: after}
	}
	goal := func(id string, s Status, after ...string) Item {
		return Item{ID: id, Kind: Goal, Status: s, After: after}
	}
	prio := func(p int, i Item) Item { i.Priority = p; return i }
	typed := func(kind string, i Item) Item { i.Type = kind; return i }
	disk := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for _, p := range pairs {
			id, status, _ := strings.Cut(p, " ")
			m[id] = status
		}
		return m
	}
	tests := []struct {
		name  string
		items []Item
		facts Facts
		want  []string
	}{
		{"nothing", nil, Facts{}, []string{"none"}},
		{"all over", []Item{goal("goal-1", Done), goal("goal-2", Failed), goal("goal-3", Skipped), goal("goal-4", NeedsHuman)}, Facts{}, []string{"none"}},
		{"the first", []Item{goal("goal-2", Waiting), goal("goal-1", Waiting)}, Facts{}, []string{"goal-2"}},
		{"the priority, no priority last", []Item{goal("goal-1", Waiting), prio(3, goal("goal-2", Waiting)), prio(2, goal("goal-3", Waiting)), prio(2, goal("goal-4", Waiting))}, Facts{}, []string{"goal-3"}},
		{"the one in progress, whatever else", []Item{prio(1, goal("goal-1", Waiting)), goal("goal-2", InProgress, "nowhere")}, Facts{}, []string{"goal-2"}},
		{"the one in progress is not among those chosen", []Item{goal("goal-1", Waiting), goal("goal-2", InProgress)}, Facts{Only: []string{"goal-1"}}, []string{"none", "!goal-1: goal-2 is in progress and not among the chosen items: choose it too, or 'autopilot queue skip' it"}},
		{"only some", []Item{goal("goal-1", Waiting), goal("goal-2", Waiting)}, Facts{Only: []string{"goal-2", "goal-9"}}, []string{"goal-2"}},
		{"only of none is all", []Item{goal("goal-1", Waiting)}, Facts{Only: []string{}}, []string{"goal-1"}},

		{"a dependency that waits", []Item{prio(1, goal("goal-1", Waiting, "goal-2")), goal("goal-2", Waiting)}, Facts{}, []string{"goal-2", "goal-1: waits for goal-2"}},
		{"one in progress", []Item{goal("goal-1", Waiting, "goal-2"), goal("goal-2", InProgress)}, Facts{}, []string{"goal-2", "goal-1: waits for goal-2"}},
		{"one that is done", []Item{goal("goal-1", Waiting, "goal-2"), goal("goal-2", Done)}, Facts{}, []string{"goal-1"}},
		{"one completed on disk", []Item{goal("goal-1", Waiting, "0001-a")}, Facts{Increments: disk("0001-a completed")}, []string{"goal-1"}},
		{"one skipped, and completed on disk", []Item{goal("goal-1", Waiting, "0001-a"), inc("0001-a", Skipped)}, Facts{Increments: disk("0001-a completed")}, []string{"goal-1"}},
		{"one that is ready for review", []Item{goal("goal-1", Waiting, "0001-a")}, Facts{Increments: disk("0001-a ready_for_review")}, []string{"none", "!goal-1: waits for 0001-a, which is ready_for_review and not in the queue: add it"}},
		{"one abandoned on disk", []Item{goal("goal-1", Waiting, "0001-a")}, Facts{Increments: disk("0001-a abandoned")}, []string{"none", "!goal-1: waits for 0001-a, which was abandoned: finish it, or take the dependency away"}},
		{"one that is nowhere", []Item{goal("goal-1", Waiting, "goal-9")}, Facts{}, []string{"none", "!goal-1: waits for goal-9, which does not exist: add it, or take the dependency away"}},
		{"one that failed", []Item{goal("goal-1", Waiting, "goal-2"), goal("goal-2", Failed)}, Facts{}, []string{"none", "!goal-1: waits for goal-2, which has failed: retry that"}},
		{"one that needs a person", []Item{goal("goal-1", Waiting, "goal-2"), goal("goal-2", NeedsHuman)}, Facts{}, []string{"none", "!goal-1: waits for goal-2, which needs a person: settle that, and retry it"}},
		{"one skipped", []Item{goal("goal-1", Waiting, "goal-2"), goal("goal-2", Skipped)}, Facts{}, []string{"none", "!goal-1: waits for goal-2, which was skipped: retry that, or take the dependency away"}},
		{"one that is left out", []Item{goal("goal-1", Waiting, "goal-2"), goal("goal-2", Waiting)}, Facts{Only: []string{"goal-1"}}, []string{"none", "!goal-1: waits for goal-2, which is not among the chosen items: choose it too"}},
		{"one of several", []Item{goal("goal-1", Waiting, "goal-2", "goal-3", "goal-4"), goal("goal-2", Done), goal("goal-3", Waiting), goal("goal-4", Waiting)}, Facts{}, []string{"goal-3", "goal-1: waits for goal-3, goal-4"}},
		{
			"a chain behind a failure",
			[]Item{goal("goal-1", Waiting, "goal-2"), goal("goal-2", Waiting, "goal-3"), goal("goal-3", Failed), goal("goal-4", Waiting)},
			Facts{},
			[]string{"goal-4", "!goal-1: waits for goal-2, which cannot be begun either", "!goal-2: waits for goal-3, which has failed: retry that"},
		},
		{"itself", []Item{goal("goal-1", Waiting, "goal-1")}, Facts{}, []string{"none", "!goal-1: waits for itself: goal-1 after goal-1; take one of these dependencies away"}},
		{
			"a ring",
			[]Item{goal("goal-1", Waiting, "goal-2"), goal("goal-2", Waiting, "goal-3"), goal("goal-3", Waiting, "goal-1"), goal("goal-4", Waiting, "goal-3")},
			Facts{},
			[]string{
				"none",
				"!goal-1: waits for itself: goal-1 after goal-2 after goal-3 after goal-1; take one of these dependencies away",
				"!goal-2: waits for itself: goal-2 after goal-3 after goal-1 after goal-2; take one of these dependencies away",
				"!goal-3: waits for itself: goal-3 after goal-1 after goal-2 after goal-3; take one of these dependencies away",
				"!goal-4: waits for goal-3, which cannot be begun either",
			},
		},
		{"what would be a ring without what is done", []Item{goal("goal-1", Waiting, "goal-2"), goal("goal-2", Done, "goal-1")}, Facts{}, []string{"goal-1"}},

		{"an increment", []Item{inc("0001-a", Waiting)}, Facts{Increments: disk("0001-a backlog"), Active: 1}, []string{"0001-a"}},
		{"that is not there", []Item{inc("0001-a", Waiting)}, Facts{}, []string{"none", "!0001-a: the increment is not there or cannot be read: bring it back, or remove the item"}},
		{"that is completed", []Item{inc("0001-a", Waiting)}, Facts{Increments: disk("0001-a completed")}, []string{"none", "!0001-a: the increment is completed already: skip the item, or make the increment active again"}},
		{"in progress and completed", []Item{inc("0001-a", InProgress)}, Facts{Increments: disk("0001-a completed")}, []string{"0001-a"}},
		{"active already, beside too many", []Item{inc("0001-a", Waiting)}, Facts{Increments: disk("0001-a active", "0002-b active", "0003-c active"), Active: 1}, []string{"0001-a"}},
		{"paused ones do not count", []Item{inc("0001-a", Waiting)}, Facts{Increments: disk("0001-a paused", "0002-b paused", "0003-c ready_for_review", "0004-d backlog"), Active: 1}, []string{"0001-a"}},
		{"below the limit", []Item{inc("0001-a", Waiting)}, Facts{Increments: disk("0001-a planning", "0002-b active"), Active: 2}, []string{"0001-a"}},
		{
			"at the limit, nothing here frees a place",
			[]Item{inc("0001-a", Waiting), goal("goal-1", Waiting, "0001-a")},
			Facts{Increments: disk("0001-a planning", "0002-b active", "0003-c active"), Active: 2},
			[]string{
				"none",
				"!0001-a: 2 of at most 2 increments are active: 0002-b, 0003-c; none of them is ended by the items that are left: finish or pause one, or raise the limit",
				"!goal-1: waits for 0001-a, which cannot be begun either",
			},
		},
		{"no limit", []Item{inc("0001-a", Waiting)}, Facts{Increments: disk("0001-a planning", "0002-b active", "0003-c active")}, []string{"0001-a"}},
		{"goals need no place", []Item{inc("0001-a", Waiting), goal("goal-1", Waiting)}, Facts{Increments: disk("0001-a planning", "0002-b active"), Active: 1}, []string{"goal-1", "!0001-a: 1 of at most 1 increments are active: 0002-b; none of them is ended by the items that are left: finish or pause one, or raise the limit"}},
		{"an active one frees its place", []Item{prio(1, inc("0001-a", Waiting)), inc("0002-b", Waiting)}, Facts{Increments: disk("0001-a planning", "0002-b active"), Active: 1}, []string{"0002-b", "0001-a: 1 of at most 1 increments are active: 0002-b"}},
		{"the one in progress frees its place", []Item{inc("0001-a", Waiting), inc("0002-b", InProgress)}, Facts{Increments: disk("0001-a planning", "0002-b active"), Active: 1}, []string{"0002-b", "0001-a: 1 of at most 1 increments are active: 0002-b"}},
		{
			"an active one that failed keeps its place",
			[]Item{inc("0001-a", Waiting), inc("0002-b", Failed)},
			Facts{Increments: disk("0001-a planning", "0002-b active"), Active: 1},
			[]string{"none", "!0001-a: 1 of at most 1 increments are active: 0002-b; none of them is ended by the items that are left: finish or pause one, or raise the limit"},
		},
		{
			"an active one that waits for the one that needs its place",
			[]Item{inc("0001-a", Waiting), inc("0002-b", Waiting, "0001-a")},
			Facts{Increments: disk("0001-a planning", "0002-b active"), Active: 1},
			[]string{
				"none",
				"!0001-a: 1 of at most 1 increments are active: 0002-b; none of them is ended by the items that are left: finish or pause one, or raise the limit",
				"!0002-b: waits for 0001-a, which cannot be begun either",
			},
		},
		{
			"an active one that is left out keeps its place",
			[]Item{inc("0001-a", Waiting), inc("0002-b", Waiting)},
			Facts{Increments: disk("0001-a planning", "0002-b active"), Active: 1, Only: []string{"0001-a"}},
			[]string{"none", "!0001-a: 1 of at most 1 increments are active: 0002-b; none of them is ended by the items that are left: finish or pause one, or raise the limit"},
		},
		{
			"the limit of a type",
			[]Item{typed("feature", inc("0001-a", Waiting)), typed("bug", inc("0002-b", Waiting))},
			Facts{Increments: disk("0001-a planning", "0002-b planning", "0003-c active"), Types: disk("0003-c feature"), PerType: map[string]int{"feature": 1}},
			[]string{"0002-b", "!0001-a: 1 of at most 1 increments of type feature are active: 0003-c; none of them is ended by the items that are left: finish or pause one, or raise the limit"},
		},
		{"the type on disk counts more", []Item{typed("feature", inc("0001-a", Waiting))}, Facts{Increments: disk("0001-a planning", "0003-c active"), Types: disk("0003-c feature", "0001-a bug"), PerType: map[string]int{"feature": 1}}, []string{"0001-a"}},
		{"a limit of 0 is none", []Item{typed("feature", inc("0001-a", Waiting))}, Facts{Increments: disk("0001-a planning", "0003-c active"), Types: disk("0003-c feature"), PerType: map[string]int{"feature": 0}}, []string{"0001-a"}},
		{
			"two places, one of which becomes free",
			[]Item{inc("0001-a", Waiting), inc("0002-b", Waiting)},
			Facts{Increments: disk("0001-a planning", "0002-b active", "0003-c active"), Active: 2},
			[]string{"0002-b", "0001-a: 2 of at most 2 increments are active: 0002-b, 0003-c"},
		},
		{
			"beyond the limit, one place less is not enough",
			[]Item{inc("0001-a", Waiting), inc("0002-b", Waiting)},
			Facts{Increments: disk("0001-a planning", "0002-b active", "0003-c active"), Active: 1},
			[]string{"0002-b", "!0001-a: 1 of at most 1 increments are active: 0003-c; none of them is ended by the items that are left: finish or pause one, or raise the limit"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := &Queue{Items: tt.items}
			before := q.copied()
			if diff := cmp.Diff(tt.want, shown(q.Choose(tt.facts))); diff != "" {
				t.Errorf("choice (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&before, q); diff != "" {
				t.Errorf("the queue was changed:\n%s", diff)
			}
		})
	}
}

func TestChosenItemIsACopy(t *testing.T) {
	t.Parallel()
	q := &Queue{Items: []Item{{ID: "goal-1", Kind: Goal, Status: Waiting, Verify: []string{"make"}}}}
	c := q.Choose(Facts{})
	c.Item.Title, c.Item.Verify[0] = "x", "rm"
	if i := q.Items[0]; i.Title != "" || i.Verify[0] != "make" {
		t.Errorf("the item in the queue became %+v", i)
	}
}

func TestOrdered(t *testing.T) {
	t.Parallel()
	q := &Queue{Items: []Item{{ID: "a"}, {ID: "b", Priority: 2}, {ID: "c", Priority: 1}, {ID: "d", Priority: 2}, {ID: "e"}}}
	got := ids(&Queue{Items: q.Ordered()})
	if want := "c b d a e"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := ids(q), "a b c d e"; got != want {
		t.Errorf("the queue became %s, want %s", got, want)
	}
}

// A queue as large as it can be, each item waiting for the one behind it.
func TestLongChain(t *testing.T) {
	t.Parallel()
	q := new(Queue)
	for range mostItems {
		if _, err := q.Add(Item{Kind: Goal, Title: "x"}, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range q.Items[:mostItems-1] {
		q.Items[i].After = []string{q.Items[i+1].ID}
	}
	c := q.Choose(Facts{})
	if c.Item == nil || c.Item.ID != "goal-1000" || len(c.Held) != mostItems-1 || c.Held[0].Shut {
		t.Errorf("chosen %v, %d held", c.Item, len(c.Held))
	}
	q.Items = q.Items[mostItems-200:]
	q.Items[199].After = []string{q.Items[0].ID}
	if c := q.Choose(Facts{}); c.Item != nil || len(c.Held) != 200 || !c.Held[0].Shut || !strings.Contains(c.Held[0].Why, "200 items in all") {
		t.Errorf("chosen %v, %d held", c.Item, len(c.Held))
	}
}
