package guard_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"autopilot/cmd/internal/serve/guard"
)

const (
	token = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
	host  = "127.0.0.1:7717"
)

type words struct{}

func (words) Login(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	fmt.Fprint(w, "login page "+text)
}

func (words) Entered(w http.ResponseWriter) { fmt.Fprint(w, "entered page") }

func (words) Refuse(w http.ResponseWriter, _ *http.Request, status int, text string) {
	w.WriteHeader(status)
	fmt.Fprint(w, text)
}

// site is a guard around a handler that counts what it lets through.
type site struct {
	http.Handler

	passed atomic.Int64
	last   atomic.Pointer[guard.Visitor]
}

func newSite(secret string) *site {
	s := &site{}
	g := guard.New(guard.Options{Token: secret, Pages: words{}})
	s.Handler = g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/logout" {
			g.Logout(w, r)
			return
		}
		v := guard.Of(r)
		s.last.Store(&v)
		s.passed.Add(1)
		fmt.Fprint(w, "inside")
	}))
	return s
}

// change changes a request that would be let through.
type change func(*http.Request)

func header(name, value string) change {
	return func(r *http.Request) {
		if value == "" {
			r.Header.Del(name)
			return
		}
		r.Header.Set(name, value)
	}
}

func to(h string) change { return func(r *http.Request) { r.Host = h } }

func (s *site) do(method, target, body string, changes ...change) *http.Response {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = host
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, c := range changes {
		c(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// enter logs in and returns the cookie and the token of forms.
func (s *site) enter(t *testing.T) (cookie change, form string) {
	t.Helper()
	res := s.do("GET", "/login?token="+token, "")
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Fatalf("login: status %d with %d cookies, want 303 with one", res.StatusCode, len(res.Cookies()))
	}
	c := res.Cookies()[0]
	cookie = header("Cookie", c.Name+"="+c.Value)
	if got := s.do("GET", "/", "", cookie).StatusCode; got != http.StatusOK {
		t.Fatalf("after the login: status %d, want 200", got)
	}
	s.passed.Store(0)
	return cookie, s.last.Load().Form
}

func TestLoginGivesACookieAndLeadsAway(t *testing.T) {
	t.Parallel()
	res := newSite(token).do("GET", "/login?token="+token, "")
	if got, want := res.Header.Get("Location"), "/"; got != want {
		t.Errorf("Location = %q, want %q", got, want)
	}
	c := res.Cookies()[0]
	if c.Name != "autopilot-7717" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie = %v, want autopilot-7717, HttpOnly, SameSite=Strict, Path=/, no domain", c)
	}
	if strings.Contains(c.Value, token) || len(c.Value) < 43 {
		t.Errorf("the cookie holds %q, want 32 random bytes that are not the token", c.Value)
	}
	if other := newSite(token).do("GET", "/login?token="+token, "", to("localhost:8080")).Cookies()[0]; other.Name != "autopilot-8080" {
		t.Errorf("cookie = %s, want autopilot-8080: the port that the browser sees", other.Name)
	}
}

func TestLoginFromALinkElsewhere(t *testing.T) {
	t.Parallel()
	from := []change{header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "document")}
	res := newSite(token).do("GET", "/login?token="+token, "", from...)
	if res.StatusCode != http.StatusOK || len(res.Cookies()) != 1 || bodyOf(t, res) != "entered page" {
		t.Errorf("status %d with %d cookies, want the page that leads on by itself", res.StatusCode, len(res.Cookies()))
	}
}

func TestLoginByForm(t *testing.T) {
	t.Parallel()
	res := newSite(token).do("POST", "/login", "token="+token, header("Sec-Fetch-Site", "same-origin"))
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Errorf("status %d with %d cookies, want 303 with one", res.StatusCode, len(res.Cookies()))
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	s := newSite(token)
	cookie, form := s.enter(t)
	ok := "form=" + form
	here := header("Sec-Fetch-Site", "same-origin")
	for _, c := range []struct {
		name, method, target, body string
		want                       int
		changes                    []change
	}{
		{"no token", "GET", "/", "", 401, nil},
		{"no token for a program", "GET", "/api/overview.json", "", 401, nil},
		{"no token for metrics", "GET", "/metrics", "", 401, nil},
		{"no token for files", "GET", "/static/live.js", "", 401, nil},
		{"no token for what is not there", "GET", "/nowhere", "", 401, nil},
		{"no token to change something", "POST", "/runs/p/r/stop", ok, 401, []change{here}},
		{"a made-up cookie", "GET", "/", "", 401, []change{header("Cookie", "autopilot-7717="+strings.Repeat("A", 43))}},
		{"the token as a cookie", "GET", "/", "", 401, []change{header("Cookie", "autopilot-7717="+token)}},
		{"the token in the address of another page", "GET", "/?token=" + token, "", 401, nil},
		{"the cookie of another port", "GET", "/", "", 401, []change{cookie, to("127.0.0.1:9999")}},
		{"an empty bearer", "GET", "/", "", 401, []change{header("Authorization", "Bearer ")}},
		{"the token by another scheme", "GET", "/", "", 401, []change{header("Authorization", "Basic "+token)}},
		{"a name that leads here", "GET", "/", "", 403, []change{cookie, to("evil.example:7717")}},
		{"a name that begins as ours", "GET", "/", "", 403, []change{cookie, to("127.0.0.1.evil.example:7717")}},
		{"a name that ends as ours", "GET", "/", "", 403, []change{cookie, to("evil.localhost:7717")}},
		{"another address of the machine", "GET", "/", "", 403, []change{cookie, to("192.168.1.2:7717")}},
		{"all addresses", "GET", "/", "", 403, []change{cookie, to("0.0.0.0:7717")}},
		{"a number that is an address", "GET", "/", "", 403, []change{cookie, to("2130706433:7717")}},
		{"no host", "GET", "/", "", 403, []change{cookie, to("")}},
		{"a foreign name for the health check", "GET", "/healthz", "", 403, []change{to("evil.example")}},
		{"a foreign name for the login", "GET", "/login?token=" + token, "", 403, []change{to("evil.example")}},
		{"a picture on another site", "GET", "/", "", 403, []change{cookie, header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "no-cors"), header("Sec-Fetch-Dest", "image")}},
		{"a script of another port", "GET", "/api/events", "", 403, []change{cookie, header("Sec-Fetch-Site", "same-site"), header("Sec-Fetch-Mode", "cors"), header("Sec-Fetch-Dest", "empty")}},
		{"a frame on another site", "GET", "/", "", 403, []change{cookie, header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "iframe")}},
		{"a form of another site", "POST", "/runs/p/r/stop", ok, 403, []change{cookie, header("Sec-Fetch-Site", "cross-site")}},
		{"a form of another port", "POST", "/runs/p/r/stop", ok, 403, []change{cookie, header("Sec-Fetch-Site", "same-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "document")}},
		{"a form of another origin, as an old browser says it", "POST", "/runs/p/r/stop", ok, 403, []change{cookie, header("Origin", "http://127.0.0.1:3000")}},
		{"a form of a page without origin", "POST", "/runs/p/r/stop", ok, 403, []change{cookie, header("Origin", "null")}},
		{"no token of the form", "POST", "/runs/p/r/stop", "", 403, []change{cookie, here}},
		{"an empty token of the form", "POST", "/runs/p/r/stop", "form=", 403, []change{cookie, here}},
		{"a wrong token of the form", "POST", "/runs/p/r/stop", "form=" + strings.Repeat("A", 43), 403, []change{cookie, here}},
		{"the token of the form in the address", "POST", "/runs/p/r/stop?form=" + form, "", 403, []change{cookie, here}},
		{"a body that is no form", "POST", "/runs/p/r/stop", ok, 415, []change{cookie, here, header("Content-Type", "text/plain")}},
		{"a body of several parts", "POST", "/runs/p/r/stop", ok, 415, []change{cookie, here, header("Content-Type", "multipart/form-data; boundary=x")}},
		{"a body without a type", "POST", "/runs/p/r/stop", ok, 415, []change{cookie, here, header("Content-Type", "")}},
		{"a body that is too large", "POST", "/runs/p/r/stop", ok + "&x=" + strings.Repeat("x", 100_000), 413, []change{cookie, here}},
		{"a body that is too large and does not say so", "POST", "/runs/p/r/stop", ok + "&x=" + strings.Repeat("x", 100_000), 400, []change{cookie, here, func(r *http.Request) { r.ContentLength = -1 }}},
		{"method PUT", "PUT", "/", "", 405, []change{cookie}},
		{"method DELETE", "DELETE", "/", "", 405, []change{cookie}},
		{"method OPTIONS", "OPTIONS", "/", "", 405, []change{cookie}},
		{"method TRACE", "TRACE", "/", "", 405, []change{cookie}},
		{"a method that is none", "BREW", "/", "", 405, []change{cookie}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := s.passed.Load()
			res := s.do(c.method, c.target, c.body, c.changes...)
			if res.StatusCode != c.want {
				t.Errorf("status = %d, want %d (%s)", res.StatusCode, c.want, bodyOf(t, res))
			}
			if s.passed.Load() != before {
				t.Error("it was let through")
			}
			hardened(t, res)
		})
	}
}

// hardened wants the headers that every answer carries.
func hardened(t *testing.T, res *http.Response) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"X-Content-Type-Options":  "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestLetThrough(t *testing.T) {
	t.Parallel()
	s := newSite(token)
	cookie, form := s.enter(t)
	bearer := header("Authorization", "Bearer "+token)
	for _, c := range []struct {
		name, method, target, body string
		changes                    []change
	}{
		{"a cookie", "GET", "/", "", []change{cookie}},
		{"a cookie and a head", "HEAD", "/", "", []change{cookie}},
		{"localhost", "GET", "/", "", []change{cookie, to("localhost:7717")}},
		{"another address of loopback", "GET", "/", "", []change{cookie, to("127.0.0.7:7717")}},
		{"the long form of loopback", "GET", "/", "", []change{cookie, to("[::1]:7717")}},
		{"a program", "GET", "/api/overview.json", "", []change{bearer}},
		{"a program and a small word", "GET", "/metrics", "", []change{header("Authorization", "bearer "+token)}},
		{"a link elsewhere", "GET", "/", "", []change{cookie, header("Sec-Fetch-Site", "same-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "document")}},
		{"a form", "POST", "/runs/p/r/stop", "form=" + form, []change{cookie, header("Sec-Fetch-Site", "same-origin"), header("Origin", "null")}},
		{"a form as an old browser sends it", "POST", "/runs/p/r/stop", "form=" + form, []change{cookie, header("Origin", "http://"+host)}},
		{"a program without a form", "POST", "/runs/p/r/stop", "", []change{bearer}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := s.passed.Load()
			res := s.do(c.method, c.target, c.body, c.changes...)
			if res.StatusCode != http.StatusOK || s.passed.Load() != before+1 {
				t.Errorf("status = %d, want 200 (%s)", res.StatusCode, bodyOf(t, res))
			}
			hardened(t, res)
		})
	}
}

func TestWithoutAToken(t *testing.T) {
	t.Parallel()
	s := newSite(token)
	for target, want := range map[string]int{"/healthz": 200, "/login": 200, "/login/style.css": 200} {
		if got := s.do("GET", target, "").StatusCode; got != want {
			t.Errorf("%s: status %d, want %d", target, got, want)
		}
	}
}

func TestOpenListenerNeedsNoTokenButTheRest(t *testing.T) {
	t.Parallel()
	s := newSite("")
	if got := s.do("GET", "/", "", to("localhost")).StatusCode; got != http.StatusOK {
		t.Fatalf("status = %d, want 200", got)
	}
	form := url.Values{guard.FormField: {s.last.Load().Form}}.Encode()
	for _, c := range []struct {
		name, method, body string
		want               int
		changes            []change
	}{
		{"a foreign name", "GET", "", 403, []change{to("evil.example")}},
		{"a form of another site", "POST", form, 403, []change{header("Sec-Fetch-Site", "cross-site")}},
		{"no token of the form", "POST", "", 403, []change{header("Sec-Fetch-Site", "same-origin")}},
		{"a form", "POST", form, 200, []change{header("Sec-Fetch-Site", "same-origin")}},
		{"an empty bearer is no program", "POST", "", 403, []change{header("Authorization", "Bearer ")}},
	} {
		if got := s.do(c.method, "/x", c.body, c.changes...).StatusCode; got != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got, c.want)
		}
	}
}

func TestFormsOfOneSessionAreNotThoseOfAnother(t *testing.T) {
	t.Parallel()
	s := newSite(token)
	_, form := s.enter(t)
	other, _ := s.enter(t)
	if got := s.do("POST", "/x", "form="+form, other, header("Sec-Fetch-Site", "same-origin")).StatusCode; got != http.StatusForbidden {
		t.Errorf("status = %d, want 403", got)
	}
}

func TestLogout(t *testing.T) {
	t.Parallel()
	s := newSite(token)
	cookie, form := s.enter(t)
	res := s.do("POST", "/logout", "form="+form, cookie, header("Sec-Fetch-Site", "same-origin"))
	if res.StatusCode != http.StatusSeeOther || res.Cookies()[0].MaxAge >= 0 {
		t.Errorf("status = %d, cookie %v, want 303 and one that ends", res.StatusCode, res.Cookies())
	}
	if got := s.do("GET", "/", "", cookie).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("with the cookie from before: status %d, want 401", got)
	}
}

func TestMessagesAreToldOnce(t *testing.T) {
	t.Parallel()
	s := newSite(token)
	s.enter(t)
	v := s.last.Load()
	v.Tell("it was done", true)
	if words, bad := v.Told(); words != "it was done" || !bad {
		t.Errorf("Told() = %q, %v, want the message", words, bad)
	}
	if words, _ := v.Told(); words != "" {
		t.Errorf("Told() = %q the second time, want nothing", words)
	}
	guard.Visitor{}.Tell("nobody", false)
	if words, _ := (guard.Visitor{}).Told(); words != "" {
		t.Errorf("Told() of nobody = %q, want nothing", words)
	}
}

func TestWhoGuessesWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(token)
		var took []time.Duration
		for _, c := range [][]change{nil, {header("Authorization", "Bearer wrong")}, nil} {
			began := time.Now()
			target := "/login?token=wrong"
			if c != nil {
				target = "/metrics"
			}
			if got := s.do("GET", target, "", c...).StatusCode; got < 400 {
				t.Errorf("status = %d for a wrong token", got)
			}
			took = append(took, time.Since(began))
		}
		if took[0] <= 0 || took[1] != 2*took[0] || took[2] != 2*took[1] {
			t.Errorf("waits = %v, want ones that double", took)
		}
		began := time.Now()
		s.enter(t)
		if d := time.Since(began); d != 0 {
			t.Errorf("the right token waited %v, want no wait", d)
		}
		if got := s.do("GET", "/", "").StatusCode; got != http.StatusUnauthorized || time.Since(began) != 0 {
			t.Errorf("status %d after %v, want 401 at once: no token was tried", got, time.Since(began))
		}
	})
}

func TestWhoGuessesALotIsSentAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(token)
		var sent atomic.Int64
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if s.do("GET", "/login?token=wrong", "").StatusCode == http.StatusTooManyRequests {
					sent.Add(1)
				}
			})
		}
		synctest.Wait()
		if got := sent.Load(); got != 92 {
			t.Errorf("%d of 100 were sent away at once, want 92", got)
		}
		wg.Wait()
	})
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(token)
		cookie, _ := s.enter(t)
		time.Sleep(8 * 24 * time.Hour)
		if got := s.do("GET", "/", "", cookie).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("after eight days: status %d, want 401", got)
		}
	})
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(token)
		first, _ := s.enter(t)
		time.Sleep(time.Second)
		second, _ := s.enter(t)
		for range 63 {
			time.Sleep(time.Second)
			s.enter(t)
		}
		if got := s.do("GET", "/", "", first).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("the oldest of 65: status %d, want 401", got)
		}
		if got := s.do("GET", "/", "", second).StatusCode; got != http.StatusOK {
			t.Errorf("the second of 65: status %d, want 200", got)
		}
	})
}

func TestTokensAreLongAndDiffer(t *testing.T) {
	t.Parallel()
	a, b := guard.NewToken(), guard.NewToken()
	if a == b || len(a) != 43 || url.QueryEscape(a) != a {
		t.Errorf("tokens %q and %q, want 32 bytes each, as text for an address", a, b)
	}
}
