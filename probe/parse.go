package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"autopilot/probe/peer"
)

// ParseSnapshot reads a snapshot from JSON, the whole of data. It accepts the
// fields of [Snapshot], each in its form, null or left out; null and left out
// mean the same. It refuses, naming the field, what is unknown (with the nearest
// known name), given twice, or no possible measurement: a number that is
// negative or too large, a count that is not whole, a percentage over 100. It
// refuses an empty input and whatever follows the object.
func ParseSnapshot(data []byte) (Snapshot, error) {
	var s Snapshot
	if err := parseObject(data, s.fields()); err != nil {
		return Snapshot{}, fmt.Errorf("parse snapshot: %w", err)
	}
	return s, nil
}

// field is one known key and what to do with its value, which is never null.
type field struct {
	name string
	set  func(raw json.RawMessage) error
}

func (s *Snapshot) fields() []field {
	return []field{
		amount(fieldRAM, &s.RAMAvailableGB),
		amount(fieldSwap, &s.SwapUsedGB),
		{fieldPeers, func(raw json.RawMessage) error {
			n, err := whole(raw)
			s.Peers = &n
			return err
		}},
		percent(fieldPressure, &s.MemoryPressurePctFree),
		{"taken_at", func(raw json.RawMessage) error {
			text, err := str(raw)
			if err == nil && s.TakenAt.UnmarshalText([]byte(text)) != nil {
				err = fmt.Errorf("%q is no time in the form 2006-01-02T15:04:05Z", text)
			}
			return err
		}},
		amount(fieldTotal, &s.RAMTotalGB),
		{"ram_bounded_by", func(raw json.RawMessage) (err error) {
			s.RAMBoundedBy, err = str(raw)
			if by := s.RAMBoundedBy; err == nil && by != "" && by != BoundedByHost && by != BoundedByCgroup {
				return fmt.Errorf("want %q or %q, got %q", BoundedByHost, BoundedByCgroup, by)
			}
			return err
		}},
		percent(fieldPSI, &s.PSIMemorySomeAvg10),
		amount(fieldLoad, &s.Load1m),
		{"cpus", func(raw json.RawMessage) (err error) {
			s.CPUs, err = whole(raw)
			return err
		}},
		{"peer_sessions", func(raw json.RawMessage) (err error) {
			s.PeerSessions, err = list(raw, sessionFields)
			return err
		}},
		{"probe_duration_ms", func(raw json.RawMessage) (err error) {
			s.DurationMS, err = number(raw, math.MaxFloat64)
			return err
		}},
		{"absent", func(raw json.RawMessage) (err error) {
			s.Absent, err = list(raw, absenceFields)
			return err
		}},
	}
}

func sessionFields(p *peer.Session) []field {
	return []field{
		{"pid", func(raw json.RawMessage) (err error) {
			p.PID, err = whole(raw)
			return err
		}},
		text("comm", &p.Comm),
		text("cmdline", &p.Cmdline),
		text("cwd", &p.CWD),
	}
}

func absenceFields(a *Absence) []field {
	return []field{text("signal", &a.Signal), text("reason", &a.Reason)}
}

func amount(name string, to **float64) field  { return bounded(name, math.MaxFloat64, to) }
func percent(name string, to **float64) field { return bounded(name, 100, to) }

func bounded(name string, limit float64, to **float64) field {
	return field{name, func(raw json.RawMessage) error {
		v, err := number(raw, limit)
		*to = &v
		return err
	}}
}

func text(name string, to *string) field {
	return field{name, func(raw json.RawMessage) (err error) {
		*to, err = str(raw)
		return err
	}}
}

// number accepts 0 to limit.
func number(raw json.RawMessage, limit float64) (float64, error) {
	if k := kind(raw); k != "a number" {
		return 0, fmt.Errorf("want a number or null, got %s", k)
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is out of range", raw)
	case math.Signbit(v):
		return 0, fmt.Errorf("%s is negative", raw)
	case v > limit:
		return 0, fmt.Errorf("%s is over %v", raw, limit)
	}
	return v, nil
}

// whole accepts 0 to the largest 32-bit integer, which no count of processes
// or processors reaches.
func whole(raw json.RawMessage) (int, error) {
	v, err := number(raw, math.MaxInt32)
	if err != nil {
		return 0, err
	}
	if v != math.Trunc(v) {
		return 0, fmt.Errorf("%s is not a whole number", raw)
	}
	return int(v), nil
}

func str(raw json.RawMessage) (string, error) {
	if k := kind(raw); k != "a string" {
		return "", fmt.Errorf("want a string or null, got %s", k)
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// list reads an array of objects whose fields are named by of.
func list[T any](raw json.RawMessage, of func(*T) []field) ([]T, error) {
	if k := kind(raw); k != "a list" {
		return nil, fmt.Errorf("want a list or null, got %s", k)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	all := make([]T, len(items))
	for i, item := range items {
		if err := parseObject(item, of(&all[i])); err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
	}
	return all, nil
}

// kind tells what a piece of JSON is by its first byte.
func kind(raw []byte) string {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return "a number"
	}
	return "no JSON"
}
