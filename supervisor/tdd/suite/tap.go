package suite

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// tapLine is one line of TAP.
type tapLine struct {
	indent int
	kind   tapKind
	ok     bool
	name   string
	mark   string // SKIP or TODO
	plan   int
	text   string // behind # in a comment
}

type tapKind int

const (
	tapOther tapKind = iota
	tapTest
	tapPlan
	tapBail
	tapComment
)

var tapForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(not )?ok\b(?: +\d+)?(?: +- | +|$)(.*)$`)
})

var tapDirective = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\\])#\s*(skip|todo)`)
})

// parseTAP reads a line of TAP 13 or 14.
func parseTAP(data []byte) tapLine {
	data = bytes.TrimRight(data, " \t\r")
	body := bytes.TrimLeft(data, " ")
	l := tapLine{indent: len(data) - len(body)}
	text := string(body)
	switch {
	case strings.HasPrefix(text, "#"):
		l.kind, l.text = tapComment, strings.TrimSpace(text[1:])
	case strings.HasPrefix(text, "Bail out!"):
		l.kind = tapBail
	case strings.HasPrefix(text, "1.."):
		digits, _, _ := strings.Cut(text[3:], " ")
		if digits != "" && strings.Trim(digits, "0123456789") == "" {
			l.kind, l.plan = tapPlan, number(digits)
		}
	case strings.HasPrefix(text, "ok") || strings.HasPrefix(text, "not ok"):
		m := tapForm().FindStringSubmatch(text)
		if m == nil {
			return l
		}
		l.kind, l.ok, l.name = tapTest, m[1] == "", m[2]
		if at := tapDirective().FindStringSubmatchIndex(l.name); at != nil {
			l.mark = strings.ToUpper(l.name[at[2]:at[3]])
			l.name = l.name[:strings.LastIndexByte(l.name[:at[2]], '#')]
		}
		l.name = strings.TrimSpace(strings.NewReplacer(`\#`, "#", `\\`, `\`).Replace(l.name))
	}
	return l
}

// tapStream counts the tests of TAP that are not indented.
type tapStream struct {
	t       tally
	planned int
	plans   int
	tests   int
	bailed  bool
}

func (s *tapStream) line(data []byte) {
	l := parseTAP(data)
	if l.indent > 0 {
		return
	}
	switch l.kind {
	case tapPlan:
		s.plans++
		s.planned = min(s.planned+l.plan, maxCount+1)
	case tapBail:
		s.bailed = true
	case tapTest:
		s.tests++
		switch {
		case l.mark != "":
			s.t.add(l.name, skipped)
		case l.ok:
			s.t.add(l.name, passed)
		default:
			s.t.add(l.name, failed)
		}
	}
}

func (s *tapStream) finish() *tally {
	switch {
	case s.bailed:
		s.t.wreck("(bailed out)")
	case s.plans == 0:
		s.t.doubt("the output has no plan and may not be complete TAP")
	case s.planned > maxCount:
		s.t.doubt("a plan of %d tests is not believed", s.planned)
	case s.planned != s.tests:
		s.t.wreck(fmt.Sprintf("(%d tests planned, %d seen)", s.planned, s.tests))
	}
	return &s.t
}
