package stream_test

import (
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"autopilot/cmd/internal/serve/stream"
)

func begin(t *testing.T) (*stream.Writer, *httptest.ResponseRecorder) {
	t.Helper()
	r := httptest.NewRecorder()
	w, err := stream.Begin(r, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return w, r
}

func TestSend(t *testing.T) {
	t.Parallel()
	w, r := begin(t)
	if err := w.Send("part", "p-1", map[string]string{"a": "x\ny"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Beat(); err != nil {
		t.Fatal(err)
	}
	if err := w.Send("part", "", 1); err != nil {
		t.Fatal(err)
	}
	want := "retry: 2000\n\nevent: part\nid: p-1\ndata: {\"a\":\"x\\ny\"}\n\n:\n\nevent: part\ndata: 1\n\n"
	if got := r.Body.String(); got != want || !r.Flushed {
		t.Errorf("sent %q, flushed %v, want %q", got, r.Flushed, want)
	}
	if got := r.Header().Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("Content-Type = %s", got)
	}
}

func TestNothingBeginsAnotherEvent(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\n\nevent: forged\ndata: 1\n\n", "\r\rdata: 1\r", "\r\n\r\n", "\u2028data", "</script><b>"} {
		w, r := begin(t)
		if err := w.Send(text, text, text); err != nil {
			t.Fatal(err)
		}
		body := strings.TrimPrefix(r.Body.String(), "retry: 2000\n\n")
		if got := strings.Count(body, "\n"); got != 4 || strings.Contains(body, "\r") || strings.Contains(body, "</script>\"") {
			t.Errorf("%q is sent as %q", text, body)
		}
	}
}

func TestWhatHasNoJSON(t *testing.T) {
	t.Parallel()
	w, r := begin(t)
	before := r.Body.Len()
	if err := w.Send("x", "", math.NaN()); err == nil || r.Body.Len() != before {
		t.Errorf("Send of NaN: %v, %q, want an error and nothing sent", err, r.Body.String()[before:])
	}
}

func TestSeats(t *testing.T) {
	t.Parallel()
	s := make(stream.Seats, 2)
	for i, want := range []bool{true, true, false} {
		if got := s.Take(); got != want {
			t.Errorf("seat %d: taken = %v, want %v", i+1, got, want)
		}
	}
	s.Leave()
	if !s.Take() {
		t.Error("a seat that was given back is taken")
	}
}
