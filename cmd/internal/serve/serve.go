package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/serve/guard"
	"autopilot/cmd/internal/serve/stream"
)

// Board finds what the page shows.
type Board interface {
	// Look is what is on, and what was.
	Look(ctx context.Context) board.Overview
	// Find is one run in full; fs.ErrNotExist for one that is not there.
	Find(ctx context.Context, ref board.Ref) (board.Run, error)
	// Tail is what happened in a run behind a place, and the place behind that.
	Tail(r board.Run, at board.Cursor) ([]board.Event, board.Cursor, error)
}

// Actor does what a person asks for. It returns what is to be told of it; its errors are
// shown, with their way out.
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

// Limits of a server. Zero values of [Options] mean these.
const (
	Every   = time.Second      // between two looks while somebody listens
	Beat    = 15 * time.Second // between two signs of life on a stream
	Clients = 32               // that listen at once
)

const (
	readHeader = 5 * time.Second
	readAll    = 15 * time.Second
	writeAll   = 60 * time.Second
	idle       = 90 * time.Second
	maxHeader  = 16 << 10
	ending     = 5 * time.Second
	acting     = time.Minute
)

// Parts are what a server has from others.
type Parts struct {
	Actor Actor // nil for a page that only shows
	// Report writes the report of a run as a page of its own; nil when there is none.
	Report func(ctx context.Context, ref board.Ref, w io.Writer) error
	// Metrics answers at /metrics, to who has the token; nil when there are none.
	Metrics http.Handler
}

// Options say what a server serves.
type Options struct {
	Parts

	Board Board
	// Token lets in; empty for a listener that only its owner can reach.
	Token string
	// Inside names the run that a process belongs to, and is empty when it belongs to none;
	// nil asks for none. What such a process wants done is refused.
	Inside func(ctx context.Context, pid int) string
	// Hidden reports whether a process of a run may be one that cannot be looked into; nil
	// takes that for granted.
	Hidden func(ctx context.Context) bool
	Log    *slog.Logger // of what was done; nil for none

	Every, Beat time.Duration
	Clients     int
}

// Server answers requests. It may be used by many at once.
type Server struct {
	o     Options
	guard *guard.Guard
	looks looks
	seats stream.Seats

	mu    sync.Mutex
	done  chan struct{} // closed when streams have to end
	ended bool
}

// NewToken returns a token that nobody guesses.
func NewToken() string { return guard.NewToken() }

// New returns a server that does not listen yet.
func New(o Options) *Server {
	if o.Every <= 0 {
		o.Every = Every
	}
	if o.Beat <= 0 {
		o.Beat = Beat
	}
	if o.Clients <= 0 {
		o.Clients = Clients
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, seats: make(stream.Seats, o.Clients), done: make(chan struct{}), looks: looks{board: o.Board, fresh: o.Every * 9 / 10}}
	s.guard = guard.New(guard.Options{Token: o.Token, Pages: pages{}})
	return s
}

// Handler answers requests that come over any listener.
func (s *Server) Handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", s.overview)
	m.HandleFunc("GET /projects/{project}", s.project)
	m.HandleFunc("GET /runs/{project}/{run}", s.run)
	m.HandleFunc("GET /runs/{project}/{run}/report", s.report)
	m.HandleFunc("GET /runs/{project}/{run}/stop", s.askStop)
	m.HandleFunc("POST /runs/{project}/{run}/stop", s.stop)
	m.HandleFunc("POST /runs/{project}/{run}/decide", s.decide)
	m.HandleFunc("POST /runs/{project}/{run}/answer", s.answer)
	m.HandleFunc("POST /projects/{project}/decide", s.decide)
	m.HandleFunc("POST /logout", s.guard.Logout)
	m.HandleFunc("GET /static/{name}", s.static)
	m.HandleFunc("GET "+guard.StylePath, s.static)
	m.HandleFunc("GET /api/overview.json", s.overviewJSON)
	m.HandleFunc("GET /api/run.json", s.runJSON)
	m.HandleFunc("GET /api/events", s.events)
	if s.o.Metrics != nil {
		m.Handle("GET /metrics", s.o.Metrics)
	}
	return s.guard.Wrap(unknown(m))
}

// Run answers what comes over a listener until the context ends. Streams end then, and
// what is being answered gets a few seconds. It closes the listener.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: readHeader, ReadTimeout: readAll, WriteTimeout: writeAll, IdleTimeout: idle, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug), ConnContext: withConn,
		// What a person asked for is not broken off half-way.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	var wg sync.WaitGroup
	var failed error
	stopped := make(chan struct{})
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-stopped:
			return
		}
		s.endStreams()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
		defer cancel()
		if err := srv.Shutdown(late); err != nil {
			failed = srv.Close()
		}
	})
	err := srv.Serve(l)
	close(stopped)
	wg.Wait()
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return failed
}

func (s *Server) endStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		close(s.done)
	}
}

// unknown answers with words where the multiplexer would with a bare line.
func unknown(m *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := m.Handler(r)
		if pattern != "" {
			m.ServeHTTP(w, r)
			return
		}
		probe := &statusOnly{header: http.Header{}}
		h.ServeHTTP(probe, r)
		if probe.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", probe.header.Get("Allow"))
			refuse(w, r, probe.status, "This is not done with "+r.Method+".")
			return
		}
		refuse(w, r, http.StatusNotFound, "There is nothing here.")
	})
}

// statusOnly takes the status of an answer and drops the rest.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
