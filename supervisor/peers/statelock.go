package peers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"autopilot/metrics/statedir"
)

const (
	writeLockName  = ".orchestrator/state.lock"
	writeLockWait  = 10 * time.Second // as long as session-orchestrator waits
	writeLockRetry = 50 * time.Millisecond
)

// writeLock is session-orchestrator's lock for one change of STATE.md, in the order of its fields.
type writeLock struct {
	PID        int    `json:"pid"`
	Host       string `json:"host"`
	AcquiredAt string `json:"acquiredAt"`
	Holder     string `json:"holder"`
}

// parseWriteLock returns false for what that program would not take for such a lock.
func parseWriteLock(data []byte) (w writeLock, ok bool) {
	o, err := parseObject(data)
	if err != nil {
		return writeLock{}, false
	}
	pid, ok1 := o.number("pid")
	host, ok2 := o.text("host")
	w.PID, w.Host = whole(pid), host
	w.Holder, _ = o.text("holder")
	return w, ok1 && ok2
}

// lockState runs fn with that lock. One whose process on this machine has ended, or that cannot be
// understood, is taken over, as that program does; one of another machine never is.
func lockState(repo string, wait time.Duration, fn func() error) (err error) {
	l := lockFile{filepath.Join(repo, filepath.FromSlash(writeLockName))}
	if err := statedir.MakeDir(filepath.Dir(l.path)); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	own := writeLock{PID: os.Getpid(), Host: host, Holder: fmt.Sprintf("autopilot-%d-%s", os.Getpid(), rand.Text())}
	left := func(c content) bool {
		w, ok := parseWriteLock(c.data)
		return !ok || w.Host == host && !running(w.PID)
	}
	for end := time.Now().Add(wait); ; <-time.After(writeLockRetry) {
		own.AcquiredAt = stamp(time.Now())
		data, err := encoded(own)
		if err != nil {
			return err
		}
		c, err := l.take(data, time.Now(), left)
		if err == nil {
			break
		}
		if !errors.Is(err, errTaken) {
			return err
		}
		if !time.Now().Before(end) {
			w, _ := parseWriteLock(c.data)
			return fmt.Errorf("%s has been held by pid %d on %s for %v", l.path, w.PID, orUnknown(shown(w.Host, maxName)), wait)
		}
	}
	defer func() {
		err = errors.Join(err, l.release(func(c content) bool {
			w, _ := parseWriteLock(c.data)
			return w.Holder == own.Holder
		}))
	}()
	return fn()
}
