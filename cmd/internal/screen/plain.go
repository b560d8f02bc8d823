package screen

import (
	"strings"
	"unicode"
)

// Plain makes a text safe to print: what a model or another program wrote must not
// move the cursor, set a title or hide itself. Line ends and tabs stay; every other
// control character becomes a question mark.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !isBidi(r) {
			return r
		}
		return '?'
	}, text)
}

// isBidi reports whether a character changes the direction of the text around it,
// which can make a line read as something else.
func isBidi(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
