package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"autopilot/metrics/spelling"
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
		var names []string
		for _, f := range known {
			names = append(names, f.name)
		}
		return fmt.Errorf("unknown field %q, the nearest known is %q", name, spelling.Nearest(name, names))
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
