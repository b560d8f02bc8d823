package suite

import "strings"

// nodeStream reads the TAP of node --test. Its numbers are those that node prints at
// the end, behind the plan; before it a test may have printed the same words.
type nodeStream struct {
	t       tally
	parents []string // names of the tests that stand around, by depth
	cur     *nodeTest
	plan    bool
	sums    map[string]int
	files   int // that failed as a whole
}

// nodeTest is a test whose description may follow.
type nodeTest struct {
	tapLine
	path    string
	suite   bool
	parent  bool // failed because a subtest did
	process bool // stands for the process of a file
}

func (s *nodeStream) line(data []byte) {
	l := parseTAP(data)
	switch {
	case l.kind == tapTest && l.indent%4 == 0:
		s.end()
		depth := min(l.indent/4, len(s.parents))
		s.cur = &nodeTest{tapLine: l, path: strings.Join(append(s.parents[:depth:depth], l.name), " > ")}
	case l.kind == tapComment && l.indent%4 == 0 && strings.HasPrefix(l.text, "Subtest: "):
		s.end()
		if depth := l.indent / 4; depth <= len(s.parents) && depth < 100 {
			name := strings.NewReplacer(`\#`, "#", `\\`, `\`).Replace(strings.TrimPrefix(l.text, "Subtest: "))
			s.parents = append(s.parents[:depth:depth], name)
		}
	case l.kind == tapPlan && l.indent == 0:
		s.end()
		s.plan, s.sums = true, map[string]int{}
	case l.kind == tapComment && l.indent == 0 && s.plan:
		name, n, _ := strings.Cut(l.text, " ")
		if _, known := s.sums[name]; !known && n != "" && strings.Trim(n, "0123456789") == "" && len(s.sums) < 20 {
			s.sums[name] = number(n)
		}
	case s.cur != nil && l.indent == s.cur.indent+2:
		switch text := strings.TrimSpace(string(data)); {
		case text == "type: 'suite'":
			s.cur.suite = true
		case text == "failureType: 'subtestsFailed'":
			s.cur.parent = true
		case strings.HasPrefix(text, "exitCode:"):
			s.cur.process = true
		}
	}
}

// end takes the name of a test, now that all is known about it.
func (s *nodeStream) end() {
	c := s.cur
	s.cur = nil
	switch {
	case c == nil || c.mark != "":
	case c.process && !c.ok && c.indent == 0:
		s.files++
		s.t.wreck(c.name)
	case c.suite:
		// Its tests speak for themselves, unless it failed in its own hooks.
		if !c.ok && !c.parent {
			s.t.wreck(c.path)
		}
	case c.parent:
	default:
		s.t.note(c.path, c.ok)
	}
}

func (s *nodeStream) finish() *tally {
	s.end()
	for _, name := range []string{"tests", "pass", "fail"} {
		if _, ok := s.sums[name]; !ok {
			s.t.doubt("the results are not complete")
		}
	}
	s.t.Passed = s.sums["pass"]
	s.t.Failed = s.sums["fail"] + s.sums["cancelled"] - s.files
	s.t.Skipped = s.sums["skipped"] + s.sums["todo"]
	if sum := s.t.Passed + s.t.Failed + s.files + s.t.Skipped; sum != s.sums["tests"] {
		s.t.doubt("the results speak of %d tests and hold %d", s.sums["tests"], sum)
	}
	return &s.t
}
