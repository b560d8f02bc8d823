package shared

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/probe/proctree"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	folder := folderOf(t)
	v := open(t, folder)
	write(t, filepath.Join(folder, taskFile), "{")
	if diff := cmp.Diff(someTask(folder), v.Task()); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
	if _, err := Open(folder); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a broken task: %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no task: %v", err)
	}
}

func TestAllotment(t *testing.T) {
	t.Parallel()
	folder := folderOf(t)
	v := open(t, folder)
	now := noon()
	check := func(name string, wantCap int, wantFresh bool) {
		t.Helper()
		if a, fresh := v.Allotment(now); a.Cap != wantCap || fresh != wantFresh {
			t.Errorf("%s: cap %d, fresh %v, want %d, %v", name, a.Cap, fresh, wantCap, wantFresh)
		}
	}
	pass := func(d time.Duration) { now = now.Add(d) }

	check("nothing yet", 0, false)
	allot(t, folder, Allotment{At: now, Cap: 2})
	pass(199 * time.Millisecond)
	check("a file that came since", 0, false)
	pass(time.Millisecond)
	check("after 200 ms", 2, true)
	allot(t, folder, Allotment{At: now, Cap: 3, Stop: "enough"})
	pass(199 * time.Millisecond)
	check("another one since", 2, true)
	pass(time.Millisecond)
	check("after 200 ms more", 3, true)

	seen := now.Add(-200 * time.Millisecond)
	now = seen.Add(90 * time.Second)
	check("90 s old", 3, true)
	pass(time.Nanosecond)
	check("older", 3, false)
	now = seen.Add(8 * time.Hour)
	check("after a suspend", 3, false)
	allot(t, folder, Allotment{At: now, Cap: 4})
	pass(time.Second)
	check("the coordinator woke as well", 4, true)

	pass(-time.Hour)
	check("the clock was set back", 4, false)
	allot(t, folder, Allotment{At: now, Cap: 5})
	pass(-time.Second)
	check("and the coordinator has written since", 5, true)

	write(t, filepath.Join(folder, allotmentFile), `{"cap":`)
	pass(time.Second)
	check("a broken file", 5, false)
	if err := os.Remove(filepath.Join(folder, allotmentFile)); err != nil {
		t.Fatal(err)
	}
	pass(time.Second)
	check("a file that is gone", 5, false)
	pass(time.Millisecond)
	check("still", 5, false)
	allot(t, folder, Allotment{At: now, Cap: 6})
	pass(time.Second)
	check("it is there again", 6, true)
}

// The monotonic clock stands still during a suspend, so it must not count: the second
// moment is an hour later by the wall clock alone.
func TestAllotmentGoesByTheWallClock(t *testing.T) {
	t.Parallel()
	folder := folderOf(t)
	v := open(t, folder)
	now := time.Now()
	allot(t, folder, Allotment{At: now, Cap: 1})
	if a, fresh := v.Allotment(now); a.Cap != 1 || !fresh {
		t.Fatalf("cap %d, fresh %v", a.Cap, fresh)
	}
	if v.readAt != v.readAt.Round(0) || v.last.At != v.last.At.Round(0) {
		t.Errorf("read at %v, decided at %v: with a monotonic clock", v.readAt, v.last.At)
	}
}

// What a reader holds is not changed by the next look.
func TestAllotmentIsACopy(t *testing.T) {
	t.Parallel()
	folder := folderOf(t)
	v := open(t, folder)
	write(t, filepath.Join(folder, allotmentFile), `{"at":"2026-11-22T12:00:00Z","cap":4,"hold_why":"x","snapshot":{"load_1m":1.5}}`)
	first, _ := v.Allotment(noon())
	write(t, filepath.Join(folder, allotmentFile), `{"at":"2026-11-22T12:00:00Z","snapshot":{"load_1m":2.5}}`)
	second, _ := v.Allotment(noon().Add(time.Second))
	if first.Cap != 4 || *first.Snapshot.Load1m != 1.5 || second.Cap != 0 || second.HoldWhy != "" || *second.Snapshot.Load1m != 2.5 {
		t.Errorf("first %+v, second %+v", first, second)
	}
}

func TestCoordinatorAlive(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	view := func(p Process) *View {
		task := someTask(folder)
		task.Coordinator = p
		if err := SaveTask(folder, task); err != nil {
			t.Fatal(err)
		}
		return open(t, folder)
	}
	self, _ := proctree.StartOf(os.Getpid())
	if !view(Process{os.Getpid(), self}).CoordinatorAlive() {
		t.Error("this process is dead")
	}
	for name, p := range map[string]Process{
		"another process with the pid": {os.Getpid(), self - 1},
		"no pid":                       {0, 0},
		"a pid that cannot be":         {1 << 30, 1},
		"a negative pid":               {-1, 0},
	} {
		if view(p).CoordinatorAlive() {
			t.Errorf("%s is alive", name)
		}
	}

	p := start(t, "live", folder)
	p.line(t)
	v := view(p.Process)
	now := time.Now().Add(1000 * time.Hour)
	if _, fresh := v.Allotment(now); fresh || !v.CoordinatorAlive() {
		t.Errorf("a living coordinator that has written nothing for long: fresh %v, alive %v", fresh, v.CoordinatorAlive())
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); v.CoordinatorAlive(); { // until it is a zombie
		if time.Now().After(deadline) {
			t.Fatal("a killed coordinator is alive")
		}
	}
	p.wait()
	if v.CoordinatorAlive() {
		t.Error("a coordinator that was waited for is alive")
	}
}

func TestBeat(t *testing.T) {
	t.Parallel()
	folder := folderOf(t)
	if at, err := LastBeat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first: %v, %v", at, err)
	}
	v := open(t, folder)
	for _, now := range []time.Time{noon(), noon().Add(time.Second), noon().Add(-time.Hour)} {
		if err := v.Beat(now); err != nil {
			t.Fatal(err)
		}
		if at, err := LastBeat(folder); err != nil || !at.Equal(now) {
			t.Errorf("last beat at %v, %v, want %v", at, err, now)
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := v.Beat(noon()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there again: %v", err)
	}
}

func TestViewInSeveralGoroutines(t *testing.T) {
	t.Parallel()
	folder := folderOf(t)
	allot(t, folder, numbered(1))
	v := open(t, folder)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 200 {
				now := noon().Add(time.Duration(n*(i+1)) * 50 * time.Millisecond)
				if a, fresh := v.Allotment(now); !fresh || len(a.HoldWhy) != a.Cap {
					t.Errorf("cap %d, %d bytes, fresh %v", a.Cap, len(a.HoldWhy), fresh)
				}
				if err := v.Beat(now); err != nil {
					t.Error(err)
				}
				if v.CoordinatorAlive() {
					t.Error("a coordinator that never was is alive")
				}
			}
		})
	}
	for n := range 200 {
		allot(t, folder, numbered(n))
	}
	all.Wait()
}
