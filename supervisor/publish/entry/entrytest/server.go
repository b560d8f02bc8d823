package entrytest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Me and Person are the accounts at the stand-in.
const (
	Me     = 4242
	Person = 77
)

// Comment is one comment.
type Comment struct {
	ID     int
	Author int
	Text   string
}

// Issue is what a stand-in keeps of one issue, the oldest comment first.
type Issue struct {
	mu       sync.Mutex
	comments []Comment
	last     int
}

// All returns the comments.
func (i *Issue) All() []Comment {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.comments)
}

// By returns the comments of an account.
func (i *Issue) By(author int) []Comment {
	return slices.DeleteFunc(i.All(), func(c Comment) bool { return c.Author != author })
}

// Add makes a comment.
func (i *Issue) Add(author int, text string) Comment {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last++
	c := Comment{ID: 1000 + i.last, Author: author, Text: text}
	i.comments = append(i.comments, c)
	return c
}

// Find returns the comment with an id.
func (i *Issue) Find(id string) (Comment, bool) {
	for _, c := range i.All() {
		if fmt.Sprint(c.ID) == id {
			return c, true
		}
	}
	return Comment{}, false
}

// Edit replaces the text of a comment.
func (i *Issue) Edit(id, text string) (Comment, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := range i.comments {
		if fmt.Sprint(i.comments[n].ID) == id {
			i.comments[n].Text = text
			return i.comments[n], true
		}
	}
	return Comment{}, false
}

// Remove removes the comments of an account.
func (i *Issue) Remove(author int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.comments = slices.DeleteFunc(i.comments, func(c Comment) bool { return c.Author == author })
}

// Request is one that came.
type Request struct {
	Method, URL, Body string
	Header            http.Header
}

// Writes reports whether it changes something.
func (r Request) Writes() bool { return r.Method != http.MethodGet && r.Method != http.MethodOptions }

// Server is a stand-in for a service with what may go wrong on the way.
type Server struct {
	URL   string
	Issue *Issue

	mu       sync.Mutex
	requests []Request
	instead  func(w http.ResponseWriter, r *http.Request) bool
	lose     func(r *http.Request) bool
}

// Instead sets what answers in place of the service, where it returns true; nil for nothing.
func (s *Server) Instead(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instead = f
}

// Lose sets which requests the service carries out, to then drop the connection.
func (s *Server) Lose(f func(r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose = f
}

// Requests returns those that came since the last call.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.requests
	s.requests = nil
	return all
}

func (s *Server) note(r *http.Request, body string) (instead func(http.ResponseWriter, *http.Request) bool, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{Method: r.Method, URL: s.URL + r.URL.RequestURI(), Body: body, Header: r.Header.Clone()})
	return s.instead, s.lose != nil && s.lose(r)
}

// Serve starts a stand-in.
func Serve(t *testing.T, service func(t *testing.T, i *Issue) http.Handler) *Server {
	t.Helper()
	s := &Server{Issue: &Issue{}}
	handler := service(t, s.Issue)
	started := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-started
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(data)))
		instead, lost := s.note(r, string(data))
		if instead != nil && instead(w, r) {
			return
		}
		if lost {
			handler.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	s.URL = srv.URL
	close(started)
	t.Cleanup(srv.Close)
	return s
}
