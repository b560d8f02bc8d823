package suite

import (
	"bytes"
	"strings"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

const (
	maxName    = 300 // runes of the name of a test
	maxCommand = 500 // runes
	maxDetail  = 500 // runes
	keptOutput = 64 << 10
	maxLine    = 1 << 20 // bytes; longer lines are dropped
)

// line makes one line of at most n runes. Secrets are looked for before it is cut,
// because half a secret does not look like one.
func line(s string, n int) string {
	if len(s) > 64*n {
		s = s[:64*n] // what is cut away is far behind what is shown
	}
	return prompt.Cut(logs.Redact(strings.Join(strings.Fields(gate.Plain(s)), " ")), n)
}

// splitter hands on what is written to it line by line, without line ends.
type splitter struct {
	buf  []byte
	long bool // the line has become too long
	feed func([]byte)
}

// Write never fails.
func (s *splitter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		whole := i >= 0
		if !whole {
			i = len(p)
		}
		if s.long = s.long || len(s.buf)+i > maxLine; s.long {
			s.buf = s.buf[:0]
		} else {
			s.buf = append(s.buf, p[:i]...)
		}
		if !whole {
			break
		}
		s.flush()
		p = p[i+1:]
	}
	return n, nil
}

// flush ends the line.
func (s *splitter) flush() {
	if !s.long {
		s.feed(s.buf)
	}
	s.buf, s.long = s.buf[:0], false
}

// close hands on a last line without a line end.
func (s *splitter) close() {
	if len(s.buf) > 0 {
		s.flush()
	}
}

// ending keeps the end of a text.
type ending struct {
	buf []byte
	cut bool
}

func (e *ending) add(s string) {
	e.buf = append(e.buf, s...)
	if len(e.buf) > 2*keptOutput {
		e.buf, e.cut = append(e.buf[:0], e.buf[len(e.buf)-keptOutput:]...), true
	}
}

// shown returns the end as people may see it, in at most 8 KiB. What may have been cut
// in two at its beginning is left out before secrets are looked for.
func (e *ending) shown() string {
	s := string(e.buf)
	if e.cut {
		_, s, _ = strings.Cut(s, "\n")
	}
	return gate.Shown(s, e.cut)
}
