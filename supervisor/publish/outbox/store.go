package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"autopilot/metrics/statedir"
)

const (
	usualMax = 1000
	lockWait = 30 * time.Second // the lock is only held for a few writes
	ending   = ".json"
	maxSeq   = 1e15
)

func (o Outbox) path(parts ...string) string {
	return filepath.Join(append([]string{o.Dir, "outbox"}, parts...)...)
}

func (o Outbox) entryPath(id string) string { return o.path("entries", id+ending) }

func (o Outbox) takenPath(slot string) string { return o.path("taken", slot+ending) }

func (o Outbox) limit() int {
	if o.Max <= 0 {
		return usualMax
	}
	return o.Max
}

// locked runs fn while nobody else changes the files.
func (o Outbox) locked(fn func() error) error {
	for _, dir := range []string{"entries", "taken"} {
		if err := statedir.MakeDir(o.path(dir)); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock, err := statedir.Acquire(ctx, o.path("files.lock"), statedir.Holder{})
	if err != nil {
		return err
	}
	err = fn()
	return errors.Join(err, lock.Release())
}

// ids returns the entries there are, by their slot and number.
func (o Outbox) ids() ([]string, error) {
	out, _, err := o.list()
	return out, err
}

// list returns the entries there are, and the names of what else is beside them: files of
// ours that are being written, which begin with a dot, are not.
func (o Outbox) list() (ids, strange []string, err error) {
	files, err := os.ReadDir(o.path("entries"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("list outbox: %w", err)
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ending)
		switch {
		case ok && isID(id):
			ids = append(ids, id)
		case !strings.HasPrefix(f.Name(), "."):
			strange = append(strange, f.Name())
		}
	}
	return ids, strange, nil
}

// isID reports whether a name is that of an entry: twelve small hexadecimal digits, '-' and a
// number of at most 18 digits.
func isID(id string) bool {
	slot, n, ok := strings.Cut(id, "-")
	return ok && len(slot) == 12 && strings.Trim(slot, "0123456789abcdef") == "" &&
		len(n) >= 1 && len(n) <= 18 && strings.Trim(n, "0123456789") == ""
}

func slotOfID(id string) string { return id[:12] }

// seqOf is the number in an id, which has at most 18 digits.
func seqOf(id string) int64 {
	n, err := strconv.ParseInt(id[13:], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (o Outbox) entry(id string) (Entry, error) {
	var e Entry
	if err := statedir.LoadJSON(o.entryPath(id), &e); err != nil {
		return e, err
	}
	if e.ID != id || e.Seq != seqOf(id) || slotOf(e.Target, e.Update.Subject) != slotOfID(id) {
		return e, fmt.Errorf("load %s: it is another entry than its name says", o.entryPath(id))
	}
	if e.Key != keyOf(e.Target, e.Update) {
		return e, fmt.Errorf("load %s: somebody has changed what it says", o.entryPath(id))
	}
	return e, nil
}

// entries loads entries in their order, and names the files of those that are broken.
func (o Outbox) entries(ids []string) (list []Entry, broken []string) {
	for _, id := range ids {
		e, err := o.entry(id)
		switch {
		case errors.Is(err, os.ErrNotExist): // sent or replaced meanwhile
		case err != nil:
			broken = append(broken, id+ending)
			o.warn("entry of the outbox is broken, it is left alone", "entry", id, "err", err)
		default:
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int {
		return cmp.Or(a.PutAt.Compare(b.PutAt), cmp.Compare(a.Seq, b.Seq))
	})
	return list, broken
}

// slot loads what there is of one subject at one target, and the number of the next entry.
func (o Outbox) slot(name string) (slot, int64, error) {
	all, err := o.ids()
	if err != nil {
		return slot{}, 0, err
	}
	mine := slices.DeleteFunc(all, func(id string) bool { return slotOfID(id) != name })
	s, next := slot{taken: o.taken(name)}, int64(1)
	for _, id := range mine {
		next = max(next, seqOf(id)+1)
	}
	if s.taken != nil {
		next = max(next, s.taken.Seq+1)
	}
	s.entries, _ = o.entries(mine)
	slices.SortFunc(s.entries, func(a, b Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return s, next, nil
}

// taken returns nil when nothing was taken, or nobody knows.
func (o Outbox) taken(slot string) *Taken {
	var t Taken
	err := statedir.LoadJSON(o.takenPath(slot), &t)
	if err == nil && (slotOf(t.Target, t.Subject) != slot || t.Seq < 0 || t.Seq > maxSeq) {
		err = errors.New("it is another one than its name says")
	}
	if err == nil {
		return &t
	}
	if !errors.Is(err, os.ErrNotExist) {
		o.warn("receipt of the outbox is broken, it is taken as missing", "slot", slot, "err", err)
	}
	return nil
}

func (o Outbox) write(e Entry) error { return statedir.ReplaceJSON(o.entryPath(e.ID), e) }

func (o Outbox) remove(list ...Entry) error {
	for _, e := range list {
		if err := os.Remove(o.entryPath(e.ID)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove entry of the outbox: %w", err)
		}
	}
	return nil
}

func (o Outbox) warn(what string, args ...any) {
	if o.Log != nil {
		o.Log.Warn(what, args...)
	}
}
