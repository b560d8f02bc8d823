package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"autopilot/cmd/internal/board"
)

// event is one event of a stream.
type event struct{ name, id, data string }

// reader reads a stream.
type reader struct {
	t     *testing.T
	lines *bufio.Reader
}

func (w web) listen(t *testing.T, path, last string) reader {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "text/event-stream; charset=utf-8" {
		t.Fatalf("status %d, %s", res.StatusCode, got)
	}
	return reader{t, bufio.NewReader(res.Body)}
}

// next is the next event; signs of life come as events without a name.
func (r reader) next() (event, error) {
	r.t.Helper()
	var e event
	for {
		text, err := r.lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		text = strings.TrimSuffix(text, "\n")
		name, value, _ := strings.Cut(text, ": ")
		switch name {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if e.name != "" {
				return e, nil
			}
		case ":":
			return event{}, nil
		}
	}
}

// until is the next event of that name that holds a text.
func (r reader) until(name, text string) event {
	r.t.Helper()
	for {
		e, err := r.next()
		if err != nil {
			r.t.Fatalf("the stream ended before %s with %q: %v", name, text, err)
		}
		if e.name == name && strings.Contains(e.data, text) {
			return e
		}
	}
}

func TestStreamOfARun(t *testing.T) {
	t.Parallel()
	w := open(t, options(night()))
	path := "/api/events?project=" + busy.Project + "&run=" + busy.Run
	r := w.listen(t, path, "")
	r.until("run", `"percent":63`)
	first := r.until("events", "session 7 begins")
	if first.id == "" {
		t.Fatal("the events have no id")
	}
	w.happens(board.Event{At: time.Now(), Kind: "text", Text: "two\nlines\r\nevent: forged\n\ndata: forged"})
	second := r.until("events", "two")
	if strings.Contains(second.data, "session 7 begins") {
		t.Error("events come twice")
	}
	var got struct{ Events []board.Event }
	if err := json.Unmarshal([]byte(second.data), &got); err != nil || len(got.Events) != 1 {
		t.Errorf("data = %s, %v, want one event", second.data, err)
	}
	w.change(func(r *board.Run) { r.Iteration = 8 })
	r.until("run", `"iteration":8`)

	again := w.listen(t, path, first.id)
	if e := again.until("events", ""); strings.Contains(e.data, "session 7 begins") || !strings.Contains(e.data, "two") {
		t.Errorf("after %s: %s, want what came behind it", first.id, e.data)
	}
	w.mu.Lock()
	delete(w.runs, busy)
	w.mu.Unlock()
	r.until("gone", busy.Run)
	if _, err := r.next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end of the run: %v, want the end of the stream", err)
	}
}

func TestStreamOfParts(t *testing.T) {
	t.Parallel()
	w := open(t, options(night()))
	r := w.listen(t, "/api/events?as=parts&project="+busy.Project+"&run="+busy.Run, "")
	r.until("part", `"part":"state"`)
	r.until("part", `"part":"sessions"`)
	hostile := `</script><img src=x onerror="window.bad=1">` + "\u202e\u200b"
	w.happens(board.Event{At: time.Now(), Kind: "text", Text: hostile})
	e := r.until("events", "onerror")
	if strings.Contains(e.data, "<img") || strings.Contains(e.data, "\u202e") || strings.Contains(e.data, "\u200b") {
		t.Errorf("data = %s, want text", e.data)
	}
	var drawn struct{ HTML string }
	if err := json.Unmarshal([]byte(e.data), &drawn); err != nil || strings.Contains(drawn.HTML, "<img") || !strings.Contains(unescape(drawn.HTML), "‹U+202E›‹U+200B›") {
		t.Errorf("html = %s, %v, want text with what is hidden in it", drawn.HTML, err)
	}
	w.change(func(r *board.Run) { r.Stopping = "asked to stop" })
	part := r.until("part", "asked to stop")
	if strings.Contains(part.data, `"part":"sessions"`) {
		t.Errorf("another part: %s", part.data)
	}
}

func unescape(s string) string { return html.UnescapeString(s) }

func TestStreamOfAll(t *testing.T) {
	t.Parallel()
	w := open(t, options(night()))
	for path, name := range map[string]string{"/api/events": "overview", "/api/events?as=parts": "part"} {
		r := w.listen(t, path, "")
		r.until(name, "63")
		w.change(func(r *board.Run) { r.Tokens += 1_000_000 })
		r.until(name, map[string]string{"overview": `"tokens":`, "part": "M"}[name])
	}
}

func TestStreamIsQuietWhenNothingChanges(t *testing.T) {
	t.Parallel()
	o := options(night())
	o.Beat = 30 * quick
	w := open(t, o)
	for _, path := range []string{"/api/events", "/api/events?as=parts", "/api/events?project=" + busy.Project + "&run=" + busy.Run} {
		r := w.listen(t, path, "")
		quiet := 0
		for quiet < 2 { // two signs of life with nothing between them
			e, err := r.next()
			if err != nil {
				t.Fatal(err)
			}
			quiet++
			if e.name != "" {
				quiet = 0
			}
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	o := options(night())
	o.Clients = 2
	w := open(t, o)
	first := w.listen(t, "/api/events", "")
	first.until("overview", "")
	w.listen(t, "/api/events", "").until("overview", "")
	res := w.get(t, "/api/events")
	if res.status != http.StatusServiceUnavailable || res.header.Get("Retry-After") == "" {
		t.Errorf("status %d, want 503 and when to come back", res.status)
	}
	if got := w.get(t, "/").status; got != http.StatusOK {
		t.Errorf("the page: status %d, want 200", got)
	}
}

func TestSeatsAreGivenBack(t *testing.T) {
	t.Parallel()
	o := options(night())
	o.Clients = 1
	w := open(t, o)
	for range 5 {
		deadline := time.Now().Add(patience)
		for {
			ctx, cancel := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/api/events", nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := w.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the seat is still taken")
			}
		}
	}
}

func TestPlacesFromOutside(t *testing.T) {
	t.Parallel()
	w := open(t, options(night()))
	base := "/api/events?project=" + busy.Project + "&run=" + busy.Run
	for _, last := range []string{
		"!!!", strings.Repeat("A", 2000), "e30", // {}
		"eyJsb2ciOi0xfQ", // {"log":-1}
		"eyJzZXNzaW9uIjoiLi4vLi4vZXRjL3Bhc3N3ZCJ9", // {"session":"../../etc/passwd"}
	} {
		if e := w.listen(t, base, last).until("events", ""); !strings.Contains(e.data, "session 7 begins") {
			t.Errorf("%s: %s, want the latest events", last, e.data)
		}
	}
}
