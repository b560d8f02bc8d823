package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"autopilot/sessions/completion"
)

// lastAnswers is how long calls may go on after the end of input.
const lastAnswers = 5 * time.Second

// Options say what is served.
type Options struct {
	Desk    completion.Desk
	Version string // told to clients
	// Supervised leaves out the tools with which an agent could let itself go or move
	// its own limits: a supervisor decides on those.
	Supervised bool
	// Tools are further ones. One with the name of a tool of this package takes its
	// place.
	Tools []Tool
	// Instructions are told to clients behind those of this package: what the further
	// tools are for.
	Instructions string
	Log          *slog.Logger // for input that is no message; nil for none. It must not write to the output.
}

// Serve answers one client until its input ends or ctx ends, and returns nil in
// both cases. It owns and closes in and out. An error is a broken output, a broken
// input or an overlong line. When ctx ends while in cannot be interrupted, as is
// usual for a pipe on standard input, one goroutine stays behind in that read.
func Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, o Options) error {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return serve(ctx, newTransport(in, out, log), New(o))
}

func serve(ctx context.Context, t mcp.Transport, s *mcp.Server) error {
	s.AddReceivingMiddleware(until(ctx))
	err := s.Run(ctx, t)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serve mcp: %w", err)
}

// until ends calls when stop ends: the library only waits for them.
func until(stop context.Context) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(stop, func() { cancel(context.Cause(stop)) })()
			return next(ctx, method, req)
		}
	}
}

// transport is the library's transport for standard input and output, behind a
// sieve, and with an end that leaves time for the last answers.
type transport struct {
	mcp.IOTransport
}

func newTransport(in io.ReadCloser, out io.WriteCloser, log *slog.Logger) *transport {
	w := &lineWriter{WriteCloser: out}
	return &transport{mcp.IOTransport{
		Reader: newSieve(in, w, log), Writer: w,
		MaxLineLength: -1, // the sieve has the limit
	}}
}

// Connect implements mcp.Transport.
func (t *transport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.IOTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{Connection: c, closed: make(chan struct{})}, nil
}

// connection holds the end of input back while calls are being answered: the
// library drops the answers of calls that are running when the input ends, as they
// are when somebody pipes a few requests in.
type connection struct {
	mcp.Connection
	once   sync.Once
	closed chan struct{}

	mu   sync.Mutex
	open int           // calls without an answer
	idle chan struct{} // closed when open gets 0; nil before the end of input
}

// Read implements mcp.Connection.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if req, ok := msg.(*jsonrpc.Request); ok && err == nil && req.IsCall() {
		c.mu.Lock()
		c.open++
		c.mu.Unlock()
	}
	if errors.Is(err, io.EOF) {
		c.drain()
	}
	return msg, err
}

func (c *connection) drain() {
	c.mu.Lock()
	if c.open == 0 {
		c.mu.Unlock()
		return
	}
	c.idle = make(chan struct{})
	c.mu.Unlock()
	timer := time.NewTimer(lastAnswers)
	defer timer.Stop()
	select {
	case <-c.idle:
	case <-c.closed:
	case <-timer.C:
	}
}

// Write implements mcp.Connection.
func (c *connection) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	if _, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		c.open--
		if c.open == 0 && c.idle != nil {
			close(c.idle)
		}
		c.mu.Unlock()
	}
	return err
}

// Close implements mcp.Connection.
func (c *connection) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

// lineWriter keeps whole messages apart that come from different goroutines.
type lineWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}
