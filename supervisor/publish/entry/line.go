package entry

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/answer"
)

const (
	maxAnswer    = 32 << 20 // a page of comments of the greatest size
	maxComplaint = 64 << 10 // of an answer that tells of an error
	maxRedirects = 3
	patience     = time.Minute // for one request when the given client sets no limit
)

// Answer is what a service has answered last to one call.
type Answer struct {
	Status int // 0: nothing yet
	Header http.Header
}

// Line is the way to one service.
type Line struct {
	Base *url.URL     // without a slash at its end
	HTTP *http.Client // for the client library

	service publish.Service
	secrets []string
}

// LineOptions are what a line needs.
type LineOptions struct {
	Service  publish.Service
	BaseURL  string
	Variable string       // of the environment, that sets BaseURL; for messages
	Client   *http.Client // its transport and timeout are used; nil for the usual ones
	Secrets  []string     // never to be seen in an error or a text
}

// NewLine checks the address and builds the HTTP client of a line. An address without
// TLS is taken for this machine only, one with a password not at all.
func NewLine(o LineOptions) (*Line, error) {
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(o.BaseURL), "/"))
	switch {
	case err != nil:
		// The reason would repeat the address, which may hold a password.
		return nil, fmt.Errorf("%s: the value of %s is not an address", o.Service, o.Variable)
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s: set %s to an address like https://HOST", o.Service, o.Variable)
	case u.User != nil:
		return nil, fmt.Errorf("%s: the address in %s must not hold a name or a password", o.Service, o.Variable)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, fmt.Errorf("%s: %s: without TLS only an address of this machine is taken; use https://", o.Service, o.Variable)
	}
	given := http.Client{Timeout: patience}
	if o.Client != nil {
		given = *o.Client
	}
	next := given.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	l := &Line{Base: u, service: o.Service, secrets: o.Secrets}
	l.HTTP = &http.Client{
		Timeout:       given.Timeout,
		Transport:     &guard{scheme: u.Scheme, host: u.Host, next: next},
		CheckRedirect: sameCall,
	}
	return l, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// sameCall follows a redirect only where the same call goes on at the same host. Any
// other answer of that kind is returned as it is.
func sameCall(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// guard keeps the requests of a client library, and the token in them, at one host, and
// notes the answers.
type guard struct {
	scheme, host string
	next         http.RoundTripper
}

func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != g.host || req.URL.Scheme != g.scheme {
		if req.Body != nil {
			_ = req.Body.Close() // as a transport must
		}
		return nil, fmt.Errorf("%s is not the configured host", req.URL.Host)
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if a, ok := req.Context().Value(answerKey{}).(*Answer); ok {
		a.Status, a.Header = resp.StatusCode, resp.Header.Clone()
	}
	limit := int64(maxAnswer)
	if resp.StatusCode >= http.StatusMultipleChoices {
		limit = maxComplaint
	}
	resp.Body = &bounded{body: resp.Body, left: limit + 1}
	return resp, nil
}

// bounded is the body of an answer that ends in an error when it is too long.
type bounded struct {
	body io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the answer is too long")
	}
	n, err := b.body.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (b *bounded) Close() error { return b.body.Close() }

type answerKey struct{}

// Watch returns a context for one call, and where its answer is noted.
func Watch(ctx context.Context) (context.Context, *Answer) {
	a := &Answer{Header: http.Header{}}
	return context.WithValue(ctx, answerKey{}, a), a
}

// Fail makes a *publish.SendError of what a client library says, nil for nil. Of the
// library's error only the text is kept, without secrets; that the context has ended is
// kept as such.
func (l *Line) Fail(ctx context.Context, a *Answer, err error) error {
	if err == nil {
		return nil
	}
	reason := errors.New(cut(strings.Join(strings.Fields(l.Clean(err.Error())), " "), 400))
	if cause := ctx.Err(); cause != nil {
		reason = fmt.Errorf("the answer did not come in time: %w", cause)
	}
	if a.Status >= 200 && a.Status < 300 {
		// Nobody knows what was done: the next search will show it.
		return &publish.SendError{Service: l.service, Err: fmt.Errorf("the answer cannot be used: %w", reason)}
	}
	if e := answer.Classify(l.service, a.Status, a.Header, reason, time.Now()); e != nil {
		return e
	}
	return reason
}

// Clean returns a text as valid UTF-8 without control characters other than line end and
// tab, without marks that turn the direction of writing, and without the secrets.
func (l *Line) Clean(s string) string {
	s = plain(s)
	for _, secret := range l.secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, secret, "[redacted]")
		}
	}
	return s
}

// Update returns an update whose texts are cleaned, the title on one line of at most 200
// characters.
func (l *Line) Update(u publish.Update) publish.Update {
	u.Title = cut(strings.Join(strings.Fields(l.Clean(u.Title)), " "), 200)
	u.RunID = cut(strings.Join(strings.Fields(l.Clean(u.RunID)), " "), 200)
	u.Body = strings.TrimSpace(l.Clean(u.Body))
	return u
}

// Basic returns what must not be seen of a name and a password for basic authentication
// (RFC 7617): the password, and both as they are sent.
func Basic(name, password string) []string {
	return []string{password, base64.StdEncoding.EncodeToString([]byte(name + ":" + password))}
}
