package verify

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// ErrNoClaim is returned for the message of a commit that does not say that it is one of
// a task: it has neither a line Task nor a line Autopilot-Run.
var ErrNoClaim = errors.New("it is no commit of a task")

// Tests are the numbers of a message.
type Tests struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// String is the numbers as a message has them.
func (t Tests) String() string {
	s := fmt.Sprintf("%d passing", t.Passed)
	if t.Failed > 0 {
		s += fmt.Sprintf(", %d failing", t.Failed)
	}
	if t.Skipped > 0 {
		s += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	return s
}

// Claim is what a message says about its commit.
type Claim struct {
	Subject string `json:"subject"`
	// Type, Scope and Summary are those of a conventional subject; Type and Scope are
	// empty, and Summary is all of it, where it is not conventional.
	Type    string `json:"type,omitempty"`
	Scope   string `json:"scope,omitempty"`
	Summary string `json:"summary"`

	TaskID string `json:"taskId"` // of the subtask, or of the task
	Title  string `json:"title,omitempty"`
	Phase  string `json:"phase"`
	Tag    string `json:"tag"`
	Tests  *Tests `json:"tests,omitempty"` // nil when there are none
	// Coverage is in percent, nil when there is none; CoverageOf says of what, such as
	// lines.
	Coverage   *float64 `json:"coverage,omitempty"`
	CoverageOf string   `json:"coverageOf,omitempty"`
	// Implemented is set where nothing failed before the implementation.
	Implemented bool `json:"alreadyImplemented,omitempty"`

	RunID string `json:"runId"`
	Step  string `json:"step"` // of the run: the id of the subtask, or finalize and a number
}

// keys are the names of the lines that are read.
func keys() []string { return []string{"Task", "Phase", "Tag", "Tests", "Coverage", "Autopilot-Run"} }

// implementedMark begins the line about a subtask for which there was nothing to do.
const implementedMark = "Already implemented: "

// Parse reads a message. Lines that others have added, such as Signed-off-by, do not
// matter. The error is ErrNoClaim, or says all that is missing, stands there twice or
// cannot be read; the Claim has then what is there.
func Parse(message string) (Claim, error) {
	lines := strings.Split(strings.TrimLeft(message, "\r\n"), "\n")
	c := Claim{Subject: strings.TrimSpace(lines[0])}
	values := map[string][]string{}
	for _, line := range lines[1:] {
		// A line of ours begins at the margin; what was quoted or guarded does not.
		if key, value, ok := strings.Cut(line, ": "); ok {
			values[key] = append(values[key], strings.TrimSpace(value))
		}
		c.Implemented = c.Implemented || strings.HasPrefix(line, implementedMark)
	}
	if len(values["Task"])+len(values["Autopilot-Run"]) == 0 {
		return c, ErrNoClaim
	}
	var problems []string
	if c.Subject == "" {
		problems = append(problems, "it has no subject")
	}
	for _, key := range keys() {
		switch list := values[key]; {
		case len(list) > 1:
			problems = append(problems, fmt.Sprintf("it has %d lines %s", len(list), key))
		case len(list) == 1:
			if !c.take(key, list[0]) {
				problems = append(problems, fmt.Sprintf("its line %s says %q", key, list[0]))
			}
		case key != "Tests" && key != "Coverage": // the last commit of a run has none
			problems = append(problems, "it has no line "+key)
		}
	}
	c.readSubject()
	if len(problems) > 0 {
		return c, fmt.Errorf("read the message: %s", strings.Join(problems, "; "))
	}
	return c, nil
}

// take reads the value of a line. It reports whether it makes sense.
func (c *Claim) take(key, value string) bool {
	switch key {
	case "Task":
		id, title, _ := strings.Cut(value, " - ")
		c.TaskID, c.Title = strings.TrimPrefix(id, "#"), title
		return strings.HasPrefix(id, "#") && c.TaskID != "" && !strings.Contains(id, " ")
	case "Phase":
		c.Phase = value
	case "Tag":
		c.Tag = value
	case "Tests":
		return c.takeTests(value)
	case "Coverage":
		return c.takeCoverage(value)
	case "Autopilot-Run":
		c.RunID, c.Step, _ = strings.Cut(value, " ")
		return c.Step != "" && !strings.Contains(c.Step, " ")
	}
	return value != ""
}

var testsForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\d{1,9}) passing(?:, (\d{1,9}) failing)?(?:, (\d{1,9}) skipped)?$`)
})

func (c *Claim) takeTests(value string) bool {
	m := testsForm().FindStringSubmatch(value)
	if m == nil {
		return false
	}
	number := func(s string) int {
		n, _ := strconv.Atoi(s) // digits, or nothing
		return n
	}
	c.Tests = &Tests{Passed: number(m[1]), Failed: number(m[2]), Skipped: number(m[3])}
	return true
}

var coverageForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,3}(?:\.\d+)?)% ([a-z]+)$`) })

func (c *Claim) takeCoverage(value string) bool {
	m := coverageForm().FindStringSubmatch(value)
	if m == nil {
		return false
	}
	percent, err := strconv.ParseFloat(m[1], 64)
	if err != nil || percent > 100 {
		return false
	}
	c.Coverage, c.CoverageOf = &percent, m[2]
	return true
}

// conventional is the form of a subject by the convention "type(scope): summary".
var conventional = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z]+)(?:\(([^()]*)\))?!?: +(.+)$`) })

func (c *Claim) readSubject() {
	c.Summary = c.Subject
	if m := conventional().FindStringSubmatch(c.Subject); m != nil {
		c.Type, c.Scope, c.Summary = m[1], m[2], m[3]
	}
	if short, ok := strings.CutSuffix(c.Summary, " (task "+c.TaskID+")"); ok && c.TaskID != "" {
		c.Summary = short
	}
}
