package serve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/serve/page"
	"autopilot/cmd/internal/serve/stream"
)

// retry is how long a reader waits before it connects again.
const retry = 2 * time.Second

// bursts is how many times events are taken in a row before the reader gets them all.
const bursts = 20

// events is the stream of what changes: of a run when one is named, else of all. Programs
// get what /api/overview.json or /api/run.json say, anew when it is another; the page gets
// its parts.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	ref := board.Ref{Project: q.Get("project"), Run: q.Get("run")}
	l := listener{s: s, r: r, ref: ref, parts: q.Get("as") == "parts", sent: map[string]string{}}
	if ref != (board.Ref{}) {
		if _, ok := s.found(w, r, ref); !ok {
			return
		}
		l.at = place(r.Header.Get("Last-Event-ID"), q.Get("at"))
	}
	if !s.seats.Take() {
		w.Header().Set("Retry-After", "30")
		refuse(w, r, http.StatusServiceUnavailable, "Too many listen already.")
		return
	}
	defer s.seats.Leave()
	if r.Method == http.MethodHead {
		return
	}
	out, err := stream.Begin(w, retry)
	if err != nil {
		return
	}
	l.out = out
	l.listen()
}

// listener is one reader of the stream.
type listener struct {
	s     *Server
	r     *http.Request
	ref   board.Ref
	parts bool
	out   *stream.Writer
	sent  map[string]string // by name of the part: the version that the reader has
	at    board.Cursor
}

// listen sends what changes until the reader or the server goes away.
func (l *listener) listen() {
	look, beat := time.NewTicker(l.s.o.Every), time.NewTicker(l.s.o.Beat)
	defer look.Stop()
	defer beat.Stop()
	for {
		if more, err := l.look(l.r.Context()); err != nil || !more {
			return
		}
	waiting:
		for {
			select {
			case <-l.r.Context().Done():
				return
			case <-l.s.done:
				return
			case <-beat.C:
				if l.out.Beat() != nil {
					return
				}
			case <-look.C:
				break waiting
			}
		}
	}
}

// look sends what is new. There is no more when the run is gone.
func (l *listener) look(ctx context.Context) (more bool, err error) {
	if l.ref == (board.Ref{}) {
		return true, l.overview(ctx)
	}
	run, err := l.s.looks.find(ctx, l.ref)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, l.out.Send("gone", "", map[string]string{"run": l.ref.Run})
	case err != nil:
		return true, l.changed("trouble", map[string]string{"error": err.Error()})
	}
	if l.parts {
		err = l.sendParts(page.RunParts(run, l.s.viewer(l.r, false)))
	} else {
		err = l.changed("run", still(run))
	}
	if err != nil {
		return true, err
	}
	return true, l.tail(run)
}

func (l *listener) overview(ctx context.Context) error {
	o := l.s.looks.look(ctx)
	if l.parts {
		return l.sendParts(page.OverviewParts(o, l.s.viewer(l.r, false)))
	}
	return l.changed("overview", stillAll(o))
}

func (l *listener) sendParts(parts []page.Part, err error) error {
	if err != nil {
		return l.changed("trouble", map[string]string{"error": err.Error()})
	}
	for _, p := range parts {
		if l.sent[p.Name] == p.Version {
			continue
		}
		if err := l.out.Send("part", "", p); err != nil {
			return err
		}
		l.sent[p.Name] = p.Version
	}
	return nil
}

// changed sends a value that is another than the last one of that name.
func (l *listener) changed(event string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return l.out.Send("trouble", "", map[string]string{"error": err.Error()})
	}
	if l.sent[event] == string(b) {
		return nil
	}
	l.sent[event] = string(b)
	return l.out.Send(event, "", json.RawMessage(b))
}

// tail sends the events behind the place that the reader has reached.
func (l *listener) tail(run board.Run) error {
	for range bursts {
		events, at, err := l.s.o.Board.Tail(run, l.at)
		if err != nil {
			return l.changed("trouble", map[string]string{"error": err.Error()})
		}
		l.at = at
		if len(events) == 0 {
			return nil
		}
		var v any = map[string]any{"events": events}
		if l.parts {
			html, err := page.Events(events, time.Now())
			if err != nil {
				return err
			}
			v = map[string]any{"html": html}
		}
		if err := l.out.Send("events", placeText(at), v); err != nil {
			return err
		}
	}
	return nil
}

// still is a run without what changes by itself.
func still(r board.Run) board.Run {
	r.AgeSeconds = 0
	r.Stories = stillRows(r.Stories)
	return r
}

func stillAll(o board.Overview) board.Overview {
	o.At = time.Time{}
	o.Active, o.Past = stillRows(o.Active), stillRows(o.Past)
	return o
}

func stillRows(rows []board.Row) []board.Row {
	out := make([]board.Row, len(rows))
	for i, r := range rows {
		r.AgeSeconds = 0
		out[i] = r
	}
	return out
}

// placeText is a place in the events as text without spaces.
func placeText(c board.Cursor) string {
	b, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

const maxPlace = 512 // bytes

// place reads the first text that is a place. It comes from outside: what is not a sound
// one is the zero place.
func place(texts ...string) board.Cursor {
	for _, text := range texts {
		if text == "" || len(text) > maxPlace {
			continue
		}
		b, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			continue
		}
		var c board.Cursor
		if json.Unmarshal(b, &c) == nil && c.Log >= 0 && c.Talk >= 0 && soundName(c.Session) {
			return c
		}
	}
	return board.Cursor{}
}

// soundName reports whether a text can name a session: it must lead to no other file.
func soundName(s string) bool {
	return len(s) <= 128 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
