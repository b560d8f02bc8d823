package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"autopilot/metrics/statedir"
)

const (
	resultBytes = 256 << 10 // a file of results is shortened beyond
	ellipsis    = "…"
)

// PutResults writes v as test-results/<name>.json of a run, durably, and in the place
// of what was there. The names are "baseline", "subtask-1.1-red", "subtask-1.1-green"
// and "final-suite"; one that is no safe name for a file is changed as ID does it. It
// belongs before the Save of the state that was made with v.
//
// Beyond 256 KiB texts are cut to their ends and lists to their beginnings.
func (s Store) PutResults(id, name string, v any) error {
	if err := s.putResults(id, name, v); err != nil {
		return fmt.Errorf("put test results %s of run %s: %w", name, id, err)
	}
	return nil
}

func (s Store) putResults(id, name string, v any) error {
	if _, ok := began(id); !ok {
		return ErrNoRun
	}
	if _, err := os.Stat(s.Folder(id)); err != nil {
		return fmt.Errorf("%w: %w", ErrNoRun, err)
	}
	data, err := bounded(v, resultBytes)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	file := s.resultsFile(id, name)
	if err := statedir.MakeDir(filepath.Dir(file)); err != nil {
		return err
	}
	return statedir.Replace(file, out.Bytes())
}

// bounded is v as JSON in one line of at most limit bytes. What does not fit loses the
// beginnings of long texts and the ends of long lists, and the order of its keys.
func bounded(v any, limit int) ([]byte, error) {
	data, err := compact(v)
	if err != nil || len(data) <= limit {
		return data, err
	}
	var tree any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	for text, items := 16<<10, 1000; text > 0; text, items = text/4, items/4 {
		if data, err = compact(shortened(tree, text, items)); err != nil || len(data) <= limit {
			return data, err
		}
	}
	return nil, fmt.Errorf("%d bytes are left of what may have %d: %w", len(data), limit, fs.ErrInvalid)
}

func compact(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func shortened(v any, text, items int) any {
	switch v := v.(type) {
	case string:
		return end(v, text)
	case []any:
		out := make([]any, min(len(v), items))
		for i := range out {
			out[i] = shortened(v[i], text, items)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = shortened(value, text, items)
		}
		return out
	}
	return v
}

// end is the end of a text, of about n bytes.
func end(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return ellipsis + text
}
