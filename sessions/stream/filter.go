package stream

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
)

// headBytes is how much of a line is kept as it was, to show when the line
// turns out not to be JSON.
const headBytes = 200

// A phase says which part of a line the filter is in.
type phase uint8

const (
	before phase = iota // no brace yet
	inside              // in the object
	after               // the object is closed
	dead                // the rest of the line is not wanted
)

// A class says what becomes of the value of a key of the outermost object.
type class uint8

const (
	other  class = iota
	unread       // nobody reads its long strings
	text         // the answer, if it is a string: taken out of the line and decoded
	value        // the answer as a value: taken out of the line
)

// unreadString is how much is kept of a string that nobody reads: enough for
// the kinds and identifiers beside it.
const unreadString = 256

// A filter copies one line at a time and shortens the strings in it. It knows
// just enough of JSON to find the ends of strings and the keys of the outermost
// object; it leaves it to the decoder to reject what is wrong, except in the
// parts it drops, which the decoder never sees.
//
// The state is that of one line, between any two bytes of it.
type filter struct {
	limits Limits

	size  int64  // bytes of the line so far
	head  []byte // the first headBytes of the line
	phase phase
	noise noise
	seen  bool // something visible stands before the object
	over  bool // the line is too long; implies dead

	out   []byte // what is kept of the object
	depth int
	class class
	key   bool // a string at depth 1 would be a key

	inString bool
	start    int  // where in out the current string begins
	room     int  // bytes the current string may still take
	cut      bool // the current string has been shortened
	esc      [6]byte
	escLen   int // length of the unfinished escape sequence, 0 if none
	cuts     int // shortened strings

	answer answer
}

// reset prepares the filter for the next line. A large buffer is let go: large
// lines are rare, and sessions are long.
func (f *filter) reset() {
	out, head := f.out, f.head
	if cap(out) > 256<<10 {
		out = nil
	}
	*f = filter{limits: f.limits, out: out[:0], head: head[:0]}
}

// feed takes bytes up to the end of the line or of p. It returns how many and
// whether the line is complete; the line end itself is taken but not kept.
func (f *filter) feed(p []byte) (n int, complete bool) {
	n = len(p)
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		n, complete, p = i+1, true, p[:i]
	}
	f.size += int64(len(p))
	if room := headBytes - len(f.head); room > 0 {
		f.head = append(f.head, p[:min(room, len(p))]...)
	}
	for len(p) > 0 {
		switch {
		case f.phase == before:
			p = f.prefix(p)
		case f.phase == after:
			p = f.suffix(p)
		case f.phase == dead:
			p = nil
		case f.inString:
			p = f.str(p)
		default:
			p = f.structure(p)
		}
	}
	return n, complete
}

// prefix passes over what precedes the object.
func (f *filter) prefix(p []byte) []byte {
	for i, c := range p {
		if c == '{' {
			f.phase = inside
			return p[i:]
		}
		f.seen = !f.noise.is(c) || f.seen
	}
	return nil
}

// suffix passes over what follows the object; only noise may.
func (f *filter) suffix(p []byte) []byte {
	for _, c := range p {
		if !f.noise.is(c) {
			f.fail()
			return nil
		}
	}
	return nil
}

// structure copies what lies between two strings.
func (f *filter) structure(p []byte) []byte {
	for i, c := range p {
		switch c {
		case '"':
			f.keep(p[:i+1])
			f.beginString()
			return p[i+1:]
		case '{', '[':
			f.depth++
			f.key = f.depth == 1
		case ':':
			f.key = false
			if f.class == value && !f.answer.open {
				f.keep(p[:i+1])
				f.beginValue()
				return p[i+1:]
			}
		case ',', '}', ']':
			if f.answer.open && f.depth == 1 {
				f.keep(p[:i])
				f.endValue()
				return p[i:]
			}
			f.key = c == ',' && f.depth == 1
			if c == ',' {
				continue
			}
			if f.depth--; f.depth == 0 {
				f.keep(p[:i+1])
				f.endObject()
				return p[i+1:]
			}
		}
	}
	f.keep(p)
	return nil
}

func (f *filter) endObject() {
	if f.phase == inside {
		f.phase, f.noise = after, noise{}
	}
}

// beginValue takes the answer's value out of the line, in which null stands for
// it.
func (f *filter) beginValue() {
	f.keep([]byte("null"))
	f.answer.value, f.answer.valueCut, f.answer.open = chunks{}, false, true
}

func (f *filter) endValue() {
	f.class = other
	if !f.answer.endValue() {
		f.fail()
	}
}

func (f *filter) beginString() {
	f.inString, f.cut, f.start, f.room = true, false, len(f.out), f.limits.String
	switch {
	case f.key:
		f.class = other
	case f.class == unread:
		f.room = min(unreadString, f.limits.String)
	case f.class == text && f.depth == 1:
		f.answer.beginText()
		f.room = f.limits.Result
	case f.class == value:
		f.room = math.MaxInt
	}
}

func (f *filter) endString() {
	f.inString = false
	if f.cut && f.class != unread {
		f.cuts++
	}
	if f.answer.inText {
		f.answer.inText, f.answer.textCut = false, f.cut
	}
	if f.key && !f.cut {
		f.class = classOf(f.out[f.start:])
	}
}

// classOf returns the class of what follows a key of the outermost object. In
// some versions the line's type comes after its contents, so the key alone must
// do.
func classOf(key []byte) class {
	switch string(key) {
	case "result":
		return text
	case "structured_output":
		return value
	case "event", "tool_use_result": // partial text; the tool's result once more
		return unread
	}
	return other
}

// str copies the inside of a string as far as it may be kept.
func (f *filter) str(p []byte) []byte {
	for len(p) > 0 && f.phase == inside {
		if f.escLen > 0 {
			f.escape(p[0])
			p = p[1:]
			continue
		}
		if n := f.span(p); n > 0 {
			f.content(p[:n])
			p = p[n:]
			continue
		}
		switch p[0] {
		case '"':
			f.endString()
			f.keep(p[:1])
			return p[1:]
		case '\\':
			f.esc[0], f.escLen = '\\', 1
			p = p[1:]
		default: // a raw control character
			f.fail()
		}
	}
	return p
}

// span returns how many bytes at the start of p may be handed to content at
// once: plain ones, and short escape sequences as long as all of them fit and
// need not be decoded.
func (f *filter) span(p []byte) int {
	n := plain(p)
	if f.cut || f.answer.inText {
		return n
	}
	for most := min(len(p), f.room); n+1 < most && p[n] == '\\' && isShortEscape(p[n+1]); {
		n += 2
		n += plain(p[n:most])
	}
	return n
}

// content keeps bytes of a string.
func (f *filter) content(p []byte) {
	if f.cut {
		return
	}
	if len(p) > f.room {
		p, f.cut = p[:f.room], true
	}
	f.room -= len(p)
	if f.answer.inText {
		f.answer.text.plain(p)
		return
	}
	f.keep(p)
	if f.cut && f.phase == inside {
		f.out = f.out[:f.start+wholeRunes(f.out[f.start:])]
	}
}

// escape takes the next byte of an escape sequence, and keeps the sequence when
// it is complete and there is room for all of it. A high surrogate needs room
// for the low one too, so that a pair is never separated.
func (f *filter) escape(c byte) {
	f.esc[f.escLen] = c
	f.escLen++
	switch {
	case f.escLen == 2 && c == 'u':
		return
	case f.escLen == 2 && !isShortEscape(c), f.escLen > 2 && !isHex(c):
		f.fail()
		return
	case f.escLen > 2 && f.escLen < 6:
		return
	}
	esc := f.esc[:f.escLen]
	f.escLen = 0
	need := len(esc)
	if need == 6 && isHighSurrogate(esc) {
		need = 12
	}
	if f.cut = f.cut || need > f.room; f.cut {
		return
	}
	f.room -= len(esc)
	if f.answer.inText {
		f.answer.text.escape(esc)
		return
	}
	f.keep(esc)
}

// keep copies bytes to where they belong.
func (f *filter) keep(p []byte) {
	switch {
	case f.answer.open:
		f.answer.keepValue(p, f.limits.Result)
	case len(f.out)+len(p) > f.limits.Line:
		f.over, f.phase, f.out = true, dead, f.out[:0]
	default:
		f.out = append(f.out, p...)
	}
}

// fail gives the line up as not being JSON.
func (f *filter) fail() {
	f.phase, f.out = dead, f.out[:0]
}

// plain returns how many bytes at the start of p stand for themselves in a JSON
// string: not a quote, a backslash or a control character. It looks at eight
// bytes at a time with the usual bit tricks for "has a zero byte" and "has a
// byte less than n", whose lowest mark is exact.
func plain(p []byte) int {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(p); i += 8 {
		x := binary.LittleEndian.Uint64(p[i:])
		quote := x ^ (ones * '"')
		slash := x ^ (ones * '\\')
		mark := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*0x20)&^x) & high
		if mark != 0 {
			return i + bits.TrailingZeros64(mark)/8
		}
	}
	for ; i < len(p); i++ {
		if c := p[i]; c == '"' || c == '\\' || c < 0x20 {
			break
		}
	}
	return i
}

// isHighSurrogate reports whether a six-byte escape sequence is the first half
// of a surrogate pair.
func isHighSurrogate(esc []byte) bool {
	high := hexValue(esc[2])<<4 | hexValue(esc[3])
	return high >= 0xD8 && high <= 0xDB
}
