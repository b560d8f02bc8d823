package shout

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const maxExcerpt = 4 << 10

// watch is a transport that notes what the answers were.
type watch struct {
	next http.RoundTripper

	mu      sync.Mutex
	asked   bool
	status  int // of the last answer; 0 for none
	after   time.Duration
	failed  error // the first thing that went wrong
	excerpt bytes.Buffer
	torn    bool // the last answer broke off
}

// answered is the error for an answer that the library must not see: it would try again
// by itself, or go where the answer points to.
type answered struct{ status string }

func (e *answered) Error() string { return "it answered " + e.status }

// unreachable is the error for no answer at all. It hides what the cause is from the
// library, which tries some again, for minutes.
type unreachable struct{ cause error }

func (e *unreachable) Error() string { return "it cannot be reached: " + e.cause.Error() }

func (w *watch) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := w.next.RoundTrip(req)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.status, w.torn = true, 0, false
	w.excerpt.Reset()
	if err != nil {
		return nil, w.note(&unreachable{err})
	}
	w.status = res.StatusCode
	if res.StatusCode < http.StatusMultipleChoices {
		res.Body = &body{Reader: io.LimitReader(res.Body, 1<<20), Closer: res.Body, watch: w}
		return res, nil
	}
	e := w.note(&answered{res.Status})
	if res.StatusCode/100 == 4 && res.StatusCode != http.StatusTooManyRequests {
		res.Body = &body{Reader: io.LimitReader(res.Body, 64<<10), Closer: res.Body, watch: w}
		return res, nil // the library finds the reason in it
	}
	w.after = retryAfter(res.Header, time.Now())
	_ = res.Body.Close()
	return nil, e
}

func (w *watch) note(err error) error {
	if w.failed == nil {
		w.failed = err
	}
	return err
}

// body notes the beginning of an answer and that it broke off.
type body struct {
	io.Reader
	io.Closer
	watch *watch
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.watch.mu.Lock()
	defer b.watch.mu.Unlock()
	if room := maxExcerpt - b.watch.excerpt.Len(); room > 0 {
		b.watch.excerpt.Write(p[:min(n, room)])
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.watch.torn = true
	}
	return n, err
}

// retryAfter reads the header of that name (RFC 9110): seconds, or a moment; some send
// parts of a second. It is 0 without one.
func retryAfter(h http.Header, now time.Time) time.Duration {
	s := strings.TrimSpace(h.Get("Retry-After"))
	if v, err := strconv.ParseFloat(s, 64); err == nil && v >= 0 {
		return time.Duration(min(v, 24*60*60) * float64(time.Second))
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

func unverified() http.RoundTripper {
	return &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, //nolint:gosec // the address asks for it
	}
}
