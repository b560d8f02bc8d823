package completion

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"autopilot/metrics/statedir"
)

const (
	usualLog   = "autopilot-log.jsonl"
	mostEvents = 2000
	keptEvents = 1000
	// fewBytes is less than mostEvents events take: below it nothing has to be counted.
	fewBytes   = mostEvents * 36
	eventLimit = 64 << 10 // bytes of a line that is still read
	logLimit   = 64 << 20 // bytes of a log that is still read
	logStart   = `{"ts":`
)

func newEvent(now time.Time, name string, fields Event) Event {
	e := Event{"ts": now.UnixMilli(), "event": name}
	maps.Copy(e, fields)
	return e
}

// encode writes an event as one line: when and what first, the rest by name.
func (e Event) encode() ([]byte, error) {
	keys := slices.Sorted(maps.Keys(e))
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "ts" || k == "event" })
	var b bytes.Buffer
	for i, k := range append([]string{"ts", "event"}, keys...) {
		v, err := json.Marshal(e[k])
		if err != nil {
			return nil, fmt.Errorf("encode event: %w", err)
		}
		name, _ := json.Marshal(k) // a text has always a form
		b.WriteByte("{,"[min(i, 1)])
		b.Write(name)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

// logPlace says where the log is: a folder that is never left, also not over
// symlinks, and a path in it. The folder of the log must exist unless create is set.
func (d Desk) logPlace(file string, create bool) (*os.Root, string, error) {
	if file == "" {
		root, err := os.OpenRoot(d.Folder)
		return root, usualLog, err
	}
	file = filepath.Clean(file)
	if !filepath.IsLocal(file) || file == "." || slices.Contains(strings.Split(file, "/"), ".git") {
		return nil, "", fmt.Errorf("log file %q is not a relative path inside the repository", file)
	}
	root, err := os.OpenRoot(d.Place.Repo)
	if err != nil || !create {
		return root, file, err
	}
	if err := root.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		_ = root.Close()
		return nil, "", err
	}
	return root, file, nil
}

// withLog runs fn while it holds the lock of the log. The lock is in the state
// folder: a repository is no place for it.
func (d Desk) withLog(file string, create bool, fn func(root *os.Root, name string) error) error {
	root, name, err := d.logPlace(file, create)
	if err != nil {
		return err
	}
	defer root.Close()
	return statedir.Exclusive(filepath.Join(d.Folder, usualLog), func() error { return fn(root, name) })
}

// tryLog refuses a place for the log that cannot be used, before anything is changed.
func (d Desk) tryLog(file string) error {
	err := d.withLog(file, true, func(root *os.Root, name string) error { return appendEvents(root, name, nil) })
	if err != nil {
		return refused{fmt.Errorf("event log: %w", err), "name another logFile, or move that file away"}
	}
	return nil
}

// log appends events with one write. It is not synced, as the states are not.
func (d Desk) log(file string, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	var text []byte
	for _, e := range events {
		data, err := e.encode()
		if err != nil {
			return err
		}
		text = append(text, data...)
	}
	err := d.withLog(file, true, func(root *os.Root, name string) error { return appendEvents(root, name, text) })
	if err != nil {
		return fmt.Errorf("write event log: %w", err)
	}
	return nil
}

func appendEvents(root *os.Root, name string, text []byte) error {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := checkLog(f, info); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(text) == 0 {
		return nil
	}
	if end := make([]byte, 1); info.Size() > 0 {
		if _, err := f.ReadAt(end, info.Size()-1); err == nil && end[0] != '\n' {
			text = append([]byte{'\n'}, text...) // what a killed writer left stays a line of its own
		}
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	if info.Size() < fewBytes {
		return nil
	}
	return trim(root, name, f)
}

// checkLog refuses a file that is no event log, so that a wrong name in the settings
// cannot spoil another file.
func checkLog(f io.ReaderAt, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	head := make([]byte, min(int64(len(logStart)), info.Size()))
	if n, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) || string(head[:n]) != logStart[:n] {
		return errors.New("not an event log")
	}
	return nil
}

// trim keeps the last events when there are too many.
func trim(root *os.Root, name string, f *os.File) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(f, logLimit))
	if err != nil || bytes.Count(data, []byte{'\n'}) <= mostEvents {
		return err
	}
	at := len(data)
	for range keptEvents + 1 {
		at = bytes.LastIndexByte(data[:at], '\n')
	}
	if at++; !bytes.HasPrefix(data[at:], []byte(logStart)) {
		// The log has to begin with an event, or it would not be known again.
		next := bytes.Index(data[at:], []byte("\n"+logStart))
		if next < 0 {
			return nil
		}
		at += next + 1
	}
	tmp := name + ".tmp"
	if err := root.WriteFile(tmp, data[at:], 0o600); err != nil {
		return err
	}
	return root.Rename(tmp, name)
}

// Log returns the last events, oldest first; all of them when last is 0. Lines that
// are no events are passed over.
func (d Desk) Log(last int) ([]Event, error) {
	events := []Event{}
	root, name, err := d.logPlace(d.Defaults.LogFile, false)
	if errors.Is(err, fs.ErrNotExist) {
		return events, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read event log: %w", err)
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return events, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read event log: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("read event log %s: not a regular file", name), err)
	}
	r := bufio.NewReaderSize(io.LimitReader(f, logLimit), eventLimit)
	for {
		text, err := r.ReadSlice('\n')
		if e := parseEvent(text); e != nil {
			events = append(events, e)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("read event log: %w", err)
			}
			break
		}
	}
	if last > 0 {
		events = events[max(0, len(events)-last):]
	}
	return events, nil
}

// parseEvent returns nil for what is no event.
func parseEvent(text []byte) Event {
	if !bytes.HasSuffix(text, []byte{'\n'}) {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var e Event
	if dec.Decode(&e) != nil {
		return nil
	}
	_, timed := e["ts"].(json.Number)
	if name, named := e["event"].(string); !timed || !named || name == "" {
		return nil
	}
	return e
}

// ClearLog empties the event log.
func (d Desk) ClearLog() error {
	err := d.withLog(d.Defaults.LogFile, false, func(root *os.Root, name string) error {
		f, err := root.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if err := checkLog(f, info); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return f.Truncate(0)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clear event log: %w", err)
	}
	return nil
}
