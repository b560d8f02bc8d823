package testgate

import (
	"strings"
	"unicode/utf8"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

const (
	maxLine    = 500      // runes of a line
	maxName    = 300      // runes of the name of a test
	maxDetail  = 2000     // runes of what went wrong
	maxSummary = 400      // runes
	maxOutput  = 32 << 10 // bytes that are shown
	keptOutput = 96 << 10 // bytes that are looked at for secrets
	ellipsis   = "…"
)

// line makes one line of at most n runes.
func line(s string, n int) string {
	return prompt.Cut(strings.Join(strings.Fields(block(s, 8*n)), " "), n)
}

// block makes a text of at most n runes. Secrets are looked for before it is cut,
// because half a secret does not look like one.
func block(s string, n int) string {
	if len(s) > 64*n {
		s = s[:64*n] // what is cut away is far behind what is shown
	}
	return prompt.Cut(strings.Trim(logs.Redact(gate.Plain(s)), "\n"), n)
}

// lastLines returns at most n bytes from the end of a text, of whole lines unless the first is a
// long one, behind an ellipsis when there was more.
func lastLines(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n+len(ellipsis):]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	if at := strings.IndexByte(s, '\n'); at >= 0 && at < n/4 {
		s = s[at+1:]
	}
	return ellipsis + s
}

// recorder keeps the end of what a command prints.
type recorder struct {
	buf []byte
	cut bool
}

// Write never fails.
func (r *recorder) Write(p []byte) (int, error) {
	n := len(p)
	if n > keptOutput {
		p, r.cut = p[n-keptOutput:], true
	}
	if r.buf = append(r.buf, p...); len(r.buf) > 2*keptOutput {
		r.buf, r.cut = append(r.buf[:0], r.buf[len(r.buf)-keptOutput:]...), true
	}
	return n, nil
}

// shown returns the end as people and models may see it. What may have been cut in two
// at its beginning is left out.
func (r *recorder) shown() string {
	s := string(r.buf)
	if r.cut {
		if at := strings.IndexAny(s, "\n\r "); at >= 0 {
			s = s[at+1:]
		}
	}
	s = logs.Redact(gate.Plain(s))
	if r.cut && len(s) <= maxOutput {
		s = ellipsis + s
	}
	return lastLines(s, maxOutput+len(ellipsis))
}
