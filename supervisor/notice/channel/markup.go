package channel

import (
	"mime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// joiner is a zero width space: it parts a sign from the word that it would act on.
const joiner = "\u200b"

// mentionless parts each @ that begins a word from it, and so every mention: of a person,
// of a group, of everyone. Addresses of e-mail stay as they are, but some services find the
// name of a group within a word as well.
func mentionless(s string) string {
	var b strings.Builder
	before := ' '
	for i, c := range s {
		b.WriteRune(c)
		if c == '@' && (!unicode.IsLetter(before) && !unicode.IsDigit(before) || group(s[i+1:])) {
			b.WriteString(joiner)
		}
		before = c
	}
	return b.String()
}

// group reports whether a text begins with a name that stands for many.
func group(s string) bool {
	s = strings.ToLower(s[:min(len(s), 10)])
	return slices.ContainsFunc([]string{"everyone", "here", "channel", "all", "room"}, func(name string) bool { return strings.HasPrefix(s, name) })
}

// slackText writes the three characters that Slack's markup is made of as Slack asks for
// it. Then there is no <!channel>, no <@U1> and no <http://one|another>.
func slackText(s string) string {
	return mentionless(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s))
}

// slackLines is slackText for a text: each line becomes an attachment, so none is empty.
func slackLines(s string) string {
	lines := slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	return slackText(strings.Join(lines, "\n"))
}

// googleText parts the brackets of <users/all> and of links from what is in them.
func googleText(s string) string { return mentionless(strings.ReplaceAll(s, "<", "<"+joiner)) }

// markdownSigns are the characters that make more of a text in the dialects of Discord,
// Mattermost and Rocket.Chat. Each may stand behind a backslash. The round brackets of a
// link mean nothing without the square ones, and commands stay readable.
const markdownSigns = "\\*_~`|>#[]<"

// markdownText puts a backslash before each sign of markup.
func markdownText(s string) string {
	var b strings.Builder
	for _, c := range s {
		if strings.ContainsRune(markdownSigns, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return mentionless(b.String())
}

// headerText makes a title fit for a header of HTTP or of a mail: one line, and an encoded
// word (RFC 2047) where it is more than ASCII.
func headerText(s string) string {
	return mime.QEncoding.Encode("utf-8", strings.Join(strings.Fields(s), " "))
}

// mailText breaks lines that are longer than a mail server has to take (RFC 5321: 998
// bytes).
func mailText(s string) string {
	const most = 900
	var b strings.Builder
	n := 0
	for _, c := range s {
		if c == '\n' {
			n = 0
		} else if n += utf8.RuneLen(c); n > most {
			b.WriteByte('\n')
			n = utf8.RuneLen(c)
		}
		b.WriteRune(c)
	}
	return b.String()
}

// desktopText is for a desktop whose notices understand some HTML, told by a program that
// reads escapes like those of C.
func desktopText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`).Replace(s)
}

// fit shortens a text so that it has at most limit bytes once it is written as fn does. An
// ellipsis stands for what was cut.
func fit(s string, limit int, fn func(string) string) string {
	out := fn(s)
	if len(out) <= limit {
		return out
	}
	const more = "…"
	low, high := 0, min(len(s), limit) // bytes of s that fit, and that do not
	for low+1 < high {
		mid := (low + high) / 2
		if len(fn(boundary(s, mid)+more)) <= limit {
			low = mid
		} else {
			high = mid
		}
	}
	return fn(strings.TrimRightFunc(boundary(s, low), unicode.IsSpace) + more)
}

// boundary is the beginning of a text of at most n bytes without half a rune.
func boundary(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
