package suite

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

const (
	maxOpen     = 200_000  // packages and tests that have begun and not ended
	maxPending  = 8 << 20  // bytes of output of tests that have not ended
	maxTestText = 32 << 10 // bytes of output of one of them
)

// goEvent is a line of go test -json, as "go doc test2json" and "go help buildjson"
// describe it.
type goEvent struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string // of a build
	FailedBuild string // import path of the build that failed
}

// goStream reads the events of go test while they come. Only top-level tests count.
type goStream struct {
	t       tally
	open    map[string]*goPackage
	begun   int             // packages and tests in open
	ended   int             // packages
	builds  map[string]bool // that failed; true when a package has named it as its reason
	nothing bool            // go has said that there are no packages
	pending int             // bytes in open
	text    ending          // what is of interest of the output
}

type goPackage struct {
	tests   map[string]goState // top-level ones
	text    map[string]*[]byte // output by top-level test, "" for that of the package
	failing int
}

type goState int

const (
	goRunning goState = iota + 1
	goPaused
	goPassed
	goSkipped
	goFailed
)

// stateAfter is 0 for what does not change the state of a test.
func stateAfter(action string) goState {
	switch action {
	case "run", "cont":
		return goRunning
	case "pause":
		return goPaused
	case "pass":
		return goPassed
	case "skip":
		return goSkipped
	case "fail":
		return goFailed
	}
	return 0
}

func newGoStream() *goStream {
	return &goStream{open: map[string]*goPackage{}, builds: map[string]bool{}}
}

// line takes one line of output. A line that is no event is output of go itself.
func (s *goStream) line(data []byte) {
	data = bytes.TrimSpace(data)
	var e goEvent
	if len(data) == 0 {
		return
	}
	if data[0] != '{' || json.Unmarshal(data, &e) != nil || e.Action == "" {
		s.plain(string(data))
		return
	}
	switch {
	case e.Action == "build-output":
		s.text.add(e.Output)
	case e.Action == "build-fail":
		if _, known := s.builds[e.ImportPath]; !known && len(s.builds) < maxOpen {
			s.builds[e.ImportPath] = false
		}
	case e.Package == "":
	case e.Test == "" && slices.Contains([]string{"pass", "fail", "skip"}, e.Action):
		s.end(e)
	default:
		s.event(e)
	}
}

// plain takes a line that is no event. Before Go 1.24 a package that does not build
// has no events.
func (s *goStream) plain(text string) {
	s.text.add(text + "\n")
	s.nothing = s.nothing || text == "no packages to test"
	if rest, ok := strings.CutPrefix(text, "FAIL\t"); ok {
		name, why, _ := strings.Cut(rest, " ")
		if why == "[build failed]" || why == "[setup failed]" {
			s.t.wreck(name)
		}
	}
}

func (s *goStream) event(e goEvent) {
	p := s.open[e.Package]
	if p == nil {
		if s.begun >= maxOpen {
			s.t.doubt("more packages and tests at once than can be followed")
			return
		}
		p = &goPackage{tests: map[string]goState{}, text: map[string]*[]byte{}}
		s.open[e.Package] = p
		s.begun++
	}
	top, sub, isSub := strings.Cut(e.Test, "/")
	if e.Action == "output" {
		s.keep(p, top, e.Output)
		return
	}
	if top == "" || isSub && sub != "" {
		return
	}
	state := stateAfter(e.Action)
	if state == 0 {
		return
	}
	before, known := p.tests[top]
	if !known {
		if s.begun >= maxOpen {
			s.t.doubt("more packages and tests at once than can be followed")
			return
		}
		s.begun++
	}
	if before == goFailed { // of several runs of a test the worst counts
		return
	}
	p.tests[top] = state
	switch state {
	case goFailed:
		p.failing++
		s.show(p, top)
	case goPassed, goSkipped:
		s.drop(p, top)
	}
}

// end counts the tests of a package.
func (s *goStream) end(e goEvent) {
	p := s.open[e.Package]
	if p == nil {
		p = &goPackage{}
	} else {
		s.begun -= len(p.tests) + 1
		delete(s.open, e.Package)
	}
	s.ended++
	for _, name := range slices.Sorted(maps.Keys(p.tests)) {
		full := e.Package + "/" + name
		switch p.tests[name] {
		case goPassed:
			s.t.add(full, passed)
		case goSkipped:
			s.t.add(full, skipped)
		case goFailed:
			s.t.add(full, failed)
		case goRunning: // its package came to an end under it
			s.t.add(full, failed)
			p.failing++
			s.show(p, name)
		}
	}
	if e.Action != "fail" {
		s.drop(p, "")
	} else {
		s.show(p, "")
		if _, known := s.builds[e.FailedBuild]; known {
			s.builds[e.FailedBuild] = true
		}
		if p.failing == 0 {
			s.t.wreck(e.Package)
		}
	}
	for name := range p.text {
		s.drop(p, name)
	}
}

// keep keeps output until it is known whether it is of interest.
func (s *goStream) keep(p *goPackage, test, out string) {
	for _, noise := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME "} {
		if strings.HasPrefix(out, noise) {
			return
		}
	}
	if p.tests[test] == goFailed {
		s.text.add(out)
		return
	}
	b := p.text[test]
	if b == nil {
		b = new([]byte)
		p.text[test] = b
	}
	if len(*b)+len(out) > maxTestText || s.pending+len(out) > maxPending {
		return
	}
	*b = append(*b, out...)
	s.pending += len(out)
}

func (s *goStream) show(p *goPackage, test string) {
	if b := p.text[test]; b != nil {
		s.text.add(string(*b))
	}
	s.drop(p, test)
}

func (s *goStream) drop(p *goPackage, test string) {
	if b := p.text[test]; b != nil {
		s.pending -= len(*b)
		delete(p.text, test)
	}
}

// finish returns what was counted. It is called once, after the last line.
func (s *goStream) finish() *tally {
	for _, path := range slices.Sorted(maps.Keys(s.builds)) {
		if !s.builds[path] {
			name, _, _ := strings.Cut(path, " ")
			s.t.wreck(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.open)) { // what a command that hung has said
		p := s.open[name]
		for _, test := range slices.Sorted(maps.Keys(p.text)) {
			s.show(p, test)
		}
	}
	s.t.empty = s.nothing && s.ended == 0
	switch {
	case len(s.open) > 0:
		s.t.doubt("the output of go test ends before its packages do")
	case s.ended == 0 && !s.nothing && s.t.broken == 0:
		s.t.doubt("the output is not that of go test -json")
	}
	return &s.t
}
