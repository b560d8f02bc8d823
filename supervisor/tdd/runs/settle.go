package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"autopilot/metrics/journal"
	"autopilot/metrics/statedir"
	"autopilot/supervisor/tdd"
)

const (
	spareLines = 64      // at the end of the log that may be somebody else's
	eventBytes = 1 << 20 // an event is shortened beyond
)

// settle writes what follows from the state on disk, and only what differs: twice is
// the same as once. A part that cannot be written does not keep the others from it,
// except on a full disk. With own set the run is the current one.
func (s Store) settle(st tdd.State, own bool) error {
	m := manifestOf(st)
	var bad []error
	for _, part := range []struct {
		point string
		write func() error
	}{
		{"journal", func() error { return s.log(st, st.Outbox) }},
		{"manifest", func() error { return update(s.file(st.RunID, manifestName), m) }},
		{"commits", func() error { return updateBytes(s.file(st.RunID, commitsName), commitLines(st)) }},
		{"tag", func() error { return s.point(s.tagFile(st.Tag), st, own) }},
		{"pointer", func() error { return s.point(s.pointerFile(), st, own) }},
		{"report", func() error { return s.conclude(st) }},
	} {
		err := part.write()
		if err == nil {
			s.at(part.point)
			continue
		}
		bad = append(bad, err)
		if _, full := errors.AsType[*statedir.FullError](err); full {
			break
		}
	}
	if len(bad) > 0 {
		return &UnsettledError{RunID: st.RunID, Err: errors.Join(bad...)}
	}
	return nil
}

// log appends those of the events that the log lacks, in their order.
func (s Store) log(st tdd.State, events []tdd.Activity) error {
	if len(events) == 0 {
		return nil
	}
	file := s.file(st.RunID, activityName)
	tail, err := journal.Tail(file, len(events)+spareLines)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var there []tdd.Activity
	for _, line := range tail {
		if n := number(line, st.RunID); n > 0 {
			there = append(there, tdd.Activity{Seq: n})
		}
	}
	missing := without(events, there)
	if len(missing) == 0 {
		return nil
	}
	w, err := journal.Open(file, journal.Options{})
	if err != nil {
		return err
	}
	for _, a := range missing {
		line, err := bounded(a, eventBytes)
		if err == nil {
			// The end of the log may be this event, cut off before its newline.
			_, err = w.AppendUnless(line, func(line []byte) bool { return number(line, st.RunID) == a.Seq })
		}
		if err != nil {
			return errors.Join(err, w.Close())
		}
		s.at("line")
	}
	return w.Close()
}

// number is that of the event in a line of the log, 0 when it is none of the run.
func number(line []byte, runID string) int64 {
	var a struct {
		Seq   int64  `json:"seq"`
		RunID string `json:"runId"`
	}
	if json.Unmarshal(line, &a) != nil || a.RunID != runID {
		return 0
	}
	return a.Seq
}

// conclude writes the report of a run that is over.
func (s Store) conclude(st tdd.State) error {
	if !st.Status.Over() {
		return nil
	}
	r, err := s.Report(st.RunID)
	if err != nil {
		return err
	}
	return updateBytes(s.file(st.RunID, reportName), []byte(r.Text()))
}

func commitLines(st tdd.State) []byte {
	var b strings.Builder
	for _, c := range st.Commits {
		b.WriteString(oneLine(c.SHA) + " " + oneLine(c.Subject) + "\n")
	}
	return []byte(b.String())
}

func (s Store) point(file string, st tdd.State, own bool) error {
	if !own && !s.free(file, st) {
		return nil
	}
	if err := statedir.MakeDir(filepath.Dir(file)); err != nil {
		return err
	}
	return update(file, pointerTo(manifestOf(st)))
}

// update is a durable replace of what is not the same already.
func update(file string, v any) error {
	data, err := encode(v)
	if err != nil {
		return fmt.Errorf("replace %s: %w", file, err)
	}
	return updateBytes(file, data)
}

func updateBytes(file string, data []byte) error {
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return statedir.Replace(file, data)
}

// oneLine is a text without what would end its line or steer a terminal.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(text), " ")
}
