package record

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Text is a value that may be written as text or as a number, as ids are. It is kept
// as it stands in the file, and may share memory with it, until String decodes it.
type Text []byte

var errNoText = errors.New("there is something else where text is expected")

// UnmarshalJSON accepts a string, a number, and null as nothing.
func (t *Text) UnmarshalJSON(b []byte) error {
	switch c := b[0]; {
	case c == 'n':
		*t = nil
	case c == '"', c == '-', c >= '0' && c <= '9':
		*t = bytes.Clone(b)
	default:
		return errNoText
	}
	return nil
}

// String is the text, a number as it is written, and "" for nothing. It may hold
// bytes that are no UTF-8.
func (t Text) String() string {
	if len(t) == 0 || t[0] != '"' {
		return string(t)
	}
	inner := string(t[1 : len(t)-1])
	if bytes.IndexByte(t, '\\') < 0 {
		return inner
	}
	var s string
	if json.Unmarshal(t, &s) != nil {
		return inner
	}
	return s
}

// IDs are the ids of other tasks: a list, or one alone.
type IDs []Text

// UnmarshalJSON accepts an array of what [Text] accepts, or one such value.
func (l *IDs) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, (*[]Text)(l))
	}
	var one Text
	if err := one.UnmarshalJSON(b); err != nil {
		return err
	}
	*l = nil
	if one != nil {
		*l = IDs{one}
	}
	return nil
}
