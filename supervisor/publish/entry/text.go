package entry

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"autopilot/supervisor/publish"
)

// plain returns valid UTF-8 without control characters and marks of direction.
func plain(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return c
		case c == '\r' || c == '\u2028' || c == '\u2029':
			return '\n'
		case unicode.IsControl(c) || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069:
			return -1
		}
		return c
	}, s)
}

// Standing is one line on how the work stands: state, percent, run and time.
func Standing(u publish.Update, repo string) string {
	state := string(u.State)
	if u.State == publish.NeedsHuman {
		state = "needs a person"
	}
	parts := []string{state, fmt.Sprintf("%d %%", min(max(u.Percent, 0), 100))}
	if repo != "" {
		parts = append(parts, "in "+repo)
	}
	if u.RunID != "" {
		parts = append(parts, "run "+u.RunID)
	}
	if !u.At.IsZero() {
		parts = append(parts, u.At.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if u.Final {
		parts = append(parts, "last update")
	}
	return strings.Join(parts, " · ")
}

// Length is the length of a text in UTF-16 units, in which the services count; never
// less than its characters.
func Length(s string) int {
	n := 0
	for _, c := range s {
		n++
		if c > 0xffff {
			n++
		}
	}
	return n
}

// Fit writes a body so that the result has at most limit units (see [Length]), by
// shortening the body before it is written, so that no markup is cut through.
func Fit(body string, limit int, write func(body string) string) string {
	body = cut(body, limit)
	out := write(body)
	for n := utf8.RuneCountInString(body); Length(out) > limit && n > 0; {
		n = min(n*limit/Length(out), n*9/10, n-1)
		out = write(cut(body, n) + "\n")
	}
	return out
}

// cut shortens a text to at most n characters, the last of which then is an ellipsis.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	return string([]rune(s)[:n-1]) + "…"
}
