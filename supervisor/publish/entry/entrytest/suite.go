package entrytest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/publish"
)

// Token is what the senders under test are made with.
const Token = "tok-a1b2c3d4e5f6g7h8"

// Service is one implementation.
type Service struct {
	Name publish.Service
	// New makes a sender for the issue of a stand-in.
	New func(t *testing.T, base string) publish.Sender
	// Handler is the stand-in. It fails the test at a request the service does not know.
	Handler func(t *testing.T, i *Issue) http.Handler
	// WhoAmI reports whether a request asks whose the token is; Lists, for comments.
	WhoAmI, Lists func(r *http.Request) bool
	// First is how many requests the first update takes.
	First int
	Limit int // of a text, in UTF-16 units
	// Text takes the text out of the body of a request.
	Text func(body string) string
}

// Update is an update of one subject.
func Update(percent int) publish.Update {
	return publish.Update{
		Subject: "run/a--b_c.1", RunID: "r-1", Title: "Parser <b>*x*</b>", Body: "## Done\n\n- one `f(x)`\n- two\n\n```\ncode <x> && y\n```\n",
		State: publish.Running, Percent: percent, At: time.Date(2026, 8, 1, 10, percent%60, 0, 0, time.UTC),
	}
}

// Run checks all a sender promises.
func Run(t *testing.T, s Service) {
	cases := map[string]func(*testing.T, Service, *Server){
		"first": first, "edits": edits, "again": again, "lost": lost, "paging": paging, "quoted": quoted,
		"removed": removed, "late": late, "nobody": nobody, "stalled": stalled, "secrets": secrets,
		"elsewhere": elsewhere, "statuses": statuses, "long": long, "final": final, "parallel": parallel,
		"garbled": garbled, "projects": projects,
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, s, Serve(t, s.Handler))
		})
	}
}

func send(t *testing.T, to publish.Sender, key string, u publish.Update) publish.Receipt {
	t.Helper()
	r, err := to.Send(t.Context(), key, u)
	if err != nil {
		t.Fatalf("Send %s: %v", key, err)
	}
	return r
}

func refused(t *testing.T, to publish.Sender, key string, u publish.Update) *publish.SendError {
	t.Helper()
	r, err := to.Send(t.Context(), key, u)
	e, ok := errors.AsType[*publish.SendError](err)
	if !ok {
		t.Fatalf("Send %s = %+v, %v, want a SendError", key, r, err)
	}
	return e
}

func first(t *testing.T, s Service, srv *Server) {
	to := s.New(t, srv.URL)
	preview := to.Preview("k1", Update(40))
	if n := len(srv.Requests()); n != 0 {
		t.Errorf("New and Preview made %d requests, want none", n)
	}
	r := send(t, to, "k1", Update(40))
	mine := srv.Issue.By(Me)
	if len(mine) != 1 {
		t.Fatalf("%d comments, want 1", len(mine))
	}
	if r.Again || r.ID != fmt.Sprint(mine[0].ID) || !strings.Contains(r.URL, r.ID) {
		t.Errorf("receipt = %+v, want the one of comment %d", r, mine[0].ID)
	}
	for _, piece := range []string{"Parser", "running", "40 %", "2026-08-01 10:40 UTC", "r-1", "Done", "one", "f(x)"} {
		if !strings.Contains(strings.ReplaceAll(mine[0].Text, `\`, ""), piece) {
			t.Errorf("comment has no %q:\n%s", piece, mine[0].Text)
		}
	}
	all := srv.Requests()
	if len(all) != s.First {
		t.Errorf("the first update took %d requests, want %d: %v", len(all), s.First, all)
	}
	post := all[len(all)-1]
	head, body, _ := strings.Cut(preview, "\n\n")
	if want := post.Method + " " + post.URL; head != want {
		t.Errorf("preview says %q, sent was %q", head, want)
	}
	if diff := cmp.Diff(decode(t, post.Body), decode(t, body)); diff != "" {
		t.Errorf("preview and what was sent differ (-sent +preview):\n%s", diff)
	}
}

func decode(t *testing.T, s string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatalf("body %q: %v", s, err)
	}
	return v
}

func edits(t *testing.T, s Service, srv *Server) {
	to := s.New(t, srv.URL)
	a := send(t, to, "k1", Update(40))
	other := Update(10)
	other.Subject = "run/other"
	send(t, to, "k9", other)
	srv.Requests()
	b := send(t, to, "k2", Update(50))
	if n := len(srv.Requests()); n != 2 {
		t.Errorf("a later update took %d requests, want 2", n)
	}
	c := send(t, s.New(t, srv.URL), "k3", Update(55)) // another process
	if a.ID != b.ID || b.ID != c.ID || b.Again || c.Again || b.URL == "" {
		t.Errorf("receipts %+v %+v %+v, want one comment", a, b, c)
	}
	mine := srv.Issue.By(Me)
	if len(mine) != 2 || !strings.Contains(mine[0].Text, "55 %") || strings.Contains(mine[0].Text, "40 %") || !strings.Contains(mine[1].Text, "10 %") {
		t.Errorf("comments: %v, want one of 55 %% and the other's of 10 %%", mine)
	}
}

// projects: two of them with a subject of the same name do not edit each other's comment.
func projects(t *testing.T, s Service, srv *Server) {
	u, other := Update(40), Update(50)
	u.Project, other.Project = "1a", "2b"
	a, b := send(t, s.New(t, srv.URL), "k1", u), send(t, s.New(t, srv.URL), "k2", other)
	u = Update(55)
	u.Project = "1a"
	c := send(t, s.New(t, srv.URL), "k3", u)
	if a.ID == b.ID || a.ID != c.ID || c.Again || len(srv.Issue.By(Me)) != 2 {
		t.Errorf("receipts %+v %+v %+v, want a comment for each project", a, b, c)
	}
}

func again(t *testing.T, s Service, srv *Server) {
	to := s.New(t, srv.URL)
	a := send(t, to, "k1", Update(40))
	srv.Requests()
	for _, from := range []publish.Sender{to, s.New(t, srv.URL)} {
		b := send(t, from, "k1", Update(40))
		if !b.Again || b.ID != a.ID || b.URL != a.URL {
			t.Errorf("receipt = %+v, want %+v again", b, a)
		}
	}
	for _, r := range srv.Requests() {
		if r.Writes() {
			t.Errorf("%s %s for an update that was there", r.Method, r.URL)
		}
	}
}

func lost(t *testing.T, s Service, srv *Server) {
	to := s.New(t, srv.URL)
	srv.Lose(func(r *http.Request) bool { return Request{Method: r.Method}.Writes() })
	if e := refused(t, to, "k1", Update(40)); e.Permanent || e.Status != 0 {
		t.Errorf("lost answer = %+v, want one without status to be sent again", e)
	}
	srv.Lose(nil)
	if n := len(srv.Issue.All()); n != 1 {
		t.Fatalf("%d comments at the service, want the one whose answer was lost", n)
	}
	for _, from := range []publish.Sender{to, s.New(t, srv.URL)} {
		if r := send(t, from, "k1", Update(40)); !r.Again {
			t.Errorf("receipt = %+v, want Again", r)
		}
	}
	srv.Lose(func(r *http.Request) bool { return Request{Method: r.Method}.Writes() })
	refused(t, to, "k2", Update(50))
	srv.Lose(nil)
	if r := send(t, to, "k2", Update(50)); !r.Again {
		t.Errorf("receipt of the edit = %+v, want Again", r)
	}
	if n := len(srv.Issue.All()); n != 1 {
		t.Errorf("%d comments, want 1", n)
	}
}

func paging(t *testing.T, s Service, srv *Server) {
	for _, before := range []int{0, 250, 500} {
		srv.Issue.Remove(Me)
		srv.Issue.Remove(Person)
		for range before {
			srv.Issue.Add(Person, "hello")
		}
		a := send(t, s.New(t, srv.URL), "k1", Update(1))
		for range 500 - before {
			srv.Issue.Add(Person, "hello")
		}
		b := send(t, s.New(t, srv.URL), "k2", Update(2))
		if a.ID != b.ID || len(srv.Issue.All()) != 501 {
			t.Errorf("after %d comments: %+v, then %+v, %d comments, want one edited of 501", before, a, b, len(srv.Issue.All()))
		}
	}
}

func quoted(t *testing.T, s Service, srv *Server) {
	a := send(t, s.New(t, srv.URL), "k1", Update(40))
	text := srv.Issue.By(Me)[0].Text
	copied := srv.Issue.Add(Person, text)
	within := srv.Issue.Add(Person, "> "+strings.ReplaceAll(text, "\n", "\n> ")+"\n\nwhat is this?")
	b := send(t, s.New(t, srv.URL), "k2", Update(50))
	if b.ID != a.ID || b.Again {
		t.Errorf("receipt = %+v, want comment %s edited", b, a.ID)
	}
	srv.Issue.Remove(Me)
	c := send(t, s.New(t, srv.URL), "k1", Update(40)) // the very key stands in the copy
	if c.Again || len(srv.Issue.By(Me)) != 1 {
		t.Errorf("receipt = %+v, %d own comments, want a new one", c, len(srv.Issue.By(Me)))
	}
	if diff := cmp.Diff([]Comment{copied, within}, srv.Issue.By(Person)); diff != "" {
		t.Errorf("comments of the person (-want +got):\n%s", diff)
	}
	// An own comment that only mentions the mark is no entry either.
	srv.Issue.Remove(Me)
	srv.Issue.Add(Me, "see: "+text+"\nmore")
	if d := send(t, s.New(t, srv.URL), "k1", Update(40)); d.Again || len(srv.Issue.By(Me)) != 2 {
		t.Errorf("receipt = %+v, want a comment beside the one that quotes", d)
	}
}

func removed(t *testing.T, s Service, srv *Server) {
	to := s.New(t, srv.URL)
	a := send(t, to, "k1", Update(40))
	srv.Issue.Remove(Me)
	b := send(t, to, "k2", Update(50))
	if b.ID == a.ID || b.Again || len(srv.Issue.By(Me)) != 1 {
		t.Errorf("receipt = %+v, want a new comment in place of the removed %s", b, a.ID)
	}
	// Removed between the look and the edit.
	srv.Instead(func(_ http.ResponseWriter, r *http.Request) bool {
		if (Request{Method: r.Method}).Writes() {
			srv.Issue.Remove(Me)
			srv.Instead(nil)
		}
		return false
	})
	if c := send(t, to, "k3", Update(55)); c.ID == b.ID || len(srv.Issue.By(Me)) != 1 {
		t.Errorf("receipt = %+v, %d comments, want a new one", c, len(srv.Issue.By(Me)))
	}
}

func late(t *testing.T, s Service, srv *Server) {
	to := s.New(t, srv.URL)
	send(t, to, "k2", Update(50))
	if r := send(t, to, "k1", Update(40)); !r.Again {
		t.Errorf("receipt of an older update = %+v, want Again", r)
	}
	if text := srv.Issue.By(Me)[0].Text; !strings.Contains(text, "50 %") {
		t.Errorf("an older update took the place of a newer one: %s", text)
	}
}

// nobody: the service does not say whose the token is.
func nobody(t *testing.T, s Service, srv *Server) {
	srv.Instead(func(w http.ResponseWriter, r *http.Request) bool {
		if s.WhoAmI(r) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"message":"Resource not accessible by integration"}`)
			return true
		}
		return false
	})
	to := s.New(t, srv.URL)
	a := send(t, to, "k1", Update(40))
	b := send(t, to, "k2", Update(50))
	if a.ID != b.ID {
		t.Errorf("%+v, then %+v: the sender did not edit the comment it has made", a, b)
	}
	if r := send(t, s.New(t, srv.URL), "k2", Update(50)); !r.Again {
		t.Errorf("receipt = %+v, want Again for the very key", r)
	}
	c := send(t, s.New(t, srv.URL), "k3", Update(55))
	mine := srv.Issue.By(Me)
	if c.ID == a.ID || len(mine) != 2 || !strings.Contains(mine[0].Text, "50 %") {
		t.Errorf("receipt = %+v, comments %v: a comment of unknown origin was edited", c, mine)
	}
}

func stalled(t *testing.T, s Service, srv *Server) {
	over := make(chan struct{})
	defer close(over)
	srv.Instead(func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-over:
		case <-r.Context().Done():
		}
		return true
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.New(t, srv.URL).Send(ctx, "k1", Update(40))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Send to a stalled service: %v, want the deadline", err)
	}
	if e, ok := errors.AsType[*publish.SendError](err); ok && (e.Permanent || e.Status != 0) {
		t.Errorf("%+v, want neither status nor Permanent", e)
	}
}

func secrets(t *testing.T, s Service, srv *Server) {
	u := Update(40)
	u.Title, u.Body = strings.Repeat("x", 190)+Token, "token "+Token+"\x00\x1b[31m\u202e."
	to := s.New(t, srv.URL)
	hidden := []string{Token, Token[:12], base64.StdEncoding.EncodeToString([]byte(":" + Token))}
	look := func(what, text string) {
		t.Helper()
		for _, h := range append(hidden, "\x1b", "\u202e") {
			if strings.Contains(text, h) {
				t.Errorf("%s has %q in it: %s", what, h, text)
			}
		}
	}
	look("preview", to.Preview("k1", u))
	for _, status := range []int{400, 401, 403, 404, 429, 500} {
		for _, kind := range []string{"application/json", "text/plain", "text/html"} {
			srv.Instead(func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Content-Type", kind)
				w.WriteHeader(status)
				says := fmt.Sprintf("%s %s with %s", r.Header.Get("Authorization"), Token, r.URL)
				fmt.Fprintf(w, `{"message":%q,"errorMessages":[%q]}`, says, says)
				return true
			})
			look(fmt.Sprintf("error %d %s", status, kind), refused(t, s.New(t, srv.URL), "k1", u).Error())
		}
	}
	srv.Instead(nil)
	send(t, to, "k1", u)
	look("comment", srv.Issue.By(Me)[0].Text)
}

// elsewhere: the service sends to another host.
func elsewhere(t *testing.T, s Service, srv *Server) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host was asked: %s %s, Authorization %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 307, 308} {
		srv.Instead(func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other.URL+r.URL.Path, status)
			return true
		})
		if e := refused(t, s.New(t, srv.URL), "k1", Update(40)); !e.Permanent || e.Status != status {
			t.Errorf("redirect %d: %+v, want it permanent", status, e)
		}
	}
}

func statuses(t *testing.T, s Service, srv *Server) {
	at := time.Now().Add(15 * time.Minute).Truncate(time.Second)
	for _, c := range []struct {
		status    int
		header    map[string]string
		permanent bool
		wait      time.Duration
	}{
		{status: 401, permanent: true},
		{status: 403, permanent: true},
		{status: 404, permanent: true},
		{status: 410, permanent: true},
		{status: 422, permanent: true},
		{status: 403, header: map[string]string{"Retry-After": "120"}, wait: 2 * time.Minute},
		{status: 429, header: map[string]string{"Retry-After": "120"}, wait: 2 * time.Minute},
		{status: 429, header: map[string]string{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(at.Unix())}, wait: 15 * time.Minute},
		{status: 429},
		{status: 500},
		{status: 502},
		{status: 503, header: map[string]string{"Retry-After": "30"}, wait: 30 * time.Second},
	} {
		for name, where := range map[string]func(*http.Request) bool{
			"list": s.Lists, "write": func(r *http.Request) bool { return Request{Method: r.Method}.Writes() },
		} {
			srv.Instead(func(w http.ResponseWriter, r *http.Request) bool {
				if !where(r) {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
				fmt.Fprint(w, `{"message":"it is so","errorMessages":["it is so"]}`)
				return true
			})
			before := time.Now()
			e := refused(t, s.New(t, srv.URL), "k1", Update(40))
			if e.Service != s.Name || e.Status != c.status || e.Permanent != c.permanent || !strings.Contains(e.Error(), "it is so") {
				t.Errorf("%s %d %v: %+v (%v)", name, c.status, c.header, e, e)
			}
			early, later := before.Add(c.wait-2*time.Second), time.Now().Add(c.wait+2*time.Second)
			if c.wait == 0 && !e.RetryAt.IsZero() || c.wait > 0 && (e.RetryAt.Before(early) || e.RetryAt.After(later)) {
				t.Errorf("%s %d %v: retry at %v, want %v from now", name, c.status, c.header, e.RetryAt, c.wait)
			}
		}
	}
	if n := len(srv.Issue.All()); n != 0 {
		t.Errorf("%d comments, want none", n)
	}
}

func long(t *testing.T, s Service, srv *Server) {
	to := s.New(t, srv.URL)
	for i, piece := range []string{"word <&> *x* ", "\U0001f600", "```\n", "| a | b |\n", "- [x](https://example.com/a?b=c)\n"} {
		u := Update(i + 1)
		u.Body = strings.Repeat(piece, 2*s.Limit/len(piece))
		send(t, to, fmt.Sprint("k", i), u)
		mine := srv.Issue.By(Me)
		if len(mine) != 1 {
			t.Fatalf("%d comments after %q, want 1: the mark was not found again", len(mine), piece)
		}
		units := 0
		for _, c := range mine[0].Text {
			units++
			if c > 0xffff {
				units++
			}
		}
		if units > s.Limit || units < s.Limit/2 {
			t.Errorf("a body of %q became %d units, want at most %d", piece, units, s.Limit)
		}
	}
}

func final(t *testing.T, s Service, srv *Server) {
	to := s.New(t, srv.URL)
	send(t, to, "k1", Update(40))
	srv.Requests()
	u := Update(59)
	u.Percent, u.State, u.Final = 100, publish.Done, true
	send(t, to, "k2", u)
	n := 0
	for _, r := range srv.Requests() {
		if r.Writes() {
			n++
			if text := s.Text(r.Body); !strings.Contains(text, "done") || !strings.Contains(text, "100 %") {
				t.Errorf("last update says %s", text)
			}
			if len(decode(t, r.Body)) != 1 {
				t.Errorf("last update sets more than a text: %s", r.Body)
			}
		}
	}
	if n != 1 {
		t.Errorf("the last update wrote %d times, want once", n)
	}
}

func parallel(t *testing.T, s Service, srv *Server) {
	to := s.New(t, srv.URL)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			u := Update(i + 1)
			u.Subject = fmt.Sprint("s", i%2)
			if _, err := to.Send(t.Context(), fmt.Sprint("k", i), u); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(srv.Issue.All()); n != 2 {
		t.Errorf("%d comments of two subjects, want 2", n)
	}
}

// garbled: answers that are no answers end in an error, not in a second comment.
func garbled(t *testing.T, s Service, _ *Server) {
	for _, body := range []string{"<html>sign in</html>", "null", "{", "[]", `{"value":[{}],"count":1}`, "[null]", ""} {
		srv := Serve(t, s.Handler) // one each, for what a client remembers
		srv.Instead(func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
			return true
		})
		r, err := s.New(t, srv.URL).Send(t.Context(), "k1", Update(40))
		if e, ok := errors.AsType[*publish.SendError](err); !ok || e.Permanent || e.Status != 0 {
			t.Errorf("answer %q: %+v, %v, want an error that passes", body, r, err)
		}
	}
}
