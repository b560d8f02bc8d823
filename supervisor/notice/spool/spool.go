package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/supervisor/notice"
)

// FileName is the name of the file in the state folder of a work tree.
const FileName = "notices.json"

const (
	version  = 1
	maxAge   = 3 * 24 * time.Hour // of a notice that is still news
	maxTries = 12                 // rounds of tries; with the waits between them more than four hours
	maxKept  = 50                 // for one channel
	firstGap = time.Minute
	maxGap   = 30 * time.Minute
)

// Entry is a notice that waits for a channel.
type Entry struct {
	ID    uint64      `json:"id"`
	Held  notice.Held `json:"held"`
	Tries int         `json:"tries,omitempty"`
	Due   time.Time   `json:"due"` // not before
	PID   int         `json:"pid"` // of the process that sends it
	Start uint64      `json:"start"`
}

// Lane is what is kept for one channel.
type Lane struct {
	Limiter notice.Limiter `json:"limiter"`
	Waiting []Entry        `json:"waiting,omitempty"`
}

type content struct {
	Version int             `json:"version"`
	Lanes   map[string]Lane `json:"lanes"`
}

// Box is the file of a work tree. It may be used by several goroutines.
type Box struct {
	path  string
	pid   int
	start uint64

	mu   sync.Mutex
	kept content // as last read or written; all there is without a file
	lost bool    // the file could not be used: memory holds more than it does
}

// Open returns the box with a file; with an empty path one that lives in memory. Nothing is read yet.
func Open(path string) *Box {
	pid := os.Getpid()
	start, _ := proctree.StartOf(pid)
	return &Box{path: path, pid: pid, start: start}
}

// change applies fn to what is kept and writes it down when fn says that it has to be. An
// error is about the file alone: fn was called in any case.
func (b *Box) change(fn func(*content) bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.path == "" {
		b.apply(fn)
		return nil
	}
	called := false
	err := statedir.Exclusive(b.path, func() error {
		err := b.load()
		called = true
		if !b.apply(fn) && !b.lost {
			return err
		}
		if err != nil {
			return err
		}
		if err := statedir.ReplaceJSON(b.path, b.kept); err != nil {
			return err
		}
		b.lost = false
		return nil
	})
	if !called {
		b.apply(fn)
	}
	if err != nil {
		b.lost = true
	}
	return err
}

func (b *Box) apply(fn func(*content) bool) bool {
	if b.kept.Lanes == nil {
		b.kept.Lanes = map[string]Lane{}
	}
	b.kept.Version = version
	return fn(&b.kept)
}

// load reads the file. What cannot be understood is set aside.
func (b *Box) load() error {
	var c content
	err := statedir.LoadJSON(b.path, &c)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !b.lost {
			b.kept = content{}
		}
		return nil
	case errors.Is(err, fs.ErrPermission):
		return err
	case err == nil && c.Version > version:
		return fmt.Errorf("read %s: version %d is not known, want %d", b.path, c.Version, version)
	case err != nil:
		return os.Rename(b.path, b.path+".broken")
	}
	if b.lost {
		c = b.merged(c)
	}
	b.kept = c
	return nil
}

// merged is what the file holds of others, and what memory holds of this process: it could
// not be written for a while.
func (b *Box) merged(file content) content {
	if file.Lanes == nil {
		file.Lanes = map[string]Lane{}
	}
	for name, l := range b.kept.Lanes {
		own := slices.DeleteFunc(slices.Clone(l.Waiting), func(e Entry) bool { return !b.own(e) })
		l.Waiting = append(slices.DeleteFunc(slices.Clone(file.Lanes[name].Waiting), b.own), own...)
		file.Lanes[name] = l
	}
	return file
}

func (b *Box) own(e Entry) bool { return e.PID == b.pid && e.Start == b.start }

// Put offers a notice to the limiter of a channel. What may be sent waits for Take.
func (b *Box) Put(channel string, r notice.Rules, n notice.Notice, now time.Time) (notice.Decision, error) {
	var d notice.Decision
	err := b.change(func(c *content) bool {
		l := c.Lanes[channel]
		if d = l.Limiter.Offer(r, n, now); d == notice.Send {
			l.add(b.entry(notice.Held{Notice: n.Clean()}, now))
		}
		c.Lanes[channel] = l
		return d != notice.Drop
	})
	return d, err
}

func (b *Box) entry(h notice.Held, now time.Time) Entry {
	// Numbers of several processes must not meet, and JSON of others has 53 bits.
	return Entry{ID: rand.Uint64() >> 11, Held: h, Due: now, PID: b.pid, Start: b.start}
}

// add appends an entry. When there are too many the oldest goes, one that is not urgent
// before one that is.
func (l *Lane) add(e Entry) {
	l.Waiting = append(l.Waiting, e)
	if len(l.Waiting) <= maxKept {
		return
	}
	at := slices.IndexFunc(l.Waiting, func(e Entry) bool { return !e.Held.Notice.Kind.Urgent() })
	l.Waiting = slices.Delete(l.Waiting, max(at, 0), max(at, 0)+1)
}

// Taken is a notice that is to be sent now, and those that were given up.
type Taken struct {
	Entry   Entry
	OK      bool
	GivenUp []Entry
}

// Take notes a try of the next notice that is due on a channel and returns it. At the end of
// a process what is held is due too, and so is what waits after a failure; skip then
// leaves out what was tried in that round. It may be nil.
func (b *Box) Take(channel string, r notice.Rules, now time.Time, end bool, skip func(Entry) bool) (Taken, error) {
	var t Taken
	err := b.change(func(c *content) bool {
		l, changed := c.Lanes[channel], false
		l.Waiting = slices.Clone(l.Waiting)
		for _, h := range l.Limiter.Due(r, now, end) {
			l.add(b.entry(h, now))
			changed = true
		}
		l.Waiting = slices.DeleteFunc(l.Waiting, func(e Entry) bool {
			over := b.mine(e) && (e.Tries >= maxTries || now.Sub(e.Held.Notice.At) > maxAge)
			if over {
				t.GivenUp = append(t.GivenUp, e)
			}
			return over
		})
		changed = changed || len(t.GivenUp) > 0
		for i := range l.Waiting {
			e := &l.Waiting[i]
			if !b.mine(*e) || !end && e.Due.After(now) && e.Due.Sub(now) <= maxGap || skip != nil && skip(*e) {
				continue
			}
			e.PID, e.Start = b.pid, b.start
			e.Tries++
			e.Due = now.Add(gap(e.Tries))
			t.Entry, t.OK, changed = *e, true, true
			break
		}
		c.Lanes[channel] = l
		return changed
	})
	return t, err
}

// mine reports whether this process may send an entry: it is its own, or of one that is
// gone.
func (b *Box) mine(e Entry) bool {
	return b.own(e) || !proctree.Alive(e.PID, e.Start)
}

// gap is the wait after a number of rounds: it doubles.
func gap(tries int) time.Duration {
	return min(firstGap<<min(tries-1, 10), maxGap)
}

// Done removes a notice that was sent or refused.
func (b *Box) Done(channel string, id uint64) error {
	return b.change(func(c *content) bool {
		l := c.Lanes[channel]
		n := len(l.Waiting)
		l.Waiting = slices.DeleteFunc(slices.Clone(l.Waiting), func(e Entry) bool { return e.ID == id })
		c.Lanes[channel] = l
		return len(l.Waiting) != n
	})
}

// Later puts off the next try of a notice, by half an hour at most; one that would come
// later anyway stays.
func (b *Box) Later(channel string, id uint64, due, now time.Time) error {
	if limit := now.Add(maxGap); due.After(limit) {
		due = limit
	}
	return b.change(func(c *content) bool {
		l := c.Lanes[channel]
		l.Waiting = slices.Clone(l.Waiting)
		for i := range l.Waiting {
			if e := &l.Waiting[i]; e.ID == id && due.After(e.Due) {
				e.Due = due
			}
		}
		c.Lanes[channel] = l
		return true
	})
}

// Next is when something of a channel is due, and false when nothing waits.
func (b *Box) Next(channel string, r notice.Rules, now time.Time) (time.Time, bool) {
	var next time.Time
	var waits bool
	_ = b.change(func(c *content) bool { // what is in memory will do
		l := c.Lanes[channel]
		next, waits = l.Limiter.Next(r, now)
		for _, e := range l.Waiting {
			if b.mine(e) && (!waits || e.Due.Before(next)) {
				next, waits = e.Due, true
			}
		}
		return false
	})
	return next, waits
}

// Count is how many notices wait for channels: those that this process may send, those
// that belong to others that live, and those for channels that are not among the ones
// given.
func (b *Box) Count(channels []string) (mine, others, stray int, err error) {
	err = b.change(func(c *content) bool {
		for _, name := range slices.Sorted(maps.Keys(c.Lanes)) {
			l := c.Lanes[name]
			for _, e := range l.Waiting {
				switch {
				case !slices.Contains(channels, name):
					stray++
				case b.mine(e):
					mine++
				default:
					others++
				}
			}
			if slices.Contains(channels, name) {
				mine += len(l.Limiter.Held)
			}
		}
		return false
	})
	return mine, others, stray, err
}

// Prune forgets lanes of channels that are not among the ones given once nothing in them
// is news any more.
func (b *Box) Prune(channels []string, now time.Time) error {
	return b.change(func(c *content) bool {
		n := len(c.Lanes)
		maps.DeleteFunc(c.Lanes, func(name string, l Lane) bool {
			if slices.Contains(channels, name) {
				return false
			}
			news := slices.ContainsFunc(l.Waiting, func(e Entry) bool { return now.Sub(e.Held.Notice.At) <= maxAge })
			for _, h := range l.Limiter.Held {
				news = news || now.Sub(h.Notice.At) <= maxAge
			}
			return !news
		})
		return len(c.Lanes) != n
	})
}
