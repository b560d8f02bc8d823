package serve_test

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
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/serve"
	"autopilot/cmd/internal/serve/page"
)

const (
	secret   = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
	patience = 60 * time.Second
	quick    = 10 * time.Millisecond
)

// web is a served machine and somebody who has logged in.
type web struct {
	*machine

	url    string
	client *http.Client
}

// options are those of a server of a machine, for tests.
func options(m *machine) serve.Options {
	return serve.Options{Parts: serve.Parts{Actor: m}, Board: m, Token: secret, Every: quick}
}

func open(t *testing.T, o serve.Options) web {
	t.Helper()
	srv := httptest.NewServer(serve.New(o).Handler())
	t.Cleanup(srv.Close)
	w := web{url: srv.URL, client: &http.Client{Jar: &jar{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	w.machine, _ = o.Board.(*machine)
	if res := w.get(t, "/login?token="+secret); res.status != http.StatusSeeOther {
		t.Fatalf("login: status %d", res.status)
	}
	return w
}

// jar keeps the cookies of one server.
type jar struct {
	mu      sync.Mutex
	cookies []*http.Cookie
}

func (j *jar) SetCookies(_ *url.URL, c []*http.Cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cookies = append(j.cookies, c...)
}

func (j *jar) Cookies(*url.URL) []*http.Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.cookies)
}

type answer struct {
	status int
	body   string
	header http.Header
}

func (w web) send(t *testing.T, r *http.Request) answer {
	t.Helper()
	res, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, string(b), res.Header}
}

func (w web) get(t *testing.T, path string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.send(t, r)
}

// post sends a form with the token that forms of the page have.
func (w web) post(t *testing.T, path string, fields ...string) answer {
	t.Helper()
	token := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(w.get(t, "/").body)
	if token == nil {
		t.Fatal("the page has no form")
	}
	form := url.Values{"form": {token[1]}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return w.send(t, r)
}

func runPath(r board.Ref) string { return "/runs/" + r.Project + "/" + r.Run }

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("the page does not have %q:\n%s", w, text[:min(len(text), 4000)])
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	o := options(night())
	o.Report = func(_ context.Context, ref board.Ref, w io.Writer) error {
		_, err := fmt.Fprintf(w, "<!DOCTYPE html><style>p { color: red }</style><p>report of %s</p>", ref.Run)
		return err
	}
	o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "autopilot_up 1\n") })
	w := open(t, o)
	for _, c := range []struct {
		path, kind string
		want       int
		words      []string
	}{
		{"/", "text/html; charset=utf-8", 200, []string{"Nothing", "2 runs on", "machine warn", "git push --force origin main", "main-2026-01-31-2200", "7 of 20", "63%", "$14.23", "at a limit", "other Claude Code session", "too many errors in a row", "<svg", "is cut off"}[1:]},
		{runPath(busy), "text/html; charset=utf-8", 200, []string{"needs a person", "Velocity", "Refunds", "stalled", "no output for 10 minutes", `action="/runs/shop-1a2b3c/main-2026-01-31-2200-autopilot/stop"`, "Approve once", "B) With the live service", "session 7 begins", "Memory", "Room on the machine", "Cost per session"}},
		{runPath(over), "text/html; charset=utf-8", 200, []string{"done", "The goal was reached after nine sessions."}},
		{runPath(busy) + "/stop", "text/html; charset=utf-8", 200, []string{"ends at once", "Go back"}},
		{runPath(busy) + "/report", "text/html; charset=utf-8", 200, []string{"report of main-2026-01-31-2200-autopilot"}},
		{"/projects/shop-1a2b3c", "text/html; charset=utf-8", 200, []string{"/home/someone/src/shop", "Reward over runs"}},
		{"/static/style.css", "text/css; charset=utf-8", 200, []string{"prefers-color-scheme"}},
		{"/static/live.js", "text/javascript; charset=utf-8", 200, []string{"EventSource"}},
		{"/metrics", "text/plain; charset=utf-8", 200, []string{"autopilot_up 1"}},
		{"/api/overview.json", "application/json", 200, []string{`"run_id":"main-2026-01-31-2200-autopilot"`}},
		{"/api/run.json?project=shop-1a2b3c&run=" + busy.Run, "application/json", 200, []string{`"percent_per_session":9.2`}},
		{"/healthz", "text/plain; charset=utf-8", 200, []string{"ok"}},
		{"/nowhere", "text/html; charset=utf-8", 404, []string{"There is nothing here."}},
		{"/runs/shop-1a2b3c/none", "text/html; charset=utf-8", 404, []string{"There is no such run."}},
		{"/runs/shop-1a2b3c/..%2f..%2fetc", "text/html; charset=utf-8", 404, nil},
		{"/projects/none", "text/html; charset=utf-8", 404, nil},
		{"/static/none.js", "text/html; charset=utf-8", 404, nil},
		{"/static/..%2fdoc.go", "text/html; charset=utf-8", 404, nil},
		{"/api/run.json?project=x&run=y", "application/json", 404, []string{`"error"`}},
		{"/api/events?project=x&run=y", "application/json", 404, nil},
		{runPath(busy) + "/decide", "text/html; charset=utf-8", 405, nil},
	} {
		res := w.get(t, c.path)
		if res.status != c.want || res.header.Get("Content-Type") != c.kind {
			t.Errorf("%s: status %d, %s, want %d, %s", c.path, res.status, res.header.Get("Content-Type"), c.want, c.kind)
		}
		contains(t, res.body, c.words...)
	}
}

func TestEverythingNeedsTheToken(t *testing.T) {
	t.Parallel()
	o := options(night())
	o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") })
	o.Report = func(context.Context, board.Ref, io.Writer) error { t.Error("the report was made"); return nil }
	w := open(t, o)
	w.client = &http.Client{CheckRedirect: w.client.CheckRedirect}
	looks := w.looks
	for _, path := range []string{
		"/", runPath(busy), runPath(busy) + "/report", runPath(busy) + "/stop", "/projects/shop-1a2b3c", "/static/style.css", "/static/live.js", "/metrics", "/api/overview.json",
		"/api/run.json", "/api/events", "/nowhere", "/logout",
	} {
		if res := w.get(t, path); res.status != http.StatusUnauthorized || strings.Contains(res.body, busy.Run) {
			t.Errorf("%s: status %d, want 401 and nothing of the run", path, res.status)
		}
	}
	if w.looks != looks {
		t.Error("it was looked for who is not let in")
	}
}

func TestReportBringsOnlyItsStyle(t *testing.T) {
	t.Parallel()
	o := options(night())
	o.Report = func(_ context.Context, _ board.Ref, w io.Writer) error {
		_, err := io.WriteString(w, "<style>p{}</style>")
		return err
	}
	got := open(t, o).get(t, runPath(busy)+"/report").header.Get("Content-Security-Policy")
	// the digest of p{}
	want := "default-src 'none'; style-src 'sha256-gG2yISYereRMiG2lMXrbiUgi0Ubw9p7QCeWcroOvy9Y='; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; sandbox"
	if got != want {
		t.Errorf("policy = %s, want %s", got, want)
	}
}

func printOf(m *machine, kind board.NeedKind) string {
	for _, n := range m.runs[busy].Needs {
		if n.Kind == kind {
			return page.Print(n)
		}
	}
	return ""
}

func TestDeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		fields     []string
		want       string
		words      string
	}{
		{"stop", "/stop", nil, "stop shop-1a2b3c/main-2026-01-31-2200-autopilot now=false", "It stops after its session."},
		{"stop now", "/stop", []string{"now", "1"}, "stop shop-1a2b3c/main-2026-01-31-2200-autopilot now=true", "Its session is ended now."},
		{"approve", "/decide", []string{"id", "g-3f2a", "print", "gate", "decision", "approve"}, "approve shop-1a2b3c/main-2026-01-31-2200-autopilot g-3f2a", "may be made once"},
		{"deny", "/decide", []string{"id", "g-3f2a", "print", "gate", "decision", "deny", "reason", " it is <b>bad</b> "}, `deny shop-1a2b3c/main-2026-01-31-2200-autopilot g-3f2a "it is <b>bad</b>"`, "told: &lt;i&gt;denied&lt;/i&gt;"},
		{"answer by option", "/answer", []string{"print", "answer", "option", "1"}, `answer shop-1a2b3c/main-2026-01-31-2200-autopilot "B) With the live service and a test account"`, "The answer is given"},
		{"answer in words", "/answer", []string{"print", "answer", "text", "use a fake"}, `answer shop-1a2b3c/main-2026-01-31-2200-autopilot "use a fake"`, "The answer is given"},
		{"answer by both", "/answer", []string{"print", "answer", "option", "0", "text", "only for now"}, `answer shop-1a2b3c/main-2026-01-31-2200-autopilot "A) With a stand-in that we keep in the repository\nonly for now"`, "The answer is given"},
		{"neither approve nor deny", "/decide", []string{"id", "g-3f2a", "print", "gate", "decision", "maybe"}, "", "Not done: approve or deny is wanted"},
		{"a gate that is not there", "/decide", []string{"id", "g-0000", "print", "gate", "decision", "approve"}, "", "Not done: it has changed"},
		{"a gate that is another by now", "/decide", []string{"id", "g-3f2a", "print", "answer", "decision", "approve"}, "", "Not done: it has changed"},
		{"a gate without what was seen", "/decide", []string{"id", "g-3f2a", "decision", "approve"}, "", "Not done: it has changed"},
		{"a reason that is too long", "/decide", []string{"id", "g-3f2a", "print", "gate", "decision", "deny", "reason", strings.Repeat("x", 1001)}, "", "Not done: the reason is longer"},
		{"no answer", "/answer", []string{"print", "answer", "text", "  "}, "", "Not done: choose an option"},
		{"an option that is not there", "/answer", []string{"print", "answer", "option", "3"}, "", "Not done: it has changed"},
		{"an option before the first", "/answer", []string{"print", "answer", "option", "-1"}, "", "Not done: it has changed"},
		{"an answer that is too long", "/answer", []string{"print", "answer", "text", strings.Repeat("x", 8001)}, "", "Not done: the answer is longer"},
		{"an answer to another question", "/answer", []string{"id", "q-2", "print", "answer", "text", "yes"}, "", "Not done: it has changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := open(t, options(night()))
			for i, f := range c.fields {
				if i > 0 && c.fields[i-1] == "print" {
					c.fields[i] = printOf(w.machine, board.NeedKind(f))
				}
			}
			res := w.post(t, runPath(busy)+c.path, c.fields...)
			if res.status != http.StatusSeeOther || res.header.Get("Location") != runPath(busy) {
				t.Fatalf("status %d to %q, want 303 to the page of the run (%s)", res.status, res.header.Get("Location"), res.body)
			}
			if got := strings.Join(w.deeds(), "; "); got != c.want {
				t.Errorf("done: %s, want %s", got, c.want)
			}
			contains(t, w.get(t, runPath(busy)).body, c.words)
			if strings.Contains(w.get(t, runPath(busy)).body, c.words) {
				t.Error("it is said twice")
			}
		})
	}
}

// A held call of a story may belong to no run that has a page: it is decided on the page of
// its project.
func TestHeldCallWithoutARun(t *testing.T) {
	t.Parallel()
	w := open(t, options(night()))
	n := w.over.Questions[0]
	n.Ref.Run, n.ID = "", "g-9999"
	w.over.Questions = append(w.over.Questions, n)
	contains(t, w.get(t, "/").body, `href="/projects/shop-1a2b3c#need-`+page.Print(n))
	contains(t, w.get(t, "/projects/shop-1a2b3c").body, `action="/projects/shop-1a2b3c/decide"`, "not loaded again by itself")
	for _, c := range []struct{ id, want string }{{"g-3f2a", ""}, {"g-9999", "approve shop-1a2b3c/ g-9999"}} {
		res := w.post(t, "/projects/shop-1a2b3c/decide", "id", c.id, "print", page.Print(n), "decision", "approve")
		if got := strings.Join(w.deeds(), "; "); got != c.want || res.header.Get("Location") != "/projects/shop-1a2b3c" {
			t.Errorf("%s: done %q and back to %s, want %q", c.id, got, res.header.Get("Location"), c.want)
		}
	}
}

func TestErrorsOfDeedsAreShownAsText(t *testing.T) {
	t.Parallel()
	w := open(t, options(night()))
	w.fails = outside.UsageHint("try <b>later</b>", "the <script>run</script> is gone")
	w.post(t, runPath(busy)+"/stop")
	contains(t, w.get(t, runPath(busy)).body, "Not done: the &lt;script&gt;run&lt;/script&gt; is gone. try &lt;b&gt;later&lt;/b&gt;")
}

func TestPageThatOnlyShows(t *testing.T) {
	t.Parallel()
	o := options(night())
	o.Actor = nil
	w := open(t, o)
	body := w.get(t, runPath(busy)).body
	for _, no := range []string{"Approve", "/stop", "/answer", "/decide", "<textarea"} {
		if strings.Contains(body, no) {
			t.Errorf("the page has %s", no)
		}
	}
	contains(t, body, "This page only shows.", "autopilot approve g-3f2a")
	if res := w.post(t, runPath(busy)+"/stop"); res.status != http.StatusForbidden {
		t.Errorf("stop: status %d, want 403", res.status)
	}
	if got := w.deeds(); len(got) != 0 {
		t.Errorf("done: %v", got)
	}
}

func TestProgramsActWithTheirToken(t *testing.T) {
	t.Parallel()
	w := open(t, options(night()))
	w.client = &http.Client{}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+runPath(busy)+"/decide", strings.NewReader("id=g-3f2a&decision=deny&reason=no"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer "+secret)
	res := w.send(t, r)
	if want := `{"done":true,"words":"told: \u003ci\u003edenied\u003c/i\u003e"}` + "\n"; res.status != http.StatusOK || res.body != want {
		t.Errorf("status %d, %s, want %s", res.status, res.body, want)
	}
	if got := w.deeds(); len(got) != 1 {
		t.Errorf("done: %v, want one deed", got)
	}
}

func TestOneKindOfNeedIsNotAnother(t *testing.T) {
	t.Parallel()
	w := open(t, options(night()))
	w.client = &http.Client{Transport: bearer{}}
	for path, form := range map[string]string{"/answer": "id=g-3f2a&text=yes", "/decide": "id=&decision=approve"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+runPath(busy)+path, strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if res := w.send(t, r); res.status != http.StatusConflict || len(w.deeds()) != 0 {
			t.Errorf("%s: status %d, done %v, want 409 and nothing", path, res.status, w.deeds())
		}
	}
}

func TestNamesThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	w := open(t, options(night()))
	for _, path := range []string{
		"/runs/shop-1a2b3c/..%2fetc", "/runs/..%2f..%2fx/etc", "/runs/shop-1a2b3c/a%5cb", "/runs/shop-1a2b3c/a%00b", "/api/run.json?project=..&run=x", "/api/run.json?project=a&run=.", "/api/run.json?project=a", "/api/run.json",
		"/api/events?project=a/b&run=c", "/api/events?run=c",
	} {
		if res := w.get(t, path); res.status != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, res.status)
		}
	}
	if w.looks != 0 {
		t.Errorf("the board was asked %d times", w.looks)
	}
}

func TestSessionsMayNotAct(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			m := night()
			o := options(m)
			var asked []int
			o.Inside = func(_ context.Context, pid int) string { asked = append(asked, pid); return "some-run" }
			where := "127.0.0.1:0"
			if network == "unix" {
				where, o.Token = filepath.Join(t.TempDir(), "s"), ""
			}
			l, err := net.Listen(network, where)
			if err != nil {
				t.Fatal(err)
			}
			run(t, serve.New(o), l)
			client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
			}}}
			w := web{machine: m, url: "http://localhost", client: client}
			form := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(w.get(t, runPath(busy)).body)
			body := "x=y"
			if form != nil {
				body = "form=" + form[1]
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+runPath(busy)+"/stop", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if network == "tcp" {
				r.Header.Set("Authorization", "Bearer "+secret)
			}
			res := w.send(t, r)
			if !known() {
				t.Skip("this system does not tell which process asks")
			}
			if res.status != http.StatusForbidden || !strings.Contains(res.body, "comes from a session of a run") {
				t.Errorf("status %d, %s, want 403 and why", res.status, res.body)
			}
			if len(m.deeds()) != 0 || len(asked) == 0 || asked[0] != os.Getpid() {
				t.Errorf("done: %v, asked about %v, want nothing done and %d", m.deeds(), asked, os.Getpid())
			}
		})
	}
}

// known reports whether the system tells which process is at the other end.
func known() bool {
	_, err := os.Stat("/proc/net/tcp")
	return err == nil
}

// run serves until the test ends.
func run(t *testing.T, s *serve.Server, l net.Listener) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.Run(ctx, l); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func TestServerEndsWithItsStreams(t *testing.T) {
	t.Parallel()
	m := night()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := options(m)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() { done <- serve.New(o).Run(ctx, l) })
	w := web{machine: m, url: "http://" + l.Addr().String(), client: &http.Client{Transport: &bearer{}}}
	r := w.listen(t, "/api/events", "")
	r.until("overview", "")
	cancel()
	for {
		if _, err := r.next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Errorf("the stream was broken off: %v", err)
			break
		}
	}
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("Run: %v, want no error", err)
		}
	case <-time.After(patience):
		t.Fatal("the server did not end")
	}
	wg.Wait()
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}

type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+secret)
	return http.DefaultTransport.RoundTrip(r)
}

func TestSlowSenderIsLetGo(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run(t, serve.New(options(night())), l)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("half a request: %v, want the end of the connection", err)
	}
}

func TestLongHeaderIsRefused(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run(t, serve.New(options(night())), l)
	w := web{url: "http://" + l.Addr().String(), client: &http.Client{}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Long", strings.Repeat("x", 64<<10))
	if got := w.send(t, r).status; got != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d, want 431", got)
	}
}

func TestLooksAreShared(t *testing.T) {
	t.Parallel()
	o := options(night())
	o.Every = time.Hour
	w := open(t, o)
	for range 10 {
		w.get(t, "/")
		w.get(t, runPath(busy))
	}
	if got := w.looks; got != 2 {
		t.Errorf("%d looks for 20 pages, want 2", got)
	}
	w.post(t, runPath(busy)+"/stop")
	w.get(t, runPath(busy))
	if got := w.looks; got != 4 { // before the deed and behind it
		t.Errorf("%d looks after a deed, want 4", got)
	}
	w.get(t, "/")
	if got := w.looks; got != 5 {
		t.Errorf("%d looks after a deed and the first page, want 5", got)
	}
}

func TestJSONIsWhatTheBoardSays(t *testing.T) {
	t.Parallel()
	m := night()
	w := open(t, options(m))
	var got board.Run
	if err := json.Unmarshal([]byte(w.get(t, "/api/run.json?project="+busy.Project+"&run="+busy.Run).body), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m.runs[busy].Needs, got.Needs, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); d != "" {
		t.Errorf("needs differ (-board +JSON):\n%s", d)
	}
}
