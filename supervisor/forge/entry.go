package forge

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// entry is an object of an answer. The first field that is missing or of another type than
// it should be is kept in err.
type entry struct {
	fields map[string]json.RawMessage
	err    error
}

// entries reads an answer that is a list of objects.
func entries(raw []byte) ([]entry, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, notJSON(raw, "a list of objects")
	}
	if list == nil { // the word null is no list
		return nil, notJSON(raw, "a list of objects")
	}
	out := make([]entry, 0, len(list))
	for _, fields := range list {
		out = append(out, entry{fields: fields})
	}
	return out, nil
}

// object reads an answer that is one object.
func object(raw []byte) (*entry, error) {
	e := entry{}
	if err := json.Unmarshal(raw, &e.fields); err != nil || e.fields == nil {
		return nil, notJSON(raw, "an object")
	}
	return &e, nil
}

// notJSON says what an answer is instead, in a few words and none of its own.
func notJSON(raw []byte, want string) error {
	got := strings.TrimSpace(string(raw[:min(len(raw), 64)]))
	switch {
	case got == "":
		return fmt.Errorf("the answer is empty instead of %s", want)
	case got[0] == '<':
		return fmt.Errorf("the answer is a web page instead of %s", want)
	case json.Valid(raw):
		return fmt.Errorf("the answer is JSON, but not %s", want)
	}
	return fmt.Errorf("the answer is no JSON; %s was to come", want)
}

// read reads a field into v. A field that is null counts as missing.
func (e *entry) read(name string, v any) {
	raw, ok := e.fields[name]
	switch {
	case e.err != nil:
	case !ok:
		e.err = fmt.Errorf("no field %q", name)
	case string(raw) == "null":
		e.err = fmt.Errorf("the field %q is null", name)
	case json.Unmarshal(raw, v) != nil:
		e.err = fmt.Errorf("the field %q is of another type than it should be", name)
	}
}

// may reads a field that may be null, but not missing.
func (e *entry) may(name string, v any) {
	if raw, ok := e.fields[name]; !ok || string(raw) != "null" {
		e.read(name, v)
	}
}

func (e *entry) text(name string) string {
	var s string
	if e.read(name, &s); e.err == nil && s == "" {
		e.err = fmt.Errorf("the field %q is empty", name)
	}
	return s
}

// number reads a number that counts from 1.
func (e *entry) number(name string) int {
	var n int
	if e.read(name, &n); e.err == nil && n < 1 {
		e.err = fmt.Errorf("the field %q is %d", name, n)
	}
	return n
}

func (e *entry) time(name string) time.Time {
	var t time.Time
	e.read(name, &t)
	return t
}

// link reads an address of the web.
func (e *entry) link(name string) string {
	s := e.text(name)
	if e.err == nil && !isLink(s) {
		e.err = fmt.Errorf("the field %q is no address", name)
	}
	return s
}

func isLink(s string) bool {
	return len(s) <= 2048 && (strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")) &&
		strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c > '~' }) < 0
}
