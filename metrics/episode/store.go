package episode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"autopilot/metrics/journal"
	"autopilot/metrics/statedir"
)

const (
	usualKeep  = 10_000
	chunkLines = 1024
	indexStep  = 32 // lines of the last chunk that may be without an index
	lockName   = "lock"
	tempName   = "index.tmp"
	lockWait   = 5 * time.Second
)

// Options say how a store is kept. The zero value is the usual one.
type Options struct {
	// Keep is the number of episodes that are kept; 0 and less mean 10,000. Up to
	// 1,024 more may be there.
	Keep int
}

// Store is a folder of episodes. Its methods may be called by several goroutines
// and by several processes that have the same folder.
type Store struct {
	dir  string
	keep int
	per  int // lines of a full chunk
	step int
}

// Open returns the store in the folder dir. It touches nothing, cannot fail, and
// owes no Close: files are open only inside a call.
func Open(dir string, o Options) *Store {
	s := &Store{dir: dir, keep: o.Keep, per: chunkLines, step: indexStep}
	if s.keep <= 0 {
		s.keep = usualKeep
	}
	return s
}

// Append stores e and returns it as it is stored: with an id and a time when it had
// none, secrets replaced, texts cut to their bounds (Task 2,000 bytes, Critique
// 4,000, the last 50 Steps, 20 Tags), a reward between 0 and 1, and 0 for a failure.
// The folder is created when missing. When it returns without an error the episode
// is on the disk.
//
// On an error it is not stored, except with journal.ErrNotDurable, where it may be.
// Errors name the folder or the file; to tell apart: *journal.FullError,
// *journal.LockedError and *statedir.HeldError, when others held a lock for 5 s.
func (s *Store) Append(e Episode) (Episode, error) {
	e = tidy(e)
	if e.At.IsZero() {
		e.At = time.Now().Round(0).UTC()
	}
	if e.ID == "" {
		id, err := uuid.NewRandom()
		if err != nil {
			return Episode{}, fmt.Errorf("append episode to %s: %w", s.dir, err)
		}
		e.ID = id.String()
	}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return Episode{}, fmt.Errorf("append episode to %s: %w", s.dir, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	err := s.locked(ctx, func() error { return s.appendLocked(bytes.TrimSpace(line.Bytes())) })
	if err != nil {
		return Episode{}, fmt.Errorf("append episode to %s: %w", s.dir, err)
	}
	return e, nil
}

// locked calls fn while no other process appends, prunes or writes an index.
func (s *Store) locked(ctx context.Context, fn func() error) error {
	lock, err := statedir.Acquire(ctx, filepath.Join(s.dir, lockName), statedir.Holder{})
	if err != nil {
		return err
	}
	err = fn()
	// The kernel has the lock back in any case, and an episode that is on the disk
	// must not be offered again.
	_ = lock.Release()
	return err
}

func (s *Store) appendLocked(line []byte) error {
	numbers, err := s.chunks()
	if err != nil {
		return err
	}
	if len(numbers) == 0 {
		numbers = []int{1}
	}
	no := numbers[len(numbers)-1]
	seg, err := s.segment(no, reader{count: true})
	if err != nil {
		return err
	}
	if len(seg.docs) >= s.per {
		if seg.rest > 0 { // who closed it was killed before its index was there
			s.tryIndex(no)
		}
		no++
		numbers, seg = append(numbers, no), segment{}
	}
	if err := s.put(s.chunk(no), line); err != nil {
		return err
	}
	if seg.rest+1 >= s.step || len(seg.docs)+1 >= s.per {
		s.tryIndex(no)
	}
	s.prune(numbers, len(seg.docs)+1)
	return nil
}

// put appends line to the chunk path.
func (s *Store) put(path string, line []byte) error {
	w, err := journal.Open(path, journal.Options{})
	if err != nil {
		return err
	}
	err = w.Append(line)
	_ = w.Close() // the line is synced, or err says that it is not
	return err
}

// tryIndex renews the index of a chunk. Without one the chunk is read as text, so
// that it did not work is told to nobody.
func (s *Store) tryIndex(no int) { _ = s.renewIndex(no, true) }

// prune removes the oldest chunks when there are too many episodes; last is the
// number of lines in the last chunk. What cannot be removed is tried again later.
func (s *Store) prune(numbers []int, last int) {
	total := (len(numbers)-1)*s.per + last
	if total <= s.keep+s.per {
		return
	}
	first := 0
	for ; first < len(numbers)-1 && total-s.per >= s.keep; first++ {
		// The text goes first: without it an index counts for nothing.
		if os.Remove(s.chunk(numbers[first])) != nil {
			return
		}
		_ = os.Remove(s.index(numbers[first])) // there may be none
		total -= s.per
	}
	s.sweep(numbers[first])
}

// sweep removes indexes of chunks before the number first.
func (s *Store) sweep(first int) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return // it is only about space, and the next pruning sweeps again
	}
	for _, e := range entries {
		if no, ok := numberOf(e.Name(), indexExt); ok && no < first {
			_ = os.Remove(s.index(no))
		}
	}
}

// Each calls fn for every episode, the oldest first. Lines that are no episode are
// left out; an error of fn ends it and is returned as it is. Chunks that are pruned
// meanwhile are left out. A missing folder has no episodes.
func (s *Store) Each(fn func(Episode) error) error {
	numbers, err := s.chunks()
	if err != nil {
		return fmt.Errorf("read episodes: %w", err)
	}
	for _, no := range numbers {
		err := journal.Each(s.chunk(no), func(_ int, line []byte) error {
			if e, ok := parse(line); ok {
				return fn(e)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Count returns the number of episodes. A missing folder has none.
func (s *Store) Count() (int, error) {
	numbers, err := s.chunks()
	if err != nil {
		return 0, fmt.Errorf("count episodes: %w", err)
	}
	n := 0
	var buf []byte
	for _, no := range numbers {
		seg, err := s.segment(no, reader{buf: &buf})
		if err != nil {
			return 0, fmt.Errorf("count episodes: %w", err)
		}
		n += seg.live
	}
	return n, nil
}

// Report is what Check found.
type Report struct {
	Chunks   int
	Indexed  int // chunks that need not be read as text, or only their last lines
	Episodes int
	Broken   int     // lines that are no episode
	Faults   []Fault // the first 100 of them
}

// Fault is one line that is no episode.
type Fault struct {
	Path string
	Line int // counted from 1
}

const faultLimit = 100

// Check reads all chunks and tells which lines are no episodes. It changes nothing.
func (s *Store) Check() (Report, error) {
	var r Report
	numbers, err := s.chunks()
	if err != nil {
		return r, fmt.Errorf("check episodes: %w", err)
	}
	for _, no := range numbers {
		r.Chunks++
		path := s.chunk(no)
		seg, err := s.segment(no, reader{})
		if err != nil {
			return r, fmt.Errorf("check episodes: %w", err)
		}
		if seg.rest < s.step {
			r.Indexed++
		}
		err = journal.Each(path, func(n int, line []byte) error {
			if _, ok := parse(line); ok {
				r.Episodes++
				return nil
			}
			r.Broken++
			if len(r.Faults) < faultLimit {
				r.Faults = append(r.Faults, Fault{Path: path, Line: n})
			}
			return nil
		})
		if err != nil {
			return r, fmt.Errorf("check episodes: %w", err)
		}
	}
	return r, nil
}

// vanished reports whether err says that a chunk was pruned.
func vanished(err error) bool { return errors.Is(err, os.ErrNotExist) }
