package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"autopilot/metrics/plainfile"
)

const faultLimit = 1000

// Report is what Check found.
type Report struct {
	Good   int     // lines that are JSON
	Broken int     // lines that are not; blank lines count as neither
	Faults []Fault // the broken lines, at most the first 1,000
	Torn   *Fault  // an unterminated end, nil when there is none
}

// OK tells whether nothing was found.
func (r Report) OK() bool { return r.Broken == 0 && r.Torn == nil }

// Fault is one line that is not a record.
type Fault struct {
	Line   int    // counted from 1
	Offset int64  // of its first byte in the file
	Bytes  int64  // without the newline
	Reason string // a few words
}

// Check reads the whole journal path and tells which lines are broken. It changes
// nothing and takes no lock, so a line that is being written at this moment may
// show up as torn. A missing file is an empty journal.
func Check(path string) (Report, error) {
	var r Report
	f, _, err := plainfile.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("check journal %s: %w", path, err)
	}
	defer f.Close()
	for s := newForward(f, 0); ; {
		p, err := s.next()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return r, fmt.Errorf("check journal %s: %w", path, err)
		}
		r.add(p)
	}
}

func (r *Report) add(p piece) {
	text := bare(p.text)
	fault := Fault{Line: p.number, Offset: p.start, Bytes: p.end - p.start, Reason: flaw(p, text)}
	switch {
	case p.open:
		r.Torn = &fault
	case len(text) == 0 && !p.long:
	case fault.Reason == "":
		r.Good++
	default:
		r.Broken++
		if len(r.Faults) < faultLimit {
			r.Faults = append(r.Faults, fault)
		}
	}
}

func flaw(p piece, text []byte) string {
	switch {
	case p.open && isWhole(text):
		return "complete, but no newline at its end"
	case p.open:
		return "no newline at its end"
	case p.long:
		return fmt.Sprintf("longer than %d bytes", MaxLine)
	case bytes.IndexByte(text, 0) >= 0:
		return "holds NUL bytes"
	case !utf8.Valid(text):
		return "not UTF-8"
	}
	var v json.RawMessage
	if err := json.Unmarshal(text, &v); err != nil {
		return "not JSON: " + err.Error()
	}
	return ""
}
