package stream

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The answer of a session may be megabytes long. Copied to the line's buffer and
// decoded from there it would be in memory four times; so the filter takes it
// out of the line. The text of the key result is decoded on the way, the value
// of structured_output stays JSON.

// answer is the answer of one line.
type answer struct {
	text    answerText
	hasText bool
	inText  bool // the current string is the text
	textCut bool

	value    chunks
	open     bool // what comes belongs to the value
	valueCut bool // the value was too long and is gone
	json     []byte
}

func (a *answer) beginText() {
	a.text, a.textCut = answerText{}, false
	a.hasText, a.inText = true, true
}

// keepValue takes a part of the value, up to limit bytes in all. A value that is
// not whole is of no use, so a longer one is dropped.
func (a *answer) keepValue(p []byte, limit int) {
	if a.valueCut = a.valueCut || a.value.size+len(p) > limit; a.valueCut {
		a.value = chunks{}
		return
	}
	a.value.append(p)
}

// endValue reports whether the value, if it is still there, is valid.
func (a *answer) endValue() bool {
	a.open = false
	a.json = nil
	if a.valueCut {
		return true
	}
	a.json = bytes.Trim(a.value.bytes(), " \t\r\n")
	a.value = chunks{}
	return json.Valid(a.json)
}

// fill puts the answer into the event of its line.
func (a *answer) fill(e *Event) {
	e.AnswerCut = a.textCut || a.valueCut
	if a.hasText {
		e.Result = a.text.string(a.textCut)
	}
	e.StructuredOutput = nil
	if present(a.json) {
		e.StructuredOutput = a.json
	}
}

// chunks is a text that grows without being copied.
type chunks struct {
	full [][]byte
	last []byte
	size int
}

func (c *chunks) append(p []byte) {
	const least, most = 4 << 10, 256 << 10
	c.size += len(p)
	for len(p) > 0 {
		if len(c.last) == cap(c.last) {
			if c.last != nil {
				c.full = append(c.full, c.last)
			}
			c.last = make([]byte, 0, min(max(least, 2*cap(c.last)), most))
		}
		n := min(len(p), cap(c.last)-len(c.last))
		c.last = append(c.last, p[:n]...)
		p = p[n:]
	}
}

// bytes returns a copy of the text.
func (c *chunks) bytes() []byte {
	all := make([]byte, 0, c.size)
	for _, chunk := range c.full {
		all = append(all, chunk...)
	}
	return append(all, c.last...)
}

// answerText decodes the inside of a JSON string, in pieces none of which ends
// within an escape sequence. As in encoding/json, a surrogate without its other
// half and bytes that are not UTF-8 are replaced.
type answerText struct {
	chunks

	high rune // a high surrogate whose other half is to come, or 0
}

// plain takes bytes that stand for themselves.
func (t *answerText) plain(p []byte) {
	t.settle()
	t.append(p)
}

// escape takes one escape sequence, which must be valid.
func (t *answerText) escape(esc []byte) {
	if esc[1] != 'u' {
		t.settle()
		t.append([]byte{shortEscape(esc[1])})
		return
	}
	var r rune
	for _, c := range esc[2:] {
		r = r<<4 | hexValue(c)
	}
	if t.high != 0 {
		if pair := utf16.DecodeRune(t.high, r); pair != utf8.RuneError {
			t.high = 0
			t.append(utf8.AppendRune(nil, pair))
			return
		}
		t.settle()
	}
	if r >= 0xD800 && r < 0xDC00 {
		t.high = r
		return
	}
	t.append(utf8.AppendRune(nil, r)) // a lone low surrogate becomes U+FFFD
}

// settle gives up waiting for the other half of a surrogate pair.
func (t *answerText) settle() {
	if t.high != 0 {
		t.high = 0
		t.append(utf8.AppendRune(nil, utf8.RuneError))
	}
}

// string returns the text. If it was cut, a character that was cut in two is
// left out.
func (t *answerText) string(cut bool) string {
	t.settle()
	var b strings.Builder
	b.Grow(t.size)
	for _, chunk := range t.full {
		b.Write(chunk)
	}
	b.Write(t.last)
	s := b.String()
	if cut {
		s = s[:wholeRunes(s)]
	}
	if utf8.ValidString(s) {
		return s
	}
	var valid strings.Builder
	for _, r := range s {
		valid.WriteRune(r)
	}
	return valid.String()
}

// wholeRunes returns the length of s without a UTF-8 sequence that is cut off
// at its end.
func wholeRunes[T string | []byte](s T) int {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		c := s[len(s)-i]
		if c >= 0xC0 && i < bits.LeadingZeros8(^c) {
			return len(s) - i
		}
		if c < 0x80 || c >= 0xC0 {
			break
		}
	}
	return len(s)
}

// isShortEscape reports whether c after a backslash is an escape sequence.
func isShortEscape(c byte) bool { return shortEscape(c) != 0 }

// shortEscape returns what c after a backslash stands for, 0 if for nothing.
func shortEscape(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// hexValue returns the value of a hexadecimal digit.
func hexValue(c byte) rune {
	if c <= '9' {
		return rune(c - '0')
	}
	return rune(c|0x20-'a') + 10
}
