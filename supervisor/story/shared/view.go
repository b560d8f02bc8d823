package shared

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"autopilot/metrics/statedir"
)

const (
	beatFile = "beat"

	rereadAfter = 200 * time.Millisecond
	freshFor    = 90 * time.Second
)

// View is what the supervisor of a story sees of its cohort. Its methods may be called by
// several goroutines.
type View struct {
	folder string
	task   Task

	mu     sync.Mutex
	last   Allotment // that could be read
	there  bool      // it could be read the last time
	readAt time.Time // by the wall clock
}

// Open reads the task in the folder of a story. The error wraps fs.ErrNotExist when
// there is none. Nothing stays open.
func Open(folder string) (*View, error) {
	t, err := LoadTask(folder)
	if err != nil {
		return nil, fmt.Errorf("open view of cohort: %w", err)
	}
	return &View{folder: folder, task: t}, nil
}

// Task returns what was in the folder when it was opened. Its lane is not to be changed.
func (v *View) Task() Task { return v.task }

// Allotment returns the last allotment that could be read, the zero one when none could
// yet. It looks at the file again when 200 ms have passed. Fresh is false when the file
// is missing or broken, or when the allotment is more than 90 s away from now by the
// wall clock, in either direction. What its snapshot points to is not to be changed.
//
// One that is not fresh says nothing about the coordinator: after a suspend it is old
// for a moment. See CoordinatorAlive.
func (v *View) Allotment(now time.Time) (a Allotment, fresh bool) {
	now = now.Round(0) // the monotonic clock stands still while a machine sleeps
	v.mu.Lock()
	defer v.mu.Unlock()
	if now.Sub(v.readAt).Abs() >= rereadAfter {
		v.readAt = now
		a, err := LoadAllotment(v.folder)
		if v.there = err == nil; v.there {
			v.last = a
		}
	}
	return v.last, v.there && now.Sub(v.last.At).Abs() <= freshFor
}

// CoordinatorAlive reports whether the process that coordinates the cohort still runs.
// It asks the process table and no clock.
func (v *View) CoordinatorAlive() bool { return v.task.Coordinator.Alive() }

// Beat says that the supervisor was alive at now. It writes no data, so it is cheap and
// works on a full disk once the file is there. It brings no lost folder back.
func (v *View) Beat(now time.Time) error {
	path := filepath.Join(v.folder, beatFile)
	err := os.Chtimes(path, now, now)
	if errors.Is(err, fs.ErrNotExist) {
		if err = touch(path); err == nil {
			err = os.Chtimes(path, now, now)
		}
	}
	if err != nil {
		return fmt.Errorf("beat: %w", statedir.Full(path, err))
	}
	return nil
}

func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// LastBeat returns when the supervisor of the story in a folder said last that it was
// alive; a supervisor of an earlier run may have been the one. The error wraps
// fs.ErrNotExist when none has ever.
func LastBeat(folder string) (time.Time, error) {
	info, err := os.Stat(filepath.Join(folder, beatFile))
	if err != nil {
		return time.Time{}, fmt.Errorf("look for a beat: %w", err)
	}
	return info.ModTime(), nil
}
