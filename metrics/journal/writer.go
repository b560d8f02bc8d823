package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"autopilot/metrics/statedir"
)

const (
	defaultLockTimeout             = 5 * time.Second
	defaultMode        os.FileMode = 0o600

	lookBackLines = 1000
	lookBackBytes = 4 << 20

	keepBytes  = 64 << 10 // capacity up to which a line's buffer is used again
	nearlyFull = 64 << 10 // free bytes below which a short write means a full disk
)

// Options say how a journal is written. The zero value is a journal of ours alone.
type Options struct {
	// Foreign is set when other programs append to the file without our lock.
	// Then nothing that stands in it is ever cut off.
	Foreign bool
	// LockTimeout is how long to wait for another writer; 0 means 5 s.
	LockTimeout time.Duration
	// Mode is the mode of a file that has to be created, before the umask; 0
	// means 0600.
	Mode os.FileMode
}

// Writer appends to one journal. Its methods may be called by several goroutines;
// they take turns, and LockTimeout counts for each turn.
type Writer struct {
	path string // absolute, symlinks not resolved
	opt  Options
	ops  fileOps

	mu      sync.Mutex
	f       *os.File // nil when it has to be opened
	checked bool     // f has had the deep check of its end
	refuse  error    // set for good after a failed sync or Close
	buf     []byte
}

// Open opens the journal path for appending and creates it, and its folder (0700),
// when missing. The end of a journal that is ours alone is repaired, see the
// package's description. Errors are those of Append; what is not a regular file,
// and a file with lines of which none is JSON, are refused.
func Open(path string, opt Options) (*Writer, error) {
	return openWith(realOps(), path, opt)
}

func openWith(ops fileOps, path string, opt Options) (*Writer, error) {
	if opt.LockTimeout <= 0 {
		opt.LockTimeout = defaultLockTimeout
	}
	if opt.Mode == 0 {
		opt.Mode = defaultMode
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", path, err)
	}
	w := &Writer{path: abs, opt: opt, ops: ops}
	if err := w.prepare(); err != nil {
		w.drop()
		return nil, fmt.Errorf("open journal %s: %w", path, statedir.Full(abs, err))
	}
	return w, nil
}

func (w *Writer) prepare() error {
	deadline := time.Now().Add(w.opt.LockTimeout)
	if w.opt.Foreign {
		return w.open() // its end is looked at when there is something to append
	}
	if err := w.lock(deadline); err != nil {
		return err
	}
	defer w.unlock()
	_, _, err := w.mend(deadline)
	return err
}

// Append writes record, one JSON value in UTF-8 without a newline, as one line and
// returns when it is on the disk. On error the record is not in the journal,
// except with ErrNotDurable, where it may be. Other errors to tell apart:
// *LockedError, *FullError. After them the Writer can be used again.
func (w *Writer) Append(record []byte) error {
	_, err := w.add(record, nil)
	return err
}

// AppendUnless is Append, but only when no line for which same returns true is among
// the last 1,000 lines and 4 MiB. Search and write are one step for all writers
// of this package, so that a record offered again after a crash is there exactly
// once. The lines given to same have no blanks around them, are good until it
// returns, and may be anything that other programs wrote. With appended false and
// no error the record that was found is on the disk.
func (w *Writer) AppendUnless(record []byte, same func(line []byte) bool) (appended bool, err error) {
	return w.add(record, same)
}

// Close closes the file. A second Close does nothing; Append then returns
// os.ErrClosed.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse == nil {
		w.refuse = fmt.Errorf("append to journal %s: %w", w.path, os.ErrClosed)
	}
	if w.f == nil {
		return nil
	}
	err := w.f.Close()
	w.f = nil
	if err != nil {
		return fmt.Errorf("close journal %s: %w", w.path, err)
	}
	return nil
}

func (w *Writer) add(record []byte, same func([]byte) bool) (appended bool, err error) {
	if err := checkRecord(record); err != nil {
		return false, fmt.Errorf("append to journal %s: %w", w.path, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return false, w.refuse
	}
	appended, err = w.addLocked(record, same)
	if err != nil {
		err = fmt.Errorf("append to journal %s: %w", w.path, statedir.Full(w.path, err))
	}
	if errors.Is(err, ErrNotDurable) {
		w.refuse = err
	}
	return appended, err
}

func (w *Writer) addLocked(record []byte, same func([]byte) bool) (bool, error) {
	deadline := time.Now().Add(w.opt.LockTimeout)
	if err := w.lock(deadline); err != nil {
		return false, err
	}
	defer w.unlock()
	end, lead, err := w.mend(deadline)
	if err != nil {
		return false, err
	}
	if same == nil {
		return true, w.put(fit(w.buf, record, end, lead), end)
	}
	found, last, err := w.find(end, same)
	switch {
	case err != nil:
		return false, err
	case found && last: // the record is whole, only its newline is missing
		return false, w.put(fit(w.buf, nil, end, false), end)
	case found:
		return false, w.sync() // its writer may have been killed before it did so
	}
	return true, w.put(fit(w.buf, record, end, lead), end)
}

// find looks for a line that is the same, from the end; last tells that it is the
// unterminated end itself.
func (w *Writer) find(end int64, same func([]byte) bool) (found, last bool, err error) {
	b := newBackward(w.f, end)
	for n := 0; n < lookBackLines; {
		p, err := b.next()
		if errors.Is(err, io.EOF) || end-p.end > lookBackBytes {
			return false, false, nil
		}
		if err != nil {
			return false, false, err
		}
		text := bare(p.text)
		if len(text) == 0 || p.open && !isWhole(text) {
			continue
		}
		n++
		if same(text) {
			return true, p.open, nil
		}
	}
	return false, false, nil
}

// put writes line, which begins at offset at, in one write and syncs it.
func (w *Writer) put(line []byte, at int64) error {
	if cap(line) <= keepBytes {
		w.buf = line
	}
	n, err := w.ops.write(w.f, line)
	if err == nil && n == len(line) {
		return w.sync()
	}
	if err == nil {
		err = fmt.Errorf("wrote %d of %d bytes: %w", n, len(line), w.shortReason())
	}
	if n > 0 {
		if back := w.takeBack(at, n); back != nil {
			return fmt.Errorf("%w; the part that was written stays: %w", err, back)
		}
	}
	return err
}

// takeBack removes the n bytes at offset at, unless another program has written
// behind them: then they stay as the beginning of a broken line.
func (w *Writer) takeBack(at int64, n int) error {
	info, err := w.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != at+int64(n) {
		return errors.New("another program has written behind it")
	}
	return w.ops.truncate(w.f, at)
}

func (w *Writer) shortReason() error {
	if free, err := statedir.FreeBytes(w.path); err == nil && free < nearlyFull {
		return syscall.ENOSPC
	}
	return io.ErrShortWrite
}

func (w *Writer) sync() error {
	if err := w.ops.sync(w.f); err != nil {
		return fmt.Errorf("%w: %w", ErrNotDurable, err)
	}
	return nil
}
