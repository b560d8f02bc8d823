package approval

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/statedir"
)

const (
	usualTimeout = 30 * time.Minute
	approvalLife = 24 * time.Hour // how long an approval waits for its call

	idLetters   = "23456789abcdefghjkmnpqrstuvwxyz" // none that is taken for another
	idLength    = 6
	idPrefix    = "g-"
	fileMark    = 12 // letters of the fingerprint in the name of a file
	lockTries   = 5  // of two seconds each
	maxFileSize = 1 << 20
)

// UnknownError is returned when no gate has the ID.
type UnknownError struct{ ID string }

// Error names what was asked for.
func (e *UnknownError) Error() string { return fmt.Sprintf("there is no gate %s", e.ID) }

// AmbiguousError is returned when an ID is the beginning of several.
type AmbiguousError struct {
	ID    string
	Which []string
}

// Error names the gates that begin like this.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s is the beginning of several gates: %s", e.ID, strings.Join(e.Which, ", "))
}

// DecidedError is returned when a gate cannot be decided any more.
type DecidedError struct{ Gate Gate }

// Error says what became of the gate.
func (e *DecidedError) Error() string {
	g := e.Gate
	switch g.Status {
	case Used:
		return fmt.Sprintf("gate %s was used at %s", g.ID, g.UsedAt.Format(time.RFC3339))
	default:
		return fmt.Sprintf("gate %s was %s by %s at %s", g.ID, g.Status, g.By, g.DecidedAt.Format(time.RFC3339))
	}
}

// at is the gate as it stands at a moment.
func (g Gate) at(now time.Time) Gate {
	switch {
	case g.Status == Pending && now.After(g.ExpiresAt),
		g.Status == Approved && now.After(g.DecidedAt.Add(approvalLife)):
		g.Status = Expired
	}
	return g
}

func (g Gate) fileName() string {
	return g.ID + "." + g.Fingerprint[:min(fileMark, len(g.Fingerprint))] + ".json"
}

// files lists the names of the gates' files.
func (d Desk) files() ([]string, error) {
	entries, err := os.ReadDir(d.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list gates: %w", err)
	}
	var names []string
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, idPrefix) && strings.HasSuffix(n, ".json") {
			names = append(names, n)
		}
	}
	return names, nil
}

func (d Desk) load(name string, now time.Time) (Gate, error) {
	var g Gate
	p := filepath.Join(d.Dir, name)
	if info, err := os.Stat(p); err == nil && info.Size() > maxFileSize {
		return g, fmt.Errorf("load %s: %d bytes are too much for a gate", p, info.Size())
	}
	if err := statedir.LoadJSON(p, &g); err != nil {
		return g, err
	}
	if g.fileName() != name || !slices.Contains([]Status{Pending, Approved, Denied, Expired, Used}, g.Status) {
		return g, fmt.Errorf("load %s: this is not the record of a gate", p)
	}
	return d.checked(g).at(now), nil
}

func (d Desk) save(g Gate) error {
	return statedir.ReplaceJSON(filepath.Join(d.Dir, g.fileName()), g)
}

// locked runs fn while no other process changes the gates.
func (d Desk) locked(fn func() error) error {
	if err := statedir.MakeDir(d.Dir); err != nil {
		return err
	}
	var err error
	for range lockTries { // many sessions may ask on a slow disk
		entered := false
		err = statedir.Exclusive(filepath.Join(d.Dir, "gates"), func() error {
			entered = true
			return fn()
		})
		if entered {
			return err
		}
	}
	return err
}

// List returns all gates, the newest last. What is broken is named by the error beside
// the others.
func (d Desk) List(now time.Time) ([]Gate, error) {
	names, err := d.files()
	if err != nil {
		return nil, err
	}
	var gates []Gate
	var bad []error
	for _, n := range names {
		g, err := d.load(n, now)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		gates = append(gates, g)
	}
	slices.SortFunc(gates, func(a, b Gate) int {
		if c := a.AskedAt.Compare(b.AskedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return gates, errors.Join(bad...)
}

// Pending returns the gates of a run that wait for an answer, the newest last; an empty
// runID stands for all runs. The error is as for List.
func (d Desk) Pending(runID string, now time.Time) ([]Gate, error) {
	gates, err := d.List(now)
	return slices.DeleteFunc(gates, func(g Gate) bool {
		return g.Status != Pending || runID != "" && g.RunID != runID
	}), err
}

// Get returns the gate whose ID begins with the given one; the part in front of the dash
// may be left out. The error is *UnknownError or *AmbiguousError, or says what is broken.
func (d Desk) Get(id string, now time.Time) (Gate, error) {
	name, err := d.find(id)
	if err != nil {
		return Gate{}, err
	}
	return d.load(name, now)
}

func (d Desk) find(id string) (string, error) {
	names, err := d.files()
	if err != nil {
		return "", err
	}
	want := strings.ToLower(strings.TrimSpace(id))
	if want != "" && !strings.HasPrefix(want, idPrefix) {
		want = idPrefix + want
	}
	if len(want) <= len(idPrefix) {
		return "", &UnknownError{ID: id}
	}
	var found, ids []string
	for _, n := range names {
		full, _, _ := strings.Cut(n, ".")
		if strings.HasPrefix(full, want) {
			found, ids = append(found, n), append(ids, full)
		}
	}
	switch len(found) {
	case 0:
		return "", &UnknownError{ID: id}
	case 1:
		return found[0], nil
	}
	return "", &AmbiguousError{ID: id, Which: ids}
}

// Approve lets the call of a gate through once. by names the person. A gate that nobody
// answered in time can be approved too, and one whose approval was not used in time again.
// The error is as for Get, or *DecidedError.
func (d Desk) Approve(id, by string, now time.Time) (Gate, error) {
	return d.decide(id, now, func(g *Gate) { g.Status, g.By, g.Because = Approved, line(by, maxName), "" })
}

// Deny refuses the call of a gate for good, with a reason that the agent is told. An
// approval that was not used yet can be taken back. The error is as for Approve.
func (d Desk) Deny(id, by, because string, now time.Time) (Gate, error) {
	return d.decide(id, now, func(g *Gate) { g.Status, g.By, g.Because = Denied, line(by, maxName), line(because, maxReason) })
}

func (d Desk) decide(id string, now time.Time, change func(*Gate)) (Gate, error) {
	var g Gate
	if _, err := d.find(id); err != nil {
		return g, err
	}
	err := d.locked(func() error {
		name, err := d.find(id)
		if err != nil {
			return err
		}
		if g, err = d.load(name, now); err != nil {
			return err
		}
		after := g
		change(&after)
		takenBack := g.Status == Approved && after.Status == Denied
		if g.Status != Pending && g.Status != Expired && !takenBack {
			return &DecidedError{Gate: g}
		}
		after.DecidedAt = now
		if after, err = d.sealed(after); err != nil {
			return err
		}
		g = after
		return d.save(g)
	})
	if err != nil {
		if _, decided := errors.AsType[*DecidedError](err); !decided {
			g = Gate{}
		}
	}
	return g, err
}

// newID is one that no gate has.
func (d Desk) newID() (string, error) {
	names, err := d.files()
	if err != nil {
		return "", err
	}
	for {
		raw := make([]byte, idLength)
		rand.Read(raw)
		for i := range raw {
			raw[i] = idLetters[int(raw[i])%len(idLetters)]
		}
		id := idPrefix + string(raw)
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, id+".") }) {
			return id, nil
		}
	}
}
