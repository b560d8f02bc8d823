package statedir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

const (
	swapWait  = 2 * time.Second
	swapRetry = 200 * time.Microsecond // a longer one starves who waits beside many
)

// Swap writes data to path so that a reader, and a kill at any instant, finds the old
// content or the new one and never a part. Unlike Replace it syncs nothing: it is for
// what means nothing after a power cut and has to be quick. Two at once on one path
// need a lock, such as that of Exclusive. A full disk or quota is a *FullError.
func Swap(path string, data []byte) error {
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, data, newFileMode); err != nil {
		return Full(path, fmt.Errorf("write %s: %w", path, err))
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Exclusive runs fn while no other process does so for the same path. The lock is a
// file beside it, because the file itself may be replaced; the kernel drops it with
// its holder. It waits for two seconds at most.
func Exclusive(path string, fn func() error) error {
	lock := flock.New(path+".lock", flock.SetPermissions(newFileMode))
	ctx, cancel := context.WithTimeout(context.Background(), swapWait)
	defer cancel()
	_, err := lock.TryLockContext(ctx, swapRetry)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("another process has held %s.lock for %v", path, swapWait)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	defer func() { _ = lock.Close() }()
	return fn()
}
