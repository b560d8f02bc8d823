package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"autopilot/metrics/plainfile"
)

const (
	readBatch = 32 << 20 // bytes of one ReadFrom
	readTries = 3        // a tail that is being cut off is read again
)

// Tail returns the last n lines of the journal path, the newest last, without the
// blanks around them. Blank lines and lines over MaxLine are left out, an
// unterminated end is ignored; the lines need not be JSON. The cost depends on
// those lines alone. A missing file has no lines.
func Tail(path string, n int) ([][]byte, error) {
	for try := 1; ; try++ {
		lines, err := tail(path, n)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return lines, nil
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || try == readTries {
			return nil, fmt.Errorf("read end of journal %s: %w", path, err)
		}
	}
}

func tail(path string, n int) ([][]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	f, info, err := plainfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return lastLines(f, info.Size(), n)
}

func lastLines(r io.ReaderAt, size int64, n int) ([][]byte, error) {
	var lines [][]byte
	for b := newBackward(r, size); len(lines) < n; {
		p, err := b.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if text := bare(p.text); len(text) > 0 && !p.open {
			lines = append(lines, text[:len(text):len(text)])
		}
	}
	slices.Reverse(lines)
	return lines, nil
}

// ReadFrom returns the lines of the journal path that end behind the byte offset,
// as Tail shapes them, and the offset for the next call. An unterminated end is
// left for that call. One call reads little more than 32 MiB: when it must be all,
// go on until next stays the same.
//
// An offset inside a line is moved back to the line's start, so Size of an earlier
// moment may be used. When the file is now shorter than offset it has been
// replaced, and reading starts at 0. A missing file has no lines.
func ReadFrom(path string, offset int64) (lines [][]byte, next int64, err error) {
	f, info, err := plainfile.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, offset, fmt.Errorf("read journal %s: %w", path, err)
	}
	defer f.Close()
	if offset < 0 || offset > info.Size() {
		offset = 0
	}
	lines, next, err = linesFrom(f, offset)
	if err != nil {
		return nil, offset, fmt.Errorf("read journal %s: %w", path, err)
	}
	return lines, next, nil
}

func linesFrom(f *os.File, offset int64) (lines [][]byte, next int64, err error) {
	before, err := newBackward(f, offset).next()
	if err != nil {
		return nil, 0, err
	}
	next = before.start
	if _, err := f.Seek(next, io.SeekStart); err != nil {
		return nil, 0, err
	}
	first := next
	for s := newForward(f, next); next-first < readBatch; {
		p, err := s.next()
		if errors.Is(err, io.EOF) || p.open {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		next = s.offset
		if text := bare(p.text); len(text) > 0 {
			lines = append(lines, bytes.Clone(text))
		}
	}
	return lines, next, nil
}

// Size returns the size in bytes of the journal path, 0 when there is none.
func Size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Each calls fn for every line of the journal path in order, with its number
// counted from 1 and without the blanks around it. The line is good until fn
// returns. It is nil for a line over MaxLine, which is not loaded, and need not be
// JSON. Blank lines and an unterminated end are left out. An error of fn ends it
// and is returned as it is. A missing file has no lines.
func Each(path string, fn func(n int, line []byte) error) error {
	f, _, err := plainfile.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read journal %s: %w", path, err)
	}
	defer f.Close()
	for s := newForward(f, 0); ; {
		p, err := s.next()
		if errors.Is(err, io.EOF) || p.open {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read journal %s: %w", path, err)
		}
		text := bare(p.text)
		if len(text) == 0 && !p.long {
			continue
		}
		if err := fn(p.number, text); err != nil {
			return err
		}
	}
}
