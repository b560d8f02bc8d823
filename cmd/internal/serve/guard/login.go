package guard

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
	"time"
)

// visitor is who a request comes from, if they may come in.
func (g *Guard) visitor(r *http.Request) (Visitor, bool) {
	if g.open {
		return Visitor{Form: g.common.form, session: g.common}, true
	}
	if token, ok := bearer(r); ok {
		return Visitor{Program: true}, g.right(token)
	}
	for _, c := range r.CookiesNamed(cookieName(r.Host)) {
		if s := g.desk.find(c.Value); s != nil {
			return Visitor{Form: s.form, session: s}, true
		}
	}
	return Visitor{}, false
}

// bearer is the token in the header of a program.
func bearer(r *http.Request) (string, bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

func (g *Guard) right(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return !g.open && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

// stranger answers who is not let in. Who tried a token waits.
func (g *Guard) stranger(w http.ResponseWriter, r *http.Request) {
	_, tried := bearer(r)
	if tried && !g.slow.wait(r.Context()) {
		g.pages.Refuse(w, r, http.StatusTooManyRequests, "Too many wrong tokens at once.")
		return
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="autopilot"`)
	if tried || strings.HasPrefix(r.URL.Path, "/api/") || r.Method == http.MethodPost {
		g.pages.Refuse(w, r, http.StatusUnauthorized, "The token is missing or wrong, or the login is too old.")
		return
	}
	g.pages.Login(w, http.StatusUnauthorized, "")
}

// login takes the token from the address or the form, and gives a cookie for it. The
// answer leads away, so that the token stays in no address bar.
func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	if r.Method == http.MethodPost {
		token = strings.TrimSpace(r.PostFormValue("token"))
	}
	switch {
	case g.open:
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	case token == "":
		g.pages.Login(w, http.StatusOK, "")
		return
	case !g.right(token):
		if !g.slow.wait(r.Context()) {
			g.pages.Refuse(w, r, http.StatusTooManyRequests, "Too many wrong tokens at once.")
			return
		}
		g.pages.Login(w, http.StatusForbidden, "The token is wrong.")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName(r.Host), Value: g.desk.begin(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		http.Redirect(w, r, "/", http.StatusSeeOther)
	default: // a strict cookie does not go with a redirect that another site began
		g.pages.Entered(w)
	}
}

// Logout ends the session of a request.
func (g *Guard) Logout(w http.ResponseWriter, r *http.Request) {
	name := cookieName(r.Host)
	for _, c := range r.CookiesNamed(name) {
		g.desk.end(c.Value)
	}
	http.SetCookie(w, &http.Cookie{Name: name, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: -1})
	http.Redirect(w, r, LoginPath, http.StatusSeeOther)
}

const (
	firstWait  = 250 * time.Millisecond
	doublings  = 5
	forgotten  = time.Minute // without a wrong token
	maxWaiting = 8
)

// slow makes who guesses wait.
type slow struct {
	mu      sync.Mutex
	wrong   int
	waiting int
	last    time.Time
}

// wait returns after a time that doubles with each wrong token. It is false, at once, when
// too many wait already.
func (s *slow) wait(ctx context.Context) bool {
	s.mu.Lock()
	now := time.Now()
	if now.Sub(s.last) > forgotten {
		s.wrong = 0
	}
	delay := firstWait << min(s.wrong, doublings)
	s.wrong, s.last = s.wrong+1, now
	if s.waiting >= maxWaiting {
		s.mu.Unlock()
		return false
	}
	s.waiting++
	s.mu.Unlock()
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	return true
}
