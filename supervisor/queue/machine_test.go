package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is what a person would keep on paper: a list of names and how each stands.
type model struct {
	order []string
	was   map[string]Status
	goals int
}

func pick(t *rapid.T, what string, of ...string) string { return rapid.SampledFrom(of).Draw(t, what) }

// names are those an operation may be about, not all of which are there.
func names() []string {
	return []string{"0001-a", "0002-b", "0003-c", "0004-d", "0005-e", "goal-1", "goal-2", "goal-3"}
}

func (m *model) add(t *rapid.T, q *Queue) {
	item := Item{Kind: Goal, Title: "x", Priority: rapid.IntRange(0, 3).Draw(t, "priority")}
	for range rapid.IntRange(0, 2).Draw(t, "dependencies") {
		item.After = append(item.After, pick(t, "after", names()...))
	}
	if rapid.Bool().Draw(t, "increment") {
		item.Kind, item.ID, item.Type = Increment, pick(t, "id", names()[:5]...), pick(t, "type", "feature", "bug", "")
	}
	got, err := q.Add(item, at(0))
	_, there := m.was[item.ID]
	if (err != nil) != there {
		t.Fatalf("Add(%s) = %v, there: %v", item.ID, err, there)
	}
	if err != nil {
		return
	}
	if item.Kind == Goal {
		m.goals++
		if want := fmt.Sprintf("goal-%d", m.goals); got.ID != want {
			t.Fatalf("Add = %s, want %s", got.ID, want)
		}
	}
	m.order, m.was[got.ID] = append(m.order, got.ID), Waiting
}

// change tries one change of a status.
func (m *model) change(t *rapid.T, q *Queue) {
	id := pick(t, "id", names()...)
	busy := slices.Contains(slices.Collect(func(yield func(Status) bool) {
		for other, s := range m.was {
			if other != id && !yield(s) {
				return
			}
		}
	}), InProgress)
	s, there := m.was[id]
	var err error
	var to Status
	allowed := there
	switch op := pick(t, "operation", "begin", "done", "fail", "ask", "skip", "retry"); op {
	case "begin":
		err, to = q.Begin(id, "run", at(1)), InProgress
		allowed = allowed && !busy && (s == Waiting || s == InProgress)
	case "done":
		err, to = q.Done(id, at(1)), Done
		allowed = allowed && (s == InProgress || s == NeedsHuman)
	case "fail":
		err, to = q.Fail(id, "x", at(1)), Failed
		allowed = allowed && s != Done && s != Failed && s != Skipped
	case "ask":
		err, to = q.Ask(id, "x", at(1)), NeedsHuman
		allowed = allowed && (s == Waiting || s == InProgress)
	case "skip":
		err, to = q.Skip(id, "x", at(1)), Skipped
		allowed = allowed && s != Done && s != Skipped
	case "retry":
		err, to = q.Retry(id, at(1)), Waiting
		allowed = allowed && (s == NeedsHuman || s == Failed || s == Skipped)
	}
	if (err == nil) != allowed {
		t.Fatalf("%s from %q to %s: %v", id, s, to, err)
	}
	if allowed {
		m.was[id] = to
	}
}

func (m *model) remove(t *rapid.T, q *Queue) {
	id := pick(t, "id", names()...)
	s, there := m.was[id]
	allowed := there && s != InProgress
	if err := q.RemoveItem(id); (err == nil) != allowed {
		t.Fatalf("remove %s, which is %q: %v", id, s, err)
	}
	if allowed {
		delete(m.was, id)
		m.order = slices.DeleteFunc(m.order, func(x string) bool { return x == id })
	}
}

func (m *model) move(t *rapid.T, q *Queue) {
	id, other := pick(t, "id", names()...), pick(t, "other", names()...)
	to := rapid.SampledFrom([]Place{{First: true}, {Last: true}, {Before: other}, {After: other}, {Position: 2}}).Draw(t, "to")
	_, there := m.was[id]
	_, otherThere := m.was[other]
	allowed := there && (to.Before+to.After == "" || otherThere && other != id)
	if err := q.Move(id, to); (err == nil) != allowed {
		t.Fatalf("move %s to %+v: %v", id, to, err)
	}
	if !allowed {
		return
	}
	// Everything else keeps its order.
	rest := slices.DeleteFunc(slices.Clone(m.order), func(x string) bool { return x == id })
	var now, others []string
	for _, i := range q.Items {
		now = append(now, i.ID)
		if i.ID != id {
			others = append(others, i.ID)
		}
	}
	if !slices.Equal(others, rest) {
		t.Fatalf("move %s: the others were %v and are %v", id, rest, others)
	}
	at := slices.Index(now, id)
	ok := to.First && at == 0 || to.Last && at == len(now)-1 || to.Position > 0 && at == min(to.Position-1, len(now)-1) ||
		to.Before != "" && at+1 < len(now) && now[at+1] == other || to.After != "" && at > 0 && now[at-1] == other
	if !ok {
		t.Fatalf("move %s to %+v: %v", id, to, now)
	}
	m.order = now
}

func (m *model) count(t *rapid.T, q *Queue) {
	id := pick(t, "id", names()...)
	busy := m.was[id] == InProgress
	for _, err := range []error{
		q.Baseline(id, rapid.IntRange(-1, 3).Draw(t, "baseline")),
		q.Session(id, rapid.IntRange(-1, 9).Draw(t, "done"), rapid.IntRange(-1, 9).Draw(t, "total"), rapid.Bool().Draw(t, "claimed")),
	} {
		if (err == nil) != busy {
			t.Fatalf("count for %s, which is %q: %v", id, m.was[id], err)
		}
	}
}

// drawFacts are facts about any of the increments.
func drawFacts(t *rapid.T) Facts {
	f := Facts{Increments: map[string]string{}, Types: map[string]string{}, Active: rapid.IntRange(0, 2).Draw(t, "limit"), PerType: map[string]int{"feature": rapid.IntRange(0, 2).Draw(t, "features")}}
	for _, id := range append(names()[:5:5], "0006-f", "0007-g") {
		if s := pick(t, "on disk", "", "planning", "active", "active", "paused", "ready_for_review", "completed", "abandoned", "backlog"); s != "" {
			f.Increments[id] = s
			f.Types[id] = pick(t, "type on disk", "feature", "bug", "")
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "only") == 0 {
		f.Only = rapid.SliceOfDistinct(rapid.SampledFrom(names()), rapid.ID).Draw(t, "chosen")
	}
	return f
}

// free reports whether an item could be begun, without looking at what is in progress.
func free(q *Queue, f Facts, i Item) bool {
	for _, id := range i.After {
		k := q.at(id)
		if (k < 0 || q.Items[k].Status != Done) && f.Increments[id] != "completed" {
			return false
		}
	}
	if i.Kind == Goal {
		return true
	}
	switch f.Increments[i.ID] {
	case "", "completed", "abandoned":
		return false
	case "active":
		return true
	}
	kind := func(id string) string {
		if f.Types[id] != "" {
			return f.Types[id]
		}
		if k := q.at(id); k >= 0 {
			return q.Items[k].Type
		}
		return ""
	}
	all, same := 0, 0
	for id, s := range f.Increments {
		if s == "active" {
			all++
			if kind(id) == kind(i.ID) {
				same++
			}
		}
	}
	limit := f.PerType[kind(i.ID)]
	return (f.Active == 0 || all < f.Active) && (limit == 0 || same < limit)
}

// played plays the night through, as if all went well: it returns the items that were
// done in the end.
func played(q *Queue, f Facts) map[string]bool {
	q2 := q.copied()
	disk := map[string]string{}
	for id, s := range f.Increments {
		disk[id] = s
	}
	f.Increments = disk
	ended := map[string]bool{}
	for again := true; again; {
		again = false
		for k := range q2.Items {
			i := &q2.Items[k]
			if len(f.Only) > 0 && !slices.Contains(f.Only, i.ID) || i.Status != InProgress && (i.Status != Waiting || !free(&q2, f, *i)) {
				continue
			}
			i.Status, again, ended[i.ID] = Done, true, true
			if i.Kind == Increment {
				disk[i.ID] = "completed"
			}
		}
	}
	return ended
}

// choose holds a choice against what it promises.
func (m *model) choose(t *rapid.T, q *Queue) {
	f := drawFacts(t)
	c := q.Choose(f)
	counts := func(id string) bool { return len(f.Only) == 0 || slices.Contains(f.Only, id) }
	busy := ""
	for id, s := range m.was {
		if s == InProgress {
			busy = id
		}
	}
	stuck := busy != "" && !counts(busy)
	held := map[string]Held{}
	for _, h := range c.Held {
		if h.Why == "" || m.was[h.ID] != Waiting || !counts(h.ID) || held[h.ID].ID != "" {
			t.Fatalf("held: %+v, which is %q", h, m.was[h.ID])
		}
		held[h.ID] = h
		if !h.Shut && c.Item == nil {
			t.Fatalf("%s waits for something, but nothing is done", h.ID)
		}
	}
	switch {
	case stuck && c.Item != nil:
		t.Fatalf("chosen %s while %s is in progress and left out", c.Item.ID, busy)
	case !stuck && busy != "" && (c.Item == nil || c.Item.ID != busy):
		t.Fatalf("chosen %v while %s is in progress", c.Item, busy)
	case c.Item != nil && busy == "" && (m.was[c.Item.ID] != Waiting || !counts(c.Item.ID) || !free(q, f, *c.Item)):
		t.Fatalf("chosen %+v, which is %q", c.Item, m.was[c.Item.ID])
	}
	before := true // the chosen item has not come yet, in the order of the queue
	ended := played(q, f)
	for _, i := range q.Ordered() {
		if c.Item != nil && i.ID == c.Item.ID {
			before = false
			continue
		}
		if i.Status != Waiting || !counts(i.ID) {
			continue
		}
		h, isHeld := held[i.ID]
		if isHeld == (free(q, f, i) && !stuck) {
			t.Fatalf("%s is held: %v (%s)", i.ID, isHeld, h.Why)
		}
		if !isHeld && before && busy == "" {
			t.Fatalf("%s is neither chosen nor held, and stands before %v", i.ID, c.Item)
		}
		if isHeld && !stuck && h.Shut == ended[i.ID] {
			t.Fatalf("%s is shut: %v (%s), but had its turn: %v", i.ID, h.Shut, h.Why, ended[i.ID])
		}
		if h.Shut && strings.Count(h.Why, " ") < 3 {
			t.Fatalf("%s is shut without a reason: %q", i.ID, h.Why)
		}
	}
}

func (m *model) compare(t *rapid.T, q *Queue, done map[string]bool) {
	var now []string
	busy := 0
	for _, i := range q.Items {
		now = append(now, i.ID)
		if i.Status != m.was[i.ID] {
			t.Fatalf("%s is %s, want %s", i.ID, i.Status, m.was[i.ID])
		}
		if i.Status == InProgress {
			busy++
		}
		if done[i.ID] && i.Status != Done {
			t.Fatalf("%s was done and is %s", i.ID, i.Status)
		}
		done[i.ID] = i.Status == Done
	}
	if !slices.Equal(now, m.order) || busy > 1 {
		t.Fatalf("the queue has %v, %d of them in progress, want %v", now, busy, m.order)
	}
	for id := range done {
		if !slices.Contains(now, id) {
			delete(done, id) // removed; it may be added again
		}
	}
	if err := q.check(); err != nil && len(q.Items) > 0 {
		t.Fatal(err)
	}
}

func TestQueueKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, m := new(Queue), &model{was: map[string]Status{}}
		done := map[string]bool{}
		step := func(do func(*rapid.T, *Queue)) func(*rapid.T) {
			return func(t *rapid.T) { do(t, q) }
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": step(m.add), "add again": step(m.add), "change": step(m.change), "change again": step(m.change), "remove": step(m.remove), "move": step(m.move),
			"count": step(m.count), "choose": step(m.choose), "choose again": step(m.choose),
			"": func(t *rapid.T) { m.compare(t, q, done) },
		})
	})
}
