package playwright

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

const (
	maxFailures = 200
	maxFlaky    = 50
	maxText     = 16 << 10 // bytes kept of the errors of one test
	maxReport   = 256 << 20
)

// Report is what a run has shown.
type Report struct {
	Passed   int // flaky ones too
	Failed   int
	Skipped  int
	Flaky    int       // failed, then passed
	Failures []Failure // of tests, at most 200
	Flakies  []string  // names, at most 50
	Errors   []Failure // of no test: a file that cannot be loaded, a server that does not start
	NoTests  bool      // Playwright found none
	Flaw     string    // why the numbers cannot be believed; empty when they can
}

// Failure is a test that failed, or an error of the whole.
type Failure struct {
	Name   string // [project] file > titles; empty for an error of the whole
	Detail string
	File   string // absolute, or as Playwright has it
	Line   int    // 0 when it is not known
}

type location struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

type testError struct {
	Message  string    `json:"message"`
	Value    string    `json:"value"` // of what was thrown and is no error
	Snippet  string    `json:"snippet"`
	Location *location `json:"location"`
}

type testSuite struct {
	Title  string      `json:"title"`
	File   string      `json:"file"`
	Specs  []spec      `json:"specs"`
	Suites []testSuite `json:"suites"`
}

type spec struct {
	Title string `json:"title"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	Tests []struct {
		Project string `json:"projectName"`
		Status  string `json:"status"` // expected, unexpected, flaky, skipped
		Results []struct {
			Status string      `json:"status"`
			Error  *testError  `json:"error"` // where there is no list of them
			Errors []testError `json:"errors"`
		} `json:"results"`
	} `json:"tests"`
}

type stats struct {
	Expected   *int `json:"expected"`
	Unexpected *int `json:"unexpected"`
	Flaky      *int `json:"flaky"`
	Skipped    *int `json:"skipped"`
}

// Parse reads a JSON report.
func Parse(r io.Reader) Report {
	p := parser{}
	if err := p.read(json.NewDecoder(io.LimitReader(r, maxReport))); err != nil {
		p.doubt(fmt.Sprintf("the report is not complete: %v", err))
	}
	p.agree()
	for i := range p.Failures {
		p.Failures[i].File = p.absolute(p.Failures[i].File)
	}
	return p.Report
}

type parser struct {
	Report
	root  string
	stats *stats
}

func (p *parser) doubt(why string) {
	if p.Flaw == "" {
		p.Flaw = why
	}
}

func (p *parser) read(d *json.Decoder) error {
	if err := expect(d, json.Delim('{')); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		switch key {
		case "config":
			var c struct {
				Root string `json:"rootDir"`
			}
			err = d.Decode(&c)
			p.root = c.Root
		case "suites":
			err = p.suites(d)
		case "errors":
			var list []testError
			err = d.Decode(&list)
			p.errors(list)
		case "stats":
			err = d.Decode(&p.stats)
		default:
			var skip json.RawMessage
			err = d.Decode(&skip)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", key, whole(err))
		}
	}
	return expect(d, json.Delim('}'))
}

func (p *parser) suites(d *json.Decoder) error {
	if err := expect(d, json.Delim('[')); err != nil {
		return err
	}
	for d.More() {
		var s testSuite
		if err := d.Decode(&s); err != nil {
			return err
		}
		p.suite(s, nil)
	}
	return expect(d, json.Delim(']'))
}

// suite counts the tests of a file or of a group in one. The title of a file is its name.
func (p *parser) suite(s testSuite, titles []string) {
	if s.Title != "" {
		titles = append(titles[:len(titles):len(titles)], s.Title)
	}
	for _, sp := range s.Specs {
		p.spec(sp, append(titles[:len(titles):len(titles)], sp.Title))
	}
	for _, inner := range s.Suites {
		p.suite(inner, titles)
	}
}

func (p *parser) spec(s spec, titles []string) {
	for _, t := range s.Tests {
		name := strings.Join(titles, " > ")
		if t.Project != "" {
			name = "[" + t.Project + "] " + name
		}
		switch t.Status {
		case "expected":
			p.Passed++
		case "skipped":
			p.Skipped++
		case "flaky":
			p.Passed++
			p.Flaky++
			if len(p.Flakies) < maxFlaky {
				p.Flakies = append(p.Flakies, name)
			}
		case "unexpected":
			p.Failed++
			f := Failure{Name: name, File: s.File, Line: s.Line}
			for _, r := range t.Results { // the last try that says why
				list := r.Errors
				if len(list) == 0 && r.Error != nil {
					list = []testError{*r.Error}
				}
				switch {
				case len(list) > 0:
					f.tell(list)
				case f.Detail == "" && r.Status != "":
					f.Detail = "it ended as " + r.Status
				}
			}
			if len(p.Failures) < maxFailures {
				p.Failures = append(p.Failures, f)
			}
		default:
			p.doubt(fmt.Sprintf("a test has the status %.40q", t.Status))
		}
	}
}

// tell takes the text of errors, and the first place that one of them has.
func (f *Failure) tell(list []testError) {
	var parts []string
	placed := false
	for _, e := range list {
		parts = append(parts, e.text())
		if e.Location != nil && e.Location.File != "" && !placed {
			f.File, f.Line, placed = e.Location.File, e.Location.Line, true
		}
	}
	f.Detail = clip(strings.Join(parts, "\n\n"))
}

func (e testError) text() string {
	text := e.Message
	if text == "" {
		text = e.Value
	}
	if e.Snippet != "" && !strings.Contains(text, e.Snippet) {
		text += "\n\n" + e.Snippet
	}
	return text
}

// errors takes the errors of the whole. That no tests were found follows from any other.
func (p *parser) errors(list []testError) {
	for _, e := range list {
		if strings.HasPrefix(e.Message, "Error: No tests found") {
			p.NoTests = true
			continue
		}
		if len(p.Errors) >= maxFailures {
			return
		}
		f := Failure{}
		f.tell([]testError{e})
		p.Errors = append(p.Errors, f)
	}
}

// agree holds the numbers in the report's head against its tests.
func (p *parser) agree() {
	s := p.stats
	switch {
	case s == nil || s.Expected == nil || s.Unexpected == nil || s.Flaky == nil || s.Skipped == nil:
		p.doubt("the report has no numbers")
	case *s.Expected != p.Passed-p.Flaky || *s.Unexpected != p.Failed || *s.Flaky != p.Flaky || *s.Skipped != p.Skipped:
		p.doubt(fmt.Sprintf("the report speaks of %d passed, %d failed, %d flaky and %d skipped tests, and holds %d, %d, %d and %d",
			*s.Expected, *s.Unexpected, *s.Flaky, *s.Skipped, p.Passed-p.Flaky, p.Failed, p.Flaky, p.Skipped))
	}
}

// absolute resolves the file of a spec, which is relative to the root of the tests.
func (p *parser) absolute(file string) string {
	if file == "" || p.root == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(p.root, filepath.FromSlash(file))
}

func clip(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "")
	}
	return s
}

func expect(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err == nil && got != want {
		return fmt.Errorf("%v stands where %v has to", got, want)
	}
	return whole(err)
}

// whole says of an end that it came too early.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
