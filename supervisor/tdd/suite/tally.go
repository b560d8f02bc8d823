package suite

import (
	"fmt"
	"strings"

	"autopilot/supervisor/tdd"
)

const (
	maxFailing = 1000
	maxNames   = 200_000    // of tests that passed
	maxCount   = 10_000_000 // of tests; more is not believed
)

// tally is what a parser has counted.
type tally struct {
	tdd.Results
	broken  int
	failing []string
	names   map[string]bool // true for those that passed; a name that failed once has not
	many    bool            // more names than are kept
	empty   bool            // the tool has said that there is nothing to run
	flaw    string          // why the numbers cannot be believed; empty when they can
}

// Outcomes of one test.
type outcome int

const (
	skipped outcome = iota
	passed
	failed
)

// add counts one test.
func (t *tally) add(name string, o outcome) {
	switch o {
	case skipped:
		t.Skipped++
		return
	case passed:
		t.Passed++
	case failed:
		t.Failed++
	}
	t.note(name, o == passed)
}

// note keeps the name of a test that ran.
func (t *tally) note(name string, ok bool) {
	if name = line(name, maxName); name == "" {
		name = "(a test without a name)"
	}
	before, known := t.names[name]
	switch {
	case !ok && (!known || before) && len(t.failing) < maxFailing:
		t.failing = append(t.failing, name)
	case ok && known:
		return
	}
	if !known && len(t.names) >= maxNames {
		t.many = true
		return
	}
	if t.names == nil {
		t.names = map[string]bool{}
	}
	t.names[name] = ok
}

// wreck counts something of which it is not known what tests are in it.
func (t *tally) wreck(name string) {
	t.broken++
	if name = line(name, maxName); len(t.failing) < maxFailing {
		t.failing = append(t.failing, name)
	}
}

// doubt says why the numbers cannot be believed. The first reason is kept.
func (t *tally) doubt(format string, args ...any) {
	if t.flaw == "" {
		t.flaw = fmt.Sprintf(format, args...)
	}
}

// sum completes the numbers and looks whether they can be true.
func (t *tally) sum() {
	for _, n := range []int{t.Passed, t.Failed, t.Skipped, t.broken} {
		if n < 0 || n > maxCount {
			t.doubt("a count of %d is not believed", n)
		}
	}
	t.Total = t.Passed + t.Failed + t.Skipped
}

// into puts what was counted into a measurement.
func (t *tally) into(m *tdd.Measured) {
	t.sum()
	m.Failing = t.failing
	if t.flaw != "" {
		return
	}
	m.Results, m.Broken, m.Counted = t.Results, t.broken, true
	if t.many {
		return
	}
	m.Passing = map[string]bool{}
	for name, ok := range t.names {
		if ok {
			m.Passing[name] = true
		}
	}
}

// words says the numbers in short.
func (t *tally) words() string {
	parts := []string{fmt.Sprintf("%d passed", t.Passed)}
	for _, c := range []struct {
		n    int
		what string
	}{{t.Failed, "failed"}, {t.Skipped, "skipped"}, {t.broken, "broken"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(parts, ", ")
}
