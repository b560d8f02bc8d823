package record

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plain is an entry with its texts decoded, so that two ways to it can be compared.
func plain(e Entry) string {
	done := "-"
	if e.Done != nil {
		done = fmt.Sprint(*e.Done)
	}
	valid := func(t Text) string { return strings.ToValidUTF8(t.String(), "\ufffd") }
	var ids []string
	for _, l := range []IDs{e.BlockedBy, e.Dependencies} {
		for _, t := range l {
			ids = append(ids, valid(t))
		}
		ids = append(ids, "|")
	}
	return fmt.Sprintf("%d %q %q %s", e.Index, []string{
		valid(e.ID), valid(e.TaskID), valid(e.Subject), valid(e.Title), valid(e.Text),
		valid(e.Name), valid(e.Description), valid(e.Status), valid(e.Owner),
	}, ids, done)
}

func plainAll(list []Entry) []string {
	var out []string
	for _, e := range list {
		out = append(out, plain(e))
	}
	return out
}

func seeds() []string {
	return []string{
		`{"id":"1","subject":"Build","description":"a\nb","status":"completed","blocks":["2"],"blockedBy":[],"metadata":{"prio":1,"x":[true,null,{}]}}`,
		`{"id":7,"taskId":-3,"done":true,"owner":null,"blockedBy":["1",2,null],"dependencies":[]}`,
		`[{"id":"1"},{"id":"2","done":null}]`,
		`{"tasks":[{"name":"x"}],"version":1}`,
		`{"tasks":[{}],"tasks":[{"id":1}]}`,
		`{"items":["a",{"text":"b"}]}`,
		"\xef\xbb\xbf[ ]",
		`{"ID":"x","id":"y","Id":"z"}`,
		`{"subject":"a","subject":null,"\u0073ubject":"b"}`,
		`{"id":01}`, `{"id":1.5}`, `{"id":1e3}`, `{"id":-}`, `{"id":"a` + "\x00" + `"}`, `{"id":"a` + "\xff" + `"}`, `{"id":"a\q"}`, `{"id":"\"`, `{"id":"1",}`, `{,}`, `[,]`, `{"id":"1"} x`,
		`{"x":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`, `{"blockedBy":"1"}`, `{"blockedBy":{}}`, `{"done":"x"}`, `{"x":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`, `{"ſubject":"x"}`, `{"tasK":1}`, `{"x":nul}`, `{"x":truefalse}`, `{"id":true}`,
	}
}

func TestBothWaysReadAlike(t *testing.T) {
	t.Parallel()
	quick := 0
	for _, s := range seeds() {
		if compare(t, []byte(s)) {
			quick++
		}
	}
	// Or the quick way is never taken and nothing was compared.
	if quick < 5 {
		t.Errorf("the quick way read %d of the seeds, want 5 or more", quick)
	}
}

// compare holds what both ways make of data against each other, and reports whether the quick one
// could read it.
func compare(t *testing.T, data []byte) bool {
	t.Helper()
	quick := false
	s, e := scan{data: data}, new(Entry)
	if s.entry(e) && s.end() {
		quick = true
		slow, err := oneSlowly(data)
		if err != nil {
			t.Fatalf("the slow way refuses %q: %v", data, err)
		}
		if diff := cmp.Diff(plain(*slow), plain(*e)); diff != "" {
			t.Errorf("entry %q (-slow +quick):\n%s", data, diff)
		}
	}
	for _, key := range []string{"tasks", "items"} {
		s := scan{data: data}
		list, ok := s.list(key)
		if !ok {
			continue
		}
		quick = true
		slow, err := listSlowly(data, key, key == "items")
		if err != nil {
			t.Fatalf("the slow way refuses %q: %v", data, err)
		}
		if diff := cmp.Diff(plainAll(slow), plainAll(list)); diff != "" {
			t.Errorf("list %q (-slow +quick):\n%s", data, diff)
		}
	}
	return quick
}

func FuzzBothWays(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { compare(t, data) })
}

// What Claude Code writes must take the quick way.
func TestUsualFilesAreQuick(t *testing.T) {
	t.Parallel()
	for _, s := range seeds()[:2] {
		sc := scan{data: []byte(s)}
		if !sc.entry(new(Entry)) || !sc.end() {
			t.Errorf("%s is read slowly", s)
		}
	}
	for _, s := range seeds()[2:4] {
		sc := scan{data: []byte(s)}
		if _, ok := sc.list("tasks"); !ok {
			t.Errorf("%s is read slowly", s)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		got  func() error
		want string
	}{
		{"empty", func() error { _, err := One(nil); return err }, "is empty"},
		{"line", func() error { _, err := One([]byte("{\n\n\"a\" 1}")); return err }, "is not JSON: line 3: invalid character '1' after object key"},
		{"null", func() error { _, err := One([]byte("null")); return err }, "is null"},
		{"array", func() error { _, err := One([]byte("[]")); return err }, "is an array instead of an object"},
		{"text", func() error { _, err := One([]byte(`{"id":{}}`)); return err }, errNoText.Error()},
		{"field", func() error { _, err := One([]byte(`{"done":"x"}`)); return err }, "done is text"},
		{"no array", func() error { _, err := List([]byte(`{"task":[]}`), "tasks", false); return err }, `is neither an array nor an object with an array "tasks"`},
		{"no array under the key", func() error { _, err := List([]byte(`{"tasks":{}}`), "tasks", false); return err }, `is neither an array nor an object with an array "tasks"`},
		{"entries", func() error { _, err := List([]byte(`[1,{},null,[]]`), "tasks", false); return err }, "entry 0: is a number instead of an object\nentry 2: is null\nentry 3: is an array instead of an object"},
		{"no words", func() error { _, err := List([]byte(`["a"]`), "tasks", false); return err }, "entry 0: is text instead of an object"},
	}
	for _, tt := range tests {
		err := tt.got()
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

// The index is that in the file, whatever was broken before.
func TestIndex(t *testing.T) {
	t.Parallel()
	list, err := List([]byte(`[1,"a",{"id":"x"}]`), "items", true)
	want := []string{plain(Entry{Index: 1, Text: Text(`"a"`)}), plain(Entry{Index: 2, ID: Text(`"x"`)})}
	if diff := cmp.Diff(want, plainAll(list)); diff != "" || err == nil {
		t.Errorf("entries (-want +got), error %v:\n%s", err, diff)
	}
}

// An entry must not change when the slow way was given a buffer that is used again.
func TestSlowWayKeepsNothingOfTheBuffer(t *testing.T) {
	t.Parallel()
	data := []byte(`{"ID":"abc"}`)
	e, err := One(data)
	if err != nil {
		t.Fatal(err)
	}
	copy(data, bytes.Repeat([]byte("x"), len(data)))
	if got := e.ID.String(); got != "abc" {
		t.Errorf("got %q, want abc", got)
	}
}
