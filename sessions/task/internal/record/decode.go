package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Decode reads a JSON file into v. The error says what is wrong with the file, so
// that the name of the file can stand before it.
func Decode(data []byte, v any) error {
	data = bare(data)
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("is empty")
	}
	err := json.Unmarshal(data, v)
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(data[:min(int(s.Offset), len(data))], []byte("\n"))
		return fmt.Errorf("is not JSON: line %d: %w", line, err)
	}
	return plainer(err)
}

// Array finds the array of a file that is one, or an object with one under key.
// There null is an array without entries.
func Array(data []byte, key string) (json.RawMessage, error) {
	var raw json.RawMessage
	if err := Decode(data, &raw); err != nil {
		return nil, err
	}
	if raw[0] == '[' {
		return raw, nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		if array, ok := object[key]; ok && (array[0] == '[' || array[0] == 'n') {
			return array, nil
		}
	}
	return nil, fmt.Errorf("is neither an array nor an object with an array %q", key)
}

// Elements hands over what an array of valid JSON holds. null is an array without
// entries, but no entry. An entry that is no T is a flaw and left out.
func Elements[T any](array []byte, bad *Flaws, use func(i int, v T)) {
	var raw []json.RawMessage
	if json.Unmarshal(array, &raw) != nil {
		bad.Add(errors.New("is no array"))
		return
	}
	for i, r := range raw {
		var v *T
		switch err := json.Unmarshal(r, &v); {
		case err != nil:
			bad.Add(fmt.Errorf("entry %d: %w", i, plainer(err)))
		case v == nil:
			bad.Add(fmt.Errorf("entry %d: is null", i))
		default:
			use(i, *v)
		}
	}
}

// bare takes the mark away that some editors begin a file with.
func bare(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) }

// plainer says what stands in the wrong place without the names of our types.
func plainer(err error) error {
	t, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return err
	case t.Field == "":
		return fmt.Errorf("is %s instead of an object", kind(t.Value))
	}
	return fmt.Errorf("%s is %s", t.Field, kind(t.Value))
}

func kind(value string) string {
	switch value {
	case "array", "object":
		return "an " + value
	case "bool":
		return "true or false"
	case "string":
		return "text"
	}
	return "a " + value
}

// Flaws are the broken entries of one file. They stand beside the entries that are
// fine. The zero value is ready to use.
type Flaws struct {
	First []error // the first hundred
	More  int     // beyond those
}

// Add notes a broken entry.
func (f *Flaws) Add(err error) {
	if len(f.First) < 100 {
		f.First = append(f.First, err)
		return
	}
	f.More++
}

// Err is nil when nothing is broken.
func (f *Flaws) Err() error {
	if len(f.First) == 0 {
		return nil
	}
	return f
}

// Error lists what is broken, one to a line.
func (f *Flaws) Error() string { return errors.Join(f.First...).Error() }
