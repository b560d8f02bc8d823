package approval

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"autopilot/sessions/prompt"
)

// What a person is shown must be what will run. A secret is taken out as narrowly as
// possible: of an assignment or a flag only the value, up to the next mark at which a shell
// would see something else begin.
const value = `((?:[^\s"'` + "`" + `;&|$()<>\\]|\$[^\s"'` + "`" + `;&|({]){6,})`

var (
	tokens = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{8,}|AKIA[A-Z0-9]{12,})`)
	})
	assigned = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`((?i:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD)[\\"']{0,3}\s*[=:]\s*[\\"']{0,2})` + value)
	})
	flagged = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(--[a-z-]*(?:token|password|secret|api-key)\s+)([^\s"'` + "`" + `;&|$()<>\\-][^\s"'` + "`" + `;&|$()<>\\]{5,})`)
	})
)

// redact takes out what looks like a secret. What stands in its place tells calls apart
// that differ only there: it holds the beginning of the fingerprint of the call.
func redact(s, print string) string {
	mark := "[redacted]"
	if print != "" {
		mark = "[redacted #" + print[:min(6, len(print))] + "]"
	}
	s = tokens().ReplaceAllLiteralString(s, mark)
	s = assigned().ReplaceAllString(s, "${1}"+mark)
	return flagged().ReplaceAllString(s, "${1}"+mark)
}

// redactAll takes secrets out of every text of a value.
func redactAll(v any, print string) any {
	switch v := v.(type) {
	case string:
		return redact(v, print)
	case []any:
		for i := range v {
			v[i] = redactAll(v[i], print)
		}
	case map[string]any:
		for k := range v {
			v[k] = redactAll(v[k], print)
		}
	}
	return v
}

// line makes a text one bounded line for a person, without secrets.
func line(s string, runes int) string { return marked(s, runes, "") }

// marked is line for a text of a call with a fingerprint.
func marked(s string, runes int, print string) string {
	s = redact(plain(s[:min(len(s), 8*runes)]), print)
	return prompt.Cut(strings.Join(strings.Fields(s), " "), runes)
}

// text makes a text fit to be shown, without secrets.
func text(s string, limit int, print string) string {
	return cutText(redact(plain(s[:min(len(s), 4*limit)]), print), limit)
}

func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const more = "\n... cut"
	return strings.ToValidUTF8(s[:limit-len(more)], "") + more
}

// plain takes out control characters, and puts a visible mark in the place of those that
// cannot be seen or turn the direction of a text.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r):
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}
