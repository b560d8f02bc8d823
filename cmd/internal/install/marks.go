package install

import (
	"bytes"
	"fmt"
	"strings"
)

// marks are the lines between which a text is ours.
type marks struct{ begin, end string }

// put replaces what is between the marks with a text that has them at its ends, or
// appends that behind an empty line. A file without a line end at its end has none
// afterwards either; that is how cut tells what it has to take away.
func (m marks) put(now state, own string) (state, []string, error) {
	mark, text := splitMark(now.data)
	eol := eolOf(text)
	want := strings.ReplaceAll(own, "\n", eol)
	start, end, found, err := m.find(text)
	switch {
	case err != nil:
		return state{}, nil, err
	case found && string(text[start:end]) == want:
		return now, nil, nil
	case found:
		return state{exists: true, data: join(mark, spliced(text, splice{start, end, want}))}, nil, nil
	case len(text) == 0:
		want += eol
	case bytes.HasSuffix(text, []byte("\n")):
		want = eol + want + eol
	default:
		want = eol + eol + want
	}
	return state{exists: true, data: join(mark, append(bytes.Clone(text), want...))}, nil, nil
}

// cut takes out what is between the marks, with the empty line in front of it.
func (m marks) cut(now state, before *state) (state, []string, error) {
	mark, text := splitMark(now.data)
	start, end, found, err := m.find(text)
	if err != nil {
		return state{}, nil, err
	}
	if !found {
		return now, nil, nil
	}
	eol := eolOf(text)
	above := cutLine(text[:start], eol)
	if rest := bytes.TrimPrefix(text[end:], []byte(eol)); len(rest) < len(text)-end {
		end = len(text) - len(rest)
	} else {
		above = cutLine(above, eol)
	}
	left := spliced(text, splice{len(above), end, ""})
	if len(left) == 0 && (before == nil || !before.exists) {
		return state{}, nil, nil
	}
	return state{exists: true, data: join(mark, left)}, nil, nil
}

// cutLine takes the line end off the end of a text.
func cutLine(text []byte, eol string) []byte {
	if rest, ok := bytes.CutSuffix(text, []byte(eol)); ok {
		return rest
	}
	return bytes.TrimSuffix(text, []byte("\n"))
}

// find returns where our text is, without the line end behind it. A mark without its
// partner is refused, and so is a second text.
func (m marks) find(text []byte) (start, end int, found bool, err error) {
	start, end = -1, -1
	number, offset, first := 0, 0, 0
	for line := range bytes.Lines(text) {
		number++
		switch string(bytes.TrimSpace(line)) {
		case m.begin:
			if start >= 0 {
				return 0, 0, false, fmt.Errorf("line %d: %s stands there twice, also in line %d", number, m.begin, first)
			}
			start, first = offset, number
		case m.end:
			if start < 0 || end >= 0 {
				return 0, 0, false, fmt.Errorf("line %d: %s has no beginning", number, m.end)
			}
			end = offset + len(bytes.TrimRight(line, "\r\n"))
		}
		offset += len(line)
	}
	if start >= 0 && end < 0 {
		return 0, 0, false, fmt.Errorf("line %d: %s has no end", first, m.begin)
	}
	return start, end, start >= 0, nil
}
