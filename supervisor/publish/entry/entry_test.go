package entry_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/entry"
)

func TestMarks(t *testing.T) {
	t.Parallel()
	u := publish.Update{Subject: "run/a--b", At: time.UnixMilli(1790000000123)}
	clear, coded := entry.Clear("k:1", u), entry.Coded("k:1", u)
	if got, want := clear.Hidden(), "<!-- autopilot run/a--b k:1 1790000000123 -->"; got != want {
		t.Errorf("Hidden = %s, want %s", got, want)
	}
	other := u
	other.Project = "1f2e3d"
	if c, d := entry.Clear("k:1", other), entry.Coded("k:1", other); c.Subject == clear.Subject || d.Subject == coded.Subject || c.Subject != "run/a--b:1f2e3d" {
		t.Errorf("marks of another project: %+v, %+v", c, d)
	}
	for text, want := range map[string]bool{
		clear.Hidden() + "\nbody":             true,
		"\n " + clear.Hidden():                true,
		"hello\n" + clear.Hidden():            false,
		"> " + clear.Hidden():                 false,
		"<!-- autopilot a b -->":              false,
		"<!-- autopilot a b 9999999999999999": false,
		"":                                    false,
	} {
		if got, ok := entry.ReadHidden(text); ok != want || ok && got != clear {
			t.Errorf("ReadHidden(%q) = %+v, %v", text, got, ok)
		}
	}
	for text, want := range map[string]bool{
		"body\n" + coded.Line():                                            true,
		"body\n{color:#97a0af}" + coded.Line() + "{color}\r\n":             true,
		"<p>x</p><div><small>" + coded.Line() + "</small>&nbsp;</div>\n":   true,
		coded.Line() + "\nbody":                                            false,
		"x " + coded.Line() + " y":                                         false,
		"body " + entry.Clear("k", u).Line():                               false,
		"xautopilot" + coded.Line()[len("autopilot"):]:                     false,
		entry.Coded("old", u).Line() + "\n\n" + coded.Line() + "{color}":   true,
		"{color:#97a0af}" + coded.Line() + "{color} an answer of a person": false,
	} {
		if got, ok := entry.ReadLine(text); ok != want || ok && got != coded {
			t.Errorf("ReadLine(%q) = %+v, %v", text, got, ok)
		}
	}
	if m := entry.Clear("k", publish.Update{Subject: "s"}); m.At != 0 {
		t.Errorf("mark of an update without time = %+v", m)
	}
}

// What is written is read again, whatever subject and key are.
func TestMarksComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := publish.Update{Subject: rapid.String().Draw(t, "subject"), At: time.UnixMilli(rapid.Int64Range(0, 1<<45).Draw(t, "at"))}
		key, body := rapid.String().Draw(t, "key"), rapid.String().Draw(t, "body")
		hidden, line := entry.Clear(key, u), entry.Coded(key, u)
		if got, ok := entry.ReadHidden(hidden.Hidden() + "\n" + body); !ok || got != hidden {
			t.Errorf("hidden: %+v, want %+v", got, hidden)
		}
		if got, ok := entry.ReadLine(body + "\n" + line.Line()); !ok || got != line {
			t.Errorf("line: %+v, want %+v", got, line)
		}
	})
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	got := entry.Blocks("# One #\ntext\nmore\n\n- a\n  - b\n  on\n2. c\n> q1\n> q2\n***\n| a | b |\n|---|---|\n```go\n# no\n\n``\n```\n~~~\nopen")
	want := []entry.Block{
		{Kind: entry.Heading, Level: 1, Text: "One"},
		{Kind: entry.Paragraph, Text: "text\nmore"},
		{Kind: entry.Bullet, Level: 1, Text: "a"},
		{Kind: entry.Bullet, Level: 2, Text: "b\non"},
		{Kind: entry.Numbered, Level: 1, Text: "c"},
		{Kind: entry.Quote, Text: "q1\nq2"},
		{Kind: entry.Rule},
		{Kind: entry.Verbatim, Text: "| a | b |\n|---|---|"},
		{Kind: entry.Verbatim, Text: "# no\n\n``"},
		{Kind: entry.Verbatim, Text: "open"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Blocks (-want +got):\n%s", diff)
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	got := entry.Spans("a `x*y` **b** [c](https://e.com/?q) [d](javascript:x) `e")
	want := []entry.Span{
		{Kind: entry.Words, Text: "a "},
		{Kind: entry.Code, Text: "x*y"},
		{Kind: entry.Words, Text: " "},
		{Kind: entry.Strong, Text: "b"},
		{Kind: entry.Words, Text: " "},
		{Kind: entry.Link, Text: "c", URL: "https://e.com/?q"},
		{Kind: entry.Words, Text: " [d](javascript:x) `e"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Spans (-want +got):\n%s", diff)
	}
}

func FuzzBlocks(f *testing.F) {
	for _, s := range []string{"", "```", "- \n-\n1.", "# \n#", "|\n||", "> \n>", "a\r\nb\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := 0
		for _, b := range entry.Blocks(s) {
			n += len(b.Text)
			if !utf8.ValidString(b.Text) || (b.Kind == entry.Heading || b.Kind == entry.Bullet || b.Kind == entry.Numbered) && (b.Level < 1 || b.Level > 6) {
				t.Errorf("block %+v of %q", b, s)
			}
		}
		if n > 3*len(s) {
			t.Errorf("%d bytes of %d", n, len(s))
		}
	})
}

func TestFit(t *testing.T) {
	t.Parallel()
	write := func(body string) string { return "[" + strings.ReplaceAll(body, "&", "&amp;") + "]" }
	if got := entry.Fit("a&b", 9, write); got != "[a&amp;b]" {
		t.Errorf("Fit = %q, want all of it", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		body, limit := rapid.String().Draw(t, "body"), rapid.IntRange(3, 60).Draw(t, "limit")
		got := entry.Fit(body, limit, write)
		if entry.Length(got) > limit || !strings.HasPrefix(got, "[") || !strings.HasSuffix(got, "]") {
			t.Errorf("Fit(%q, %d) = %q of %d", body, limit, got, entry.Length(got))
		}
	})
	if n := entry.Length("a\U0001f600é"); n != 4 {
		t.Errorf("Length = %d, want 4", n)
	}
}

func TestStanding(t *testing.T) {
	t.Parallel()
	u := publish.Update{RunID: "r", State: publish.NeedsHuman, Percent: 120, At: time.Date(2026, 8, 1, 12, 0, 0, 0, time.FixedZone("", 7200)), Final: true}
	if got, want := entry.Standing(u, "repo"), "needs a person · 100 % · in repo · run r · 2026-08-01 10:00 UTC · last update"; got != want {
		t.Errorf("Standing = %q, want %q", got, want)
	}
}

func line(t *testing.T, base string) *entry.Line {
	t.Helper()
	l, err := entry.NewLine(entry.LineOptions{Service: publish.GitHub, BaseURL: base, Variable: "X", Secrets: []string{"s3cret"}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A line reads no more than it can hold, and goes to no other host.
func TestLine(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/found" {
			http.Redirect(w, r, "/200", http.StatusFound)
			return
		}
		if rest, ok := strings.CutPrefix(r.URL.Path, "/moved"); ok {
			http.Redirect(w, r, rest, http.StatusTemporaryRedirect)
			return
		}
		if r.URL.Path == "/500" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		piece := []byte(strings.Repeat("x", 1<<20))
		for range 40 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	defer srv.Close()
	l := line(t, srv.URL)
	for path, most := range map[string]int64{"/200": 32<<20 + 1, "/500": 64<<10 + 1} {
		resp, err := l.HTTP.Get(srv.URL + "/moved" + path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err == nil || n > most || resp.Request.URL.Path != path {
			t.Errorf("%s: read %d bytes, %v", resp.Request.URL, n, err)
		}
	}
	// A redirect that would make a GET of it is not the same call.
	resp, err := l.HTTP.Post(srv.URL+"/found", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusFound {
		t.Errorf("POST to what is found elsewhere ended in %s %s: %d", resp.Request.Method, resp.Request.URL, resp.StatusCode)
	}
	if _, err := l.HTTP.Get("http://127.0.0.2:1/x"); err == nil || !strings.Contains(err.Error(), "not the configured host") {
		t.Errorf("another host: %v", err)
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	l := line(t, "http://localhost:1")
	ctx, a := entry.Watch(t.Context())
	if err := l.Fail(ctx, a, nil); err != nil {
		t.Errorf("Fail(nil) = %v", err)
	}
	a.Status = 404
	err := l.Fail(ctx, a, fmt.Errorf("a\ns3cret %s", strings.Repeat("y", 1000)))
	e, ok := errors.AsType[*publish.SendError](err)
	if !ok || !e.Permanent || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n") || len(err.Error()) > 500 {
		t.Errorf("Fail = %v", err)
	}
}
