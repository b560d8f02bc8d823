package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	confirmWait = 20 * time.Millisecond
	tornStamp   = "20060102T150405.000000000Z"
	tornTries   = 100
)

// mend prepares the end of the file for a new line and returns its offset; lead
// says that the line has to begin with a newline. The lock must be held, within
// deadline.
func (w *Writer) mend(deadline time.Time) (end int64, lead bool, err error) {
	size, torn, err := w.settle(deadline)
	if err != nil || w.opt.Foreign {
		return size, torn, err
	}
	if w.checked && !torn {
		return size, false, nil
	}
	keep, whole, err := inspect(w.f, size)
	if err != nil {
		return 0, false, err
	}
	if keep < size {
		if err := w.setAside(keep, size); err != nil {
			return 0, false, err
		}
	}
	w.checked = true
	return keep, whole, nil
}

// settle returns the size of the file once nobody is writing at its end, and
// whether the last line lacks its newline. A foreign program may be in the middle
// of its line, and only time tells that from a torn one.
func (w *Writer) settle(deadline time.Time) (size int64, torn bool, err error) {
	size, closed, err := lineEnd(w.f)
	for err == nil && !closed {
		w.ops.wait(confirmWait)
		before := size
		size, closed, err = lineEnd(w.f)
		if err != nil || closed {
			break
		}
		if size == before {
			return size, true, nil
		}
		if time.Now().After(deadline) {
			return 0, false, errors.New("another program keeps writing a line without an end")
		}
	}
	return size, false, err
}

// lineEnd returns the size of f and whether it ends with a newline or is empty.
func lineEnd(f *os.File) (int64, bool, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	size := info.Size()
	if size == 0 {
		return 0, true, nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		if errors.Is(err, io.EOF) { // it shrank in between: the next look tells
			return size, false, nil
		}
		return 0, false, err
	}
	return size, last[0] == '\n', nil
}

// inspect decides what of a journal that is ours alone stays: the first keep bytes.
// Behind them are a torn tail and lines that are not JSON, as a crash leaves them.
// With whole set, everything stays and the last line only lacks its newline.
//
// It is an error when nothing would stay although there is a line of text: that is
// some other file.
func inspect(r io.ReaderAt, size int64) (keep int64, whole bool, err error) {
	b := newBackward(r, size)
	p, err := b.next()
	if err != nil {
		return 0, false, err
	}
	if isWhole(p.text) {
		return size, true, nil
	}
	broken, text := p.end > p.start, false
	for {
		p, err := b.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, false, err
		}
		line := bare(p.text)
		switch {
		case p.long:
			broken, text = true, true
		case len(line) == 0:
		case !json.Valid(line):
			broken, text = true, text || bytes.IndexByte(line, 0) < 0
		case broken:
			return p.end + 1, false, nil
		default:
			return size, false, nil
		}
	}
	if text {
		return 0, false, errors.New("no line of it is JSON, so it is no journal; move it away")
	}
	if broken {
		return 0, false, nil
	}
	return size, false, nil
}

// setAside copies the bytes from keep to size into a file of their own and cuts
// them off. They are on the disk there before they go here.
func (w *Writer) setAside(keep, size int64) error {
	resolved, err := filepath.EvalSymlinks(w.path)
	if err != nil {
		return fmt.Errorf("set torn end aside: %w", err)
	}
	part := io.NewSectionReader(w.f, keep, size-keep)
	if err := w.copyOut(resolved+".torn-", part); err != nil {
		return fmt.Errorf("set torn end aside: %w", err)
	}
	if err := w.ops.syncDir(filepath.Dir(resolved)); err != nil {
		return fmt.Errorf("set torn end aside: %w", err)
	}
	if err := w.ops.truncate(w.f, keep); err != nil {
		return fmt.Errorf("cut torn end off: %w", err)
	}
	if err := w.sync(); err != nil {
		return fmt.Errorf("cut torn end off: %w", err)
	}
	return nil
}

func (w *Writer) copyOut(prefix string, from io.Reader) error {
	var f *os.File
	var err error
	for range tornTries {
		name := prefix + time.Now().UTC().Format(tornStamp)
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, w.opt.Mode)
		if !errors.Is(err, os.ErrExist) {
			break
		}
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	if err == nil {
		err = w.ops.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
