package wording

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"autopilot/metrics/logs"
)

// perRune bounds what is looked at of a text, in bytes for each rune that is shown: a
// megabyte of output is not searched for the one line that is kept.
const perRune = 16

var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]+[0-~]|[0-~])`)
})

// Line returns a text as one line of at most n runes, the last of which is an ellipsis
// when it was longer. Escaped for HTML it has little more than 3n bytes: a text of
// nothing but quotes is cut earlier. It is valid UTF-8, can stand in XML, and holds no secret, no
// escape sequence and no mark that changes the direction of the text around it.
func Line(s string, n int) string {
	s, cut := head(s, n)
	return shorten(logs.Redact(strings.Join(strings.Fields(plain(s)), " ")), n, cut)
}

// Text is like Line for a text of several lines.
func Text(s string, n int) string {
	s, cut := head(s, n)
	return shorten(strings.TrimSpace(logs.Redact(plain(s))), n, cut)
}

// head is the part of a text that is looked at. A word that it would end within is left
// out, because half a secret does not look like one.
func head(s string, n int) (string, bool) {
	limit := max(n, 64) * perRune
	if len(s) <= limit {
		return s, false
	}
	s = s[:limit]
	if i := strings.LastIndexAny(s, " \t\r\n"); i > 0 {
		s = s[:i]
	}
	return s, true
}

func plain(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	if strings.ContainsRune(s, '\x1b') {
		s = escapes().ReplaceAllString(s, "")
	}
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return c
		case c == '\r' || c == '\v' || c == '\f' || c == '\u2028' || c == '\u2029':
			return '\n'
		case unicode.IsControl(c) || unicode.Is(unicode.Noncharacter_Code_Point, c) || turns(c):
			return -1
		}
		return c
	}, s)
}

// turns reports whether a rune changes the direction of writing.
func turns(c rune) bool {
	return c == 0x061c || c == 0x200e || c == 0x200f || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069
}

// shorten cuts a text to n runes and to 3n bytes.
func shorten(s string, n int, cut bool) string {
	n = max(n, 1)
	if cut {
		s += "…"
	}
	if len(s) <= n/2 {
		return s // would fit if every byte of it were escaped
	}
	runes, size, fits := 0, 0, 0 // fits is where an ellipsis could follow
	for i, c := range s {
		if runes < n && size < 3*n {
			fits = i
		}
		runes, size = runes+1, size+escapedLen(c)
		if runes > n || size > 3*n {
			return strings.TrimRightFunc(s[:fits], unicode.IsSpace) + "…"
		}
	}
	return s
}

// escapedLen is how many bytes a rune takes in HTML.
func escapedLen(c rune) int {
	if strings.ContainsRune(`"'&<>+`, c) {
		return len("&#34;")
	}
	return utf8.RuneLen(c)
}
