package install

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// cut removes item i of a box with its comma, so that what insert has added is
// gone to the byte. Comments around it stay.
func (d doc) cut(b box, i int) []byte {
	it := b.items[i]
	lead := b.before(i)
	start := lead + trimmed(d.text[lead:it.start])
	// Where a line comment stands in front and no line end behind, the comment
	// would swallow what follows.
	if endsInLineComment(d.text[lead:start]) && !lineEnds(d.text[it.end:], it.comma-it.end) {
		start += bytes.IndexByte(d.text[start:], '\n') + 1
	}
	var all []splice
	if it.comma < 0 && i > 0 {
		comma := b.items[i-1].comma
		all = append(all, splice{comma, comma + 1, ""})
	}
	all = append(all, splice{start, it.end, ""})
	if it.comma >= 0 {
		all = append(all, splice{it.comma, it.comma + 1, ""})
	}
	return spliced(d.text, all...)
}

// lineEnds reports whether a line ends before anything else comes. The byte at
// comma does not count, as it is about to go.
func lineEnds(text []byte, comma int) bool {
	for i, c := range text {
		switch {
		case c == '\n':
			return true
		case c != ' ' && c != '\t' && c != '\r' && i != comma:
			return false
		}
	}
	return false
}

// remove cuts item i out of the box at a path, and then the box itself and those
// around it when they are empty and were not there before init. A box that was
// there and was empty gets its old inside back.
func (d doc) remove(path []string, i int, before *doc) (doc, error) {
	b, _ := boxOf(d.at(path))
	next, err := parseDoc(d.cut(b, i))
	if err != nil {
		return doc{}, err
	}
	b, _ = boxOf(next.at(path))
	if len(b.items) > 0 {
		return next, nil
	}
	inside := bytes.TrimSpace(next.text[b.open+1 : b.close])
	if was := before.at(path); was != nil {
		old, ok := boxOf(was)
		if !ok || len(old.items) > 0 {
			return next, nil
		}
		oldInside := before.text[old.open+1 : old.close]
		if !bytes.Equal(bytes.TrimSpace(oldInside), inside) {
			return next, nil
		}
		return parseDoc(spliced(next.text, splice{b.open + 1, b.close, string(oldInside)}))
	}
	if len(path) == 0 || len(inside) > 0 {
		return next, nil
	}
	above := path[:len(path)-1]
	return next.remove(above, indexOf(next.at(above), path[len(path)-1]), before)
}

// at is the value at a path of names and, in arrays, numbers; nil when there is
// none.
func (d *doc) at(path []string) *hujson.Value {
	if d == nil || d.root == nil {
		return nil
	}
	if len(path) == 0 {
		return d.root
	}
	return d.root.Find("/" + strings.Join(path, "/"))
}

// indexOf is the place of a name or number in a box, which holds it.
func indexOf(v *hujson.Value, name string) int {
	switch t := v.Value.(type) {
	case *hujson.Object:
		for i := range t.Members {
			if t.Members[i].Name.Value.(hujson.Literal).String() == name {
				return i
			}
		}
	case *hujson.Array:
		if i, err := strconv.Atoi(name); err == nil {
			return i
		}
	}
	return 0
}
