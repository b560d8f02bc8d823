package printed

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"autopilot/metrics/logs"
)

const maxUseful = 400 // bytes of git's words in an error

// Useful are the lines of an output that say what is wrong, in one line: those that
// git marks, otherwise the last one.
func Useful(out string) string {
	var marked []string
	last := ""
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "hint:"):
		case strings.HasPrefix(line, "fatal: "), strings.HasPrefix(line, "error: "):
			_, line, _ = strings.Cut(line, ": ")
			marked = append(marked, line)
		default:
			last = line
		}
	}
	if len(marked) == 0 {
		marked = []string{last}
	}
	words := strings.Join(marked[max(0, len(marked)-3):], "; ")
	if len(words) > maxUseful {
		words = strings.ToValidUTF8(words[:maxUseful], "") + "…"
	}
	return words
}

// unfit matches what does not belong into a text that is shown: escape sequences in
// the sense of ECMA-48.
var unfit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]+[0-~]|[0-~])`)
})

// userinfo matches the name and password in an address.
var userinfo = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(https?://)[^/\s@]+@`) })

// Shown makes an output fit to be shown: valid, without escape sequences, control
// characters and secrets, and of it the last maxBytes.
func Shown(out string, maxBytes int) string {
	s := unfit().ReplaceAllString(strings.ToValidUTF8(out, "\uFFFD"), "")
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return c
		case c == '\r':
			return '\n'
		case unicode.IsControl(c) || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069:
			return -1
		}
		return c
	}, strings.ReplaceAll(s, "\r\n", "\n"))
	s = strings.TrimSpace(userinfo().ReplaceAllString(logs.Redact(s), "${1}"+logs.Redacted+"@"))
	if len(s) <= maxBytes {
		return s
	}
	const ellipsis = "…"
	s = s[len(s)-maxBytes+len(ellipsis):]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	if at := strings.IndexByte(s[:len(s)/2], '\n'); at >= 0 {
		s = s[at+1:]
	}
	return ellipsis + s
}

const maxNamed = 5 // names of files in an error

// Names names the first of some files, quoted, and says how many more there are.
func Names(files []string) string {
	var out []string
	for _, f := range files[:min(len(files), maxNamed)] {
		out = append(out, fmt.Sprintf("%q", f))
	}
	if more := len(files) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}
