package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// parseObject reads one JSON object and nothing after it. The decoder of
// encoding/json would let pass a key in other letter case, a key given twice and
// what follows.
func parseObject(data []byte, known []field) error {
	switch k := kind(data); k {
	case "an object":
	case "nothing":
		return errors.New("input is empty")
	default:
		return fmt.Errorf("want an object, got %s", k)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return err
	}
	seen := make([]string, 0, len(known))
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return cutShort(err)
		}
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("internal error: key %v is no string", key)
		}
		if slices.Contains(seen, name) {
			return fmt.Errorf("%s is given twice", name)
		}
		seen = append(seen, name)
		if err := parseField(dec, name, known); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return cutShort(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	return nil
}

func parseField(dec *json.Decoder, name string, known []field) error {
	at := slices.IndexFunc(known, func(f field) bool { return f.name == name })
	if at < 0 {
		return fmt.Errorf("unknown field %q, the nearest known is %q", name, nearest(name, known))
	}
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return fmt.Errorf("%s: %w", name, cutShort(err))
	}
	if kind(raw) == "null" {
		return nil
	}
	if err := known[at].set(raw); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("input ends inside the object")
	}
	return err
}

// nearest is the known name that takes the fewest changed, added or removed
// bytes to reach; the first of equals.
func nearest(name string, known []field) string {
	if len(name) > 100 {
		name = name[:100] // longer than any of ours, and the comparison is quadratic
	}
	best := slices.MinFunc(known, func(a, b field) int { return distance(name, a.name) - distance(name, b.name) })
	return best.name
}

// distance counts the changes between two strings (Levenshtein), one row of the
// table at a time.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
