package outbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/publish"
)

// Put keeps an update for a target; when it returns nil the update survives a power cut.
// It takes the place of what waits for the same subject and target, except that a final
// update only yields to a final one; one that is not is then sent after it. Putting an
// update again that waits, was refused or was taken last changes nothing.
//
// An update with a subject or state that cannot be is an error; texts are cut and
// secrets in them hidden.
func (o Outbox) Put(t publish.Target, u publish.Update) error {
	u, err := clean(u)
	if err != nil {
		return fmt.Errorf("put into outbox: %w", err)
	}
	if err := o.locked(func() error { return o.putLocked(t, u) }); err != nil {
		return fmt.Errorf("put into outbox: %w", err)
	}
	return nil
}

func (o Outbox) putLocked(t publish.Target, u publish.Update) error {
	name, key := slotOf(t, u.Subject), keyOf(t, u)
	s, seq, err := o.slot(name)
	if err != nil {
		return err
	}
	known := func(e Entry) bool { return e.Key == key }
	if slices.ContainsFunc(s.entries, known) || s.taken != nil && s.taken.Key == key {
		return nil
	}
	e := Entry{ID: fmt.Sprintf("%s-%d", name, seq), Key: key, Target: t, Update: u, Seq: seq, PutAt: time.Now().UTC()}
	if !isID(e.ID) {
		return fmt.Errorf("internal error: entry %s has no place", e.ID)
	}
	s.entries = append(s.entries, e)
	_, gone := s.compact()
	for _, old := range gone { // a target that is away is not asked more often for a newer update
		if old.pending() {
			e.Tries, e.NextAt, e.RetryAt, e.Why = old.Tries, old.NextAt, old.RetryAt, old.Why
		}
	}
	if err := o.write(e); err != nil {
		return err
	}
	if err := o.remove(gone...); err != nil {
		return err
	}
	return o.shrink(e.ID)
}

// shrink drops entries while there are too many, never the one just put.
func (o Outbox) shrink(newest string) error {
	ids, err := o.ids()
	if err != nil || len(ids) <= o.limit() {
		return err
	}
	over := len(ids) - o.limit()
	list, broken := o.entries(slices.DeleteFunc(ids, func(id string) bool { return id == newest }))
	slices.SortStableFunc(list, func(a, b Entry) int {
		return cmp.Compare(rank(a), rank(b)) // the oldest are first already
	})
	list = list[:min(over-min(len(broken), over), len(list))]
	if len(list) == 0 {
		return nil
	}
	if err := o.remove(list...); err != nil {
		return err
	}
	o.warn("outbox is full, the oldest updates are dropped", "dropped", len(list), "limit", o.limit())
	return o.count(len(list))
}

func rank(e Entry) int {
	if e.Update.Final {
		return 1
	}
	return 0
}

type counter struct {
	Dropped int `json:"dropped"`
}

func (o Outbox) dropped() int {
	var c counter
	if err := statedir.LoadJSON(o.path("dropped.json"), &c); err != nil {
		return 0
	}
	return max(c.Dropped, 0)
}

func (o Outbox) count(n int) error {
	return statedir.ReplaceJSON(o.path("dropped.json"), counter{Dropped: o.dropped() + n})
}

// took writes down what a target has taken, and keeps the number of such notes in bounds.
func (o Outbox) took(t Taken) error {
	name := slotOf(t.Target, t.Subject)
	if last := o.taken(name); last != nil && last.Seq > t.Seq {
		return nil
	}
	if err := statedir.ReplaceJSON(o.takenPath(name), t); err != nil {
		return err
	}
	if files, err := os.ReadDir(o.path("taken")); err != nil || len(files) <= o.limit() {
		return err
	}
	list, err := o.allTaken()
	if err != nil || len(list) <= o.limit() {
		return err
	}
	for _, old := range list[o.limit():] {
		if err := os.Remove(o.takenPath(slotOf(old.Target, old.Subject))); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove receipt of the outbox: %w", err)
		}
	}
	return nil
}

// allTaken returns what was taken, the newest first.
func (o Outbox) allTaken() ([]Taken, error) {
	files, err := os.ReadDir(o.path("taken"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list receipts of the outbox: %w", err)
	}
	var list []Taken
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ending)
		if !ok || !isID(name+"-0") {
			continue
		}
		if t := o.taken(name); t != nil {
			list = append(list, *t)
		}
	}
	slices.SortStableFunc(list, func(a, b Taken) int { return b.At.Compare(a.At) })
	return list, nil
}
