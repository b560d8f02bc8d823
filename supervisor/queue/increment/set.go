package increment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"autopilot/metrics/statedir"
)

// instantLayout is how SpecWeave writes a point in time.
const instantLayout = "2006-01-02T15:04:05.000Z"

// leftover is the age from which a temporary file is one of a writer that was killed.
const leftover = time.Minute

// SetStatus changes the status of an increment, and the time of its last activity. The
// id may be cut short as with [Load]. Nothing is written when the status is that already.
// See the package for what stays as it is.
//
// The error wraps [ErrNotFound], [ErrIllegal], or [ErrChanged] after which it can be tried
// again.
func SetStatus(repo, id, to string, now time.Time) error {
	return setStatus(repo, id, to, now, func() {})
}

// setStatus calls before in front of the last look at the file.
func setStatus(repo, id, to string, now time.Time, before func()) error {
	f, id, err := find(repo, id)
	if err != nil {
		return fmt.Errorf("set status: %w", err)
	}
	defer f.close()
	name := in(id, metadata)
	data, info, err := f.read(name)
	if err != nil {
		return fmt.Errorf("set status of %s: %s %w", id, f.path(name), err)
	}
	changed, err := edited(data, known(to), now)
	if err != nil {
		return fmt.Errorf("set status of %s: %s %w", id, f.path(name), err)
	}
	if bytes.Equal(changed, data) {
		return nil
	}
	if info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("set status of %s: %s is read-only", id, f.path(name))
	}
	if err := f.replace(name, data, changed, before); err != nil {
		return fmt.Errorf("set status of %s: %w", id, err)
	}
	return nil
}

// edited returns the bytes of metadata.json with another status. They are the same when
// the status is that already. The error says what is wrong behind the name of the file.
func edited(data []byte, to string, now time.Time) ([]byte, error) {
	members, twice, err := object(data)
	if err != nil {
		return nil, err
	}
	if twice != "" {
		return nil, fmt.Errorf("has %q twice in one object: it is not clear which one counts", word(twice))
	}
	at := slices.IndexFunc(members, func(m member) bool { return m.name == "status" })
	if at < 0 {
		return nil, errors.New("has no status")
	}
	from, ok := members[at].text()
	if !ok {
		return nil, errors.New("has a status that is no text")
	}
	if known(from) == to && slices.Contains(Statuses(), to) {
		return data, nil
	}
	if err := Legal(from, to); err != nil {
		return nil, fmt.Errorf("cannot be changed: %w", err)
	}
	out := bytes.Clone(data)
	for _, m := range slices.Backward(members) {
		value, ok := renewed(m, to, now)
		if !ok {
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		out = slices.Replace(out, m.from, m.to, raw...)
	}
	return out, nil
}

// renewed is the new value of a field that changes with the status. A day stays a day. A
// time that is written in a way of its own, neither as text nor missing, is left alone.
func renewed(m member, status string, now time.Time) (string, bool) {
	switch m.name {
	case "status":
		return status, true
	case "lastActivity", "updated":
		old, isText := m.text()
		if _, err := time.Parse(time.DateOnly, old); err == nil {
			return now.UTC().Format(time.DateOnly), true
		}
		return now.UTC().Format(instantLayout), isText || string(m.raw) == "null"
	}
	return "", false
}

// replace puts next in the place of a file in which before is read still.
func (f folder) replace(name string, before, next []byte, look func()) (err error) {
	path, err := f.real(name)
	if err != nil {
		return err
	}
	sweep(filepath.Dir(path))
	p, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithExistingPermissions())
	if err != nil {
		return statedir.Full(path, fmt.Errorf("replace %s: %w", path, err))
	}
	defer func() { _ = p.Cleanup() }() // of a file that took its place it does nothing
	if _, err := p.Write(next); err != nil {
		return statedir.Full(path, fmt.Errorf("replace %s: %w", path, err))
	}
	// What takes time comes before the last look.
	if err := p.Sync(); err != nil {
		return statedir.Full(path, fmt.Errorf("replace %s: %w", path, err))
	}
	look()
	now, _, err := f.read(name)
	if err != nil || !bytes.Equal(now, before) {
		return fmt.Errorf("%w: %s is not what it was when it was read; try again", ErrChanged, path)
	}
	if err := p.CloseAtomicallyReplace(); err != nil {
		return statedir.Full(path, fmt.Errorf("replace %s: %w", path, err))
	}
	return statedir.SyncDir(filepath.Dir(path))
}

// sweep removes what writers that were killed left behind. That it stays is no reason to
// fail.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "."+metadata)
		if !ok || len(number) < 12 || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > leftover {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// real is the path of a file that is neither a link nor reached through one. It was read
// within the repository, so what leads out of it was put there since.
func (f folder) real(name string) (string, error) {
	top, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	path, err := filepath.EvalSymlinks(f.path(name))
	if err != nil {
		return "", fmt.Errorf("find %s: %w", f.path(name), err)
	}
	rel, err := filepath.Rel(top, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(os.PathSeparator)) {
		return "", fmt.Errorf("%s leads out of the repository", f.path(name))
	}
	return path, nil
}
