package statedir

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
)

// FullError is returned when a disk or a quota is full. FreeBytes is what the file
// system of Path had left for us when it happened; with a quota it may be large.
// errors.Is finds syscall.ENOSPC or syscall.EDQUOT in it.
type FullError struct {
	Path      string
	FreeBytes uint64
	Err       error
}

// Error names the path and what is free there.
func (e *FullError) Error() string {
	why := "disk is full"
	if errors.Is(e.Err, syscall.EDQUOT) {
		why = "disk quota is used up"
	}
	return fmt.Sprintf("%v: %s: %s free at %s", e.Err, why, InWords(e.FreeBytes), e.Path)
}

// Unwrap returns the error of the system.
func (e *FullError) Unwrap() error { return e.Err }

// Hint says what a person can do about it.
func (e *FullError) Hint() string {
	return "free some space on the file system of " + e.Path + " and start again"
}

// Full returns err as a *FullError about path when err says that a disk or a quota
// is full, and err itself otherwise.
func Full(path string, err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	if _, ok := errors.AsType[*FullError](err); ok {
		return err
	}
	free, ferr := FreeBytes(path)
	if ferr != nil {
		free = 0
	}
	return &FullError{Path: path, FreeBytes: free, Err: err}
}

// FreeBytes returns how many bytes an ordinary user may still write on the file
// system of path, or of the nearest folder above it when path does not exist.
// Quotas and container limits are not seen.
func FreeBytes(path string) (uint64, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return 0, fmt.Errorf("look up free space: %w", err)
	}
	for dir := path; ; dir = filepath.Dir(dir) {
		free, err := freeAt(dir)
		if err == nil {
			return free, nil
		}
		missing := errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR)
		if !missing || dir == filepath.Dir(dir) {
			return 0, fmt.Errorf("look up free space at %s: %w", dir, err)
		}
	}
}

// InWords is a number of bytes for a person: 512 bytes, 1.5 GiB.
func InWords(n uint64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	value, names := float64(n)/unit, "KMGTPE"
	for value >= unit && len(names) > 1 {
		value, names = value/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %ciB", value, names[0])
}
