package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"autopilot/metrics/plainfile"
	"autopilot/metrics/statedir"
)

const (
	version  = 1
	largest  = 64 << 20 // bytes of a file; far more than a full queue has
	lockWait = time.Minute
)

// Store keeps a queue in a file. Its methods may be called by several goroutines and
// processes.
type Store struct {
	Path string
}

// Load reads the queue. There is an empty one when there is no file. A file that is not
// the queue of this version is an error that names it.
func (s Store) Load() (Queue, error) {
	data, err := plainfile.Read(s.Path, largest)
	if errors.Is(err, fs.ErrNotExist) {
		return Queue{Version: version, Next: 1, Items: []Item{}}, nil
	}
	if err != nil {
		return Queue{}, fmt.Errorf("read queue: %w", err)
	}
	q, err := parse(data)
	if err != nil {
		return Queue{}, &Refusal{
			Why: fmt.Sprintf("read queue %s: %v", s.Path, err),
			Way: "repair that file, or move it away to begin with an empty queue",
		}
	}
	return q, nil
}

// Update reads the queue, lets fn change it, and writes it, while no other Update on the
// same file does so. An error of fn is returned as it is, and nothing is written; nor is
// anything when fn changed nothing. It waits up to a minute for others. When Update
// returns nil, the change survives a power cut.
func (s Store) Update(fn func(*Queue) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock, err := statedir.Acquire(ctx, s.Path+".lock", statedir.Holder{})
	if err != nil {
		return fmt.Errorf("change queue: %w", err)
	}
	defer func() { _ = lock.Release() }() // the kernel drops it in any case
	before, err := s.Load()
	if err != nil {
		return err
	}
	after := before.copied()
	if err := fn(&after); err != nil {
		return err
	}
	return s.write(before, after)
}

func (s Store) write(before, after Queue) error {
	after.Version = version
	if after.Items == nil {
		after.Items = []Item{}
	}
	if err := errors.Join(after.check(), after.keepsDone(before)); err != nil {
		return fmt.Errorf("internal error: write queue %s: %w", s.Path, err)
	}
	was, err := encoded(before)
	if err != nil {
		return fmt.Errorf("write queue %s: %w", s.Path, err)
	}
	data, err := encoded(after)
	switch {
	case err != nil:
		return fmt.Errorf("write queue %s: %w", s.Path, err)
	case bytes.Equal(was, data):
		return nil
	case len(data) > largest:
		return refuse("remove items that are done", "write queue %s: it would be larger than %d MiB", s.Path, largest>>20)
	}
	// What a killed writer left; that it stays is no reason to fail.
	_ = statedir.CleanTemp(filepath.Dir(s.Path), time.Now())
	if err := statedir.Replace(s.Path, data); err != nil {
		return fmt.Errorf("write queue: %w", err)
	}
	return nil
}

// parse reads a queue. Fields that are not known would be lost with the next change, so
// they are refused.
func parse(data []byte) (Queue, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var q *Queue
	err := dec.Decode(&q)
	switch {
	case errors.Is(err, io.EOF):
		return Queue{}, errors.New("the file is empty")
	case err != nil:
		return Queue{}, newer(data, fmt.Errorf("before byte %d: %w", dec.InputOffset(), err))
	case q == nil:
		return Queue{}, errors.New("the file holds no queue")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Queue{}, fmt.Errorf("something follows the queue at byte %d", dec.InputOffset())
	}
	if q.Version != version {
		return Queue{}, newer(data, fmt.Errorf("version %d is not known", q.Version))
	}
	if q.Items == nil {
		q.Items = []Item{}
	}
	return *q, q.check()
}

// newer tells a file of a later version from a broken one.
func newer(data []byte, err error) error {
	var v struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(data, &v) == nil && v.Version > version {
		return fmt.Errorf("it was made by a newer version of this program (format %d, known is %d)", v.Version, version)
	}
	return err
}

// check refuses a queue that none of our changes leads to.
func (q *Queue) check() error {
	if q.Next < 0 || q.Next > mostCount+1 {
		return fmt.Errorf("the number of the next goal, %d, is out of range", q.Next)
	}
	if len(q.Items) > mostItems {
		return fmt.Errorf("it has %d items: there may be %d", len(q.Items), mostItems)
	}
	seen := map[string]bool{}
	busy := ""
	for i, item := range q.Items {
		if err := item.check(); err != nil {
			return fmt.Errorf("item %d: %w", i+1, err)
		}
		if seen[item.ID] {
			return fmt.Errorf("item %d: %s is there twice", i+1, item.ID)
		}
		seen[item.ID] = true
		if item.Status != InProgress {
			continue
		}
		if busy != "" {
			return fmt.Errorf("item %d: both %s and %s are in progress", i+1, busy, item.ID)
		}
		busy = item.ID
	}
	return nil
}

func (i Item) check() error {
	if !tidyID(i.ID) {
		return fmt.Errorf("id %q is not valid", shortID(i.ID))
	}
	if i.Kind != Increment && i.Kind != Goal {
		return fmt.Errorf("%s: kind %q is not valid", i.ID, line(string(i.Kind), longestWord))
	}
	if !slices.Contains([]Status{Waiting, InProgress, NeedsHuman, Failed, Skipped, Done}, i.Status) {
		return fmt.Errorf("%s: status %q is not valid", i.ID, line(string(i.Status), longestWord))
	}
	if i.Priority < 0 || i.Priority > lowestPrio {
		return fmt.Errorf("%s: priority %d is out of range", i.ID, i.Priority)
	}
	for _, n := range []int{i.Estimate, i.Sessions, i.Stalled, i.Best, i.Fixes, i.Errors, i.Most} {
		if n < 0 || n > mostCount {
			return fmt.Errorf("%s: number %d is out of range", i.ID, n)
		}
	}
	for _, s := range []string{i.Title, i.Why, i.Type, i.RunID} {
		if !plain(s) {
			return fmt.Errorf("%s: a text has control characters or is too long", i.ID)
		}
	}
	if _, err := checkAfter(i.After); err != nil {
		return fmt.Errorf("%s: %w", i.ID, err)
	}
	if err := checkCommands(i.Verify); err != nil {
		return fmt.Errorf("%s: %w", i.ID, err)
	}
	return nil
}

// keepsDone refuses a change that makes undone what was done.
func (q *Queue) keepsDone(before Queue) error {
	done := map[string]bool{}
	for _, item := range before.Items {
		done[item.ID] = item.Status == Done
	}
	for _, item := range q.Items {
		if done[item.ID] && item.Status != Done {
			return fmt.Errorf("%s is done and would become %s", item.ID, item.Status)
		}
	}
	return nil
}

func (q *Queue) copied() Queue {
	out := *q
	out.Items = slices.Clone(q.Items)
	for i := range out.Items {
		out.Items[i] = copied(out.Items[i])
	}
	return out
}

func encoded(q Queue) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(q)
	return b.Bytes(), err
}
