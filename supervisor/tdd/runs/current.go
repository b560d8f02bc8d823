package runs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/tdd"
)

// Pointer is the content of current-run.json: which run it is, and how it was when
// that was written. The state of the run is what counts.
type Pointer struct {
	RunID     string     `json:"runId"`
	TaskID    string     `json:"taskId"`
	Tag       string     `json:"tag"`
	StartTime time.Time  `json:"startTime"`
	Status    tdd.Status `json:"status"`
}

func pointerTo(m Manifest) Pointer {
	return Pointer{RunID: m.RunID, TaskID: m.TaskID, Tag: m.Tag, StartTime: m.StartTime, Status: m.Status}
}

// pointer reads a pointer; ok is false when there is none that could be followed.
func pointer(file string) (p Pointer, ok bool) {
	if statedir.LoadJSON(file, &p) != nil {
		return Pointer{}, false
	}
	_, ok = began(p.RunID)
	return p, ok
}

// Peek reads the current run as it is: the one that is pointed to, also when it is
// over, unless a newer one is not. Without a pointer that can be followed it is the
// newest run that is not over. No such run is ErrNoRun.
//
// It is a *BrokenError when the state of that run is of no use, and ErrNoRun again
// once Abort has put it aside.
func (s Store) Peek() (tdd.State, error) {
	p, ok := pointer(s.pointerFile())
	if !ok {
		return s.newest("")
	}
	st, err := s.PeekRun(p.RunID)
	switch {
	case err == nil && !st.Status.Over():
		return st, nil
	case errors.Is(err, ErrNoRun):
		return s.newest("")
	case err != nil && !p.Status.Over():
		return tdd.State{}, err
	}
	// Create may have been killed before it could point to its run.
	stamp, _ := began(p.RunID)
	later, none := s.newest(stamp)
	if errors.Is(none, ErrNoRun) && err == nil {
		return st, nil
	}
	return later, none
}

// newest reads the newest run that is not over, of those that began after stamp. One
// of which that is not known is a *BrokenError.
func (s Store) newest(stamp string) (tdd.State, error) {
	ids, err := s.ids()
	if err != nil {
		return tdd.State{}, err
	}
	for _, id := range ids {
		if at, _ := began(id); at <= stamp {
			break
		}
		// What is over stays so, and the manifest is read in a fraction of the time.
		var m Manifest
		if statedir.LoadJSON(s.file(id, manifestName), &m) == nil && m.Status.Over() {
			continue
		}
		st, err := s.PeekRun(id)
		if _, broken := errors.AsType[*BrokenError](err); broken {
			return tdd.State{}, err
		}
		if err == nil && !st.Status.Over() {
			return st, nil
		}
	}
	return tdd.State{}, ErrNoRun
}

// ids lists the runs, the newest first.
func (s Store) ids() ([]string, error) {
	entries, err := os.ReadDir(s.Folder(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if _, ok := began(e.Name()); ok && e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		at, _ := began(a)
		bt, _ := began(b)
		return cmp.Or(cmp.Compare(bt, at), cmp.Compare(b, a))
	})
	return ids, nil
}

// free reports whether a run may put itself into the pointer file: it does not take the
// place of another that is not over.
func (s Store) free(file string, st tdd.State) bool {
	p, ok := pointer(file)
	if ok && p.RunID == st.RunID {
		return true
	}
	if st.Status.Over() {
		return false
	}
	if !ok {
		return true
	}
	other, err := s.PeekRun(p.RunID)
	if err == nil {
		return other.Status.Over()
	}
	return errors.Is(err, ErrNoRun) || p.Status.Over()
}
