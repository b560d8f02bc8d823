package stream

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// patience is how long a reader may take nothing.
const patience = 20 * time.Second

// Writer writes events to one reader.
type Writer struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// Begin answers a request with an event stream. The retry is how long the reader waits
// before it connects again.
func Begin(w http.ResponseWriter, retry time.Duration) (*Writer, error) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no")
	s := &Writer{w: w, rc: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	return s, s.write(fmt.Sprintf("retry: %d\n\n", retry.Milliseconds()))
}

// Send sends one event with a value as JSON, which is one line. An id that is not empty is
// what the reader names when it connects again.
func (s *Writer) Send(event, id string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("send %s: %w", event, err)
	}
	var b strings.Builder
	b.WriteString("event: " + oneLine(event) + "\n")
	if id != "" {
		b.WriteString("id: " + oneLine(id) + "\n")
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
	return s.write(b.String())
}

// Beat sends nothing, so that the connection is seen to live.
func (s *Writer) Beat() error { return s.write(":\n\n") }

func (s *Writer) write(text string) error {
	// Not every kind of connection knows deadlines; those of tests do not.
	_ = s.rc.SetWriteDeadline(time.Now().Add(patience))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.rc.Flush()
}

func oneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' {
			return -1
		}
		return c
	}, s)
}

// Seats bound how many listen at once.
type Seats chan struct{}

// Take takes a seat; the caller gives it back with Leave. It is false when all are taken.
func (s Seats) Take() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

// Leave gives a seat back.
func (s Seats) Leave() { <-s }
