package record

import (
	"encoding/json"
	"errors"
)

// Entry is a task as JSON files write it. No file has all of these fields; which
// name stands in for another is for the caller to say.
type Entry struct {
	Index        int   `json:"-"` // in its array
	ID           Text  `json:"id"`
	TaskID       Text  `json:"taskId"`
	Subject      Text  `json:"subject"`
	Title        Text  `json:"title"`
	Text         Text  `json:"text"`
	Name         Text  `json:"name"`
	Description  Text  `json:"description"`
	Status       Text  `json:"status"`
	Owner        Text  `json:"owner"`
	BlockedBy    IDs   `json:"blockedBy"`
	Dependencies IDs   `json:"dependencies"`
	Done         *bool `json:"done"`
}

// One reads a file that is one entry. The entry may share memory with data.
func One(data []byte) (*Entry, error) {
	s, e := scan{data: bare(data)}, new(Entry)
	if s.entry(e) && s.end() {
		return e, nil
	}
	return oneSlowly(data)
}

func oneSlowly(data []byte) (*Entry, error) {
	var e *Entry
	if err := Decode(data, &e); err != nil {
		return nil, err
	}
	if e == nil {
		return nil, errors.New("is null")
	}
	return e, nil
}

// List reads a file that is an array of entries, or an object with one under key.
// Entries may be plain text where words is set; it is their Text then. The error may
// be a [*Flaws], and then what is returned is the rest. The entries may share memory
// with data.
func List(data []byte, key string, words bool) ([]Entry, error) {
	s := scan{data: bare(data)}
	if out, ok := s.list(key); ok {
		return out, nil
	}
	return listSlowly(data, key, words)
}

func listSlowly(data []byte, key string, words bool) ([]Entry, error) {
	array, err := Array(data, key)
	if err != nil {
		return nil, err
	}
	var out []Entry
	var bad Flaws
	use := func(i int, e Entry) {
		e.Index = i
		out = append(out, e)
	}
	if words {
		Elements(array, &bad, func(i int, e item) { use(i, Entry(e)) })
	} else {
		Elements(array, &bad, use)
	}
	return out, bad.Err()
}

// item is an entry that may be nothing but its text.
type item Entry

func (e *item) UnmarshalJSON(b []byte) error {
	*e = item{}
	if b[0] == '"' {
		return e.Text.UnmarshalJSON(b)
	}
	return json.Unmarshal(b, (*Entry)(e))
}
