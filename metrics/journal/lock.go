package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"autopilot/metrics/statedir"
)

const (
	firstLockWait = 100 * time.Microsecond
	lastLockWait  = 5 * time.Millisecond
)

// open opens the file and makes its entry in the folder durable.
func (w *Writer) open() error {
	const flags = os.O_RDWR | os.O_APPEND
	f, err := os.OpenFile(w.path, flags, 0)
	if errors.Is(err, os.ErrNotExist) {
		if err := statedir.MakeDir(filepath.Dir(w.path)); err != nil {
			return err
		}
		f, err = os.OpenFile(w.path, flags|os.O_CREATE, w.opt.Mode)
	}
	if err != nil {
		return err
	}
	w.f, w.checked = f, false
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	resolved, err := filepath.EvalSymlinks(w.path)
	if err != nil {
		return err
	}
	// Also when the file was there: who created it may have died before the sync.
	return w.ops.syncDir(filepath.Dir(resolved))
}

// lock takes the exclusive lock on the file that path names at that time, and
// opens it again when another has taken its place.
func (w *Writer) lock(deadline time.Time) error {
	for {
		if w.f == nil {
			if err := w.open(); err != nil {
				w.drop()
				return err
			}
		}
		if err := w.flock(deadline); err != nil {
			return err
		}
		same, err := w.isCurrent()
		if err == nil && same {
			return nil
		}
		w.drop()
		if err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("other programs keep replacing the file")
		}
	}
}

func (w *Writer) flock(deadline time.Time) error {
	for wait := firstLockWait; ; wait = min(2*wait, lastLockWait) {
		err := unix.Flock(int(w.f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock: %w", err)
		case time.Now().After(deadline):
			return &LockedError{Path: w.path, PID: lockHolder(w.f), Waited: w.opt.LockTimeout}
		}
		pause(wait)
	}
}

func (w *Writer) isCurrent() (bool, error) {
	named, err := os.Stat(w.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	mine, err := w.f.Stat()
	if err != nil {
		return false, err
	}
	return os.SameFile(mine, named), nil
}

// unlock gives the lock back. Should that fail, closing the file does it.
func (w *Writer) unlock() {
	if w.f != nil && unix.Flock(int(w.f.Fd()), unix.LOCK_UN) != nil {
		w.drop()
	}
}

// drop closes the file, and with it the lock; the next use opens it again.
func (w *Writer) drop() {
	if w.f == nil {
		return
	}
	_ = w.f.Close() // nothing is buffered in it
	w.f = nil
}
