package guard

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"sync"
	"time"
)

// FormField is the field of a form that holds [Visitor.Form].
const FormField = "form"

const (
	maxSessions = 64
	lifetime    = 7 * 24 * time.Hour
)

// NewToken returns 32 random bytes as text that can stand in an address.
func NewToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Visitor is who a request comes from.
type Visitor struct {
	Form    string // what its forms have to hold
	Program bool   // it came with the token in its header
	session *session
}

type visitorKey struct{}

// Of is who a request comes from. A request that no guard has let through has the zero
// Visitor, whose forms are refused.
func Of(r *http.Request) Visitor {
	v, _ := r.Context().Value(visitorKey{}).(Visitor)
	return v
}

// Tell keeps a message for the next page that the visitor looks at. Bad says that
// something was not done.
func (v Visitor) Tell(words string, bad bool) {
	if v.session != nil {
		v.session.tell(words, bad)
	}
}

// Told returns the message once.
func (v Visitor) Told() (words string, bad bool) {
	if v.session == nil {
		return "", false
	}
	return v.session.told()
}

// session is what is known of somebody who logged in.
type session struct {
	form  string
	since time.Time

	mu    sync.Mutex
	words string
	bad   bool
}

func newSession() *session { return &session{form: NewToken(), since: time.Now()} }

func (s *session) tell(words string, bad bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words, s.bad = words, bad
}

func (s *session) told() (words string, bad bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	words, bad = s.words, s.bad
	s.words, s.bad = "", false
	return words, bad
}

// desk has the sessions, by the hash of what their cookie holds.
type desk struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]*session
}

// begin opens a session and returns what its cookie holds. There are so many at most: the
// oldest one goes.
func (d *desk) begin() string {
	secret, s := NewToken(), newSession()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[[sha256.Size]byte]*session{}
	}
	for len(d.open) >= maxSessions {
		var oldest [sha256.Size]byte
		first := true
		for k, other := range d.open {
			if first || other.since.Before(d.open[oldest].since) {
				oldest, first = k, false
			}
		}
		delete(d.open, oldest)
	}
	d.open[sha256.Sum256([]byte(secret))] = s
	return secret
}

func (d *desk) find(secret string) *session {
	key := sha256.Sum256([]byte(secret))
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.open[key]
	if s != nil && time.Since(s.since) > lifetime {
		delete(d.open, key)
		return nil
	}
	return s
}

func (d *desk) end(secret string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, sha256.Sum256([]byte(secret)))
}

// cookieName is that of the page as the browser sees it, which may be behind a forwarded
// port.
func cookieName(host string) string {
	_, port, err := net.SplitHostPort(host)
	if err != nil || port == "" {
		port = "80"
	}
	return "autopilot-" + port
}
