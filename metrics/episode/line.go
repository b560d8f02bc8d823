package episode

import (
	"bytes"
	"encoding/json"
	"slices"
)

// parse reads one line of a chunk; false when it is no episode.
func parse(line []byte) (Episode, bool) {
	var e Episode
	if _, ok := skim(line); !ok || json.Unmarshal(line, &e) != nil {
		return Episode{}, false
	}
	return e, true
}

// skim reads of one line what recall and Learn have to know about very many of them:
// all but the time and the steps. It takes a fifth of the time of parse, and false
// means the same, up to numbers and steps of a wrong form.
func skim(line []byte) (Episode, bool) {
	if len(line) == 0 || line[0] != '{' || !json.Valid(line) {
		return Episode{}, false
	}
	var e Episode
	ok := true
	eachField(line, func(key, value []byte) {
		if string(value) == "null" {
			return
		}
		switch string(key) {
		case "id":
			ok = textOf(value, &e.ID) && ok
		case "task":
			ok = textOf(value, &e.Task) && ok
		case "critique":
			ok = textOf(value, &e.Critique) && ok
		case "status":
			ok = textOf(value, &e.Status) && ok
		case "source", "sessionId", "runId", "ts":
			ok = value[0] == '"' && ok
		case "tags":
			ok = json.Unmarshal(value, &e.Tags) == nil && ok
		case "trajectory":
			ok = value[0] == '[' && ok
		case "success":
			e.Success = value[0] == 't'
			ok = (value[0] == 't' || value[0] == 'f') && ok
		case "reward":
			ok = json.Unmarshal(value, &e.Reward) == nil && ok
		case "iterations":
			ok = json.Unmarshal(value, &e.Iterations) == nil && ok
		case "durationMs":
			ok = json.Unmarshal(value, &e.DurationMS) == nil && ok
		case "tokens", "costUsd":
			ok = (value[0] == '-' || '0' <= value[0] && value[0] <= '9') && ok
		}
	})
	return e, ok && e.ID != ""
}

// textOf sets *to to the JSON string value.
func textOf(value []byte, to *string) bool {
	if value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return json.Unmarshal(value, to) == nil
	}
	*to = string(value[1 : len(value)-1])
	return true
}

// steps counts the steps of a line that skim took.
func steps(line []byte) int {
	n := 0
	eachField(line, func(key, value []byte) {
		if string(key) != "trajectory" {
			return
		}
		n = 0
		for at := 1; at < len(value); n++ {
			at = blank(value, at)
			if at >= len(value)-1 {
				return
			}
			at = blank(value, valueEnd(value, at)) + 1 // the comma
		}
	})
	return n
}

// eachField calls fn for the keys, as they are written, and the values of an object.
// The line must be valid JSON.
func eachField(line []byte, fn func(key, value []byte)) {
	for at := blank(line, 1); at < len(line) && line[at] == '"'; {
		end := valueEnd(line, at)
		key := line[at+1 : end-1]
		at = blank(line, blank(line, end)+1) // the colon
		end = valueEnd(line, at)
		fn(key, line[at:end])
		at = blank(line, blank(line, end)+1) // the comma
	}
}

// blank returns the offset of the first byte from at on that is not blank.
func blank(line []byte, at int) int {
	for at < len(line) && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r' || line[at] == '\n') {
		at++
	}
	return at
}

// valueEnd returns the offset behind the JSON value at the offset at.
func valueEnd(line []byte, at int) int {
	switch line[at] {
	case '"':
		return textEnd(line, at)
	case '{', '[':
		for depth := 0; ; {
			switch line[at] {
			case '"':
				at = textEnd(line, at)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			at++
			if depth == 0 {
				return at
			}
		}
	}
	n := slices.IndexFunc(line[at:], func(c byte) bool { return bytes.IndexByte([]byte(",]} \t\r\n"), c) >= 0 })
	if n < 0 {
		return len(line)
	}
	return at + n
}

func textEnd(line []byte, at int) int {
	for at++; line[at] != '"'; at++ {
		if line[at] == '\\' {
			at++
		}
	}
	return at + 1
}
