package statedir

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockRetry = 10 * time.Millisecond
	lockGrace = 100 * time.Millisecond // a Peek may be in the way for microseconds
	graceStep = 2 * time.Millisecond
)

// RunLock is the name of the lock that a supervisor holds in git's folder of the work tree
// that it works in. Whoever makes or removes a work tree takes it as well.
const RunLock = "autopilot.lock"

// Holder tells who holds a lock. It is information for people, not what excludes:
// the lock itself is the kernel's.
type Holder struct {
	PID   int       `json:"pid"`
	Start int64     `json:"start"` // start of the process in milliseconds since 1970, 0 if not known
	RunID string    `json:"run_id"`
	Since time.Time `json:"since"` // when the lock was taken
	Host  string    `json:"host"`
}

// String names the holder for a message, by what is known of it.
func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	s := fmt.Sprintf("pid %d", h.PID)
	if h.Host != "" {
		s += " on " + h.Host
	}
	if h.RunID != "" {
		s += ", run " + h.RunID
	}
	if !h.Since.IsZero() {
		s += ", since " + h.Since.Format(time.RFC3339)
	}
	return s
}

// or fills the empty fields of h from other.
func (h Holder) or(other Holder) Holder {
	h.PID = cmp.Or(h.PID, other.PID)
	h.Start = cmp.Or(h.Start, other.Start)
	h.RunID = cmp.Or(h.RunID, other.RunID)
	h.Host = cmp.Or(h.Host, other.Host)
	if h.Since.IsZero() {
		h.Since = other.Since
	}
	return h
}

// HeldError is returned when another process holds a lock. Holder is zero when
// that process has not said who it is.
type HeldError struct {
	Path   string
	Holder Holder
}

// Error names the lock and its holder.
func (e *HeldError) Error() string {
	return fmt.Sprintf("lock %s is held by %s", e.Path, e.Holder)
}

// Lock is an exclusive lock on a file, held until Release or the end of the
// process. Its methods may be called by several goroutines.
type Lock struct {
	path string
	own  Holder // what Acquire was told, completed

	mu sync.Mutex
	fl *flock.Flock // nil after Release
}

// Acquire takes the lock in the file path, and creates the file (0600) and its
// folder (0700) when missing. It waits for another holder until ctx ends, and
// tries for at least 100 ms, so a context whose deadline has passed means one
// try. It returns *HeldError when the deadline passed, and an error with the
// context's cause when ctx was cancelled.
//
// holder is written into the file; PID, Since and Host are filled in when empty. A
// second Acquire in the same process is refused like one of another process.
func Acquire(ctx context.Context, path string, holder Holder) (*Lock, error) {
	if err := MakeDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("acquire lock %s: %w", path, err)
	}
	l := &Lock{path: path}
	graceEnd := time.Now().Add(lockGrace)
	for {
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, fmt.Errorf("acquire lock %s: %w", path, context.Cause(ctx))
		}
		ok, err := l.try()
		if err != nil {
			return nil, fmt.Errorf("acquire lock %s: %w", path, Full(path, err))
		}
		if ok {
			break
		}
		if ctx.Err() != nil && time.Now().After(graceEnd) {
			h, _ := readHolder(path) // a refusal without a name is still a refusal
			return nil, &HeldError{Path: path, Holder: h}
		}
		waitForRetry(ctx)
	}
	host, _ := os.Hostname() // only shown to people
	l.own = holder.or(Holder{PID: os.Getpid(), Since: time.Now(), Host: host})
	if err := l.Update(holder); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}

// Update replaces the information about the holder; fields that are empty keep
// what Acquire wrote. The lock must be held.
func (l *Lock) Update(holder Holder) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fl == nil {
		return fmt.Errorf("update lock %s: %w", l.path, os.ErrClosed)
	}
	data, err := json.Marshal(holder.or(l.own))
	if err != nil {
		return fmt.Errorf("update lock %s: %w", l.path, err)
	}
	if err := l.writeLocked(append(data, '\n')); err != nil {
		return fmt.Errorf("update lock %s: %w", l.path, Full(l.path, err))
	}
	return nil
}

// Release empties the file and gives the lock back. The file stays: whoever waits
// with it open would otherwise get a lock that nobody else sees. A second Release
// does nothing.
func (l *Lock) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fl == nil {
		return nil
	}
	errInfo := l.writeLocked(nil)
	if errors.Is(errInfo, os.ErrNotExist) {
		errInfo = nil // the folder was removed: nothing is left to empty
	}
	errLock := l.fl.Close()
	l.fl = nil
	if err := errors.Join(errInfo, errLock); err != nil {
		return fmt.Errorf("release lock %s: %w", l.path, err)
	}
	return nil
}

// Peek tells whether some process holds the lock in the file path, and what it
// says about itself. It creates nothing; a missing file is a lock that nobody
// holds. When held is false, the holder is one that died without Release, or zero.
func Peek(path string) (holder Holder, held bool, err error) {
	f := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := f.TryRLock()
	if errors.Is(err, os.ErrNotExist) {
		return Holder{}, false, nil
	}
	if err != nil {
		return Holder{}, false, fmt.Errorf("look at lock %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return Holder{}, false, fmt.Errorf("look at lock %s: %w", path, err)
	}
	holder, err = readHolder(path)
	if err != nil {
		return Holder{}, !ok, fmt.Errorf("look at lock %s: %w", path, err)
	}
	return holder, !ok, nil
}

// try takes the lock if it is free and if the file under the path is still the
// one that was locked.
func (l *Lock) try() (bool, error) {
	fl := flock.New(l.path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(newFileMode))
	ok, err := fl.TryLock()
	if err != nil || !ok {
		return false, errors.Join(err, fl.Close())
	}
	locked, err := fl.Stat()
	if err != nil {
		return false, errors.Join(err, fl.Close())
	}
	named, err := os.Stat(l.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, errors.Join(err, fl.Close())
	}
	if err != nil || !os.SameFile(locked, named) {
		return false, fl.Close()
	}
	l.fl = fl
	return true, nil
}

func waitForRetry(ctx context.Context) {
	if ctx.Err() != nil { // inside the grace
		<-time.After(graceStep)
		return
	}
	timer := time.NewTimer(lockRetry)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// writeLocked writes in place: the inode carries the lock. The new value is written
// over the old one before the rest is cut off, so a reader that takes the first
// value finds one at any time. mu must be held.
func (l *Lock) writeLocked(data []byte) error {
	f, err := os.OpenFile(l.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	named, err := f.Stat()
	if err != nil {
		return err
	}
	locked, err := l.fl.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(named, locked) {
		return fmt.Errorf("another file took its place: %w", os.ErrNotExist)
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(data)))
}

// readHolder returns the zero Holder when the file is empty or holds something
// else, as it may after a crash of the machine.
func readHolder(path string) (Holder, error) {
	f, err := os.Open(path)
	if err != nil {
		return Holder{}, err
	}
	defer f.Close()
	var h Holder
	if err := json.NewDecoder(f).Decode(&h); err != nil {
		return Holder{}, nil
	}
	return h, nil
}
