package messagesapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// TB is the part of testing.TB that the server needs.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// Script answers one request. It must be safe for concurrent use.
type Script func(Request) Reply

// Server is a running scripted API. Its methods may be called from any goroutine.
type Server struct {
	tb     TB
	script Script
	strict bool
	http   *httptest.Server
	done   chan struct{}
	close  sync.Once

	mu       sync.Mutex
	requests []Request
	others   []string
	attempts map[attempt]int
	arrived  chan struct{} // closed and replaced at each recorded request
}

// attempt names one position of one conversation, so that repeated requests for it can be counted.
type attempt struct {
	session, agent string
	turn           int
}

// Start serves script on a free port of the loopback interface until the test ends.
func Start(tb TB, script Script) *Server {
	tb.Helper()
	return start(tb, script, false)
}

// StartStrict is Start, but a request to a path that is not part of the Messages API fails the test. The CLI's probe of
// the root with HEAD is part of it.
func StartStrict(tb TB, script Script) *Server {
	tb.Helper()
	return start(tb, script, true)
}

func start(tb TB, script Script, strict bool) *Server {
	s := &Server{
		tb:       tb,
		script:   script,
		strict:   strict,
		done:     make(chan struct{}),
		attempts: make(map[attempt]int),
		arrived:  make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.serveMessages)
	mux.HandleFunc("POST /v1/messages/count_tokens", s.serveCountTokens)
	mux.HandleFunc("/", s.serveOther)
	s.http = httptest.NewServer(mux)
	tb.Cleanup(s.Close)
	return s
}

// URL is the base address of the server, for ANTHROPIC_BASE_URL.
func (s *Server) URL() string { return s.http.URL }

// Close ends hanging replies and refuses connections from then on, as an API that is down does. It may be called more
// than once; the end of the test calls it too.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.done)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// Requests returns the requests to /v1/messages so far, in the order in which they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Others returns method and path of all other requests so far, such as "HEAD /".
func (s *Server) Others() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.others)
}

// Wait blocks until at least n requests to /v1/messages have come and returns the n-th. Its error is the context's
// cause, with the number of requests seen.
func (s *Server) Wait(ctx context.Context, n int) (Request, error) {
	for {
		s.mu.Lock()
		seen, arrived := len(s.requests), s.arrived
		if seen >= n {
			r := s.requests[n-1]
			s.mu.Unlock()
			return r, nil
		}
		s.mu.Unlock()
		select {
		case <-arrived:
		case <-ctx.Done():
			return Request{}, fmt.Errorf("wait for request %d, %d came: %w", n, seen, context.Cause(ctx))
		}
	}
}

func (s *Server) serveMessages(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(hr.Body)
	if err != nil {
		return // the client went away while it was sending
	}
	req, err := parseRequest(hr.Header, body)
	if err != nil {
		s.tb.Errorf("messages api: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req = s.record(req)
	out := &exchange{w: w, gone: hr.Context().Done(), done: s.done, req: req}
	out.send(s.script(req))
}

// record numbers the request and keeps it.
func (s *Server) record(req Request) Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := attempt{req.Session, req.Agent, req.Turn}
	s.attempts[at]++
	req.Attempt = s.attempts[at]
	req.Number = len(s.requests) + 1
	s.requests = append(s.requests, req)
	close(s.arrived)
	s.arrived = make(chan struct{})
	return req
}

// serveCountTokens answers with a quarter of the body's length, the usual rule of thumb for English text.
func (s *Server) serveCountTokens(w http.ResponseWriter, hr *http.Request) {
	n, err := io.Copy(io.Discard, hr.Body)
	if err != nil {
		return
	}
	s.note(hr)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]int64{"input_tokens": n/4 + 1})
}

func (s *Server) serveOther(w http.ResponseWriter, hr *http.Request) {
	s.note(hr)
	if s.strict && !(hr.Method == http.MethodHead && hr.URL.Path == "/") {
		s.tb.Errorf("messages api: unexpected request %s %s", hr.Method, hr.URL.Path)
	}
	w.WriteHeader(http.StatusNotFound)
}

func (s *Server) note(hr *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.others = append(s.others, hr.Method+" "+hr.URL.Path)
}
