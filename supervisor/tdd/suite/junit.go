package suite

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// junit reads JUnit XML as pytest writes it: test cases in suites, which may stand in
// each other.
type junit struct {
	t     tally
	inner bool // within a test case
	cur   testcase
	last  testcase // not counted yet: pytest writes a second case when the clean-up fails too
}

type testcase struct {
	class, name string
	seen        bool
	outcome     outcome
	broken      bool
}

func parseJUnit(r io.Reader) *tally {
	p := &junit{}
	d := xml.NewDecoder(r)
	root := ""
	for {
		token, err := d.Token() // an end that is missing is an error
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.t.doubt("the results are not complete: %v", err)
			break
		}
		switch e := token.(type) {
		case xml.StartElement:
			if root == "" {
				root = e.Name.Local
			}
			p.start(e)
		case xml.EndElement:
			if p.inner && e.Name.Local == "testcase" {
				p.inner = false
				p.end()
			}
		}
	}
	p.count()
	if root != "testsuites" && root != "testsuite" {
		p.t.doubt("the results are not JUnit XML")
	}
	return &p.t
}

func (p *junit) start(e xml.StartElement) {
	switch e.Name.Local {
	case "testcase":
		p.inner = true
		p.cur = testcase{class: attr(e, "classname"), name: attr(e, "name"), seen: true, outcome: passed}
	case "failure":
		p.cur.outcome = failed
	case "error":
		message := attr(e, "message")
		p.cur.outcome = failed
		p.cur.broken = p.cur.broken || p.cur.class == "" || message == "collection failure" || message == "internal error"
	case "skipped":
		if p.cur.outcome != failed {
			p.cur.outcome = skipped
		}
	}
}

// end keeps a test case until it is known that the next is another.
func (p *junit) end() {
	if p.last.seen && p.last.class == p.cur.class && p.last.name == p.cur.name && !p.last.broken && !p.cur.broken {
		if p.cur.outcome == failed {
			p.last.outcome = failed
		}
		return
	}
	p.count()
	p.last = p.cur
}

func (p *junit) count() {
	c := p.last
	p.last = testcase{}
	if !c.seen {
		return
	}
	name := c.name
	if c.class != "" {
		name = c.class + "::" + name
	}
	if c.broken {
		p.t.wreck(name)
		return
	}
	p.t.add(name, c.outcome)
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}
