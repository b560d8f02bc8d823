package taskmaster

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// text is a JSON file. Its methods find where values begin and end without decoding
// them. For valid JSON what they find is exact. They do not notice everything that is
// wrong with a file that is none, but they never leave it. Where they notice, they
// return -1.
type text []byte

// span is the part of a text from one offset to another.
type span struct{ from, to int }

// field is a member of an object.
type field struct {
	lead  int // where the white space in front of the key begins
	key   span
	name  string // of the key, decoded
	value span
}

func (t text) at(s span) []byte { return t[s.from:s.to] }

// begin is where the first value of a file begins, behind a byte-order mark.
func (t text) begin() int {
	i := 0
	if bytes.HasPrefix(t, []byte("\xef\xbb\xbf")) {
		i = 3
	}
	return t.space(i)
}

func (t text) space(i int) int {
	for i < len(t) && (t[i] == ' ' || t[i] == '\n' || t[i] == '\r' || t[i] == '\t') {
		i++
	}
	return i
}

// str returns where the string that begins at i is over.
func (t text) str(i int) int {
	for at := i + 1; at < len(t); {
		n := bytes.IndexByte(t[at:], '"')
		if n < 0 {
			return -1
		}
		end := at + n
		back := end
		for t[back-1] == '\\' && back-1 > i {
			back--
		}
		if (end-back)%2 == 0 {
			return end + 1
		}
		at = end + 1
	}
	return -1
}

// skip returns where the value that begins at i is over.
func (t text) skip(i int) int {
	if i >= len(t) {
		return -1
	}
	switch t[i] {
	case '"':
		return t.str(i)
	case '{', '[':
		return t.leave(i + 1)
	}
	from := i
	for i < len(t) && !delimits(t[i]) {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

func delimits(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ':' || c <= ' ' || c == '"'
}

// leave returns where the object or array is over in which i stands, outside of any
// string. It counts brackets of both kinds alike. Most of a file goes past here, so it
// looks at eight bytes at once; those with escapes in them it takes one by one.
func (t text) leave(i int) int {
	depth := 1
	inside := uint64(0) // all ones while i is in a string
next:
	for i+block <= len(t) {
		part := (*[block]byte)(t[i:])
		for k := 0; k <= block-8; k += 8 {
			w := binary.LittleEndian.Uint64(part[k : k+8])
			// A byte behind an odd number of quotes is in a string. The product counts the
			// quotes up to each byte, and the lowest bit of a byte says whether they are odd.
			quotes := w ^ '"'*ones
			quotes = ^((quotes&low + low) | quotes) &^ low
			inString := (quotes>>7*ones ^ inside) << 7

			// Brackets and backslashes, and letters that stand in strings only, are the bytes
			// that differ in these bits alone. What is searched for is made zero before.
			marks := (w | 0x27*ones) ^ 0x7f*ones
			marks = (marks - ones) &^ marks &^ low
			if marks&inString != 0 && hasBackslash(w) {
				if i, inside, depth = t.slowly(i+k, i+k+8, inside, depth); depth == 0 {
					return i
				}
				continue next
			}
			for marks &^= inString; marks != 0; marks &= marks - 1 {
				at := i + k + bits.TrailingZeros64(marks)/8
				if depth += nesting(t[at]); depth == 0 {
					return at + 1
				}
			}
			inside = uint64(int64(inString) >> 63)
		}
		i += block
	}
	if i, _, depth = t.slowly(i, len(t), inside, depth); depth != 0 {
		return -1
	}
	return i
}

// slowly does the work of leave byte by byte, up to an offset or until depth is 0. It
// may go one byte further, and not beyond the text.
func (t text) slowly(i, to int, inside uint64, depth int) (int, uint64, int) {
	for ; i < to && depth > 0; i++ {
		switch c := t[i]; {
		case c == '"':
			inside = ^inside
		case c == '\\' && inside != 0:
			i++
		case inside == 0:
			depth += nesting(c)
		}
	}
	return min(i, len(t)), inside, depth
}

func nesting(c byte) int {
	switch c {
	case '{', '[':
		return 1
	case '}', ']':
		return -1
	}
	return 0
}

const (
	block = 64 // bytes that are looked at without asking for the end
	ones  = 0x0101010101010101
	low   = 0x7f7f7f7f7f7f7f7f
)

func hasBackslash(w uint64) bool {
	w ^= '\\' * ones
	return (w-ones)&^w&^low != 0
}

// object calls member for each member of the object that begins at i. member
// returns where its value is over. So does object for the whole.
func (t text) object(i int, member func(f field) int) int {
	f := field{lead: i + 1}
	i = t.space(i + 1)
	if i < len(t) && t[i] == '}' {
		return i + 1
	}
	for i < len(t) && t[i] == '"' {
		f.key = span{i, t.str(i)}
		if f.key.to < 0 {
			return -1
		}
		i = t.space(f.key.to)
		if i >= len(t) || t[i] != ':' {
			return -1
		}
		f.value.from = t.space(i + 1)
		if f.value.from >= len(t) {
			return -1
		}
		if i = member(f); i < 0 {
			return -1
		}
		i = t.space(i)
		if i < len(t) && t[i] == '}' {
			return i + 1
		}
		if i >= len(t) || t[i] != ',' {
			return -1
		}
		f.lead = i + 1
		i = t.space(i + 1)
	}
	return -1
}

// array calls element for each element of the array that begins at i, with its
// number from 1. element returns where it is over. So does array for the whole.
func (t text) array(i int, element func(number, at int) int) int {
	i = t.space(i + 1)
	if i < len(t) && t[i] == ']' {
		return i + 1
	}
	for number := 1; i < len(t); number++ {
		if i = element(number, i); i < 0 {
			return -1
		}
		i = t.space(i)
		if i < len(t) && t[i] == ']' {
			return i + 1
		}
		if i >= len(t) || t[i] != ',' {
			return -1
		}
		i = t.space(i + 1)
	}
	return -1
}

// is reports whether a key is name, however it is written.
func (t text) is(key span, name string) bool {
	inner := t[key.from+1 : key.to-1]
	return string(inner) == name || bytes.IndexByte(inner, '\\') >= 0 && t.word(key) == name
}

// word is a string or a number as text, and null as none. Of anything else it is the
// JSON. It is valid UTF-8.
func (t text) word(s span) string {
	raw := t.at(s)
	switch {
	case string(raw) == "null":
		return ""
	case len(raw) < 2 || raw[0] != '"':
		return strings.ToValidUTF8(string(raw), "\ufffd")
	}
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var decoded string
	if json.Unmarshal(raw, &decoded) != nil {
		return strings.ToValidUTF8(string(inner), "\ufffd")
	}
	return decoded
}

// line is the number of the line at an offset, from 1.
func (t text) line(offset int) int { return 1 + bytes.Count(t[:offset], []byte("\n")) }
