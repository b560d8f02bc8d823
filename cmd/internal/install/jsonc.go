package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// maxDepth bounds the nesting: the parser recurses, and a Go program cannot
// recover from a stack that has grown too large.
const maxDepth = 1000

// doc is a JSON text with comments and trailing commas, with the places of its
// values. Changes are made to the text, at these places, and never to the values.
type doc struct {
	text []byte
	root *hujson.Value
}

// parseDoc reads a text without byte-order mark. The error begins with the line.
func parseDoc(text []byte) (doc, error) {
	if line, ok := tooDeep(text); ok {
		return doc{}, fmt.Errorf("line %d: nested more than %d deep", line, maxDepth)
	}
	v, err := hujson.Parse(text)
	if err != nil {
		// The parser wants a line end behind a comment at the end of the file.
		again, errAgain := hujson.Parse(append(bytes.Clone(text), '\n'))
		if errAgain != nil {
			return doc{}, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
		}
		v = again
	}
	d := doc{text: text, root: &v}
	if _, ok := v.Value.(*hujson.Object); !ok {
		return doc{}, fmt.Errorf("line %d: the file is %s, want an object", d.line(v.StartOffset), kindOf(&v))
	}
	return d, nil
}

// tooDeep finds the line in which brackets are nested too deep. Brackets in
// strings and comments do not count.
func tooDeep(text []byte) (line int, found bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '/':
			i += max(commentLen(text[i:])-1, 0)
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return 1 + bytes.Count(text[:i], []byte("\n")), true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return 0, false
}

// commentLen is the length of the comment that b begins with, without the line
// end of a line comment, and 0 when b begins with none.
func commentLen(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("//")):
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			return i
		}
		return len(b)
	case bytes.HasPrefix(b, []byte("/*")):
		if i := bytes.Index(b[2:], []byte("*/")); i >= 0 {
			return 2 + i + 2
		}
		return len(b)
	}
	return 0
}

// endsInLineComment reports whether white space and comments end in a line
// comment that is still open.
func endsInLineComment(extra []byte) bool {
	for i := 0; i < len(extra); {
		n := commentLen(extra[i:])
		if n > 0 && extra[i+1] == '/' && i+n == len(extra) {
			return true
		}
		i += max(n, 1)
	}
	return false
}

// splitMark takes the byte-order mark off.
func splitMark(data []byte) (mark, text []byte) {
	const byteOrderMark = "\ufeff"
	if rest, ok := bytes.CutPrefix(data, []byte(byteOrderMark)); ok {
		return data[:len(byteOrderMark)], rest
	}
	return nil, data
}

func (d doc) line(offset int) int { return 1 + bytes.Count(d.text[:offset], []byte("\n")) }

func kindOf(v *hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	default:
		return "a boolean"
	}
}

// find goes down a path of names. It returns the last value that exists and the
// names that are missing below it. A value on the way that is no object, and a
// name that stands there twice, are refused.
func (d doc) find(path ...string) (at *hujson.Value, missing []string, err error) {
	if err := d.unique(path); err != nil {
		return nil, nil, err
	}
	at = d.root
	for i, name := range path {
		if at.Value.Kind() != '{' {
			return nil, nil, fmt.Errorf("line %d: %s is %s, want an object", d.line(at.StartOffset), strings.Join(path[:i], "."), kindOf(at))
		}
		all := named(at, name)
		if len(all) == 0 {
			return at, path[i:], nil
		}
		at = &all[0].Value
	}
	return at, nil, nil
}

// want refuses a value of another kind at a path. That there is none is fine.
func (d doc) want(path []string, kind string) error {
	at, missing, err := d.find(path...)
	if err != nil || len(missing) > 0 || kindOf(at) == kind {
		return err
	}
	return fmt.Errorf("line %d: %s is %s, want %s", d.line(at.StartOffset), strings.Join(path, "."), kindOf(at), kind)
}

// unique refuses a name of the path that stands in its object twice: programs do
// not agree on which of the two counts.
func (d doc) unique(path []string) error {
	at := d.root
	for i, name := range path {
		all := named(at, name)
		if len(all) == 0 {
			return nil
		}
		if len(all) > 1 {
			return fmt.Errorf("line %d: %s stands there twice", d.line(all[1].Name.StartOffset), strings.Join(path[:i+1], "."))
		}
		at = &all[0].Value
	}
	return nil
}

// named are the members of a name; none when v is no object.
func named(v *hujson.Value, name string) []*hujson.ObjectMember {
	o, _ := v.Value.(*hujson.Object)
	if o == nil {
		return nil
	}
	var out []*hujson.ObjectMember
	for i := range o.Members {
		if o.Members[i].Name.Value.(hujson.Literal).String() == name {
			out = append(out, &o.Members[i])
		}
	}
	return out
}

// lookup is find for a value that may have any type; nil when it does not exist.
func (d *doc) lookup(path ...string) *hujson.Value {
	if d == nil || d.root == nil {
		return nil
	}
	at, missing, err := d.find(path...)
	if err != nil || len(missing) > 0 {
		return nil
	}
	return at
}

// decode reads a value into v, without regard to comments and trailing commas.
func decode(from *hujson.Value, v any) error {
	plain := from.Clone()
	plain.Standardize()
	return json.Unmarshal(plain.Pack(), v)
}

// encode is the value as JSON without white space.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// box is an object or an array as it stands in the text.
type box struct {
	open, close int // offsets of the brackets
	array       bool
	items       []item
}

// item is one member or element.
type item struct {
	start, end int // from the first byte of its name to behind the last one of its value
	comma      int // -1 without one
}

func boxOf(v *hujson.Value) (box, bool) {
	b := box{open: v.StartOffset, close: v.EndOffset - 1}
	add := func(start int, value *hujson.Value, last bool) {
		it := item{start: start, end: value.EndOffset, comma: -1}
		if !last || value.AfterExtra != nil {
			it.comma = it.end + len(value.AfterExtra)
		}
		b.items = append(b.items, it)
	}
	switch t := v.Value.(type) {
	case *hujson.Object:
		for i := range t.Members {
			add(t.Members[i].Name.StartOffset, &t.Members[i].Value, i == len(t.Members)-1)
		}
	case *hujson.Array:
		b.array = true
		for i := range t.Elements {
			add(t.Elements[i].StartOffset, &t.Elements[i], i == len(t.Elements)-1)
		}
	default:
		return box{}, false
	}
	return b, true
}

// before is the offset behind the bracket or the comma in front of item i, and
// after the last item that of the white space in front of the closing bracket.
func (b box) before(i int) int {
	switch {
	case i == 0:
		return b.open + 1
	case b.items[i-1].comma >= 0:
		return b.items[i-1].comma + 1
	default:
		return b.items[i-1].end
	}
}

// splice is a text in which the bytes from start to end are replaced.
type splice struct {
	start, end int
	with       string
}

// spliced makes splices that are in order and do not overlap.
func spliced(text []byte, all ...splice) []byte {
	var out []byte
	at := 0
	for _, s := range all {
		out = append(append(out, text[at:s.start]...), s.with...)
		at = s.end
	}
	return append(out, text[at:]...)
}

// trimmed is the length of b without the white space at its end.
func trimmed(b []byte) int { return len(bytes.TrimRight(b, " \t\r\n")) }
