package watch

import (
	"context"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"autopilot/cmd/internal/board"
)

const (
	every     = time.Second // between two looks
	framesMax = 10          // a second
)

// Board says what there is to see.
type Board interface {
	// Look is what is on, and what was.
	Look(ctx context.Context) board.Overview
	// Find is one run in full.
	Find(ctx context.Context, ref board.Ref) (board.Run, error)
	// Tail is what happened in a run behind a place, and the place behind that.
	Tail(r board.Run, at board.Cursor) ([]board.Event, board.Cursor, error)
}

// Actor does what a person asks for, and returns what there is to say about it. Its errors
// are shown, with their way out.
type Actor interface {
	// Stop ends a run after its session, or at once.
	Stop(ctx context.Context, ref board.Ref, now bool) (string, error)
	// Approve lets a held call through, once.
	Approve(ctx context.Context, ref board.Ref, id string) (string, error)
	// Deny refuses a held call, with a reason that may be empty.
	Deny(ctx context.Context, ref board.Ref, id, because string) (string, error)
	// Answer answers the question of a run, or of a story of it, and goes on with it.
	Answer(ctx context.Context, ref board.Ref, story, text string) (string, error)
}

// Options say what is shown, and where.
type Options struct {
	Board Board
	Actor Actor  // nil for a view that only shows
	Repo  string // work tree whose run is shown first; may be empty
	Home  string // shown as ~ in paths
	Zone  *time.Location
	Color bool
	ASCII bool // no characters beyond it are drawn, but those of texts

	In      io.Reader
	Out     io.Writer
	Environ []string
}

// Run shows the view until the person leaves it or ctx ends, also by a signal, which is the
// caller's to catch. It returns the run that was shown last, the zero Ref for none. The error
// is for a terminal that cannot be used.
func Run(ctx context.Context, o Options) (board.Ref, error) {
	p := tea.NewProgram(
		newModel(ctx, o), tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Environ), tea.WithFPS(framesMax),
		tea.WithoutSignalHandler(), // it waits for ever when ctx ends by the same signal
	)
	last, err := p.Run()
	m, ok := last.(model)
	if ctx.Err() != nil || ok && m.left {
		err = nil
	}
	return m.ref, err
}
