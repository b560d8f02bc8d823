package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"autopilot/supervisor/keep"
)

// Version is the version of the manifest's format.
const Version = 1

// ManifestName is the name of the manifest in the archive.
const ManifestName = "manifest.json"

const most = 256 << 20 // bytes of all files together, at most

// Form is how a file is read.
type Form string

// Forms of files.
const (
	Text  Form = "text"
	JSON  Form = "json"  // one value
	Lines Form = "lines" // a JSON value in each line
)

// FormOf is the form of a file by its name.
func FormOf(name string) Form {
	switch path.Ext(name) {
	case ".json":
		return JSON
	case ".jsonl":
		return Lines
	}
	return Text
}

// File is one file of a bundle.
type File struct {
	Name string // in the archive, with slashes
	Path string // on disk, compressed or not; empty when Data is the file
	Data []byte
	Form Form
}

// Left is a file that is not in a bundle.
type Left struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Options say how a bundle is made.
type Options struct {
	Top  string    // folder in the archive that all is in
	Time time.Time // of all files
	Left []Left    // what the caller has left out
	Info map[string]any
	Most int64 // bytes of all files before they are packed; 0 is 256 MiB
}

// Entry is a file in a manifest.
type Entry struct {
	Name     string `json:"name"`
	Bytes    int64  `json:"bytes"`
	SHA256   string `json:"sha256"`
	Original int64  `json:"original_bytes"`
	Missing  int64  `json:"left_out_bytes,omitempty"` // from the middle of a long one
	Redacted Counts `json:"redacted"`
}

// Manifest says what is in a bundle.
type Manifest struct {
	Version  int            `json:"version"`
	Info     map[string]any `json:"info"`
	Files    []Entry        `json:"files"`
	Left     []Left         `json:"left_out"`
	Redacted Counts         `json:"redacted"`
	Note     string         `json:"note"`
}

const note = "What looked like a secret was taken out; what does not look like one was not found. Look through all files before you hand them on."

// Write packs the files. Those that come first are packed when there are too many. It stops
// when ctx ends.
func Write(ctx context.Context, w io.Writer, files []File, r *Redactor, o Options) (Manifest, error) {
	r.Take()
	m := Manifest{Version: Version, Files: []Entry{}, Left: []Left{}, Note: note}
	for _, l := range o.Left {
		m.Left = append(m.Left, Left{r.Text(l.Name), r.Text(l.Why)})
	}
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	taken := map[string]bool{ManifestName: true}
	for _, f := range fitting(files, o, &m, r) {
		if ctx.Err() != nil {
			return m, context.Cause(ctx)
		}
		m.Redacted = m.Redacted.plus(r.Take())
		e, data, why := pack(f, r)
		if e.Name = free(r.Text(f.Name), taken); why != "" {
			m.Left = append(m.Left, Left{e.Name, r.Text(why)})
			continue
		}
		taken[e.Name] = true
		if err := add(t, o, e.Name, data); err != nil {
			return m, err
		}
		e.Redacted = e.Redacted.plus(r.Take())
		m.Files, m.Redacted = append(m.Files, e), m.Redacted.plus(e.Redacted)
	}
	slices.SortStableFunc(m.Left, func(a, b Left) int { return strings.Compare(a.Name, b.Name) })
	m.Redacted = m.Redacted.plus(r.Take())
	if err := m.about(r, o.Info); err != nil {
		return m, err
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return m, fmt.Errorf("write manifest: %w", err)
	}
	err = add(t, o, ManifestName, append(data, '\n'))
	return m, errors.Join(err, t.Close(), z.Close())
}

// about cleans what the caller says.
func (m *Manifest) about(r *Redactor, info map[string]any) error {
	data, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	if data, err = r.JSON(data, true); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return json.Unmarshal(data, &m.Info)
}

// fitting are the files that find room, in the order of their names. For the others there is
// a line in the manifest.
func fitting(files []File, o Options, m *Manifest, r *Redactor) []File {
	limit, sum := o.Most, int64(0)
	if limit <= 0 {
		limit = most
	}
	var out []File
	for _, f := range files {
		n := int64(len(f.Data))
		if f.Path != "" {
			n = 2 * part // of one that is compressed
			if info, err := os.Lstat(f.Path); err == nil {
				n = min(info.Size(), wholeJSON)
			}
		}
		if sum+n > limit {
			m.Left = append(m.Left, Left{r.Text(f.Name), "there was no room for it"})
			continue
		}
		sum += n
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// free is a name that no other file has.
func free(name string, taken map[string]bool) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	for n := 2; taken[name]; n++ {
		ext := path.Ext(name)
		name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
	}
	return name
}

// pack reads and cleans one file, or says why it is left out.
func pack(f File, r *Redactor) (e Entry, data []byte, why string) {
	c, err := load(f)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e, nil, "it went while the archive was made"
	case err != nil:
		return e, nil, err.Error()
	case !isText(c.head):
		return e, nil, fmt.Sprintf("it is binary, %d bytes", c.size)
	}
	data = r.clean(c, f.Form)
	sum := sha256.Sum256(data)
	return Entry{Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Original: c.size, Missing: c.missing, Redacted: r.Take()}, data, ""
}

func load(f File) (content, error) {
	limit := 2 * part
	if f.Form == JSON {
		limit = wholeJSON
	}
	if f.Path == "" {
		return read(bytes.NewReader(f.Data), limit)
	}
	in, err := keep.Open(f.Path)
	if err != nil {
		return content{}, err
	}
	c, err := read(in, limit)
	return c, errors.Join(err, in.Close())
}

func add(t *tar.Writer, o Options, name string, data []byte) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join(o.Top, name), Mode: 0o600, Size: int64(len(data)), ModTime: o.Time.UTC().Truncate(time.Second)}
	if err := t.WriteHeader(h); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	if _, err := t.Write(data); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	return nil
}
