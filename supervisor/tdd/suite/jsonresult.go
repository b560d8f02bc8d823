package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// jsonSuite is a test file in the results of jest and of vitest, which have one form.
type jsonSuite struct {
	Name       string `json:"name"` // absolute path
	Status     string `json:"status"`
	Assertions []struct {
		Ancestors []string `json:"ancestorTitles"`
		Title     string   `json:"title"`
		Status    string   `json:"status"` // passed, failed, pending, skipped, todo, disabled
	} `json:"assertionResults"`
}

// jsonResult reads what jest --json and vitest's json reporter write, one test file
// after the other. The tests themselves are counted: the number of passed ones in the
// head is wrong in early versions of vitest.
type jsonResult struct {
	t       tally
	dir     string
	vitest  bool
	total   int // in the head, -1 when it is not there
	pending int
}

func parseJSON(r io.Reader, dir string, vitest bool) *tally {
	p := &jsonResult{dir: dir, vitest: vitest, total: -1}
	switch err := p.read(json.NewDecoder(r)); {
	case err != nil:
		p.t.doubt("the results are not complete: %v", err)
	case p.total != p.t.Passed+p.t.Failed+p.t.Skipped:
		p.t.doubt("the results speak of %d tests and hold %d", p.total, p.t.Passed+p.t.Failed+p.t.Skipped)
	case p.vitest && p.pending > 0 && p.t.Failed+p.t.broken == 0:
		p.t.doubt("%d tests did not run", p.pending)
	}
	return &p.t
}

func (p *jsonResult) read(d *json.Decoder) error {
	if err := expect(d, json.Delim('{')); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "testResults":
			err = p.suites(d)
		case "numTotalTests":
			err = d.Decode(&p.total)
		case "wasInterrupted":
			var yes bool
			if err = d.Decode(&yes); yes {
				p.t.doubt("the run was interrupted")
			}
		default:
			err = pass(d)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
	}
	return expect(d, json.Delim('}'))
}

func (p *jsonResult) suites(d *json.Decoder) error {
	if err := expect(d, json.Delim('[')); err != nil {
		return err
	}
	for d.More() {
		var s jsonSuite
		if err := d.Decode(&s); err != nil {
			return err
		}
		p.suite(s)
	}
	return expect(d, json.Delim(']'))
}

func (p *jsonResult) suite(s jsonSuite) {
	file := s.Name
	if rel, err := filepath.Rel(p.dir, file); err == nil && filepath.IsLocal(rel) {
		file = filepath.ToSlash(rel)
	}
	bad := 0
	for _, a := range s.Assertions {
		words := []string{file}
		for _, w := range append(a.Ancestors, a.Title) {
			if w != "" {
				words = append(words, w)
			}
		}
		name := strings.Join(words, " > ")
		switch a.Status {
		case "passed":
			p.t.add(name, passed)
		case "failed":
			bad++
			p.t.add(name, failed)
		case "pending", "skipped", "todo", "disabled":
			p.t.add(name, skipped)
			if a.Status == "pending" {
				p.pending++
			}
		default:
			p.t.doubt("a test has the status %q", line(a.Status, 40))
		}
	}
	if s.Status == "failed" && bad == 0 {
		p.t.wreck(file)
	}
}

func expect(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err == nil && got != want {
		err = fmt.Errorf("%v stands where %v has to", got, want)
	}
	return err
}

// pass reads over a value without keeping it: with coverage some are large.
func pass(d *json.Decoder) error {
	for depth := 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
