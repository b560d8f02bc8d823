package queue

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Add puts an item at the end of the list and returns it as it is kept. A goal gets its
// id here. What is refused is an id that is there already, a text that cannot be kept,
// and a queue that is full. How an item stands and what was counted for it begins anew.
func (q *Queue) Add(item Item, now time.Time) (Item, error) {
	if len(q.Items) >= mostItems {
		return Item{}, refuse("remove items that are done", "the queue is full: it has %d items", len(q.Items))
	}
	if item.Priority < 0 || item.Priority > lowestPrio {
		return Item{}, refuse("1 is done first, 0 last", "priority %d is out of range 0..%d", item.Priority, lowestPrio)
	}
	after, err := checkAfter(item.After)
	if err != nil {
		return Item{}, err
	}
	kept := Item{
		ID: item.ID, Kind: item.Kind, Title: item.Title, Priority: item.Priority, After: after, Type: strings.ToLower(line(item.Type, longestWord)),
		Verify: slices.Clone(item.Verify), Estimate: min(max(item.Estimate, 0), mostCount), AddedAt: now.UTC(), Status: Waiting,
	}
	number := q.Next
	switch item.Kind {
	case Increment:
		err = q.increment(&kept)
	case Goal:
		number, err = q.goal(&kept)
	default:
		err = refuse("it is an increment or a goal", "%q is no kind of item", line(string(item.Kind), longestWord))
	}
	if err != nil {
		return Item{}, err
	}
	q.Version, q.Next = version, max(number, 1)
	q.Items = append(q.Items, kept)
	return copied(kept), nil
}

func (q *Queue) increment(item *Item) error {
	if !tidyID(item.ID) || item.ID[0] < '0' || item.ID[0] > '9' {
		return refuse("name the folder of an increment, such as 0001-login", "%q is not the id of an increment", shortID(item.ID))
	}
	if i := q.at(item.ID); i >= 0 {
		way := "it is done in its turn; move it to have it done earlier"
		if s := q.Items[i].Status; s == Done {
			way = "remove it first to have it done once more"
		} else if s.Over() {
			way = "retry it instead"
		}
		return refuse(way, "%s is in the queue already: it is %s", item.ID, q.Items[i].Status)
	}
	if len(item.Verify) > 0 {
		return refuse("leave the commands out, or add a goal", "%s is an increment: commands that must succeed are for goals", item.ID)
	}
	if item.Title = line(item.Title, longestTitle); item.Title == "" {
		item.Title = item.ID
	}
	return nil
}

// goal gives a goal its number; it returns the one after it.
func (q *Queue) goal(item *Item) (next int, err error) {
	if item.ID != "" {
		return 0, refuse("leave the id out", "%q cannot be the id of a goal: goals are numbered", shortID(item.ID))
	}
	item.Title = paragraphs(item.Title)
	switch n := utf8.RuneCountInString(item.Title); {
	case n == 0:
		return 0, refuse("say what is to be reached", "the goal is empty")
	case n > longestGoal:
		return 0, refuse("put it into a file and name the file in the goal", "the goal has %d characters: there may be %d", n, longestGoal)
	}
	if err := checkCommands(item.Verify); err != nil {
		return 0, err
	}
	item.Type = ""
	n := max(q.Next, 1)
	for q.at(fmt.Sprintf("goal-%d", n)) >= 0 {
		n++
	}
	if n > mostCount {
		return 0, refuse("begin a new queue", "the queue has numbered %d goals", mostCount)
	}
	item.ID = fmt.Sprintf("goal-%d", n)
	return n + 1, nil
}

// RemoveItem takes an item out of the list. The one in progress is refused. What waits
// for an item that is done need not wait for it any more.
func (q *Queue) RemoveItem(id string) error {
	i, err := q.find(id)
	if err != nil {
		return err
	}
	if q.Items[i].Status == InProgress {
		return refuse("'autopilot queue skip ID' ends the work on it", "%s is in progress", id)
	}
	if q.Items[i].Status == Done {
		for k := range q.Items {
			q.Items[k].After = slices.DeleteFunc(slices.Clone(q.Items[k].After), func(a string) bool { return a == id })
		}
	}
	q.Items = slices.Delete(q.Items, i, i+1)
	return nil
}

// Move puts an item elsewhere in the list. All other items keep their order.
func (q *Queue) Move(id string, to Place) error {
	i, err := q.find(id)
	if err != nil {
		return err
	}
	chosen := 0
	for _, set := range []bool{to.Before != "", to.After != "", to.First, to.Last, to.Position != 0} {
		if set {
			chosen++
		}
	}
	if chosen != 1 || to.Position < 0 {
		return refuse("give exactly one: before or behind another item, first, last, or a position from 1", "it is not clear where to move %s", id)
	}
	other := to.Before + to.After
	if other == id {
		return refuse("name another item", "%s cannot be moved next to itself", id)
	}
	if other != "" {
		if _, err := q.find(other); err != nil {
			return err
		}
	}
	item := q.Items[i]
	rest := slices.Delete(slices.Clone(q.Items), i, i+1)
	at := len(rest)
	switch {
	case to.First:
		at = 0
	case to.Position > 0:
		at = min(to.Position-1, len(rest))
	case other != "":
		at = slices.IndexFunc(rest, func(x Item) bool { return x.ID == other })
		if to.After != "" {
			at++
		}
	}
	q.Items = slices.Insert(rest, at, item)
	return nil
}

// Find returns a copy of the item with an id.
func (q *Queue) Find(id string) (Item, error) {
	i, err := q.find(id)
	if err != nil {
		return Item{}, err
	}
	return copied(q.Items[i]), nil
}

// Resolve returns the id of the one item that is meant by an id or by its beginning.
func (q *Queue) Resolve(beginning string) (string, error) {
	if q.at(beginning) >= 0 {
		return beginning, nil
	}
	var ids []string
	for _, item := range q.Items {
		if beginning != "" && strings.HasPrefix(item.ID, beginning) {
			ids = append(ids, item.ID)
		}
	}
	switch len(ids) {
	case 0:
		_, err := q.find(beginning)
		return "", err
	case 1:
		return ids[0], nil
	}
	return "", refuse("write more of it", "%q may be %s", shortID(beginning), some(ids))
}

// Summary counts the items, or those named. Those held are known to the choice.
func (q *Queue) Summary(only []string, held ...Held) Summary {
	s := Summary{Held: len(held)}
	for _, item := range q.Items {
		if len(only) > 0 && !slices.Contains(only, item.ID) {
			continue
		}
		s.Total++
		switch item.Status {
		case Waiting:
			s.Waiting++
		case InProgress:
			s.InProgress++
		case NeedsHuman:
			s.NeedsHuman++
		case Failed:
			s.Failed++
		case Skipped:
			s.Skipped++
		case Done:
			s.Done++
		}
	}
	return s
}

func (q *Queue) at(id string) int {
	return slices.IndexFunc(q.Items, func(i Item) bool { return i.ID == id })
}

func (q *Queue) find(id string) (int, error) {
	if i := q.at(id); i >= 0 {
		return i, nil
	}
	if len(q.Items) == 0 {
		return -1, refuse("add it first", "%q is not in the queue, which is empty", shortID(id))
	}
	ids := make([]string, 0, len(q.Items))
	for _, item := range q.Items {
		ids = append(ids, item.ID)
	}
	return -1, refuse("the queue has "+some(ids), "%q is not in the queue", shortID(id))
}

// copied is an item that shares nothing with the one in the list.
func copied(i Item) Item {
	i.After, i.Verify = slices.Clone(i.After), slices.Clone(i.Verify)
	return i
}

// some names the first of many ids.
func some(ids []string) string {
	const most = 8
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}
