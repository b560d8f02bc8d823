package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"autopilot/metrics/journal"
)

// Ledgers are the two ledgers of one repository, open for appending.
type Ledgers struct {
	dir      string
	runs     *journal.Writer
	sessions *journal.Writer
}

// Open opens both ledgers in the metrics folder and creates what is missing. A
// folder that cannot be written is an error here, before any work is done.
func Open(dir string) (*Ledgers, error) {
	l := &Ledgers{dir: dir}
	var err error
	if l.runs, err = journal.Open(filepath.Join(dir, RunsFile), journal.Options{Foreign: true}); err != nil {
		return nil, err
	}
	if l.sessions, err = journal.Open(filepath.Join(dir, SessionsFile), journal.Options{Foreign: true}); err != nil {
		return nil, errors.Join(err, l.runs.Close())
	}
	return l, nil
}

// Close closes both files.
func (l *Ledgers) Close() error { return errors.Join(l.runs.Close(), l.sessions.Close()) }

// SessionsPath is the path of the session ledger.
func (l *Ledgers) SessionsPath() string { return filepath.Join(l.dir, SessionsFile) }

// AddSession appends a session record. The record is checked against its schema
// first. When again is set the record may be there already, and is looked for.
func (l *Ledgers) AddSession(rec Session, again bool) error {
	line, err := encode(rec)
	if err != nil {
		return err
	}
	if p := Problems(line); len(p) > 0 {
		return fmt.Errorf("internal error: session record is not valid: %v", p)
	}
	return add(l.sessions, line, "session_id", rec.SessionID, again)
}

// AddRun appends a run record, or finds that it is there already.
func (l *Ledgers) AddRun(rec Run) error {
	line, err := encode(rec)
	if err != nil {
		return err
	}
	return add(l.runs, line, "autopilot_run_id", rec.AutopilotRunID, true)
}

func encode(rec any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // "carryover/planned > 0.5" is to be read by people as well
	if err := enc.Encode(rec); err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func add(w *journal.Writer, line []byte, key, id string, again bool) error {
	if !again {
		return w.Append(line)
	}
	_, err := w.AppendUnless(line, func(other []byte) bool { return hasID(other, key, id) })
	return err
}

// hasID reports whether a line is the record with that id. The cheap look comes
// first, because it is done for many lines.
func hasID(line []byte, key, id string) bool {
	if !bytes.Contains(line, []byte(id)) {
		return false
	}
	var rec map[string]json.RawMessage
	if err := json.Unmarshal(line, &rec); err != nil {
		return false
	}
	var got string
	return json.Unmarshal(rec[key], &got) == nil && got == id
}
