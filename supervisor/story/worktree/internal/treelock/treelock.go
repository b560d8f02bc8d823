package treelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"autopilot/metrics/statedir"
)

const lookEvery = 10 * time.Millisecond

// ErrHeld says that another process has kept a lock for too long.
var ErrHeld = errors.New("another process holds the lock")

// Lock keeps others away from a file's name. Unlike other locks of this program it is
// inherited by the gits that it is given to, so that it holds until they have ended when
// this process dies first.
type Lock struct {
	path string
	File *os.File // for gits to hold
}

// Take waits for a lock until ctx ends or limit has passed, which is an error that is ErrHeld.
// It makes the file where there is none.
func Take(ctx context.Context, path string, limit time.Duration) (*Lock, error) {
	end := time.NewTimer(limit)
	defer end.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		l, err := try(path)
		if err != nil || l != nil {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %q: %w", path, context.Cause(ctx))
		case <-end.C:
			return nil, fmt.Errorf("%w for more than %s: %q", ErrHeld, limit, path)
		case <-tick.C:
		}
	}
}

// try returns nil for a lock that somebody has.
func try(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", statedir.Full(path, err))
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, fmt.Errorf("lock %q: %w", path, err)
	}
	// The last holder may have deleted the file after we had opened it.
	have, err := f.Stat()
	now, nerr := os.Lstat(path)
	if err != nil || nerr != nil || !os.SameFile(have, now) {
		_ = f.Close()
		return nil, nil
	}
	return &Lock{path: path, File: f}, nil
}

// Release gives the lock back.
func (l *Lock) Release() { _ = l.File.Close() }

// Forget deletes the file of the lock, which is for its holder alone.
func (l *Lock) Forget() { _ = os.Remove(l.path) }
