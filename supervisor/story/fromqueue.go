package story

import (
	"slices"

	"autopilot/supervisor/queue"
)

// FromQueue makes stories of what is left in a queue: the waiting items and the one in
// progress, in their order, each with its item. What waits for an item that is done, or for
// one of the completed, does not wait for it any more. Other things that are not left stay
// in what it waits for, and a cohort shuts such a story and says why.
//
// Ids are those of the items as far as these can name branches. There may be more stories
// than a cohort takes; [Check] says so.
func FromQueue(items []queue.Item, completed ...string) []Story {
	left := slices.DeleteFunc(slices.Clone(items), func(i queue.Item) bool { return i.Status.Over() })
	met, names, taken := map[string]bool{}, map[string]string{}, ids{}
	for _, id := range completed {
		met[id] = true
	}
	for _, item := range items {
		met[item.ID] = met[item.ID] || item.Status == queue.Done
	}
	for _, item := range left {
		names[item.ID] = ""
	}
	for _, item := range left {
		for _, id := range item.After {
			if _, ok := names[id]; !ok {
				taken.reserve(id) // so that no story gets the name of what is missing
			}
		}
	}
	for _, item := range left {
		names[item.ID] = taken.unique(safe(item.ID))
	}
	out := make([]Story, 0, len(left))
	for _, item := range left {
		s := Story{ID: names[item.ID], Kind: Goal, Title: line(item.Title, longestTitle), Priority: item.Priority, Item: item.ID}
		if item.Kind == queue.Increment {
			s.Kind = Increment
		} else {
			s.Goal, s.Verify = item.Title, slices.Clone(item.Verify)
		}
		for _, id := range item.After {
			if met[id] {
				continue
			}
			if name := names[id]; name != "" {
				id = name
			}
			s.After = append(s.After, id)
		}
		out = append(out, s)
	}
	return out
}
