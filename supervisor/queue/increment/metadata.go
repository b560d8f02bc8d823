package increment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// member is a field at the top of an object: from and to are the bytes of its value.
type member struct {
	name     string
	from, to int
	raw      json.RawMessage
}

// text is the value when it is a string.
func (m member) text() (string, bool) {
	if len(m.raw) == 0 || m.raw[0] != '"' {
		return "", false
	}
	var s string
	return s, json.Unmarshal(m.raw, &s) == nil
}

// either is the value when it is a string or a number, as text.
func (m member) either() string {
	if s, ok := m.text(); ok {
		return s
	}
	if len(m.raw) > 0 && strings.IndexByte("-0123456789", m.raw[0]) >= 0 {
		return string(m.raw)
	}
	return ""
}

// object finds the fields of a file that is a JSON object. twice is a name that comes
// twice in one object, at any depth.
func object(data []byte) (members []member, twice string, err error) {
	begin := 0
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		begin = 3
	}
	text := data[begin:]
	if err := check(text); err != nil {
		return nil, "", err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		return nil, "", err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, "", err
		}
		name, _ := key.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, "", err
		}
		to := begin + int(dec.InputOffset())
		members = append(members, member{name: name, from: to - len(raw), to: to, raw: raw})
	}
	twice, err = repeated(text)
	return members, twice, err
}

// check says what is wrong with a file that is not a JSON object.
func check(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("is empty")
	}
	if !utf8.Valid(text) {
		return errors.New("is not UTF-8")
	}
	var raw json.RawMessage
	err := json.Unmarshal(text, &raw)
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		n := 1 + bytes.Count(text[:min(int(s.Offset), len(text))], []byte("\n"))
		return fmt.Errorf("is not JSON: line %d: %w", n, err)
	}
	if err != nil {
		return fmt.Errorf("is not JSON: %w", err)
	}
	if bytes.TrimSpace(text)[0] != '{' {
		return errors.New("is not a JSON object")
	}
	return nil
}

// repeated returns a name that comes twice in one object of a valid JSON text.
func repeated(text []byte) (string, error) {
	type level struct {
		names map[string]bool // nil in an array
		value bool            // what comes next is the value of a name
	}
	var levels []level
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if d, ok := tok.(json.Delim); ok && (d == '}' || d == ']') {
			levels = levels[:len(levels)-1]
			continue
		}
		if n := len(levels); n > 0 && levels[n-1].names != nil {
			top := &levels[n-1]
			if name, ok := tok.(string); ok && !top.value {
				if top.names[name] {
					return name, nil
				}
				top.names[name], top.value = true, true
				continue
			}
			top.value = false
		}
		switch tok {
		case json.Delim('{'):
			levels = append(levels, level{names: map[string]bool{}})
		case json.Delim('['):
			levels = append(levels, level{})
		}
	}
}

// metadata reads metadata.json.
func (inc *Increment) metadata(data []byte) error {
	members, twice, err := object(data)
	if err != nil {
		return err
	}
	if twice != "" {
		inc.warn("%s has %q twice in one object: the last one counts, and the status cannot be changed", metadata, word(twice))
	}
	m := map[string]member{}
	for _, x := range members {
		m[x.name] = x
	}
	status, ok := m["status"].text()
	if inc.Status = known(status); !ok || inc.Status == "" {
		return errors.New("has no status")
	}
	if len(next(inc.Status)) == 0 {
		inc.warn("%s: %q is a status that SpecWeave does not know", metadata, inc.Status)
	}
	if id, ok := m["id"].text(); ok && id != inc.ID && inc.ID != "" {
		inc.warn("%s is that of %q", metadata, word(id))
	}
	inc.Title = line(m["title"].either(), longestTitle)
	inc.Type = strings.ToLower(word(m["type"].either()))
	inc.TestMode = word(m["testMode"].either())
	inc.Priority = priority(m["priority"].either())
	inc.CoverageTarget = percent(m["coverageTarget"].either())
	inc.Created = inc.instant(m["created"])
	inc.LastActivity = inc.instant(m["lastActivity"])
	return nil
}

// instant reads a point in time, or a day.
func (inc *Increment) instant(m member) time.Time {
	s, ok := m.text()
	if !ok {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	inc.warn("%s: %s %q is no point in time", metadata, m.name, word(s))
	return time.Time{}
}
