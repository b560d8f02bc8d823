package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The changes of an item:
//
//	          Begin        Done           Fail, Ask, Skip
//	waiting --------> in-progress --> done
//	   ^  \_______________________________> failed, needs-human, skipped
//	   |                                         |
//	   +-----------------------------------------+  Retry
//
// A person may also finish, or give up, what has failed or needs one.
func from(to Status) []Status {
	switch to {
	case Waiting:
		return []Status{NeedsHuman, Failed, Skipped}
	case InProgress:
		return []Status{Waiting, InProgress}
	case Done:
		return []Status{InProgress, NeedsHuman}
	case Failed:
		return []Status{Waiting, InProgress, NeedsHuman}
	case NeedsHuman:
		return []Status{Waiting, InProgress}
	case Skipped:
		return []Status{Waiting, InProgress, NeedsHuman, Failed}
	}
	return nil
}

// enter finds an item that may change to a status.
func (q *Queue) enter(id string, to Status) (*Item, error) {
	i, err := q.find(id)
	if err != nil {
		return nil, err
	}
	item := &q.Items[i]
	if slices.Contains(from(to), item.Status) {
		return item, nil
	}
	var way string
	switch s := item.Status; {
	case s == Done:
		way = "nothing is left to do; remove it, and add it again, to have it done once more"
	case s == Waiting:
		way = "it has to be begun first"
	case s == InProgress:
		way = "wait until it is over"
	default:
		way = "retry it first"
	}
	return nil, refuse(way, "%s is %s and cannot become %s", id, item.Status, to)
}

// end leaves an item that is over.
func (q *Queue) end(id string, to Status, why string, now time.Time) error {
	item, err := q.enter(id, to)
	if err != nil {
		return err
	}
	item.Status, item.Why, item.EndedAt = to, line(why, longestWhy), now.UTC()
	if to == Done {
		item.Why = ""
	}
	return nil
}

// Begin makes an item the one in progress, for a run. The one that is in progress
// already is taken over from a run that died: what was counted is kept. While another one
// is in progress it is refused.
func (q *Queue) Begin(id, runID string, now time.Time) error {
	if busy := q.running(); busy >= 0 && q.Items[busy].ID != id {
		return refuse("let it come to its end, or skip it", "%s cannot be begun while %s is in progress", shortID(id), q.Items[busy].ID)
	}
	item, err := q.enter(id, InProgress)
	if err != nil {
		return err
	}
	if item.Status == Waiting {
		item.StartedAt, item.EndedAt = now.UTC(), time.Time{}
	}
	item.Status, item.RunID, item.Why = InProgress, line(runID, longestID), ""
	return nil
}

// Done ends an item well. One that needed a person can be ended so, too.
func (q *Queue) Done(id string, now time.Time) error { return q.end(id, Done, "", now) }

// Fail ends an item that could not be done. why is shown to people; see the package
// for what is kept of it.
func (q *Queue) Fail(id, why string, now time.Time) error { return q.end(id, Failed, said(why), now) }

// Ask ends an item that cannot go on without a person.
func (q *Queue) Ask(id, why string, now time.Time) error {
	return q.end(id, NeedsHuman, said(why), now)
}

// Skip ends an item that is not to be done.
func (q *Queue) Skip(id, why string, now time.Time) error { return q.end(id, Skipped, said(why), now) }

func said(why string) string {
	return cmp.Or(strings.TrimSpace(why), "no reason was given")
}

// Retry lets an item that has failed, needs a person or was skipped wait again, at its
// place in the list. All that was counted for it begins anew.
func (q *Queue) Retry(id string, _ time.Time) error {
	item, err := q.enter(id, Waiting)
	if err != nil {
		return err
	}
	*item = Item{
		ID: item.ID, Kind: item.Kind, Title: item.Title, Priority: item.Priority, After: item.After, Type: item.Type,
		Verify: item.Verify, Estimate: item.Estimate, AddedAt: item.AddedAt, Status: Waiting,
	}
	return nil
}

// Baseline notes how many tasks of the item in progress are done without a session
// having been spent on them, so that the first session does not count them as its own.
func (q *Queue) Baseline(id string, done int) error {
	item, err := q.busy(id)
	if err != nil {
		return err
	}
	item.Best = max(item.Best, min(done, mostCount))
	return nil
}

// Session counts a session that was spent on the item in progress: how many of its tasks
// are done now, of how many, and whether the session said that all is done. It has
// stalled when no more are done than ever before. A goal that has no tasks shows no
// progress, and never stalls; an increment without tasks does.
func (q *Queue) Session(id string, doneTasks, total int, claimed bool) error {
	item, err := q.busy(id)
	if err != nil {
		return err
	}
	item.Sessions = min(item.Sessions+1, mostCount)
	item.Claimed, item.Passed = claimed, false
	doneTasks = min(doneTasks, total, mostCount)
	switch {
	case doneTasks > item.Best:
		item.Best, item.Stalled = doneTasks, 0
	case item.Kind == Increment || total > 0:
		item.Stalled = min(item.Stalled+1, mostCount)
	}
	return nil
}

// Tests notes how the test gate of the item in progress ended. It returns how many times
// in a row it was red.
func (q *Queue) Tests(id string, red bool) (fixes int, err error) {
	item, err := q.busy(id)
	if err != nil {
		return 0, err
	}
	item.Fixes = min(item.Fixes+1, mostCount)
	if !red {
		item.Fixes = 0
	}
	return item.Fixes, nil
}

// Went notes whether the last session on the item in progress went wrong, and returns how
// many did so in a row.
func (q *Queue) Went(id string, wrong bool) (errors int, err error) {
	item, err := q.busy(id)
	if err != nil {
		return 0, err
	}
	if item.Errors = min(item.Errors+1, mostCount); !wrong {
		item.Errors = 0
	}
	return item.Errors, nil
}

// Has notes how many tasks the item in progress has, and returns the most that it ever
// had.
func (q *Queue) Has(id string, tasks int) (most int, err error) {
	item, err := q.busy(id)
	if err != nil {
		return 0, err
	}
	item.Most = max(item.Most, min(tasks, mostCount))
	return item.Most, nil
}

// Pass notes that the checks of the item in progress have passed.
func (q *Queue) Pass(id string) error {
	item, err := q.busy(id)
	if err != nil {
		return err
	}
	item.Passed = true
	return nil
}

// Settle skips the waiting increments that were finished or given up by others, and
// returns them.
func (q *Queue) Settle(f Facts, now time.Time) []Item {
	var out []Item
	for i := range q.Items {
		item := &q.Items[i]
		s := f.Increments[item.ID]
		if item.Kind != Increment || item.Status != Waiting || s != completed && s != abandoned {
			continue
		}
		item.Status, item.Why, item.EndedAt = Skipped, fmt.Sprintf("the increment is %s already", s), now.UTC()
		out = append(out, copied(*item))
	}
	return out
}

// busy finds the item in progress.
func (q *Queue) busy(id string) (*Item, error) {
	i, err := q.find(id)
	if err != nil {
		return nil, err
	}
	if item := &q.Items[i]; item.Status != InProgress {
		return nil, refuse("begin it first", "%s is %s, not in progress", id, item.Status)
	}
	return &q.Items[i], nil
}

func (q *Queue) running() int {
	return slices.IndexFunc(q.Items, func(i Item) bool { return i.Status == InProgress })
}
