package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"autopilot/metrics/statedir"
)

const version = 1

type file struct {
	Version int     `json:"version"`
	Limits  []Limit `json:"limits"`
}

// Note keeps a limit for all who use the account. Of two of one kind and model the one
// that ends later holds. One that was over when it was met is not kept; one without times,
// or that ends more than eight days after it was met, is an error. So is a file that
// cannot be written; a full disk is a *statedir.FullError.
func (a Account) Note(l Limit) error {
	l = l.plain()
	switch {
	case a.ID == "":
		return nil
	case l.Until.IsZero() || l.At.IsZero():
		return errors.New("note usage limit: it has no end or no beginning")
	case l.senseless():
		return fmt.Errorf("note usage limit: its end %s is more than eight days away", l.Until.Format(time.RFC3339))
	case !l.Until.After(l.At):
		return nil
	}
	if err := statedir.MakeDir(a.Dir); err != nil {
		return fmt.Errorf("note usage limit: %w", err)
	}
	err := a.change(func(all []Limit) []Limit { return with(all, l) })
	if err != nil {
		return fmt.Errorf("note usage limit: %w", err)
	}
	return nil
}

// Until returns the limit that holds longest for a model, empty for one that is not
// known, and whether there is one.
func (a Account) Until(model string, now time.Time) (Limit, bool) {
	all, _ := a.load() // Check tells
	var last Limit
	for _, l := range all {
		if l.holds(now) && l.binds(model) && l.Until.After(last.Until) {
			last = l
		}
	}
	return last, !last.Until.IsZero()
}

// Clear forgets the limits for all models that were met before at. It is for when a
// session that began at that moment got an answer. Limits of single models stay; see
// ClearModel.
func (a Account) Clear(at time.Time) error { return a.ClearModel("", at) }

// ClearModel is Clear for when it is known which model answered: the limits for that
// model are forgotten too.
func (a Account) ClearModel(model string, at time.Time) error {
	gone := func(l Limit) bool { return l.At.Before(at) && l.binds(model) }
	if all, err := a.load(); err != nil || !slices.ContainsFunc(all, gone) {
		return nil // the usual case takes no lock; what is broken holds nobody up
	}
	err := a.change(func(all []Limit) []Limit { return slices.DeleteFunc(all, gone) })
	if err != nil {
		return fmt.Errorf("clear usage limits: %w", err)
	}
	return nil
}

// Check reports why the limits of the account cannot be read, nil when they can or when
// there are none.
func (a Account) Check() error {
	if _, err := a.load(); err != nil {
		return fmt.Errorf("usage limits are ignored: %w", err)
	}
	return nil
}

func (a Account) path() string { return filepath.Join(a.Dir, a.ID+".json") }

// load needs no lock, since the file is replaced as a whole.
func (a Account) load() ([]Limit, error) {
	if a.ID == "" {
		return nil, nil
	}
	var f file
	err := statedir.LoadJSON(a.path(), &f)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case f.Version != version:
		return nil, fmt.Errorf("load %s: version %d is not known", a.path(), f.Version)
	}
	return f.Limits, nil
}

// change replaces the limits while no other process does. It begins anew when they
// cannot be read.
func (a Account) change(fn func([]Limit) []Limit) error {
	err := statedir.Exclusive(a.path(), func() error {
		all, _ := a.load()
		data, err := json.MarshalIndent(file{Version: version, Limits: fn(all)}, "", "  ")
		if err != nil {
			return fmt.Errorf("write %s: %w", a.path(), err)
		}
		return statedir.Swap(a.path(), append(data, '\n'))
	})
	return statedir.Full(a.path(), err)
}
