package outbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Status returns what waits, what was refused, and what was taken last. Waits that are
// over at the moment now are not shown. It needs no lock and creates nothing.
func (o Outbox) Status(now time.Time) (Standing, error) {
	st := Standing{Pending: []Entry{}, Refused: []Entry{}, Taken: []Taken{}, BrokenFiles: []string{}, Dropped: o.dropped()}
	ids, strange, err := o.list()
	if err != nil {
		return st, err
	}
	list, broken := o.entries(ids)
	st.BrokenFiles = append(append(st.BrokenFiles, broken...), strange...)
	st.Broken = len(st.BrokenFiles)
	for _, e := range o.standing(list) {
		if e.pending() {
			st.Pending = append(st.Pending, e.at(now))
		} else {
			st.Refused = append(st.Refused, e)
		}
	}
	taken, err := o.allTaken()
	st.Taken = append(st.Taken, taken...)
	return st, err
}

// standing leaves out entries for which later ones stand, as a kill between two writes
// may leave them.
func (o Outbox) standing(list []Entry) []Entry {
	gone := map[string]bool{}
	for _, s := range o.slots(list) {
		_, over := s.compact()
		for _, e := range over {
			gone[e.ID] = true
		}
	}
	var out []Entry
	for _, e := range list {
		if !gone[e.ID] {
			out = append(out, e)
		}
	}
	return out
}

// Drop forgets an entry, by its id, or a broken one, by the name of its file. One that is
// not there is an error.
func (o Outbox) Drop(name string) error {
	err := o.locked(func() error {
		ids, strange, err := o.list()
		if err != nil {
			return err
		}
		file := name
		if slices.Contains(ids, name) {
			file += ending
		}
		if id, ok := strings.CutSuffix(file, ending); !slices.Contains(strange, file) && (!ok || !slices.Contains(ids, id)) {
			return fmt.Errorf("there is no update %q", name)
		}
		if err := os.Remove(o.path("entries", file)); err != nil {
			return fmt.Errorf("remove entry of the outbox: %w", err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop from outbox: %w", err)
	}
	return nil
}

// Retry puts an entry that was refused back among those that wait, and ends the wait of
// one after a failure. It refuses when its target has taken a later one of the subject.
func (o Outbox) Retry(id string) error {
	err := o.change(id, func(e Entry) error {
		if t := o.taken(slotOfID(id)); t != nil && t.Seq >= e.Seq {
			return fmt.Errorf("%s has a later update of %s; drop this one", e.Target, e.Update.Subject)
		}
		e.Tries, e.NextAt, e.RetryAt, e.Refused = 0, time.Time{}, time.Time{}, time.Time{}
		return o.write(e)
	})
	if err != nil {
		return fmt.Errorf("retry from outbox: %w", err)
	}
	return nil
}

func (o Outbox) change(id string, fn func(Entry) error) error {
	if !isID(id) {
		return fmt.Errorf("%q is not the id of an entry", id)
	}
	return o.locked(func() error {
		e, err := o.entry(id)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("there is no update %q", id)
		}
		if err != nil {
			return err
		}
		return fn(e)
	})
}
