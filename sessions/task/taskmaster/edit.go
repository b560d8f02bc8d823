package taskmaster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"autopilot/sessions/task/internal/record"
)

// statuses are those that Task Master knows for writing.
func statuses() []string {
	return []string{"pending", "in-progress", "done", "deferred", "cancelled", "blocked", "review"}
}

// WithStatus returns the bytes of the file with one status changed: that of a task,
// 1, or of a subtask, 1.2. Every other byte is as it was. An object without a status
// gets one behind its title, or behind its id, in the form of its other members.
// Nothing is changed, and changed is false, when the status is that already.
//
// The error is a [Problem] as of [File.Task], and ErrBadStatus for what is no status.
// A file that is not JSON as a whole is refused.
func (f *File) WithStatus(id, status string) (data []byte, changed bool, err error) {
	if !slices.Contains(statuses(), status) {
		return nil, false, problem(ErrBadStatus, "", "%q is not a status: it is one of %s", short(status), strings.Join(statuses(), ", "))
	}
	if err := valid(f.data); err != nil {
		return nil, false, fmt.Errorf("change the status of %s: %s %w", short(id), f.Path, err)
	}
	object, err := f.object(id)
	if err != nil {
		return nil, false, err
	}
	list, err := f.fields(object)
	if err != nil {
		return nil, false, err
	}
	data, err = f.data.with(object, list, "status", status, "title", "id")
	if err != nil {
		return nil, false, fmt.Errorf("change the status of %s: %s %w", id, f.Path, err)
	}
	return data, !bytes.Equal(data, f.data), nil
}

// valid says what is wrong with a file that is no JSON.
func valid(data text) error {
	if json.Valid(data[data.begin():]) {
		return nil
	}
	var v json.RawMessage
	if err := record.Decode(data, &v); err != nil {
		return err
	}
	return errors.New("is not JSON")
}

// object finds a task or a subtask.
func (f *File) object(id string) (span, error) {
	e, err := f.find(id)
	if err == nil {
		return e.object, nil
	}
	if !errors.Is(err, ErrIsSubtask) {
		return span{}, err
	}
	main, _, _ := strings.Cut(id, ".")
	if e, err = f.find(main); err != nil {
		return span{}, err
	}
	list, err := f.fields(e.object)
	if err != nil {
		return span{}, err
	}
	subs, err := f.subtasks(main, list)
	if err != nil {
		return span{}, err
	}
	var names []string
	for _, s := range subs {
		if s.id == id {
			return s.object, nil
		}
		names = append(names, s.id)
	}
	has := "it has no subtasks"
	if len(names) > 0 {
		has = "it has " + short(strings.Join(names, ", "))
	}
	return span{}, problem(ErrNotFound, "", "%s has no subtask %s of task %s; %s", f.Path, id, main, has)
}

// with returns the text with a member of an object set to a string. Where there is
// none it comes behind the first of anchors that is there, or else in front.
func (t text) with(object span, list []field, name, value string, anchors ...string) ([]byte, error) {
	raw, err := quoted(value)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		if m.name != name {
			continue
		}
		switch c := t[m.value.from]; {
		case c == '{' || c == '[':
			return nil, fmt.Errorf("has something else than text for %q in line %d", name, t.line(m.value.from))
		case c == '"' && t.word(m.value) == value:
			return t, nil
		}
		return t.spliced(m.value, raw), nil
	}
	for _, anchor := range anchors {
		i := slices.IndexFunc(list, func(m field) bool { return m.name == anchor })
		if i < 0 {
			continue
		}
		end := list[i].value.to
		return t.spliced(span{end, end}, ","+t.member(list, i, name, raw)), nil
	}
	at := object.from + 1
	if len(list) == 0 {
		return t.spliced(span{at, at}, `"`+name+`":`+raw), nil
	}
	return t.spliced(span{at, at}, t.member(list, -1, name, raw)+","), nil
}

// member is a new member with the white space in front of it. It comes behind the
// member i of list and looks like the others.
func (t text) member(list []field, i int, name, raw string) string {
	like := list[max(i, 0)]
	lead := t.lead(list[max(i, 0)])
	if i >= 0 && i+1 < len(list) {
		lead = t.lead(list[i+1])
	}
	colon := string(t[like.key.to:like.value.from])
	if lead == "" && i >= 0 && colon != ":" {
		lead = " "
	}
	return lead + `"` + name + `"` + colon + raw
}

func (t text) lead(m field) string { return string(t[m.lead:m.key.from]) }

func (t text) spliced(s span, with string) []byte {
	out := make([]byte, 0, len(t)-(s.to-s.from)+len(with))
	out = append(out, t[:s.from]...)
	out = append(out, with...)
	return append(out, t[s.to:]...)
}

func quoted(s string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Write puts data, which WithStatus has returned, in the place of the file in repo.
// It refuses with ErrChanged when the file is no longer what was loaded. The file is
// replaced as a whole; it keeps its mode, and a link stays a link. Afterwards f is the
// file as it is then.
func (f *File) Write(repo string, data []byte) error {
	if bytes.Equal(data, f.data) {
		return nil
	}
	next, err := parse(f.Path, data, f.Tag, true)
	if err != nil {
		return fmt.Errorf("write tasks: what would be written: %w", err)
	}
	if err := replace(repo, f.Path, f.data, data); err != nil {
		return fmt.Errorf("write tasks: %w", err)
	}
	*f = *next
	return nil
}
