package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"autopilot/metrics/spelling"
)

// longestKey is as long as a key with a typing mistake may be, in bytes.
const longestKey = 100

// reading says which option a key is and how its value is read where that is not as
// it stands. Without an option the value is only checked.
type reading struct {
	key  string
	read func(raw string) (string, error)
}

// loadForeign reads the configuration of another program in a repository. A missing
// file is an empty layer. Keys that are not known are passed over, unless one looks like
// a known key with a typing mistake. An error names the line that cannot be read.
func loadForeign(repo, name string, keys map[string]reading) ([]Value, error) {
	data, err := readRegular(filepath.Join(repo, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return parseForeign(name, data, keys)
}

func parseForeign(name string, data []byte, keys map[string]reading) ([]Value, error) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	r := foreignReader{file: name, data: data, keys: keys, known: map[string]bool{}}
	for path := range r.keys {
		for ; path != ""; path = parent(path) {
			r.known[path] = true
		}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	var top json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		at := len(data)
		if s, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = int(s.Offset) - 1 // of the character in question
		}
		return nil, r.wrong(at, err)
	}
	if err := r.object("", data, 0); err != nil {
		return nil, err
	}
	return r.out, nil
}

// parent is the path of what holds a key.
func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '.'))] }

// foreignReader goes through the configuration of another program, which is JSON.
type foreignReader struct {
	file  string
	data  []byte
	keys  map[string]reading
	known map[string]bool // paths of keys and of what holds them
	out   []Value
}

// place is the file and the line at an offset.
func (r *foreignReader) place(at int) string {
	return r.file + ":" + strconv.Itoa(1+bytes.Count(r.data[:max(0, min(at, len(r.data)))], []byte("\n")))
}

func (r *foreignReader) wrong(at int, why error) error {
	return fmt.Errorf("read configuration %s: %w", r.place(at), why)
}

// object reads the object with a path, which begins at an offset of the file.
func (r *foreignReader) object(path string, data []byte, offset int) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		what := path
		if what == "" {
			what = "the file"
		}
		return r.wrong(offset+int(dec.InputOffset()), fmt.Errorf("%s is no object", what))
	}
	seen := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return r.wrong(offset+int(dec.InputOffset()), err)
		}
		key := strings.TrimPrefix(fmt.Sprint(path, ".", name), ".")
		at := offset + int(dec.InputOffset())
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return r.wrong(at, err)
		}
		switch {
		case !r.known[key]:
			r.passOver(path, key, at)
			continue
		case seen[key]:
			return r.wrong(at, fmt.Errorf("%s stands there twice", key))
		case string(value) == "null":
			continue
		}
		seen[key] = true
		if _, ok := r.keys[key]; ok {
			err = r.value(key, value, at)
		} else {
			err = r.object(key, value, offset+int(dec.InputOffset())-len(value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *foreignReader) value(key string, data []byte, at int) error {
	raw := string(data)
	switch data[0] {
	case '{', '[':
		return r.wrong(at, fmt.Errorf("%s: want a plain value", key))
	case '"':
		if err := json.Unmarshal(data, &raw); err != nil {
			return r.wrong(at, err)
		}
	}
	e := r.keys[key]
	v := Value{Key: e.key, Origin: r.place(at) + " " + key, InRepo: true}
	if e.read != nil {
		raw, v.Err = e.read(raw)
	}
	if v.Raw = []string{raw}; v.Key == "" {
		if v.Err == nil {
			return nil
		}
		v.Key, v.Origin = key, r.place(at)
	}
	r.out = append(r.out, v)
	return nil
}

// passOver leaves a key to other programs, but not one that was to be ours.
func (r *foreignReader) passOver(path, key string, at int) {
	if path == "" || len(key) > longestKey {
		return
	}
	var beside []string
	for _, k := range slices.Sorted(maps.Keys(r.known)) {
		if parent(k) == path {
			beside = append(beside, k)
		}
	}
	if near := spelling.Meant(key, beside); near != "" && spelling.Distance(key, near) <= 2 {
		r.out = append(r.out, Value{Key: key, Raw: []string{""}, Origin: r.place(at), InRepo: true, Err: errors.New("unknown key; did you mean " + near + "?")})
	}
}
