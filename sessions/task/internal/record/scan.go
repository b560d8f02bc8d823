package record

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// scan reads the entries of a list in one pass, several times as fast as
// encoding/json does, because an agent that wants to stop waits for it. It knows
// only what such files usually are. Where it meets anything else it gives up, and
// the slower way decides what the file is and what is wrong with it. What both
// accept they read alike.
type scan struct {
	data []byte
	at   int
}

// deepest bounds how far values that nobody needs may be nested.
const deepest = 16

// next skips white space and gives the byte that follows, 0 at the end.
func (s *scan) next() byte {
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

func (s *scan) eat(c byte) bool {
	if s.next() != c {
		return false
	}
	s.at++
	return true
}

// members reads what stands between brackets, divided by commas.
func (s *scan) members(left, right byte, member func() bool) bool {
	if !s.eat(left) {
		return false
	}
	if s.eat(right) {
		return true
	}
	for member() {
		if s.eat(right) {
			return true
		}
		if !s.eat(',') {
			return false
		}
	}
	return false
}

// str reads a string with its quotes, whatever its bytes mean.
func (s *scan) str() ([]byte, bool) {
	if !s.eat('"') {
		return nil, false
	}
	for i := s.at; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			out := s.data[s.at-1 : i+1]
			s.at = i + 1
			return out, true
		case c == '\\':
			if i++; i == len(s.data) || strings.IndexByte(`"\/bfnrt`, s.data[i]) < 0 {
				return nil, false
			}
		case c < ' ':
			return nil, false
		}
	}
	return nil, false
}

// literal reads null, true, false, or a number without fraction and exponent.
func (s *scan) literal() ([]byte, bool) {
	s.next()
	from := s.at
	for s.at < len(s.data) && bytes.IndexByte([]byte(" \n\r\t,]}"), s.data[s.at]) < 0 {
		s.at++
	}
	out := s.data[from:s.at]
	switch string(out) {
	case "null", "true", "false":
		return out, true
	}
	digits := bytes.TrimPrefix(out, []byte("-"))
	if len(digits) == 0 || digits[0] == '0' && len(digits) > 1 {
		return nil, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return nil, false
		}
	}
	return out, true
}

func (s *scan) skip(depth int) bool {
	if depth > deepest {
		return false
	}
	switch s.next() {
	case '"':
		_, ok := s.str()
		return ok
	case '[':
		return s.members('[', ']', func() bool { return s.skip(depth + 1) })
	case '{':
		return s.members('{', '}', func() bool {
			_, ok := s.str()
			return ok && s.eat(':') && s.skip(depth+1)
		})
	}
	_, ok := s.literal()
	return ok
}

func (s *scan) text(to *Text) bool {
	if s.next() == '"' {
		out, ok := s.str()
		*to = out
		return ok
	}
	out, ok := s.literal()
	if !ok || out[0] == 't' || out[0] == 'f' {
		return false
	}
	*to = nil
	if out[0] != 'n' {
		*to = out
	}
	return true
}

func (s *scan) truth(to **bool) bool {
	out, ok := s.literal()
	*to = nil
	if yes := string(out) == "true"; yes || string(out) == "false" {
		*to = &yes
		return ok
	}
	return ok && string(out) == "null"
}

func (s *scan) ids(to *IDs) bool {
	*to = nil
	return s.members('[', ']', func() bool {
		var t Text
		ok := s.text(&t)
		*to = append(*to, t)
		return ok
	})
}

// list reads the entries of an array, or of the one that an object has under key.
func (s *scan) list(key string) ([]Entry, bool) {
	if s.next() == '[' {
		out, ok := s.entries()
		return out, ok && s.end()
	}
	var out []Entry
	found := false
	ok := s.members('{', '}', func() bool {
		name, ok := s.str()
		if !ok || !s.eat(':') || bytes.IndexByte(name, '\\') >= 0 {
			return false
		}
		if string(name[1:len(name)-1]) != key {
			return s.skip(0)
		}
		out, found = s.entries() // of several the last one counts
		return found
	})
	return out, ok && found && s.end()
}

func (s *scan) entries() ([]Entry, bool) {
	var out []Entry
	ok := s.members('[', ']', func() bool {
		out = append(out, Entry{Index: len(out)})
		return s.entry(&out[len(out)-1])
	})
	return out, ok
}

func (s *scan) entry(e *Entry) bool {
	return s.members('{', '}', func() bool {
		key, ok := s.str()
		return ok && s.eat(':') && s.field(e, key)
	})
}

func (s *scan) field(e *Entry, key []byte) bool {
	switch string(key) {
	case `"id"`:
		return s.text(&e.ID)
	case `"taskId"`:
		return s.text(&e.TaskID)
	case `"subject"`:
		return s.text(&e.Subject)
	case `"title"`:
		return s.text(&e.Title)
	case `"text"`:
		return s.text(&e.Text)
	case `"name"`:
		return s.text(&e.Name)
	case `"description"`:
		return s.text(&e.Description)
	case `"status"`:
		return s.text(&e.Status)
	case `"owner"`:
		return s.text(&e.Owner)
	case `"blockedBy"`:
		return s.ids(&e.BlockedBy)
	case `"dependencies"`:
		return s.ids(&e.Dependencies)
	case `"done"`:
		return s.truth(&e.Done)
	case `"activeForm"`, `"blocks"`, `"metadata"`, `"priority"`, `"createdAt"`, `"updatedAt"`:
		return s.skip(0)
	}
	return !similar(key) && s.skip(0)
}

// similar reports a name that encoding/json may take for one of ours, because it
// does not mind the case of letters.
func similar(key []byte) bool {
	if bytes.IndexByte(key, '\\') >= 0 {
		return true
	}
	for _, c := range key {
		if c >= utf8.RuneSelf {
			return true
		}
	}
	for _, name := range []string{"id", "taskId", "subject", "title", "text", "name", "description", "status", "owner", "blockedBy", "dependencies", "done"} {
		if len(key) == len(name)+2 && bytes.EqualFold(key[1:len(key)-1], []byte(name)) {
			return true
		}
	}
	return false
}

// end reports that nothing follows.
func (s *scan) end() bool {
	s.next()
	return s.at == len(s.data)
}
