// Package plainfile reads files in whose place something else may lie: a named pipe, a device
// or a folder is refused, and nothing is waited for.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Reasons why a file is not read.
var (
	ErrNotRegular = errors.New("it is not a regular file")
	ErrTooLarge   = errors.New("it is too large")
)

// Open opens a regular file, or what a link to one leads to, for reading, and tells what it was
// at that moment. The error names the path; it wraps [ErrNotRegular] or what the system says.
func Open(path string) (*os.File, fs.FileInfo, error) { return open(path, 0) }

// OpenNoFollow is [Open] that refuses a link in the place of the file, with ELOOP.
func OpenNoFollow(path string) (*os.File, fs.FileInfo, error) { return open(path, syscall.O_NOFOLLOW) }

func open(path string, flag int) (*os.File, fs.FileInfo, error) {
	// Without the flag a pipe would be waited for until somebody writes to it.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flag, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// Read reads a regular file of at most so many bytes. Of one that has more nothing is
// returned, and the error wraps [ErrTooLarge].
func Read(path string, most int64) ([]byte, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > most {
		return nil, tooLarge(path, most)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1)) // it may have grown
	if err == nil && int64(len(data)) > most {
		return nil, tooLarge(path, most)
	}
	return data, err
}

func tooLarge(path string, most int64) error {
	return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w, more than %d bytes", ErrTooLarge, most)}
}
