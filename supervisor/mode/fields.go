package mode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// fields reads the members of one JSON object. Names are matched exactly, which struct tags would not do. A member of
// the wrong type reads as absent and the first one is kept in err: a strict reader looks at it, a lenient one does not.
type fields struct {
	path    string
	members map[string]json.RawMessage
	err     error
}

// parseFields opens one JSON object; null is an object without members.
func parseFields(data []byte) (*fields, error) {
	f := &fields{}
	if err := json.Unmarshal(data, &f.members); err != nil {
		if json.Valid(data) {
			return nil, fmt.Errorf("found %s, want an object", kindOf(data))
		}
		return nil, err
	}
	return f, nil
}

func (f *fields) has(key string) bool {
	_, ok := f.members[key]
	return ok
}

func (f *fields) note(err error) {
	if f.err == nil {
		f.err = err
	}
}

// decode fills into from the member, and reports false when the member is absent, null or of another type than want.
func (f *fields) decode(key, want string, into any) bool {
	raw := f.raw(key)
	if raw == nil {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		f.note(fmt.Errorf("%s is %s, want %s", f.path+key, kindOf(raw), want))
		return false
	}
	return true
}

func (f *fields) raw(key string) json.RawMessage {
	return present(f.members[key])
}

func (f *fields) text(key string) string {
	var s string
	f.decode(key, "a string", &s)
	return s
}

func (f *fields) number(key string) *float64 {
	var n float64
	if !f.decode(key, "a finite number", &n) {
		return nil
	}
	return &n
}

func (f *fields) object(key string) *fields {
	o := &fields{path: f.path + key + "."}
	if !f.decode(key, "an object", &o.members) {
		return nil
	}
	return o
}

func (f *fields) texts(key string) map[string]string {
	o := f.object(key)
	if o == nil {
		return nil
	}
	out := make(map[string]string, len(o.members))
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		if o.raw(name) != nil {
			out[name] = o.text(name)
		}
	}
	f.note(o.err)
	return out
}

// integers reads a list of whole numbers; 3.0 is one.
func (f *fields) integers(key string) []int64 {
	var list []json.RawMessage
	if !f.decode(key, "a list of integers", &list) {
		return nil
	}
	out := make([]int64, 0, len(list))
	for i, raw := range list {
		var n *float64
		if err := json.Unmarshal(raw, &n); err != nil || n == nil || !whole(*n) {
			f.note(fmt.Errorf("%s[%d] is %s, want an integer", f.path+key, i, kindOf(raw)))
			return nil
		}
		out = append(out, int64(*n))
	}
	return out
}

// listOf reads a list of objects. A null entry keeps its place as an empty value, so that counts stay true.
func listOf[T any](f *fields, key string, from func(*fields) T) []T {
	var list []json.RawMessage
	if !f.decode(key, "a list of objects", &list) {
		return nil
	}
	out := make([]T, 0, len(list))
	for i, raw := range list {
		entry := &fields{path: f.path + key + "[" + strconv.Itoa(i) + "]."}
		if err := json.Unmarshal(raw, &entry.members); err != nil {
			f.note(fmt.Errorf("%s[%d] is %s, want an object", f.path+key, i, kindOf(raw)))
			return nil
		}
		out = append(out, from(entry))
		f.note(entry.err)
	}
	return out
}

// whole reports whether n is an integer that a float64 and an int64 both hold exactly.
func whole(n float64) bool {
	return n == math.Trunc(n) && math.Abs(n) <= 1<<53
}

// kindOf names the type of one JSON value, to say what was found in place of what was wanted.
func kindOf(raw []byte) string {
	text := string(bytes.TrimSpace(raw))
	switch text[:min(1, len(text))] {
	case "{":
		return "an object"
	case "[":
		return "a list"
	case `"`:
		return "a string"
	case "t", "f":
		return "a boolean"
	case "n":
		return "null"
	}
	return "the number " + clip(text)
}
