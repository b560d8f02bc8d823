package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"autopilot/metrics/plainfile"
)

const endBytes = 64 // before the end of what was read that are compared

// File is a file of lines of which all is known up to a place. Its zero value knows nothing.
type File struct {
	seen Seen
	read int64
	end  []byte // what stood right before that place
}

// More calls fn for each whole line that is new, with its place; the line is good until fn
// returns. Again is called first when the file is not the one that it was: another inode, no
// growth, or another end. A line that is changed in place while others are added is not
// noticed. A missing file has no lines.
func (f *File) More(path string, again func(), fn func(at int64, line []byte)) error {
	before := f.seen.stamp
	if !f.seen.Changed(path) {
		return nil
	}
	file, _, err := plainfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		f.read, f.end = 0, nil
		again()
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	now := f.seen.stamp
	shrunk := now != before && now.size <= f.read
	if f.read == 0 || shrunk || before.inode != now.inode || !f.goesOn(file) {
		f.read, f.end = 0, nil
		again()
	}
	return f.lines(file, fn)
}

// goesOn reports whether what was read is still what stands there.
func (f *File) goesOn(r io.ReaderAt) bool {
	got := make([]byte, len(f.end))
	n, _ := r.ReadAt(got, f.read-int64(len(f.end))) // less is not the same
	return bytes.Equal(got[:n], f.end)
}

func (f *File) lines(r *os.File, fn func(at int64, line []byte)) error {
	for {
		next, err := Each(r, f.read, func(at int64, line []byte) bool {
			fn(at, line)
			return true
		})
		if err != nil {
			return fmt.Errorf("read %s: %w", r.Name(), err)
		}
		if next == f.read {
			break
		}
		f.read = next
	}
	f.end = make([]byte, min(endBytes, f.read))
	if _, err := r.ReadAt(f.end, f.read-int64(len(f.end))); err != nil {
		f.read = 0 // it is read anew
	}
	return nil
}
