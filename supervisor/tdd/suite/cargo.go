package suite

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"autopilot/supervisor/gate"
)

// cargoStream reads the text of cargo test: that of the program itself, and that of
// every test binary, which begins with the number of its tests and ends with a line
// of counts. What tests print stands between "failures:" and the counts, so that of
// several lines of counts the last whose numbers fit the beginning is the true one.
type cargoStream struct {
	t       tally
	target  string // that cargo has said to run
	started bool   // a binary has begun
	tests   int    // it has said to have
	names   map[string]outcome
	list    []string // names below the last "failures:"
	tail    bool     // below "failures:"
	counts  *cargoCounts
	results int      // binaries that have ended
	nobuild []string // crates that do not compile
}

type cargoCounts struct {
	passed, failed, ignored, measured int
	list                              []string
}

type cargoForms struct{ running, counts, test, target, doc *regexp.Regexp }

var cargoForm = sync.OnceValue(func() cargoForms {
	return cargoForms{
		running: regexp.MustCompile(`^running (\d{1,8}) tests?$`),
		counts:  regexp.MustCompile(`^test result: (?:ok|FAILED)\. (\d{1,8}) passed; (\d{1,8}) failed; (\d{1,8}) ignored; (\d{1,8}) measured;`),
		test:    regexp.MustCompile(`^test (.+?)(?: - should panic(?:.*)?)? \.\.\. (ok|FAILED|ignored)(?:$|[, <(])`),
		target:  regexp.MustCompile(`^ +Running (?:unittests )?\S+ \((.+)\)$`),
		doc:     regexp.MustCompile(`^ +Doc-tests (\S+)$`),
	}
})

func (s *cargoStream) line(data []byte) {
	text := gate.Plain(strings.TrimRight(string(data), "\r"))
	f := cargoForm()
	if m := f.target.FindStringSubmatch(text); m != nil && (!s.tail || s.counts != nil) {
		s.end()
		s.target = targetName(m[1])
		return
	}
	if m := f.doc.FindStringSubmatch(text); m != nil && (!s.tail || s.counts != nil) {
		s.end()
		s.target = m[1]
		return
	}
	if m := f.running.FindStringSubmatch(text); m != nil && (!s.tail || s.counts != nil) {
		s.begin(m[1])
		return
	}
	if rest, ok := strings.CutPrefix(text, "error: could not compile `"); ok && (!s.tail || s.counts != nil) {
		name, _, _ := strings.Cut(rest, "`")
		if !slices.Contains(s.nobuild, name) && len(s.nobuild) < maxFailing {
			s.nobuild = append(s.nobuild, name)
		}
		return
	}
	if s.started {
		s.inside(text)
	}
}

func (s *cargoStream) begin(n string) {
	if s.started { // doc tests may come as several binaries below one line of cargo
		s.end()
	}
	s.started, s.tests = true, number(n)
	s.names, s.list, s.tail, s.counts = map[string]outcome{}, nil, false, nil
}

func (s *cargoStream) inside(text string) {
	f := cargoForm()
	switch {
	case text == "failures:":
		s.tail, s.list = true, nil
		return
	case strings.HasPrefix(text, "    ") && s.tail && len(s.list) < maxFailing:
		s.list = append(s.list, strings.TrimSpace(text))
		return
	}
	if m := f.counts.FindStringSubmatch(text); m != nil {
		c := cargoCounts{passed: number(m[1]), failed: number(m[2]), ignored: number(m[3]), measured: number(m[4]), list: s.list}
		if c.passed+c.failed+c.ignored+c.measured == s.tests {
			s.counts = &c
		}
		return
	}
	if s.tail {
		return
	}
	if m := f.test.FindStringSubmatch(text); m != nil && len(s.names) < maxNames {
		s.names[m[1]] = map[string]outcome{"ok": passed, "FAILED": failed, "ignored": skipped}[m[2]]
	}
}

// end counts the tests of a binary.
func (s *cargoStream) end() {
	if !s.started {
		return
	}
	s.started, s.tail = false, false
	s.results++
	sum := map[outcome]int{}
	for _, o := range s.names {
		sum[o]++
	}
	c := s.counts
	if c == nil { // it died
		s.t.wreck(s.label("(ended before its tests did)"))
		c = &cargoCounts{passed: sum[passed], failed: sum[failed], ignored: sum[skipped]}
	}
	s.t.Passed += c.passed + c.measured
	s.t.Failed += c.failed
	s.t.Skipped += c.ignored
	if sum[passed] != c.passed+c.measured {
		s.t.many = true // it did not print every name
	}
	for name, o := range s.names {
		if o == passed {
			s.t.note(s.label(name), true)
		}
	}
	for _, name := range s.failures(c) {
		s.t.note(s.label(name), false)
	}
}

// failures returns the names of failing tests in the order in which they were listed.
func (s *cargoStream) failures(c *cargoCounts) []string {
	if len(c.list) == c.failed {
		return c.list
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		if s.names[name] == failed {
			names = append(names, name)
		}
	}
	return names
}

func (s *cargoStream) label(name string) string {
	if s.target == "" {
		return name
	}
	return s.target + "/" + name
}

func (s *cargoStream) finish() *tally {
	s.end()
	for _, name := range s.nobuild {
		s.t.wreck(name)
	}
	if s.results == 0 && len(s.nobuild) == 0 {
		s.t.doubt("the output is not that of cargo test")
	}
	return &s.t
}

// targetName is the name of a binary without the hash that cargo puts behind it.
func targetName(file string) string {
	name := path.Base(file)
	if i := strings.LastIndexByte(name, '-'); i > 0 && len(name)-i == 17 {
		name = name[:i]
	}
	return name
}

// number reads digits; what does not fit is more than is believed.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return maxCount + 1
	}
	return n
}
