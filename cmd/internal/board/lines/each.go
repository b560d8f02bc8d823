package lines

import (
	"bytes"
	"errors"
	"io"
)

// Longest is how many bytes of a line are read.
const Longest = 1 << 20

const (
	block    = 64 << 10
	skipMost = 16 << 20 // bytes of a longer one that are passed over at once
)

// Each calls fn for each whole line from a place on, with where it begins, until fn
// says no or there is none. A line that is too long comes as its beginning. The place that
// is returned is behind what was read; it is inside a line only when that is very long.
// Without a line end before it, a place is taken as being inside one.
//
// The text is good until fn returns. A file that is cut meanwhile has no more lines.
func Each(f io.ReaderAt, from int64, fn func(at int64, line []byte) bool) (next int64, err error) {
	r := reader{f: f, at: from}
	if from > 0 {
		var b [1]byte
		if n, err := f.ReadAt(b[:], from-1); n < 1 {
			return from, notEnd(err)
		}
		if b[0] != '\n' {
			whole, err := r.skip()
			if err != nil || !whole {
				return r.at, err
			}
		}
	}
	for {
		line, err := r.line()
		if err != nil || line == nil {
			return r.at, err
		}
		start := r.at
		if len(line) > Longest {
			whole, err := r.skip()
			if fn(start, line[:Longest]); err != nil || !whole {
				return r.at, err
			}
			continue
		}
		r.at += int64(len(line)) + 1
		r.buf = r.buf[len(line)+1:]
		if !fn(start, line) {
			return r.at, nil
		}
	}
}

// reader reads a file ahead of a place.
type reader struct {
	f   io.ReaderAt
	at  int64
	buf []byte // what stands at the place
}

// line is the line at the place without its end, or nil when it is not whole. One that is
// too long is returned as what was read of it.
func (r *reader) line() ([]byte, error) {
	for looked := 0; ; {
		if i := bytes.IndexByte(r.buf[looked:], '\n'); i >= 0 {
			return r.buf[: looked+i : looked+i], nil
		}
		if len(r.buf) > Longest {
			return r.buf, nil
		}
		looked = len(r.buf)
		n, err := r.fill()
		if err != nil || n == 0 {
			return nil, err
		}
	}
}

// fill reads more behind what was read.
func (r *reader) fill() (int, error) {
	size := len(r.buf)
	want := max(block, size)
	buf := make([]byte, size+want)
	copy(buf, r.buf)
	n, err := r.f.ReadAt(buf[size:], r.at+int64(size))
	r.buf = buf[:size+n]
	return n, notEnd(err)
}

// skip goes behind the end of the line at the place. It is not whole when that is too far
// away, or not written yet.
func (r *reader) skip() (whole bool, err error) {
	for passed := 0; passed < skipMost; {
		if i := bytes.IndexByte(r.buf, '\n'); i >= 0 {
			r.at += int64(i) + 1
			r.buf = r.buf[i+1:]
			return true, nil
		}
		passed += len(r.buf)
		r.at += int64(len(r.buf))
		r.buf = r.buf[:0]
		if n, err := r.fill(); err != nil || n == 0 {
			return false, err
		}
	}
	return false, nil
}

// notEnd is an error that is not the end of a file.
func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
