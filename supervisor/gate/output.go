package gate

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"autopilot/metrics/logs"
)

const (
	// keptBytes is how much of an output is kept while a command runs. It is more
	// than is shown, so that secrets are found before the text is cut.
	keptBytes = 64 << 10
	maxOutput = 8 << 10 // bytes
	ellipsis  = "…"
)

// ring keeps the end of what is written to it, in memory that does not grow.
type ring struct {
	buf  []byte
	next int  // where the next byte goes
	full bool // everything from next on is older than what stands before it
}

func newRing(size int) *ring { return &ring{buf: make([]byte, size)} }

// Write never fails.
func (r *ring) Write(p []byte) (int, error) {
	n := len(p)
	if n > len(r.buf) {
		p, r.full = p[n-len(r.buf):], true
	}
	for len(p) > 0 {
		k := copy(r.buf[r.next:], p)
		p = p[k:]
		if r.next += k; r.next == len(r.buf) {
			r.next, r.full = 0, true
		}
	}
	return n, nil
}

// text returns what is kept. What may have been cut in two at its beginning is left
// out: a line, or a word where the line is a long one.
func (r *ring) text() (s string, cut bool) {
	if !r.full {
		return string(r.buf[:r.next]), false
	}
	all := append(bytes.Clone(r.buf[r.next:]), r.buf[:r.next]...)
	begin := all[:len(all)/2]
	at := bytes.IndexByte(begin, '\n')
	if at < 0 {
		at = bytes.IndexAny(begin, " \t\r")
	}
	return string(all[at+1:]), true
}

// escapes matches the escape sequences of terminals in the sense of ECMA-48. A
// string within one ends at the line's end at the latest, so that a stray byte
// does not hide what follows.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]+[0-~]|[0-~])`)
})

// Plain returns a text as valid UTF-8 without escape sequences, control characters
// other than line end and tab, and marks that change the direction of the text
// around them. A carriage return becomes a line end, for what redraws a line.
func Plain(s string) string {
	s = escapes().ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return c
		case c == '\r' || c == '\v' || c == '\f' || c == '\u2028' || c == '\u2029':
			return '\n'
		case unicode.IsControl(c) || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069:
			return -1
		}
		return c
	}, s)
}

// Shown returns the end of an output as people and models may see it, in at most 8 KiB
// and without secrets. Cut says that there was more in front of it.
func Shown(kept string, cut bool) string {
	out, _ := shown(kept, cut)
	return out
}

// shown returns the end of an output as people and models may see it, and its
// last line with content. Escape sequences go first: within a secret they would
// hide it.
func shown(kept string, cut bool) (out, last string) {
	all := logs.Redact(Plain(kept))
	trimmed := strings.TrimSpace(all)
	last = strings.TrimSpace(trimmed[strings.LastIndexByte(trimmed, '\n')+1:])
	if len(all)+len(ellipsis) > maxOutput {
		all, cut = tail(all, maxOutput-len(ellipsis)), true
	}
	if cut {
		all = ellipsis + all
	}
	return all, last
}

// tail returns at most n bytes from the end, of whole characters, and of whole
// lines unless the first is a long one.
func tail(s string, n int) string {
	s = s[len(s)-n:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	if at := strings.IndexByte(s, '\n'); at >= 0 && at < n/4 {
		s = s[at+1:]
	}
	return s
}
