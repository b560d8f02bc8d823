package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Statuses of increments on disk that count here.
const (
	active    = "active"
	completed = "completed"
	abandoned = "abandoned"
)

// Choose returns the item in progress, or else the one to begin: of those that can be
// begun, the one with the lowest priority that is not 0, and among equals the first in
// the list. It changes nothing.
//
// An item can be begun when all it waits for is done, as an item of the queue or as a
// completed increment on disk, and when, unless its increment is active already, fewer
// increments than may be are active beside it.
func (q *Queue) Choose(f Facts) Choice {
	v := q.look(f)
	if v.busy != nil && !v.counts(v.busy.ID) {
		return Choice{Held: v.allShut(fmt.Sprintf("%s is in progress and not among the chosen items: choose it too, or 'autopilot queue skip' it", v.busy.ID))}
	}
	v.spread()
	c := Choice{Item: v.busy}
	for _, item := range v.waiting {
		why := v.hindrance(item)
		switch {
		case why == "" && c.Item == nil:
			c.Item = item
		case why == "":
		case v.can[item.ID]:
			c.Held = append(c.Held, Held{ID: item.ID, Why: line(why, longestWhy)})
		default:
			c.Held = append(c.Held, Held{ID: item.ID, Why: line(v.obstacle(item), longestWhy), Shut: true})
		}
	}
	if c.Item != nil {
		item := copied(*c.Item)
		c.Item = &item
	}
	return c
}

// Ordered returns the items in the order in which they are done, if nothing holds them.
func (q *Queue) Ordered() []Item {
	out := make([]Item, 0, len(q.Items))
	for _, item := range q.Items {
		out = append(out, copied(item))
	}
	slices.SortStableFunc(out, byPriority)
	return out
}

func byPriority(a, b Item) int {
	rank := func(i Item) int {
		if i.Priority == 0 {
			return lowestPrio + 1
		}
		return i.Priority
	}
	return cmp.Compare(rank(a), rank(b))
}

// view is a queue together with the facts of one choice.
type view struct {
	Facts
	items   map[string]*Item
	only    map[string]bool // nil for all
	busy    *Item           // in progress
	waiting []*Item         // that count, in their order
	actives []string        // increments that are active on disk, sorted
	now     crowd           // of all of them
	// can are the items that will have their turn if all goes well: the one in progress,
	// and what needs no more than others of these to end.
	can map[string]bool
}

func (q *Queue) look(f Facts) *view {
	v := &view{Facts: f, items: make(map[string]*Item, len(q.Items)), can: map[string]bool{}}
	if len(f.Only) > 0 {
		v.only = map[string]bool{}
		for _, id := range f.Only {
			v.only[id] = true
		}
	}
	for i := range q.Items {
		item := &q.Items[i]
		v.items[item.ID] = item
		switch {
		case item.Status == InProgress:
			v.busy = item
		case item.Status == Waiting && v.counts(item.ID):
			v.waiting = append(v.waiting, item)
		}
	}
	slices.SortStableFunc(v.waiting, func(a, b *Item) int { return byPriority(*a, *b) })
	for id, status := range f.Increments {
		if status == active {
			v.actives = append(v.actives, id)
		}
	}
	slices.Sort(v.actives)
	v.now = v.crowd(nil)
	return v
}

func (v *view) counts(id string) bool { return v.only == nil || v.only[id] }

func (v *view) allShut(why string) []Held {
	var out []Held
	for _, item := range v.waiting {
		out = append(out, Held{ID: item.ID, Why: why, Shut: true})
	}
	return out
}

// spread finds out which items will have their turn. An item that ends can only help
// others, so it is repeated until no more are found.
func (v *view) spread() {
	if v.busy != nil {
		v.can[v.busy.ID] = true
	}
	for more := true; more; {
		more = false
		places := v.crowd(v.can)
		for _, item := range v.waiting {
			if !v.can[item.ID] && v.own(item) == "" && v.reachable(item) && places.room(v, item) == "" {
				v.can[item.ID], more = true, true
			}
		}
	}
}

// reachable reports whether all that an item waits for is done or will have its turn.
func (v *view) reachable(item *Item) bool {
	for _, id := range item.After {
		if !v.met(id) && !v.can[id] {
			return false
		}
	}
	return true
}

// met reports whether a dependency is fulfilled.
func (v *view) met(id string) bool {
	item := v.items[id]
	return item != nil && item.Status == Done || v.Increments[id] == completed
}

// hindrance is why an item cannot be begun at this moment; "" when it can.
func (v *view) hindrance(item *Item) string {
	if why := v.own(item); why != "" {
		return why
	}
	var open []string
	for _, id := range item.After {
		if !v.met(id) {
			open = append(open, id)
		}
	}
	if len(open) > 0 {
		return "waits for " + some(open)
	}
	return v.now.room(v, item)
}

// own is what about the increment itself keeps an item from being begun.
func (v *view) own(item *Item) string {
	if item.Kind != Increment {
		return ""
	}
	switch s := v.Increments[item.ID]; s {
	case "":
		return "the increment is not there or cannot be read: bring it back, or remove the item"
	case completed, abandoned:
		return fmt.Sprintf("the increment is %s already: skip the item, or make the increment active again", s)
	}
	return ""
}

// obstacle is why an item that is shut will never be begun, and the way out.
func (v *view) obstacle(item *Item) string {
	if why := v.own(item); why != "" {
		return why
	}
	for _, id := range item.After {
		if why := v.dead(id); why != "" {
			return why
		}
	}
	if ring := v.ring(item.ID); ring != nil {
		way := strings.Join(ring[:min(len(ring), 10)], " after ")
		if len(ring) > 10 {
			way = fmt.Sprintf("%s and so on, %d items in all", way, len(ring)-1)
		}
		return fmt.Sprintf("waits for itself: %s; take one of these dependencies away", way)
	}
	for _, id := range item.After {
		if !v.met(id) && !v.can[id] {
			return fmt.Sprintf("waits for %s, which cannot be begun either", id)
		}
	}
	return v.crowd(v.can).room(v, item) + "; none of them is ended by the items that are left: finish or pause one, or raise the limit"
}

// dead is why a dependency will not be fulfilled whatever is done; "" when it may.
func (v *view) dead(id string) string {
	if v.met(id) {
		return ""
	}
	item := v.items[id]
	if item == nil {
		switch status := v.Increments[id]; status {
		case "":
			return fmt.Sprintf("waits for %s, which does not exist: add it, or take the dependency away", id)
		case abandoned:
			return fmt.Sprintf("waits for %s, which was abandoned: finish it, or take the dependency away", id)
		default:
			return fmt.Sprintf("waits for %s, which is %s and not in the queue: add it", id, line(status, longestWord))
		}
	}
	switch item.Status {
	case Failed:
		return fmt.Sprintf("waits for %s, which has failed: retry that", id)
	case NeedsHuman:
		return fmt.Sprintf("waits for %s, which needs a person: settle that, and retry it", id)
	case Skipped:
		return fmt.Sprintf("waits for %s, which was skipped: retry that, or take the dependency away", id)
	}
	if !v.counts(id) {
		return fmt.Sprintf("waits for %s, which is not among the chosen items: choose it too", id)
	}
	return ""
}

// ring returns the shortest way along dependencies from an item back to it; nil when there
// is none.
func (v *view) ring(start string) []string {
	from := map[string]string{} // the item by which another was reached
	for list := []string{start}; len(list) > 0; list = list[1:] {
		item := v.items[list[0]]
		if item == nil || item.Status != Waiting {
			continue
		}
		for _, next := range item.After {
			if next == start {
				way := []string{start}
				for id := item.ID; id != start; id = from[id] {
					way = append(way, id)
				}
				way = append(way, start)
				slices.Reverse(way)
				return way
			}
			if _, seen := from[next]; !seen && !v.met(next) {
				from[next] = item.ID
				list = append(list, next)
			}
		}
	}
	return nil
}

// crowd are the active increments that take up places.
type crowd struct {
	all     []string
	perType map[string][]string
}

// crowd leaves out those that will have ended.
func (v *view) crowd(ended map[string]bool) crowd {
	c := crowd{perType: map[string][]string{}}
	for _, id := range v.actives {
		if ended[id] {
			continue
		}
		c.all = append(c.all, id)
		kind := v.kind(id)
		c.perType[kind] = append(c.perType[kind], id)
	}
	return c
}

func (v *view) kind(id string) string {
	if t := v.Types[id]; t != "" {
		return t
	}
	if item := v.items[id]; item != nil {
		return item.Type
	}
	return ""
}

// room is why there is no place for an item; "" when there is. One that is active has
// its place.
func (c crowd) room(v *view, item *Item) string {
	if item.Kind != Increment || v.Increments[item.ID] == active {
		return ""
	}
	if v.Active > 0 && len(c.all) >= v.Active {
		return fmt.Sprintf("%d of at most %d increments are active: %s", len(c.all), v.Active, some(c.all))
	}
	kind := v.kind(item.ID)
	if limit, same := v.PerType[kind], c.perType[kind]; kind != "" && limit > 0 && len(same) >= limit {
		return fmt.Sprintf("%d of at most %d increments of type %s are active: %s", len(same), limit, line(kind, longestWord), some(same))
	}
	return ""
}
