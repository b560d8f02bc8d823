package testgate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Level says what a suite tests.
type Level string

// Levels, in the order in which their suites run.
const (
	Unit        Level = "unit"
	Integration Level = "integration"
	EndToEnd    Level = "end-to-end"
	// Whole stands in a Failure that belongs to no suite: the gate cannot run, or the
	// coverage is not enough.
	Whole Level = "gate"
)

// Class says who can do something about a failure.
type Class string

// Classes of failures. The empty class is that of a report without failures.
const (
	Transient  Class = "transient"  // nobody: it may be gone when the gate runs again
	Fixable    Class = "fixable"    // a session, by a change to the repository
	Structural Class = "structural" // a person: nothing is there that would test the work
	External   Class = "external"   // a person: the machine lacks something
	Unfixable  Class = "unfixable"  // a person: with these settings it stays as it is
)

// Report is what a run of the gate has shown. All text in it is valid UTF-8 without
// secrets, escape sequences and control characters other than line end and tab.
type Report struct {
	Passed bool    `json:"passed"`
	Suites []Suite `json:"suites"` // those that were planned, in the order of levels
	// Coverage is the percentage of lines that the first suite covers; nil when it was
	// not measured. CoverageWhy says where the number is from, or why there is none.
	Coverage    *float64  `json:"coverage,omitempty"`
	CoverageWhy string    `json:"coverage_why,omitempty"`
	Threshold   float64   `json:"threshold,omitempty"` // that the coverage had to reach; 0 is none
	Failures    []Failure `json:"failures,omitempty"`  // at most 200; empty if and only if Passed
	More        int       `json:"more_failures,omitempty"`
	Class       Class     `json:"class,omitempty"`    // of the failures as a whole
	Warnings    []string  `json:"warnings,omitempty"` // of a green run too; one line each
	Summary     string    `json:"summary"`            // one line of at most 400 characters
	// Took is the wall-clock time of the whole run.
	Took time.Duration `json:"took_ns"`
}

// Suite is what one command has shown.
type Suite struct {
	Name    Level  `json:"name"`
	Command string `json:"command"`
	// Counted is set when the numbers of tests are known; they are 0 otherwise. Total is
	// the sum of the other three. Passed holds those that passed only at a further try.
	Counted bool          `json:"counted"`
	Passed  int           `json:"passed"`
	Failed  int           `json:"failed"`
	Skipped int           `json:"skipped"`
	Total   int           `json:"total"`
	Broken  int           `json:"broken,omitempty"` // packages or files whose tests could not be looked at
	Flaky   []string      `json:"flaky,omitempty"`  // tests that passed only at a further try; at most 50
	NotRun  bool          `json:"not_run,omitempty"`
	OK      bool          `json:"ok"`
	Detail  string        `json:"detail"` // one line of at most 500 characters
	Took    time.Duration `json:"took_ns"`
	// Output is the end of what the command printed, in at most 32 KiB. It begins with …
	// when there was more. Of go test it is what belongs to failures, in at most 8 KiB.
	Output string `json:"output,omitempty"`
}

// Failure is one reason why a run is red.
type Failure struct {
	Suite  Level  `json:"suite"`
	Name   string `json:"name"`             // of a test, a package or a file; empty when it is the command's as a whole
	Detail string `json:"detail,omitempty"` // what went wrong, in at most 2,000 characters
	File   string `json:"file,omitempty"`   // relative to the repository where it lies in it, with :LINE where that is known
	Way    string `json:"way,omitempty"`    // what a person can do about it
	Class  Class  `json:"class"`
}

// fail adds failures. What is beyond the limit is counted only.
func (r *Report) fail(list ...Failure) {
	room := max(0, maxFailures-len(r.Failures))
	if len(list) > room {
		r.More += len(list) - room
		if c := worst(append(slices.Clone(list[room:]), Failure{Class: r.Class})); c != "" {
			r.Class = c // of what is not listed; finish puts it together with the rest
		}
		list = list[:room]
	}
	r.Failures = append(r.Failures, list...)
}

// empty fails suites without tests when no other suite has shown any.
func (r *Report) empty() {
	excused := len(r.Failures) > 0 || slices.ContainsFunc(r.Suites, func(s Suite) bool { return s.OK && (!s.Counted || s.Passed > 0) })
	for i := range r.Suites {
		s := &r.Suites[i]
		switch {
		case !s.OK || !s.Counted || s.Total > 0:
		case excused:
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: there are no tests", s.Name))
		default:
			s.OK = false
			j := untested()
			r.fail(Failure{Suite: s.Name, Detail: "no tests were run", Class: j.class, Way: j.way})
		}
	}
}

// finish puts together what the parts say.
func (r *Report) finish() {
	r.Class = worst(append(slices.Clone(r.Failures), Failure{Class: r.Class}))
	r.Passed = len(r.Failures) == 0
	for _, s := range r.Suites {
		if len(s.Flaky) > 0 {
			r.Warnings = append(r.Warnings, line(fmt.Sprintf("%s: passed only at a further try: %s", s.Name, strings.Join(s.Flaky, ", ")), maxLine))
		}
		if s.OK && !s.Counted {
			r.Warnings = append(r.Warnings, line(fmt.Sprintf("%s: the tests were not counted, only the exit status of %s is known", s.Name, s.Command), maxLine))
		}
	}
	r.Summary = line(r.words(), maxSummary)
}

func (r *Report) words() string {
	var parts []string
	for _, s := range r.Suites {
		switch {
		case s.NotRun:
			parts = append(parts, string(s.Name)+" not run")
		case s.Counted:
			parts = append(parts, fmt.Sprintf("%s %s", s.Name, numbers(s)))
		case s.OK:
			parts = append(parts, string(s.Name)+" passed, not counted")
		default:
			parts = append(parts, string(s.Name)+" failed")
		}
	}
	if r.Coverage != nil {
		parts = append(parts, fmt.Sprintf("%s %% of lines covered", percent(*r.Coverage)))
	}
	if r.Passed {
		return "green: " + strings.Join(parts, "; ")
	}
	text := fmt.Sprintf("red (%s): %s", r.Class, strings.Join(parts, "; "))
	if len(parts) == 0 {
		text = fmt.Sprintf("red (%s)", r.Class)
	}
	f := r.Failures[0]
	if f.Name != "" {
		text += ": " + f.Name
	} else {
		text += ": " + f.Detail
	}
	if n := len(r.Failures) - 1 + r.More; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// numbers says those of a suite in short.
func numbers(s Suite) string {
	text := fmt.Sprintf("%d passed", s.Passed)
	for _, c := range []struct {
		n    int
		what string
	}{{s.Failed, "failed"}, {s.Broken, "broken"}, {s.Skipped, "skipped"}, {len(s.Flaky), "flaky"}} {
		if c.n > 0 {
			text += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	return text
}

// percent never says more than there is.
func percent(p float64) string {
	return strconv.FormatFloat(math.Floor(p*100)/100, 'f', -1, 64)
}
