package guard

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Paths that need no token.
const (
	LoginPath  = "/login"
	StylePath  = "/login/style.css" // of the login page, which has nothing else
	HealthPath = "/healthz"
)

const maxBody = 64 << 10 // bytes of a form

// Policy is the content policy of every answer: nothing but files of this server, no
// script and no style in a page, no frame around it.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Pages shows what the guard has to say.
type Pages interface {
	// Login asks for the token.
	Login(w http.ResponseWriter, status int, words string)
	// Entered is shown to who logged in from a link elsewhere, and leads on to the page.
	Entered(w http.ResponseWriter)
	// Refuse says why a request was refused.
	Refuse(w http.ResponseWriter, r *http.Request, status int, words string)
}

// Options say who is let in.
type Options struct {
	// Token opens everything. When it is empty, whoever can connect is let in: for a
	// socket that only its owner can reach.
	Token string
	Pages Pages
}

// Guard checks requests. It may be used by many at once.
type Guard struct {
	token    [sha256.Size]byte
	open     bool
	pages    Pages
	crossing *http.CrossOriginProtection
	desk     desk
	slow     slow
	common   *session // of all who come without a token
}

// New returns a guard without sessions.
func New(o Options) *Guard {
	return &Guard{
		token: sha256.Sum256([]byte(o.Token)), open: o.Token == "", pages: o.Pages,
		crossing: http.NewCrossOriginProtection(), common: newSession(),
	}
}

// Wrap lets through to next what may pass, with its [Visitor], and does the login itself.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header())
		if status, words := g.form(w, r); status != 0 {
			g.pages.Refuse(w, r, status, words)
			return
		}
		switch r.URL.Path {
		case HealthPath:
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write([]byte("ok\n"))
			return
		case LoginPath:
			g.login(w, r)
			return
		case StylePath:
			next.ServeHTTP(w, r)
			return
		}
		v, ok := g.visitor(r)
		if !ok {
			g.stranger(w, r)
			return
		}
		if r.Method == http.MethodPost && !v.Program && !same(r.PostFormValue(FormField), v.Form) {
			g.pages.Refuse(w, r, http.StatusForbidden, "The form is not one of this session. Open the page again.")
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitorKey{}, v)))
	})
}

// harden sets what every answer carries.
func harden(h http.Header) {
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// form checks what a request looks like, whoever it comes from. The status is 0 when
// nothing is wrong with it.
func (g *Guard) form(w http.ResponseWriter, r *http.Request) (status int, words string) {
	if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost}, r.Method) {
		w.Header().Set("Allow", "GET, HEAD, POST")
		return http.StatusMethodNotAllowed, "This method is not known here."
	}
	if !local(r.Host) {
		return http.StatusForbidden, "This page answers to names of this machine alone, such as 127.0.0.1 and localhost."
	}
	if !fromHere(r) {
		return http.StatusForbidden, "Another site asked for this."
	}
	if r.Method != http.MethodPost {
		return 0, ""
	}
	if err := g.crossing.Check(r); err != nil {
		return http.StatusForbidden, "This did not come from a form of this page."
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
		return http.StatusUnsupportedMediaType, "A form is wanted here."
	}
	if r.ContentLength > maxBody {
		return http.StatusRequestEntityTooLarge, "The form is too large."
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		return http.StatusBadRequest, "The form cannot be read, or is too large."
	}
	return 0, ""
}

// local reports whether a Host header names this machine. The port may be another one,
// because it may be forwarded.
func local(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Zone() == "" && ip.IsLoopback()
}

// fromHere reports whether a request comes from this page, from a program, or from a
// person who follows a link. What another site loads in the background does not.
func fromHere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Method != http.MethodPost && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// same compares in constant time.
func same(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
