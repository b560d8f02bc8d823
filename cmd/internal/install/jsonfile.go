package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/tailscale/hujson"
)

// putJSON makes additions to a file; one that is missing or blank is an empty
// object first.
func putJSON(now state, put func(doc) (doc, []string, error)) (state, []string, error) {
	mark, text := splitMark(now.data)
	if now.blank() {
		object := "{}"
		if !bytes.Contains(text, []byte("\n")) {
			object += "\n"
		}
		text = append([]byte(object), text...)
	}
	d, err := parseDoc(text)
	if err != nil {
		return state{}, nil, err
	}
	next, notes, err := put(d)
	if err != nil {
		return state{}, nil, err
	}
	if !json.Valid(text) {
		notes = append(notes, "has comments or trailing commas: Claude Code ignores such a file as a whole, and with it what autopilot needs")
	}
	if bytes.Equal(next.text, text) && !now.blank() {
		return now, notes, nil
	}
	return state{exists: true, data: join(mark, next.text)}, notes, nil
}

func join(mark, text []byte) []byte { return append(bytes.Clone(mark), text...) }

// add inserts a value at a path; element is set when the path leads to an array
// that takes it as one of its elements.
func (d doc) add(path []string, value any, element bool) (doc, error) {
	at, missing, err := d.find(path...)
	if err != nil {
		return doc{}, err
	}
	if element && len(missing) > 0 {
		value = []any{value}
	}
	text, err := d.insert(at, missing, value)
	if err != nil {
		return doc{}, err
	}
	return parseDoc(text)
}

// target is one item that is ours. When there is none left, the notes say what
// stays and why.
type target struct {
	found bool
	box   []string // path of the object or array
	index int
	notes []string
}

// cutJSON takes out every item that find names. before is the file before init;
// nil when nobody knows.
func cutJSON(now state, before *state, find func(d doc, before *doc) (target, error)) (state, []string, error) {
	if now.blank() {
		if before != nil && !before.exists {
			return state{}, nil, nil // what is left of a file that init made
		}
		return now, nil, nil
	}
	mark, text := splitMark(now.data)
	d, err := parseDoc(text)
	if err != nil {
		return state{}, nil, err
	}
	was, err := parseBefore(before)
	if err != nil {
		return state{}, nil, fmt.Errorf("as it was before init: %w", err)
	}
	t, err := find(d, was)
	for ; err == nil && t.found; t, err = find(d, was) {
		if d, err = d.remove(t.box, t.index, was); err != nil {
			break
		}
	}
	if err != nil {
		return state{}, nil, err
	}
	if next, ok := emptied(d, before, len(d.text) < len(text)); ok {
		return next, t.notes, nil
	}
	return state{exists: true, data: join(mark, d.text)}, t.notes, nil
}

// parseBefore is the file before init: nil when nobody knows, and without a root
// when there was none.
func parseBefore(before *state) (*doc, error) {
	if before == nil {
		return nil, nil
	}
	if before.blank() {
		return &doc{}, nil
	}
	_, text := splitMark(before.data)
	d, err := parseDoc(text)
	return &d, err
}

// emptied returns the file before init when nothing but an empty object is left
// of one that init made, or made out of white space.
func emptied(d doc, before *state, changed bool) (state, bool) {
	b, _ := boxOf(d.root)
	around := join(d.text[:b.open+1], d.text[b.close:])
	if len(bytes.TrimSpace(around)) > len("{}") || len(bytes.TrimSpace(d.text[b.open+1:b.close])) > 0 {
		return state{}, false
	}
	if before == nil {
		return state{}, changed
	}
	return *before, before.blank()
}

// member is the target of a path that exists.
func (d doc) member(path []string) target {
	last := len(path) - 1
	return target{found: true, box: path[:last], index: indexOf(d.at(path[:last]), path[last])}
}

func sameJSON(at *hujson.Value, want any) bool {
	var a, b any
	raw, err := encode(want)
	if err != nil || json.Unmarshal(raw, &b) != nil || decode(at, &a) != nil {
		return false
	}
	return reflect.DeepEqual(a, b)
}
