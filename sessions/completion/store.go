package completion

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/plainfile"
	"autopilot/metrics/statedir"
	"autopilot/sessions/task"
)

const (
	stateLimit   = 1 << 20 // bytes of a state file; a real one has some thousand
	sessionRunes = 128
	projectFile  = "project" // the state without session
)

// CheckSession refuses a session id that cannot be the name of a file of its own.
func CheckSession(id string) error {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-'
	}
	odd := strings.IndexFunc(id, func(r rune) bool { return !plain(r) }) >= 0
	// Some file systems take upper and lower case for the same.
	reserved := slices.Contains([]string{projectFile, deskFile, "report"}, strings.ToLower(id))
	if id == "" || odd || reserved || len(id) > sessionRunes || id[0] == '.' {
		return fmt.Errorf("session id %q is not valid: it takes 1 to %d letters, digits, '_', '-' and '.', the first not a '.'", cut(id, sessionRunes), sessionRunes)
	}
	return nil
}

// path is the state file of a session; "" is the one without session.
func (d Desk) path(id string) string {
	if id == "" {
		id = projectFile
	}
	return filepath.Join(d.Folder, id+".json")
}

// load reads the state of a session; found is false when there is none.
func (d Desk) load(id string) (s State, found bool, err error) {
	path := d.path(id)
	data, err := plainfile.Read(path, stateLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return State{SessionID: id}, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("read state: %w", err)
	}
	err = json.Unmarshal(data, &s)
	if err == nil {
		err = s.check(id)
	}
	if err != nil {
		return s, false, refused{fmt.Errorf("read state %s: %w", path, err), "move that file away; 'autopilot enable' makes a new one"}
	}
	return s, true, nil
}

// check refuses a state that none of us has written.
func (s *State) check(id string) error {
	if s.SessionID != id {
		return fmt.Errorf("it is the state of session %q", cut(s.SessionID, sessionRunes))
	}
	if s.Enabled || s.MaxIterations != 0 { // what was never enabled has no settings
		if err := s.Settings.Check(); err != nil {
			return err
		}
	}
	numbers := []int64{s.StartTime, int64(s.Iterations), int64(s.Stalled), int64(s.Best), int64(s.Progressed), int64(s.Blocks), s.Tokens, s.Offset}
	for i, n := range numbers {
		if n > mostCount || n < -mostCount || n < 0 && i > 0 {
			return fmt.Errorf("number %d is out of range", n)
		}
	}
	if s.LastCheck != nil && (*s.LastCheck > mostCount || *s.LastCheck < -mostCount) {
		return fmt.Errorf("lastCheck %d is out of range", *s.LastCheck)
	}
	if s.Progressed > s.Iterations {
		return fmt.Errorf("progress was seen at iteration %d of %d", s.Progressed, s.Iterations)
	}
	return nil
}

// Check refuses a setting that is out of range, by name.
func (s Settings) Check() error {
	switch {
	case s.MaxIterations < 1 || s.MaxIterations > MostIterations:
		return fmt.Errorf("maxIterations %d is out of range 1..%d", s.MaxIterations, MostIterations)
	case s.TimeoutMinutes < 1 || s.TimeoutMinutes > MostMinutes:
		return fmt.Errorf("timeoutMinutes %d is out of range 1..%d", s.TimeoutMinutes, MostMinutes)
	case s.MaxTokens < 0 || s.MaxTokens > mostCount:
		return fmt.Errorf("maxTokens %d is out of range 0..%d", s.MaxTokens, int64(mostCount))
	case s.Criteria != AllDone && s.Criteria != AllSucceeded:
		return fmt.Errorf("completionCriteria %q is neither %s nor %s", s.Criteria, AllDone, AllSucceeded)
	}
	return task.CheckSources(s.TaskSources)
}

// change changes the state of a session under its lock. The function says whether
// there is something to write.
func (d Desk) change(id string, fn func(s *State, found bool) (write bool, err error)) error {
	return statedir.Exclusive(d.path(id), func() error {
		s, found, err := d.load(id)
		if err != nil {
			return err
		}
		if write, err := fn(&s, found); err != nil || !write {
			return err
		}
		return replace(d.path(id), s)
	})
}

// replace writes a state in place of another. It is not synced: an agent waits for
// the answer, and what a power cut would take is a count of a session that it ends
// too.
func replace(path string, s State) error {
	if s.History == nil {
		s.History = []Point{}
	}
	if s.Learned == nil {
		s.Learned = []string{}
	}
	return replaceJSON(path, s)
}

// replaceJSON writes a file that a reader finds whole, old or new. It is not synced.
func replaceJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode state: %w", err)
	}
	return statedir.Swap(path, data)
}

// enabled are those of the states that are enabled and have time left.
func enabled(all []State, now time.Time) []State {
	return slices.DeleteFunc(slices.Clone(all), func(s State) bool { return !s.Enabled || s.expired(now) })
}

// all are the states of all sessions. Those that cannot be read are named, and stand
// in the way of no other.
func (d Desk) all() (states []State, broken []task.Fault, err error) {
	entries, err := os.ReadDir(d.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list states: %w", err)
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || CheckSession(id) != nil || id == deskFile {
			continue
		}
		s, found, err := d.load(id)
		switch {
		case err != nil:
			broken = append(broken, task.Fault{Path: d.path(id), Why: err.Error()})
		case found:
			states = append(states, s)
		}
	}
	return states, broken, nil
}

// last is the session that was enabled last, among those given.
func last(states []State) (s State, found bool) {
	for _, x := range states {
		if !found || x.StartTime > s.StartTime {
			s, found = x, true
		}
	}
	return s, found
}

// keptOver is how long the state of a session that is over stays visible.
const keptOver = 30 * 24 * time.Hour

// tidy removes the states of sessions that were over long ago.
func (d Desk) tidy(now time.Time) {
	all, _, err := d.all()
	if err != nil {
		return // what cannot be read is for a person to look at
	}
	for _, s := range all {
		if (!s.Enabled || s.expired(now)) && now.UnixMilli()-s.StartTime > keptOver.Milliseconds() {
			_ = os.Remove(d.path(s.SessionID))
			_ = os.Remove(d.path(s.SessionID) + ".lock")
		}
	}
}

// refused is an error with a way out.
type refused struct {
	error
	way string
}

// Unwrap is the fact without the way out.
func (r refused) Unwrap() error { return r.error }

// Hint says what a person can do.
func (r refused) Hint() string { return r.way }
