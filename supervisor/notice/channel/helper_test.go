package channel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"autopilot/supervisor/notice"
	"autopilot/supervisor/notice/channel/shout"
)

const (
	deliverVar = "CHANNEL_TEST_DELIVER" // where all of HTTP is to go
	patience   = 60 * time.Second       // for one try on a busy machine
)

// TestMain lets the test binary be the process that sends.
func TestMain(m *testing.M) {
	host := os.Getenv(deliverVar)
	if host == "" {
		os.Exit(m.Run())
	}
	if err := shout.Serve(os.Stdin, os.Stdout, detour(host)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// detour is a transport that takes every request to one host without TLS.
type detour string

func (d detour) RoundTrip(req *http.Request) (*http.Response, error) {
	again := req.Clone(req.Context())
	again.Header.Set("X-Meant-For", req.URL.Scheme+"://"+req.URL.Host)
	again.URL.Scheme, again.URL.Host = "http", string(d)
	return (&http.Transport{DisableKeepAlives: true}).RoundTrip(again)
}

// request is what a receiver has seen.
type request struct {
	Host, Path, Body string
	Header           http.Header
	Query            url.Values
}

// receiver is a service on this machine.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	seen []request
}

// serve starts a receiver. The handler is called with the number of the request, from 1.
func serve(t *testing.T, handle func(n int, w http.ResponseWriter, r request)) *receiver {
	t.Helper()
	rec := &receiver{}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got := request{r.Header.Get("X-Meant-For"), r.URL.Path, string(data), r.Header, r.URL.Query()}
		rec.mu.Lock()
		rec.seen = append(rec.seen, got)
		n := len(rec.seen)
		rec.mu.Unlock()
		handle(n, w, got)
	}))
	t.Cleanup(rec.Server.Close)
	return rec
}

func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request{}, r.seen...)
}

func (r *receiver) host() string { return strings.TrimPrefix(r.URL, "http://") }

// good answers as the service that the request is meant for.
func good(_ int, w http.ResponseWriter, r request) {
	answers := map[string]string{
		"https://hooks.slack.com": "ok", "https://slack.com": `{"ok":true}`, "https://api.telegram.org": `{"ok":true,"result":{"message_id":1}}`,
		"https://matrix.example": `{"room_id":"!r:matrix.example","event_id":"$1","access_token":"syt_0123456789","flows":[{"type":"m.login.password"}]}`,
	}
	if s, ok := answers[r.Host]; ok {
		_, _ = io.WriteString(w, s)
		return
	}
	_, _ = io.WriteString(w, `{"id":1,"status":1}`)
}

// sender sends with all of HTTP taken to a host.
func sender(t *testing.T, host string) Sender {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Sender{Program: []string{self}, Environ: []string{deliverVar + "=" + host, "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH")}, OS: "linux", TryFor: patience, Gap: time.Millisecond}
}

func parse(t *testing.T, spec string) Channel {
	t.Helper()
	c, err := Parse(spec)
	if err != nil {
		t.Fatalf("Parse(%q): %v", spec, err)
	}
	return c
}

// failure is the error of a call as what it has to be.
func failure(t *testing.T, err error) *Failure {
	t.Helper()
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		t.Fatalf("error %v (%T), want a *Failure", err, err)
	}
	return f
}

func news() notice.Held {
	return notice.Held{Notice: notice.Notice{
		Kind: notice.NeedsPerson, At: time.Now(), Repo: "/srv/shop", RunID: "main-2026-01-31-2200", Title: "a question",
		Text: "which way?", Command: "autopilot answer main-2026-01-31-2200 TEXT",
	}}
}

// nowhere is an address at which nobody listens.
func nowhere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func fields(t *testing.T, body string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatalf("body %q: %v", body, err)
	}
	return m
}

func send(t *testing.T, s Sender, c Channel, h notice.Held) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	return s.Send(ctx, c, h, time.Now())
}
