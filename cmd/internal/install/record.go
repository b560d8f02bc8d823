package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

const recordVersion = 1

// state is a file at one moment. The zero value is a file that does not exist.
type state struct {
	exists bool
	data   []byte
}

func (s state) same(t state) bool {
	return s.exists == t.exists && bytes.Equal(s.data, t.data)
}

// blank reports whether the file holds nothing but white space.
func (s state) blank() bool {
	_, text := splitMark(s.data)
	return len(bytes.TrimSpace(text)) == 0
}

// sum is the SHA-256 of the file in hexadecimal, and empty without a file.
func (s state) sum() string {
	if !s.exists {
		return ""
	}
	sum := sha256.Sum256(s.data)
	return hex.EncodeToString(sum[:])
}

// record is what Apply remembers.
type record struct {
	Version int      `json:"version"`
	Command string   `json:"command"` // that was written into the hook
	Files   []entry  `json:"files"`
	Folders []string `json:"folders,omitempty"` // created by init
}

// entry is one file. Before and After are SHA-256 sums in hexadecimal, empty
// where there is no file. Original is what uninstall goes back to; that is the
// file before init, with the edits that a person had made when init ran again.
type entry struct {
	Path     string `json:"path"`
	Before   string `json:"before"`
	After    string `json:"after"`
	Existed  bool   `json:"existed"`
	Original []byte `json:"original"`
}

func newEntry(path string, from, to, original state) entry {
	return entry{Path: path, Before: from.sum(), After: to.sum(), Existed: original.exists, Original: original.data}
}

func (e entry) original() state { return state{exists: e.Existed, data: e.Original} }

// knows reports whether nobody but init has changed the file. Init may have been
// killed before it got to it.
func (e entry) knows(now state) bool {
	sum := now.sum()
	return sum == e.Before || sum == e.After
}

func parseRecord(data []byte) (record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, err
	}
	if r.Version != recordVersion {
		return record{}, fmt.Errorf("version %d is not %d", r.Version, recordVersion)
	}
	return r, nil
}

func (r *record) encode() (state, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return state{}, fmt.Errorf("encode the record: %w", err)
	}
	return state{exists: true, data: append(data, '\n')}, nil
}

func (r *record) find(path string) (entry, bool) {
	for _, e := range r.Files {
		if e.Path == path {
			return e, true
		}
	}
	return entry{}, false
}

// set puts an entry in the place of the one for the same file.
func (r *record) set(e entry) {
	for i, old := range r.Files {
		if old.Path == e.Path {
			r.Files[i] = e
			return
		}
	}
	r.Files = append(r.Files, e)
}

func (r *record) drop(path string) {
	r.Files = slices.DeleteFunc(r.Files, func(e entry) bool { return e.Path == path })
}

func (r *record) addFolder(folder string) {
	if !slices.Contains(r.Folders, folder) {
		r.Folders = append(r.Folders, folder)
	}
}
