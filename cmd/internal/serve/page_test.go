//go:build page

package serve_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/serve"
	"autopilot/supervisor/fleet"
)

// site is a machine that is served on a port of loopback.
type site struct {
	*machine

	url string
}

func start(t *testing.T, m *machine) site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := serve.New(serve.Options{
		Parts: serve.Parts{Actor: m, Report: func(_ context.Context, _ board.Ref, w io.Writer) error {
			_, err := io.WriteString(w, "<!DOCTYPE html><title>R</title><style>h1 { color: rgb(1, 2, 3) }</style><h1>the report</h1><script>document.title = 'bad'</script>")
			return err
		}},
		Board: m, Token: secret, Every: 50 * time.Millisecond,
	})
	run(t, s, l)
	return site{m, "http://" + l.Addr().String()}
}

// tab is a page in a browser of its own, with what it complained about.
type tab struct {
	context.Context

	mu       sync.Mutex
	problems []string
}

func browser(t *testing.T) *tab {
	t.Helper()
	home := t.TempDir()
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.Flag("headless", "new"), chromedp.UserDataDir(filepath.Join(home, "profile")), chromedp.Env("HOME="+home),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("disable-gpu", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("end the browser: %v", err)
		}
		cancel()
	})
	b := &tab{Context: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	call(t, b, log.Enable, cdp.Empty{})
	return b
}

// call gives the browser one command of its protocol.
func call[P, R any](t *testing.T, b *tab, cmd cdp.Command[P, R], params P) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(b, patience)
	defer cancel()
	v, err := chromedp.Call(ctx, cmd, params)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (b *tab) hear(ev any) {
	words := ""
	switch ev := ev.(type) {
	case *log.EventEntryAdded:
		words = "log: " + ev.Entry.Text
	case *runtime.EventExceptionThrown:
		words = "exception: " + ev.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		words = "console: " + string(ev.Type)
	case *page.EventJavascriptDialogOpening:
		words = "dialog: " + ev.Message
	}
	if words != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, words)
	}
}

// quiet wants that the page complained about nothing.
func (b *tab) quiet(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		t.Errorf("the browser says: %s", p)
	}
}

func (b *tab) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(b, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// enter logs in and opens a page.
func (b *tab) enter(t *testing.T, s site, path string) {
	t.Helper()
	b.do(t, chromedp.Navigate(s.url+"/login?token="+secret), chromedp.WaitVisible(chromedp.CSS("#main")), chromedp.Navigate(s.url+path), chromedp.WaitVisible(chromedp.CSS("#main")))
}

// js evaluates an expression in the page.
func js[T any](t *testing.T, b *tab, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(b, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for a fact.
func until(t *testing.T, what string, fact func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !fact(); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (b *tab) shows(t *testing.T, text string) {
	t.Helper()
	until(t, "the page shows "+text, func() bool {
		return strings.Contains(js[string](t, b, "document.body ? document.body.innerText : ''"), text)
	})
}

func (s site) did(t *testing.T, want string) {
	t.Helper()
	until(t, want+" was done", func() bool {
		for _, d := range s.deeds() {
			if d == want {
				return true
			}
		}
		return false
	})
	if got := len(s.deeds()); got != 1 {
		t.Errorf("%d things were done, want one: %v", got, s.deeds())
	}
}

func (b *tab) screen(t *testing.T, width, height int64, phone bool) {
	t.Helper()
	call(t, b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: phone})
}

func TestLoginKeepsNoTokenInTheBrowser(t *testing.T) {
	s := start(t, night())
	b := browser(t)
	b.do(t, chromedp.Navigate(s.url+"/login?token="+secret), chromedp.WaitVisible(chromedp.CSS("#main")))
	if got, want := js[string](t, b, "location.href"), s.url+"/"; got != want {
		t.Errorf("the page is at %s, want %s", got, want)
	}
	if got := js[string](t, b, "document.cookie"); got != "" {
		t.Errorf("a script reads the cookie %s", got)
	}
	history := call(t, b, page.GetNavigationHistory, cdp.Empty{})
	for _, e := range history.Entries {
		if strings.Contains(e.URL, secret) {
			t.Errorf("the history has %s", e.URL)
		}
	}
	b.quiet(t)
}

// TestLoginFromALink follows the link that 'serve --open' gives to the browser: a page that
// is from elsewhere leads to the login.
func TestLoginFromALink(t *testing.T) {
	s := start(t, night())
	file := filepath.Join(t.TempDir(), "open.html")
	if err := os.WriteFile(file, []byte(`<meta http-equiv="refresh" content="0; url=`+s.url+"/login?token="+secret+`">`), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser(t)
	b.do(t, chromedp.Navigate("file://"+file))
	b.shows(t, "Move the checkout")
	if got, want := js[string](t, b, "location.href"), s.url+"/"; got != want {
		t.Errorf("the page is at %s, want %s", got, want)
	}
}

func TestWithoutLogin(t *testing.T) {
	s := start(t, night())
	b := browser(t)
	b.do(t, chromedp.Navigate(s.url+runPath(busy)), chromedp.WaitVisible(chromedp.CSS("#token")))
	if text := js[string](t, b, "document.body.innerText"); strings.Contains(text, "checkout") {
		t.Errorf("who is not logged in sees %s", text)
	}
	b.do(t, chromedp.SendKeys(chromedp.CSS("#token"), "wrong\r"))
	b.shows(t, "The token is wrong.")
	b.do(t, chromedp.SendKeys(chromedp.CSS("#token"), secret+"\r"))
	b.shows(t, "Move the checkout")
}

func TestChangesArriveWithoutLoading(t *testing.T) {
	s := start(t, night())
	b := browser(t)
	for _, path := range []string{"/", runPath(busy)} {
		b.enter(t, s, path)
		js[bool](t, b, "window.mark = true")
		b.shows(t, "Live.")
		s.change(func(r *board.Run) { r.Iteration++; r.Tokens += 1_000_000 })
		b.shows(t, map[string]string{"/": "8 of 20", runPath(busy): "9 of 20"}[path])
		if !js[bool](t, b, "window.mark === true") {
			t.Error("the page was loaded again")
		}
	}
	s.happens(board.Event{At: time.Now(), Kind: "text", Text: "a new thing happens"})
	b.shows(t, "a new thing happens")
	if got := js[string](t, b, "document.querySelector('#events li').innerText"); !strings.Contains(got, "a new thing happens") {
		t.Errorf("the first event is %q, want the new one", got)
	}
	s.change(func(r *board.Run) { r.Needs = nil; r.State = fleet.StateRunning })
	b.shows(t, "running")
	until(t, "the title says that it runs", func() bool { return strings.HasPrefix(js[string](t, b, "document.title"), "running") })
	until(t, "the questions are gone", func() bool { return js[int](t, b, "document.querySelectorAll('.ask').length") == 0 })
	b.quiet(t)
}

// TestWhatIsWrittenStays changes the page under somebody who writes.
func TestWhatIsWrittenStays(t *testing.T) {
	s := start(t, night())
	b := browser(t)
	b.enter(t, s, runPath(busy))
	b.shows(t, "Live.")
	b.do(t, chromedp.SendKeys(chromedp.CSS("textarea"), "half an ans"))
	s.change(func(r *board.Run) {
		r.Needs = append([]board.Need{{Ref: busy, Kind: board.NeedGate, ID: "g-new", Text: "another call"}}, r.Needs...)
		r.Iteration = 11
	})
	b.shows(t, "11 of 20") // which comes behind the needs
	if got := js[string](t, b, "document.querySelector('textarea').value"); got != "half an ans" {
		t.Errorf("the answer is %q, want what was written", got)
	}
	if js[bool](t, b, "document.body.innerText.includes('another call')") {
		t.Error("what was about to be used moved")
	}
	js[string](t, b, "document.querySelector('textarea').value = ''")
	b.do(t, chromedp.MouseClickXY(1, 1))
	b.shows(t, "another call")
}

// deed is one thing that a person does on the page of the run.
type deed struct {
	name  string
	click []string // selectors, in their order
	keys  []string // ids or names of elements that Tab leads to, each with what is typed there behind a space
	want  string
}

func deeds(m *machine) []deed {
	gate, question := printOf(m, board.NeedGate), printOf(m, board.NeedAnswer)
	const run = "shop-1a2b3c/main-2026-01-31-2200-autopilot"
	return []deed{
		{"stop", []string{"#stop"}, []string{"stop \r"}, "stop " + run + " now=false"},
		{"stop now", []string{"#stop-now", "form #stop-now"}, []string{"stop-now \r", "stop-now \r"}, "stop " + run + " now=true"},
		{"approve", []string{"#approve-" + gate}, []string{"approve-" + gate + " \r"}, "approve " + run + " g-3f2a"},
		{"deny", []string{"#deny-" + gate}, []string{"why-" + gate + " never", "deny-" + gate + " \r"}, "deny " + run + ` g-3f2a "never"`},
		{"enter in the reason", nil, []string{"why-" + gate + " no\r"}, "deny " + run + ` g-3f2a "no"`},
		{"answer", []string{"#option-" + question + "-1", "#answer-" + question}, []string{"option-" + question + "-0 " + kb.ArrowDown, "answer-" + question + " \r"}, "answer " + run + ` "B) With the live service and a test account"`},
		{"answer in words", nil, []string{"text-" + question + " a stand-in", "answer-" + question + " \r"}, "answer " + run + ` "a stand-in"`},
	}
}

func TestDeedsInTheBrowser(t *testing.T) {
	for _, script := range []bool{true, false} {
		name := map[bool]string{true: "with script", false: "without script"}[script]
		b := browser(t)
		call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !script})
		for _, d := range deeds(night()) {
			if d.click != nil {
				t.Run(name+" by clicking "+d.name, func(t *testing.T) {
					s := start(t, night())
					b.enter(t, s, runPath(busy))
					for _, selector := range d.click {
						b.do(t, chromedp.Click(chromedp.CSS(selector)))
					}
					s.did(t, strings.Replace(d.want, "never", "", 1)) // the keys write a reason as well
					b.said(t)
				})
			}
			t.Run(name+" by keys "+d.name, func(t *testing.T) {
				s := start(t, night())
				b.enter(t, s, runPath(busy))
				for i, k := range d.keys {
					id, typed, _ := strings.Cut(k, " ")
					b.tabTo(t, id)
					b.do(t, chromedp.KeyEvent(typed))
					if d.name == "stop now" && i == 0 {
						until(t, "the question whether to stop", func() bool { return strings.HasSuffix(js[string](t, b, "location.pathname"), "/stop") })
					}
				}
				s.did(t, d.want)
				b.said(t)
			})
		}
		b.quiet(t)
	}
}

// said wants the page of the run with a message.
func (b *tab) said(t *testing.T) {
	t.Helper()
	until(t, "the page says what came of it", func() bool { return js[bool](t, b, "!!document.querySelector('#flash')") })
	if got := js[string](t, b, "location.pathname"); got != runPath(busy) {
		t.Errorf("the page is %s, want that of the run", got)
	}
	b.do(t, chromedp.Navigate("about:blank")) // the server ends now
}

// tabTo presses Tab until an element has the focus, which has to be seen there.
func (b *tab) tabTo(t *testing.T, id string) {
	t.Helper()
	for range 60 {
		b.do(t, chromedp.KeyEvent(kb.Tab))
		if js[string](t, b, "document.activeElement.id") != id {
			continue
		}
		if js[string](t, b, "getComputedStyle(document.activeElement).outlineStyle") == "none" {
			t.Errorf("%s has the focus, and nothing shows it", id)
		}
		return
	}
	t.Fatalf("Tab does not lead to %s", id)
}

func TestSkipLinkIsFirst(t *testing.T) {
	s := start(t, night())
	b := browser(t)
	b.enter(t, s, "/")
	b.do(t, chromedp.KeyEvent(kb.Tab))
	if got := js[string](t, b, "document.activeElement.className"); got != "skip" {
		t.Errorf("the first element is %q, want the link to the content", got)
	}
	b.do(t, chromedp.KeyEvent("\r"))
	until(t, "the content has the focus", func() bool { return js[string](t, b, "document.activeElement.id") == "main" })
}

// TestHostileTexts puts what an agent may write into every field.
func TestHostileTexts(t *testing.T) {
	m := night()
	attacks := []string{
		`<script>window.bad=1</script>`, `</script><script>window.bad=2</script>`, `"><img src=x onerror="window.bad=3">`, `' autofocus onfocus='window.bad=4`, `<svg onload=window.bad=5>`,
		`javascript:window.bad=6`, `<a href="javascript:window.bad=7">x</a>`, `<iframe srcdoc="<script>parent.bad=8</script>">`, `<form action=//evil.example><button>`, `<meta http-equiv=refresh content="0;url=//evil.example">`,
		`<base href="//evil.example/">`, `</title><script>alert(9)</script>`, `</noscript><script>alert(10)</script>`, "\u202etxt.exe\u2066", `<style>*{display:none}</style>`,
	}
	text := strings.Join(attacks, " ")
	long := strings.Repeat("A", 1<<20)
	s := start(t, m)
	b := browser(t)
	b.screen(t, 360, 740, true)
	for _, path := range []string{"/", runPath(busy)} {
		b.enter(t, s, path)
		b.shows(t, "Live.")
		s.change(func(r *board.Run) {
			r.Goal, r.Note, r.Cause, r.Summary, r.Tier, r.Source, r.Stopping = text, text, text, text, text, text, text
			r.Goals = []board.Goal{{Text: text, Status: text}, {Text: long}}
			r.Progress.Milestones = []board.Milestone{{Text: text}, {Text: long}}
			r.Needs[0].Text, r.Needs[0].Why, r.Needs[1].Text, r.Needs[1].Options = text, long, long, attacks
			r.Sessions[0].Ending, r.Sessions[0].Work, r.Sessions[0].Summary = text, long, text
			r.Problems = []string{text, long}
		})
		for _, e := range []string{text, long} {
			s.happens(board.Event{At: time.Now(), Kind: "text", Text: e}, board.Event{At: time.Now(), Kind: e, Level: e, Text: e})
		}
		for round := range 2 { // by the stream, and as a page
			b.shows(t, `<script>window.bad=1</script>`)
			if got := js[string](t, b, "String(window.bad)"); got != "undefined" {
				t.Errorf("%s, round %d: script %s was run", path, round, got)
			}
			if got := js[int](t, b, "document.querySelectorAll('main script, main iframe, main img, main base, main style, main meta, [onload], [onerror], [onfocus], form[action^=\"//\"], a[href^=\"javascript\"]').length"); got != 0 {
				t.Errorf("%s, round %d: %d elements are not ours", path, round, got)
			}
			if got := js[int](t, b, "document.documentElement.scrollWidth"); got > 360 {
				t.Errorf("%s, round %d: the page is %d wide, the screen 360", path, round, got)
			}
			if strings.Contains(js[string](t, b, "document.body.innerText + document.title"), "\u202e") {
				t.Errorf("%s, round %d: the direction of writing turns", path, round)
			}
			b.enter(t, s, path)
		}
	}
	b.quiet(t)
}

func TestManyEvents(t *testing.T) {
	m := night()
	s := start(t, m)
	b := browser(t)
	b.enter(t, s, runPath(busy))
	b.shows(t, "Live.")
	var events []board.Event
	for i := range 10_000 {
		events = append(events, board.Event{At: time.Now(), Kind: "tool", Text: fmt.Sprintf("call number %d", i)})
	}
	s.happens(events...)
	b.shows(t, "call number 9999")
	if got := js[int](t, b, "document.querySelectorAll('#events li').length"); got > 1000 {
		t.Errorf("%d events are kept, want 1000 at most", got)
	}
	s.happens(board.Event{At: time.Now(), Kind: "text", Text: "and then this"})
	b.shows(t, "and then this")
	b.quiet(t)
}

// TestOtherOrigins opens a page of another server on this machine, to which the browser sends
// the same cookies, and lets it try.
func TestOtherOrigins(t *testing.T) {
	m := night()
	s := start(t, m)
	b := browser(t)
	b.enter(t, s, runPath(busy))
	token := js[string](t, b, "document.querySelector('input[name=form]').value")
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/form" { // even with the right token
			fmt.Fprintf(w, `<form method=post action="%s/stop"><input name=form value="%s"></form><script>document.forms[0].submit()</script>`, s.url+runPath(busy), token)
			return
		}
		fmt.Fprintf(w, `<iframe id=f src="%[1]s/"></iframe><script>
			window.got = {};
			const body = new URLSearchParams({form: "%[2]s"});
			const tried = [
				fetch("%[1]s/api/overview.json", {credentials: "include"}).then((r) => r.text()).then((v) => { window.got.read = v }, () => {}),
				fetch("%[1]s/api/overview.json", {credentials: "include", mode: "no-cors"}).then((r) => { window.got.blind = r.type }, () => {}),
				fetch("%[1]s%[3]s/stop", {method: "POST", credentials: "include", body}).then((r) => r.text()).then((v) => { window.got.post = v }, () => {}),
				fetch("%[1]s%[3]s/stop", {method: "POST", credentials: "include", mode: "no-cors", body}).then(() => {}, () => {}),
				new Promise((done) => { const s = document.createElement("script"); s.src = "%[1]s/static/live.js"; s.onload = () => { window.got.script = true; done() }; s.onerror = done; document.head.append(s) }),
				new Promise((done) => { const e = new EventSource("%[1]s/api/events", {withCredentials: true}); e.onopen = () => { window.got.stream = true; done() }; e.onerror = done }),
			];
			Promise.all(tried).then(() => { window.finished = true });
		</script>`, s.url, token, runPath(busy))
	}))
	t.Cleanup(evil.Close)
	b.do(t, chromedp.Navigate(evil.URL+"/"))
	until(t, "the other page has tried", func() bool { return js[bool](t, b, "window.finished === true") })
	if got := js[string](t, b, "JSON.stringify(window.got)"); got != "{}" {
		t.Errorf("the other page got %s", got)
	}
	b.do(t, chromedp.Navigate(evil.URL+"/form"))
	b.shows(t, "Another site asked for this.")
	if got := m.deeds(); len(got) != 0 {
		t.Errorf("done: %v", got)
	}
}

func TestReportRunsNothing(t *testing.T) {
	s := start(t, night())
	b := browser(t)
	b.do(t, chromedp.Navigate(s.url+"/login?token="+secret), chromedp.WaitVisible(chromedp.CSS("#main")), chromedp.Navigate(s.url+runPath(busy)+"/report"), chromedp.WaitVisible(chromedp.CSS("h1")))
	if got := js[string](t, b, "document.title"); got != "R" {
		t.Errorf("title = %s: a script was run", got)
	}
	if got := js[string](t, b, "getComputedStyle(document.querySelector('h1')).color"); got != "rgb(1, 2, 3)" {
		t.Errorf("color = %s: its style is refused", got)
	}
}

func TestDarkAndLight(t *testing.T) {
	s := start(t, night())
	b := browser(t)
	b.enter(t, s, "/")
	colors := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		colors[js[string](t, b, "getComputedStyle(document.body).backgroundColor")] = true
	}
	if len(colors) != 2 {
		t.Errorf("both have the colours %v", colors)
	}
}

// TestLoadsItselfAgain wants that a page without a script shows what is new.
func TestLoadsItselfAgain(t *testing.T) {
	s := start(t, night())
	b := browser(t)
	call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.enter(t, s, "/")
	if got := js[string](t, b, "document.querySelector('head meta[http-equiv=refresh]').content"); got != "15" {
		t.Errorf("the page is loaded again after %q, want 15", got)
	}
	b.enter(t, s, runPath(busy))
	if js[bool](t, b, "!!document.querySelector('meta[http-equiv=refresh]')") {
		t.Error("a page that somebody writes into is loaded again")
	}
}

// TestConnectionComesBack ends the server and starts another one in its place.
func TestConnectionComesBack(t *testing.T) {
	m := night()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := browser(t)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = serve.New(options(m)).Run(ctx, l) })
	s := site{m, "http://" + l.Addr().String()}
	b.enter(t, s, runPath(busy))
	b.shows(t, "Live.")
	stop()
	wg.Wait()
	b.shows(t, "Not live")
	l, err = net.Listen("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	run(t, serve.New(options(m)), l) // which does not know the session
	second := browser(t)
	second.enter(t, s, runPath(busy))
	second.shows(t, "Live.")
}

// TestPictures makes pictures of the pages, to be looked at; with -artifacts they are kept.
func TestPictures(t *testing.T) {
	s := start(t, night())
	dir := t.ArtifactDir()
	for _, v := range []struct {
		name          string
		width, height int64
		dark          string
		phone         bool
	}{{"desktop-light", 1280, 900, "light", false}, {"desktop-dark", 1280, 900, "dark", false}, {"phone-light", 360, 740, "light", true}, {"phone-dark", 360, 740, "dark", true}} {
		b := browser(t)
		b.screen(t, v.width, v.height, v.phone)
		call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: v.dark}}})
		for name, path := range map[string]string{"overview": "/", "run": runPath(busy), "stop": runPath(busy) + "/stop", "past": runPath(over), "project": "/projects/" + busy.Project} {
			b.enter(t, s, path)
			png, err := chromedp.Run(b, chromedp.FullScreenshot(100))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name+"-"+v.name+".png"), png, 0o600); err != nil {
				t.Fatal(err)
			}
			if wide := js[int64](t, b, "document.documentElement.scrollWidth"); wide > v.width {
				t.Errorf("%s %s: %d wide, the screen has %d", name, v.name, wide, v.width)
			}
		}
		b.quiet(t)
	}
}
