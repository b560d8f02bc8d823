package statedir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
)

func TestLockNamesItsHolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "locks", "run")
	p := start(t, "hold", path, "r-7")
	p.line(t)
	_, err := Acquire(expired(t), path, Holder{})
	held, ok := errors.AsType[*HeldError](err)
	if !ok {
		t.Fatalf("Acquire = %v, want HeldError", err)
	}
	if held.Path != path || held.Holder.PID != p.cmd.Process.Pid || held.Holder.RunID != "r-7" || held.Holder.Since.IsZero() || held.Holder.Host == "" {
		t.Errorf("HeldError = %+v", held)
	}
	if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), ", run r-7, since 2") {
		t.Errorf("error = %v", err)
	}
	h, isHeld, err := Peek(path)
	if err != nil || !isHeld || h.RunID != "r-7" {
		t.Errorf("Peek = %v, %v, %v", h, isHeld, err)
	}
	if got := mode(t, path); got != 0o600 {
		t.Errorf("mode = %v", got)
	}
	if got := mode(t, filepath.Dir(path)); got != 0o700 {
		t.Errorf("mode of the folder = %v", got)
	}

	// A clean end empties the file and leaves it there.
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	h, isHeld, err = Peek(path)
	if err != nil || isHeld || h != (Holder{}) {
		t.Errorf("Peek after Release = %v, %v, %v", h, isHeld, err)
	}
	if got := read(t, path); got != "" {
		t.Errorf("lock file = %q", got)
	}
}

func TestLockOfKilledHolderIsFree(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	p := start(t, "hold", path, "dead")
	p.line(t)
	p.kill(t)
	h, held, err := Peek(path)
	if err != nil || held || h.RunID != "dead" {
		t.Errorf("Peek = %v, %v, %v, want the dead run, not held", h, held, err)
	}
	l, err := Acquire(expired(t), path, Holder{RunID: "next"})
	if err != nil {
		t.Fatal(err)
	}
	if h, held, err := Peek(path); err != nil || !held || h.RunID != "next" || h.PID != os.Getpid() {
		t.Errorf("Peek = %v, %v, %v", h, held, err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestChildDoesNotInheritLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	p := start(t, "hold-with-child", path)
	p.line(t) // the child runs
	if _, held, err := Peek(path); err != nil || !held {
		t.Fatalf("held = %v, %v", held, err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.cmd.Process.Wait(); err != nil {
		t.Fatal(err)
	}
	l, err := Acquire(expired(t), path, Holder{})
	if err != nil {
		t.Fatalf("the child keeps the lock: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	// Its pipe ends only with the child, so it was alive until here.
	if err := p.stdin.Close(); err != nil {
		t.Error(err)
	}
}

func TestAcquireWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Acquire(t.Context(), path, Holder{})
	if err != nil {
		t.Fatal(err)
	}
	var released atomic.Bool
	got := make(chan error)
	go func() {
		second, err := Acquire(t.Context(), path, Holder{})
		if err == nil && !released.Load() {
			err = errors.New("two hold the lock")
		}
		got <- errors.Join(err, second.Release())
	}()
	<-time.After(3 * lockRetry) // so that the second has a chance to get it wrong
	released.Store(true)
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestAcquireCancelled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Acquire(t.Context(), path, Holder{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	cause := errors.New("the person said stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	got := make(chan error)
	go func() {
		_, err := Acquire(ctx, path, Holder{})
		got <- err
	}()
	cancel(cause)
	err = <-got
	if _, held := errors.AsType[*HeldError](err); held || !errors.Is(err, cause) {
		t.Errorf("Acquire = %v, want the cause", err)
	}
}

func TestLockUpdate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	since := time.Date(2026, 3, 1, 2, 3, 4, 0, time.UTC)
	want := Holder{PID: 7, Start: 9, RunID: "a-rather-long-name-of-a-run", Since: since, Host: "h"}
	l, err := Acquire(t.Context(), path, want)
	if err != nil {
		t.Fatal(err)
	}
	check := func(want Holder) {
		t.Helper()
		got, held, err := Peek(path)
		if err != nil || !held {
			t.Errorf("held = %v, %v", held, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check(want)
	if got, want := strings.TrimSpace(read(t, path)), toJSON(want); got != want {
		t.Errorf("file = %s, want %s", got, want)
	}
	if err := l.Update(Holder{RunID: "b"}); err != nil {
		t.Fatal(err)
	}
	want.RunID = "b"
	check(want)
	for range 2 {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	if err := l.Update(Holder{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Update after Release = %v", err)
	}
}

func TestPeekCreatesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	if h, held, err := Peek(path); err != nil || held || h != (Holder{}) {
		t.Errorf("Peek = %v, %v, %v", h, held, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file exists: %v", err)
	}
	write(t, path, "no JSON", 0o600)
	if h, held, err := Peek(path); err != nil || held || h != (Holder{}) {
		t.Errorf("Peek at garbage = %v, %v, %v", h, held, err)
	}
}

// People look at the status all the time; that must not refuse a start. Here the
// look is still going on at the first try and over at the second.
func TestPeekDoesNotDisturb(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	look := flock.New(path)
	if ok, err := look.TryRLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	asked := 0
	ctx := askedContext{Context: expired(t), asked: func() {
		if asked++; asked == 2 {
			_ = look.Unlock()
		}
	}}
	l, err := Acquire(ctx, path, Holder{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// askedContext tells when Acquire asks whether it may go on, which is before its
// first try and after each.
type askedContext struct {
	context.Context
	asked func()
}

func (c askedContext) Err() error {
	c.asked()
	return c.Context.Err()
}

func TestLockExcludes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var inside, most atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				l, err := Acquire(t.Context(), path, Holder{})
				if err != nil {
					t.Error(err)
					return
				}
				most.Store(max(most.Load(), inside.Add(1)))
				inside.Add(-1)
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() != 1 {
		t.Errorf("%d held it at once", most.Load())
	}
}

// Somebody deletes the file under a holder. The next one gets a new file; the first
// must not write into it.
func TestLockFileDeletedByOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Acquire(t.Context(), path, Holder{RunID: "first"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := Acquire(t.Context(), path, Holder{RunID: "second"})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Update(Holder{RunID: "wrong"}); err == nil {
		t.Error("Update wrote into another's file")
	}
	if err := first.Release(); err != nil {
		t.Error(err)
	}
	if h, held, err := Peek(path); err != nil || !held || h.RunID != "second" {
		t.Errorf("Peek = %v, %v, %v", h, held, err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
}

func TestAcquireErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Acquire(t.Context(), dir, Holder{}); !errors.Is(err, syscall.EISDIR) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a folder as lock: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(dir, "lock")
	if _, err := Acquire(ctx, path, Holder{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}

func TestHolderString(t *testing.T) {
	t.Parallel()
	tests := []struct {
		h    Holder
		want string
	}{
		{Holder{}, "another process"},
		{Holder{PID: 4}, "pid 4"},
		{Holder{PID: 4, Host: "h", RunID: "r", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, "pid 4 on h, run r, since 2026-01-02T03:04:05Z"},
	}
	for _, tt := range tests {
		if got := tt.h.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
