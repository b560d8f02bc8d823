package board

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"autopilot/cmd/internal/board/lines"
	"autopilot/metrics/plainfile"
	"autopilot/sessions/launch"
)

const (
	logName    = "activity.jsonl"
	firstBytes = 256 << 10 // of each file that a first look reads
	firstShown = 100
	mostEvents = 250       // of a file in one look
	mostText   = 128 << 10 // bytes of events of a file in one look
	mostRead   = 4 << 20   // bytes of a file in one look, up to one line more
)

// Tail is what happened in a run behind a place, at most 500 events and 256 KiB, and the
// place behind them. It never blocks.
//
// A run comes from [Find]. When its session has changed, the conversation of the one before
// is read to its end first, so a caller that follows gets all of it in several calls.
func Tail(o Options, r Run, at Cursor) ([]Event, Cursor, error) {
	first := at == Cursor{}
	if at.Log < 0 || at.Talk < 0 {
		at, first = Cursor{}, true
	}
	if r.Folder == "" {
		return nil, at, nil
	}
	log := feed{path: filepath.Join(r.Folder, logName), at: at.Log, parse: logEvent}
	err := log.read(first)
	out := Cursor{Log: log.at, Session: at.Session, Talk: at.Talk}
	events := log.events
	for _, id := range talks(r, at.Session) {
		same := id == at.Session
		talk := feed{path: launch.Transcript(o.Environ, r.Dir, id) + ".jsonl", parse: talkEvents}
		if same {
			talk.at = at.Talk
		}
		err = errors.Join(err, talk.read(first || !same))
		out.Session, out.Talk = id, talk.at
		events = append(events, talk.events...)
		if len(talk.events) > 0 || !talk.end {
			break // of the next one there is time later
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	if first {
		events = latest(events)
	}
	return events, out, err
}

// talks are the conversations to read: the one that is followed, and the one that runs.
func talks(r Run, followed string) []string {
	var ids []string
	if isOf(r, followed) {
		ids = append(ids, followed)
	}
	if r.Current != nil {
		if id := named(r.Current.talk()); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// talk is the conversation of a session.
func (s Session) talk() string {
	if s.Talk != "" {
		return s.Talk
	}
	return s.ID
}

// isOf reports whether a conversation is one of a run: what comes from a cursor may be
// anything.
func isOf(r Run, id string) bool {
	is := func(s Session) bool { return s.talk() == id }
	return named(id) != "" && (slices.ContainsFunc(r.Sessions, is) || r.Current != nil && is(*r.Current))
}

// named is a name of a conversation, or nothing when it cannot be one.
func named(id string) string {
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return ""
		}
	}
	return id
}

// latest are the last events that a first look shows.
func latest(events []Event) []Event {
	events = events[max(0, len(events)-firstShown):]
	size := 0
	for i := len(events) - 1; i >= 0; i-- {
		if size += len(events[i].Text); size > 2*mostText {
			return events[i+1:]
		}
	}
	return events
}

// feed is a file that events are read from.
type feed struct {
	path   string
	at     int64
	parse  func(line []byte) []Event
	events []Event
	end    bool // there was no more
}

// read takes the events behind the place. Near begins near the end of a long file. Without
// a file there are none.
func (f *feed) read(near bool) error {
	file, info, err := plainfile.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.at, f.end = 0, true
		return nil
	}
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	defer func() { _ = file.Close() }()
	cut := f.at > info.Size() // another file has taken its place
	if near || cut {
		f.at = max(0, info.Size()-firstBytes)
	}
	text := 0
	begin := f.at
	f.end = true
	next, err := lines.Each(file, f.at, func(at int64, line []byte) bool {
		for _, e := range f.parse(line) {
			f.events = append(f.events, e)
			text += len(e.Text)
		}
		if near || cut { // all of it is read, and the last ones are kept
			f.events = f.events[max(0, len(f.events)-mostEvents):]
			return at-begin < mostRead
		}
		f.end = len(f.events) < mostEvents && text < mostText && at-begin < mostRead
		return f.end
	})
	f.at = next
	f.events = f.events[max(0, len(f.events)-mostEvents-20):]
	if err != nil {
		return fmt.Errorf("read events %s: %w", f.path, err)
	}
	return nil
}
