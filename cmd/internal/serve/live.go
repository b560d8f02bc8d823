package serve

import (
	"context"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/supervisor/fleet"
)

// mostPast is how many ended runs are looked for.
const mostPast = 300

// Live is the board of this machine.
type Live struct {
	Root    string // state root, absolute
	Environ []string

	cache board.Cache
}

func (l *Live) options() board.Options {
	return board.Options{Root: l.Root, Environ: l.Environ, Now: time.Now(), Peers: fleet.Sessions, Past: mostPast, Cache: &l.cache}
}

// Look is what is on, and what was.
func (l *Live) Look(ctx context.Context) board.Overview { return board.Look(ctx, l.options()) }

// Find is one run in full.
func (l *Live) Find(ctx context.Context, ref board.Ref) (board.Run, error) {
	return board.Find(ctx, l.options(), ref)
}

// Tail is what happened in a run behind a place.
func (l *Live) Tail(r board.Run, at board.Cursor) ([]board.Event, board.Cursor, error) {
	return board.Tail(l.options(), r, at)
}
