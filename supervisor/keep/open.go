package keep

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"autopilot/metrics/plainfile"
)

// Open opens the file of a run for reading, compressed or not, under the name that it had
// before. While it is being compressed one of the two is there. A symlink and what is no
// regular file are refused. The error wraps fs.ErrNotExist when there is neither.
func Open(name string) (io.ReadCloser, error) {
	f, _, err := plainfile.OpenNoFollow(name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	f, _, err = plainfile.OpenNoFollow(name + packed)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s%s: %w", name, packed, err), f.Close())
	}
	return unpacked{z, f}, nil
}

// Unpacked is the name that a file has or had before it was compressed.
func Unpacked(name string) string { return strings.TrimSuffix(name, packed) }

// Written reports whether a file in the folder of a run, relative to that, is one that this
// program writes there; a file that was compressed is known by its name with the ending.
func Written(name string) bool { return known(name) }

type unpacked struct {
	*gzip.Reader
	file *os.File
}

// Close closes the file.
func (u unpacked) Close() error { return errors.Join(u.Reader.Close(), u.file.Close()) }
