package serve

import (
	"context"
	"sync"
	"time"

	"autopilot/cmd/internal/board"
)

const (
	lookTime = 20 * time.Second
	maxLooks = 64 // runs that are remembered
)

// looks shares one look among all who want it within a moment: twenty open pages read the
// files of a run once.
type looks struct {
	board Board
	fresh time.Duration

	overview look[board.Overview]
	mu       sync.Mutex
	runs     map[board.Ref]*look[board.Run]
}

// look is a value with the time at which it was true.
type look[T any] struct {
	mu    sync.Mutex
	at    time.Time
	value T
	err   error
}

// get returns the value, looked up anew when it is older than so long. Who asks and goes
// away does not break it off for the others.
func (l *look[T]) get(ctx context.Context, fresh time.Duration, find func(context.Context) (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.IsZero() && time.Since(l.at) < fresh {
		return l.value, l.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	l.value, l.err = find(ctx)
	l.at = time.Now()
	return l.value, l.err
}

func (l *look[T]) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
}

func (l *looks) look(ctx context.Context) board.Overview {
	o, _ := l.overview.get(ctx, l.fresh, func(ctx context.Context) (board.Overview, error) { return l.board.Look(ctx), nil })
	return o
}

func (l *looks) find(ctx context.Context, ref board.Ref) (board.Run, error) {
	l.mu.Lock()
	if l.runs == nil || len(l.runs) >= maxLooks && l.runs[ref] == nil {
		l.runs = map[board.Ref]*look[board.Run]{}
	}
	one := l.runs[ref]
	if one == nil {
		one = &look[board.Run]{}
		l.runs[ref] = one
	}
	l.mu.Unlock()
	return one.get(ctx, l.fresh, func(ctx context.Context) (board.Run, error) { return l.board.Find(ctx, ref) })
}

// forget makes the next look a new one: something was done.
func (l *looks) forget(ref board.Ref) {
	l.overview.forget()
	l.mu.Lock()
	one := l.runs[ref]
	l.mu.Unlock()
	if one != nil {
		one.forget()
	}
}
