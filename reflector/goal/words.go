package goal

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is one word of a goal. A quotation is one word.
type word struct {
	text       string // lower case, without punctuation around it; empty for a quotation
	raw        string // as written; for a quotation, what is in it
	lead, tail string // punctuation around it
	start, end int    // of raw
	from, to   int    // likewise, with the marks of a quotation
	quoted     bool
	newline    bool // it is the first of its line
}

func (w word) stop() bool {
	if strings.ContainsAny(w.tail, "!?;。！？") {
		return true
	}
	return strings.Contains(w.tail, ".") && !abbreviation(w.text) && !w.numeral()
}

func (w word) colon() bool { return strings.Contains(w.tail, ":") }
func (w word) comma() bool { return strings.Contains(w.tail, ",") }

// numeral reports whether the word is the number of an item: 1. 1) (1).
func (w word) numeral() bool {
	if w.quoted || w.raw == "" || len(w.raw) > 3 || strings.Trim(w.raw, "0123456789") != "" {
		return false
	}
	return w.tail == "." || w.tail == ")"
}

func abbreviation(s string) bool {
	return slices.Contains([]string{"e.g", "i.e", "etc", "vs", "cf", "approx", "resp", "incl"}, s)
}

// split cuts a part of a text into words.
func split(text string, start, end int) []word {
	var out []word
	newline := true
	for i := start; i < end; {
		c, n := utf8.DecodeRuneInString(text[i:end])
		if unicode.IsSpace(c) {
			newline = newline || c == '\n'
			i += n
			continue
		}
		if c == '(' || c == '[' { // a quotation may follow
			i += n
			continue
		}
		w, next := quotation(text, i, end)
		if next == 0 {
			w, next = plain(text, i, end)
		}
		w.newline, newline = newline, false
		i = next
		if w.raw == "" && len(out) > 0 && !w.quoted {
			last := &out[len(out)-1]
			last.tail += w.tail
			continue
		}
		out = append(out, w)
	}
	return out
}

const leads, tails = `([{*"'“‘«„`, ".,;:!?)]}*\"'”’»“…。！？"

// plain reads one run of characters that are no space.
func plain(text string, i, end int) (word, int) {
	run := text[i:end]
	if n := strings.IndexFunc(run, unicode.IsSpace); n >= 0 {
		run = run[:n]
	}
	next := i + len(run)
	raw := strings.TrimLeft(run, leads)
	w := word{lead: run[:len(run)-len(raw)], start: next - len(raw)}
	body := raw
	if !strings.HasSuffix(raw, "/...") {
		body = strings.TrimRight(raw, tails)
	}
	w.raw, w.tail, w.end = body, raw[len(body):], w.start+len(body)
	if !strings.ContainsFunc(body, says) && !operator(body) {
		w.raw, w.tail, w.end = "", dash(body)+w.tail, w.start
	}
	w.text, w.from, w.to = strings.ToLower(w.raw), w.start, w.end
	return w, next
}

func operator(s string) bool {
	return slices.Contains([]string{"<", ">", "<=", ">=", "≤", "≥", "=", "==", "&", "%", "./"}, s)
}

// dash turns a dash between words into a colon, which it mostly stands for.
func dash(s string) string {
	switch s {
	case "-", "--", "–", "—", "->", "→":
		return ":"
	}
	return ""
}

// quotation reads a quotation that begins at i. It gives 0 when there is none. A
// quotation ends in its own line and is not long, so an apostrophe opens none.
func quotation(text string, i, end int) (word, int) {
	const longest = 400 // bytes
	c, n := utf8.DecodeRuneInString(text[i:end])
	closing := closers(c)
	if closing == "" {
		return word{}, 0
	}
	window := text[i+n : min(end, i+n+longest)]
	if k := strings.IndexByte(window, '\n'); k >= 0 {
		window = window[:k]
	}
	k := closer(window, closing, c)
	if k <= 0 {
		return word{}, 0
	}
	_, m := utf8.DecodeRuneInString(window[k:])
	next := i + n + k + m
	w := word{raw: window[:k], start: i + n, end: i + n + k, from: i, to: next, quoted: true}
	rest := text[next:end]
	if j := strings.IndexFunc(rest, unicode.IsSpace); j >= 0 {
		rest = rest[:j]
	}
	w.tail = rest
	return w, next + len(rest)
}

func closers(c rune) string {
	switch c {
	case '`', '"', '\'':
		return string(c)
	case '“', '„':
		return "”“"
	case '‘', '‚':
		return "’‘"
	case '«':
		return "»"
	case '»':
		return "«"
	}
	return ""
}

// closer finds where a quotation ends; a single mark ends none inside a word.
func closer(window, closing string, open rune) int {
	for at := 0; at < len(window); {
		k := strings.IndexAny(window[at:], closing)
		if k < 0 {
			return -1
		}
		k += at
		_, m := utf8.DecodeRuneInString(window[k:])
		next, _ := utf8.DecodeRuneInString(window[k+m:])
		if (open != '\'' && open != '‘') || k+m == len(window) || !says(next) {
			return k
		}
		at = k + m
	}
	return -1
}

// specific reports whether the word names something of its own.
func (w word) specific() bool {
	return w.quoted || w.text != "" && !function(w.text) && !generic(w.text) && !praise(w.text)
}

// full reports whether the word says something, be it only "the system".
func (w word) full() bool {
	return w.quoted || w.text != "" && !function(w.text) && !hollow(w.text) && !praise(w.text)
}

// identifier reports whether the word is a name as in code, a number of an issue
// or a path.
func (w word) identifier() bool {
	if w.quoted || strings.ContainsAny(w.raw, "_/#") || pathOf(w) != "" {
		return true
	}
	inner := w.raw[min(1, len(w.raw)):]
	return strings.ContainsFunc(inner, unicode.IsUpper) && strings.ContainsFunc(w.raw, unicode.IsLower) || strings.ContainsAny(inner, "0123456789")
}
