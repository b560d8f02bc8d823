package peers

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"autopilot/metrics/statedir"
)

const (
	tempMark   = ".autopilot." // in the names of temporary files of ours
	tempAge    = 10 * time.Minute
	guardWait  = 2 * time.Second
	guardRetry = time.Millisecond
	lockTries  = 100 // each one lost means that somebody else got somewhere
)

// lockFile is a lock in the form of session-orchestrator: whoever creates the file has it.
//
// A file that exists is never written over by name, because between reading and writing it
// another process may have put its own there. It is moved aside, looked at there, and moved
// back by create-or-fail when it is not what was expected. A process that is killed in
// between leaves a temporary file, which blocks nobody and which tidy removes.
type lockFile struct{ path string }

// take creates the file with data, in the place of one that may allows to replace. When may does
// not, it returns what is there and errTaken.
func (l lockFile) take(data []byte, now time.Time, may func(content) bool) (there content, err error) {
	err = l.guarded(func(alone bool) error {
		if alone {
			l.tidy(now)
		}
		for range lockTries {
			there, err = readSmall(l.path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return err
			case !may(there):
				return errTaken
			default:
				if away, err := l.takeAway(may); err != nil {
					return err
				} else if !away {
					continue
				}
			}
			if err := l.create(data); !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		return fmt.Errorf("%s leads to nothing or changes all the time", l.path)
	})
	return there, err
}

// release removes the file when it is mine. That it is gone already is fine.
func (l lockFile) release(mine func(content) bool) error {
	c, err := readSmall(l.path)
	if absent(err) || err == nil && !mine(c) {
		return nil
	}
	if err != nil {
		return err
	}
	return l.guarded(func(bool) error {
		_, err := l.takeAway(mine)
		return err
	})
}

// create makes the file with all of its content at once, or returns fs.ErrExist. The content is
// on disk before the name is: an empty lock after a power cut would be held by nobody for ever.
func (l lockFile) create(data []byte) error {
	tmp := l.temp()
	defer func() { _ = os.Remove(tmp) }()
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return statedir.Full(l.path, err)
	}
	return os.Link(tmp, l.path)
}

// takeAway removes the file when may allows it. It returns false when may did not, and the file
// is then back in its place, unless somebody else has taken that meanwhile.
func (l lockFile) takeAway(may func(content) bool) (bool, error) {
	aside := l.temp()
	if err := os.Rename(l.path, aside); err != nil {
		return errors.Is(err, fs.ErrNotExist), ignore(err, fs.ErrNotExist)
	}
	c, err := readSmall(aside)
	if err == nil && may(c) {
		return true, os.Remove(aside)
	}
	if err := os.Link(aside, l.path); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("put back %s, which is %s now: %w", l.path, aside, err)
	}
	return false, os.Remove(aside)
}

func (l lockFile) temp() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return filepath.Join(filepath.Dir(l.path), "."+filepath.Base(l.path)+tempMark+hex.EncodeToString(b[:]))
}

// guarded runs fn while no other process of ours changes locks in the same folder. The kernel's
// lock is on the folder itself, so that no file is left behind and none outlives its holder.
// Where the file system knows no such lock, or its holder is stopped, fn is run without it;
// alone says which.
func (l lockFile) guarded(fn func(alone bool) error) error {
	d, err := os.Open(filepath.Dir(l.path))
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	for end := time.Now().Add(guardWait); ; <-time.After(guardRetry) {
		err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EWOULDBLOCK) && time.Now().Before(end) {
			continue
		}
		return fn(err == nil)
	}
}

// tidy removes what killed processes left beside the file. It is called by the only one at work.
func (l lockFile) tidy(now time.Time) {
	entries, err := os.ReadDir(filepath.Dir(l.path))
	if err != nil {
		return // whoever comes next may have more luck; nothing depends on it
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "."+filepath.Base(l.path)+tempMark) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > tempAge {
			_ = os.Remove(filepath.Join(filepath.Dir(l.path), e.Name()))
		}
	}
}

// refresh writes the time of the heartbeat into a record that may allows, in its place: when
// another file has got the name meanwhile, it is not touched. False means that the record has no
// heartbeat in the usual form and was left as it is. It returns errNotOurs when may said no, and
// fs.ErrNotExist when the file is gone.
func refresh(path string, now time.Time, may func(content) bool) (bool, error) {
	for range lockTries {
		f, info, err := openSmall(path, os.O_RDWR)
		if err != nil {
			return false, err
		}
		done, err := refreshOpen(f, info, now, may)
		if err := errors.Join(err, f.Close()); err != nil || !done {
			return false, err
		}
		if named, err := os.Stat(path); err == nil && os.SameFile(info, named) {
			return true, nil
		}
	}
	return false, fmt.Errorf("%s: it changes all the time", path)
}

func refreshOpen(f *os.File, info fs.FileInfo, now time.Time, may func(content) bool) (bool, error) {
	c, err := readOpen(f, info)
	if err != nil {
		return false, err
	}
	if !may(c) {
		return false, errNotOurs
	}
	at, ok := heartbeatAt(c.data)
	if !ok {
		return false, nil
	}
	_, err = f.WriteAt([]byte(stamp(now)), at)
	return true, err
}

var (
	errNotOurs = errors.New("it is not ours")
	errTaken   = errors.New("it is taken")
)

func ignore(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}

// running reports whether a process of this machine exists.
func running(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
