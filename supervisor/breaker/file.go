package breaker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"autopilot/metrics/statedir"
)

const version = 1

type records map[string]record

type file struct {
	Version  int                        `json:"version"`
	Breakers map[string]json.RawMessage `json:"breakers"`
}

// load returns what the file holds, without what cannot be read. It needs no lock, since
// the file is replaced as a whole.
func (s Set) load() records {
	all := records{}
	var f file
	err := statedir.LoadJSON(s.Path, &f)
	if errors.Is(err, os.ErrNotExist) {
		return all
	}
	if err == nil && f.Version != version {
		err = fmt.Errorf("version %d is not known", f.Version)
	}
	if err != nil {
		s.warn("state of circuit breakers is broken, all are taken as closed", "", err)
		return all
	}
	for name, raw := range f.Breakers {
		var r record
		if err := json.Unmarshal(raw, &r); err != nil {
			s.warn("state of a circuit breaker is broken, it is taken as closed", name, err)
			continue
		}
		all[name] = r
	}
	return all
}

// change runs fn over the state while no other process does, and stores it when fn says
// so.
func (s Set) change(fn func(records) bool) error {
	if err := statedir.MakeDir(filepath.Dir(s.Path)); err != nil {
		return err
	}
	return statedir.Exclusive(s.Path, func() error {
		all := s.load()
		if !fn(all) {
			return nil
		}
		data, err := json.MarshalIndent(struct {
			Version  int     `json:"version"`
			Breakers records `json:"breakers"`
		}{version, all}, "", "  ")
		if err != nil {
			return fmt.Errorf("write %s: %w", s.Path, err)
		}
		return statedir.Swap(s.Path, append(data, '\n'))
	})
}
