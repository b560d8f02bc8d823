package suitability

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The names of the signals in JSON.
const (
	keyConfidence = "confidence"
	keyFloor      = "floor"
	keyRuns       = "recentRuns"
	keyCI         = "ci"
	keyResource   = "resourceVerdict"
	keyDial       = "dial"
)

// Keys are the names of the signals in JSON.
func Keys() []string {
	return []string{keyConfidence, keyFloor, keyRuns, keyCI, keyResource, keyDial}
}

// Signals is what is known before a run is started. Nil is what nobody knows.
type Signals struct {
	// Confidence is that of the recommended mode, 0 to 1.
	Confidence *float64 `json:"confidence"`
	// Floor is the least confidence that is enough, 0 to 1; DefaultFloor for anything else.
	Floor *float64 `json:"floor"`
	// RecentRuns are the last runs in the repository, the newest last.
	RecentRuns []Run `json:"recentRuns"`
	// CI is how the pipeline of the branch stands.
	CI *CI `json:"ci"`
	// ResourceVerdict is the tier of the machine.
	ResourceVerdict *string `json:"resourceVerdict"`
	// Dial is Off where it is empty or none of the positions.
	Dial Dial `json:"dial"`

	// Malformed says of signals that were there, by their JSON names, what stood in their
	// place, as in "a list". Such a signal is absent above.
	Malformed map[string]string `json:"-"`
}

// CI is how a pipeline stands: green, red or unknown.
type CI struct {
	Status string `json:"status"`
}

// UnknownKeyError is returned when signals hold a key that is none.
type UnknownKeyError struct {
	Key string
}

// Error names the key.
func (e *UnknownKeyError) Error() string { return fmt.Sprintf("unknown key %q", line(e.Key)) }

// Unknown returns the key, and those that are known.
func (e *UnknownKeyError) Unknown() (key string, known []string) { return e.Key, Keys() }

// ParseSignals reads signals from one JSON object. Keys are matched exactly, and one that is
// no signal is refused with an *UnknownKeyError; records of runs and the object of the
// pipeline may have further keys. A value of the wrong type is no error: it is noted in
// Malformed, and Judge says what follows from it. null is absent.
func ParseSignals(data []byte) (Signals, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		if json.Valid(data) {
			return Signals{}, fmt.Errorf("parse signals: found %s, want an object", kindOf(data))
		}
		return Signals{}, fmt.Errorf("parse signals: %w", err)
	}
	if members == nil {
		return Signals{}, fmt.Errorf("parse signals: found null, want an object")
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(Keys(), key) {
			return Signals{}, fmt.Errorf("parse signals: %w", &UnknownKeyError{Key: key})
		}
	}
	r := reader{members: members}
	s := Signals{
		Confidence:      r.number(keyConfidence),
		Floor:           r.floor(),
		RecentRuns:      r.runs(),
		CI:              r.pipeline(),
		ResourceVerdict: r.text(keyResource),
		Dial:            r.dial(),
	}
	s.Malformed = r.malformed
	return s, nil
}

// reader takes the signals out of an object and notes what does not fit.
type reader struct {
	members   map[string]json.RawMessage
	malformed map[string]string
}

func (r *reader) wrong(key, found string) {
	if r.malformed == nil {
		r.malformed = map[string]string{}
	}
	r.malformed[key] = found
}

// get fills into, and reports false when the signal is absent or of another type.
func (r *reader) get(key string, into any) bool {
	raw := present(r.members, key)
	if raw == nil {
		return false
	}
	if json.Unmarshal(raw, into) != nil {
		r.wrong(key, kindOf(raw))
		return false
	}
	return true
}

func (r *reader) number(key string) *float64 {
	var n float64
	if !r.get(key, &n) {
		return nil
	}
	return &n
}

func (r *reader) text(key string) *string {
	var s string
	if !r.get(key, &s) {
		return nil
	}
	return &s
}

// floor also takes a number that is written as text.
func (r *reader) floor() *float64 {
	var s string
	if json.Unmarshal(present(r.members, keyFloor), &s) != nil {
		return r.number(keyFloor)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		r.wrong(keyFloor, "a text that is no number")
		return nil
	}
	return &n
}

func (r *reader) dial() Dial {
	s := r.text(keyDial)
	if s == nil {
		return ""
	}
	if d, ok := ParseDial(*s); ok {
		return d
	}
	return Dial(*s)
}

// runs reads the history. An entry that is no record keeps its place as one without a
// kill-switch, so that the count stays true.
func (r *reader) runs() []Run {
	var list []json.RawMessage
	if !r.get(keyRuns, &list) {
		return nil
	}
	out := make([]Run, 0, len(list))
	for _, raw := range list {
		run, _ := parseRun(raw)
		out = append(out, run)
	}
	return out
}

func (r *reader) pipeline() *CI {
	var members map[string]json.RawMessage
	if !r.get(keyCI, &members) {
		return nil
	}
	var status string
	raw := present(members, "status")
	if raw == nil {
		r.wrong(keyCI, "an object without a status")
		return nil
	}
	if json.Unmarshal(raw, &status) != nil {
		r.wrong(keyCI, "an object whose status is "+kindOf(raw))
		return nil
	}
	return &CI{Status: status}
}

// present returns a member, or nil where it is absent or null.
func present(members map[string]json.RawMessage, key string) json.RawMessage {
	raw := members[key]
	if strings.TrimSpace(string(raw)) == "null" {
		return nil
	}
	return raw
}

// kindOf names the type of one JSON value.
func kindOf(raw []byte) string {
	text := strings.TrimSpace(string(raw))
	switch text[:min(1, len(text))] {
	case "{":
		return "an object"
	case "[":
		return "a list"
	case `"`:
		return "a text"
	case "t", "f":
		return "a boolean"
	case "n":
		return "null"
	}
	return "the number " + line(text)
}

// finite returns p unless it is nil or holds no finite number.
func finite(p *float64) *float64 {
	if p == nil || math.IsNaN(*p) || math.IsInf(*p, 0) {
		return nil
	}
	return p
}
