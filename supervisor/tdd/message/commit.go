package message

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"autopilot/supervisor/tdd"
)

const (
	subjectLength  = 100 // characters
	leastSummary   = 20
	literalLength  = 60 // of a template or pattern beside its placeholders
	titleLength    = 200
	placeholderMsg = "{msg}"
)

// Commit is what a commit says about the work in it.
type Commit struct {
	Type    string
	Scope   string
	Summary string // empty is made from the title
	Body    string // foreign text, in lines
	TaskID  string // of the subtask, or of the task
	// TaskTitle, Phase and Tag may be empty, and have no line then.
	TaskTitle string
	Phase     string
	Tag       string
	Results   *tdd.Results // nil where they are not known
	Coverage  tdd.Coverage
	// Mark is a line by which the commit is found again, such as "Name: value"; empty
	// for none.
	Mark  string
	Extra []string // further lines in front of the mark
}

// Text is the whole message, with a line end at its end: subject, body, what it belongs
// to, results. The subject has at most 100 characters, unless the template, the type,
// the scope and the id alone take more than 80 of them. The template should be one that
// CheckTemplate accepts.
func (c Commit) Text(template string) string {
	own := []string{"Task:", "Phase:", "Tag:", "Tests:", "Coverage:"}
	if key, _, ok := strings.Cut(c.Mark, ":"); ok {
		own = append(own, key+":")
	}
	body := paragraphs(c.Body)
	for i, line := range body {
		body[i] = guarded(line, own)
	}
	var parts []string
	for _, lines := range [][]string{{c.subject(template)}, body, c.origin(), c.results(own)} {
		if len(lines) > 0 {
			parts = append(parts, strings.Join(lines, "\n"))
		}
	}
	return strings.Join(parts, "\n\n") + "\n"
}

func (c Commit) subject(template string) string {
	template = oneLine(template, subjectLength+literalLength)
	scope := oneLine(c.Scope, scopeLength)
	if scope == "" {
		template = strings.ReplaceAll(template, "({scope})", "")
	}
	fill := func(msg string) string {
		return strings.NewReplacer("{type}", oneLine(c.Type, scopeLength), "{scope}", scope, placeholderMsg, msg, "{taskId}", oneLine(c.TaskID, scopeLength)).Replace(template)
	}
	summary := strings.TrimLeft(oneLine(c.Summary, 2*subjectLength), "# ")
	if summary == "" {
		summary = Summary(c.TaskTitle)
	}
	if summary == "" {
		summary = "continue the work"
	}
	left := subjectLength - utf8.RuneCountInString(fill(""))
	return guarded(strings.TrimSpace(fill(cut(summary, max(left, leastSummary)))), nil)
}

func (c Commit) origin() []string {
	var out []string
	if id := oneLine(c.TaskID, scopeLength); id != "" {
		line := "Task: #" + id
		if title := oneLine(c.TaskTitle, titleLength); title != "" {
			line += " - " + title
		}
		out = append(out, line)
	}
	if phase := oneLine(c.Phase, titleLength); phase != "" {
		out = append(out, "Phase: "+phase)
	}
	if tag := oneLine(c.Tag, titleLength); tag != "" {
		out = append(out, "Tag: "+tag)
	}
	return out
}

func (c Commit) results(own []string) []string {
	var out []string
	if r := c.Results; r != nil {
		line := fmt.Sprintf("Tests: %d passing", r.Passed)
		if r.Failed > 0 {
			line += fmt.Sprintf(", %d failing", r.Failed)
		}
		if r.Skipped > 0 {
			line += fmt.Sprintf(", %d skipped", r.Skipped)
		}
		out = append(out, line)
	}
	if line := coverageLine(c.Coverage); line != "" {
		out = append(out, line)
	}
	for _, extra := range c.Extra {
		if extra = oneLine(extra, titleLength); extra != "" {
			out = append(out, guarded(extra, own))
		}
	}
	if mark := oneLine(c.Mark, bodyLength); mark != "" {
		out = append(out, mark)
	}
	return out
}

// coverageLine gives the lines; where only another measure is known, that one.
func coverageLine(c tdd.Coverage) string {
	for _, m := range []struct {
		percent *float64
		of      string
	}{{c.Lines, "lines"}, {c.Statements, "statements"}, {c.Functions, "functions"}, {c.Branches, "branches"}} {
		if m.percent != nil {
			return "Coverage: " + percent(*m.percent) + "% " + m.of
		}
	}
	return ""
}

// percent has at most one digit behind the point, and does not round up to 100.
func percent(v float64) string {
	if rounded := math.Round(v*10) / 10; rounded < 100 || v >= 100 {
		return strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	return "99.9"
}

// CheckTemplate says what is wrong with the template of a subject. It takes {type},
// {scope}, {msg} and {taskId}, of which {msg} must be there.
func CheckTemplate(template string) error {
	return checkPlaceholders(template, []string{"{type}", "{scope}", placeholderMsg, "{taskId}"}, placeholderMsg)
}

func checkPlaceholders(text string, known []string, must string) error {
	if strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) {
		return fmt.Errorf("%q is not one line of text", cut(text, titleLength))
	}
	found := regexp.MustCompile(`\{[^{}]*\}`)
	for _, p := range found.FindAllString(text, -1) {
		if !slices.Contains(known, p) {
			return fmt.Errorf("unknown placeholder %s; there are %s", cut(p, titleLength), strings.Join(known, ", "))
		}
	}
	literal := found.ReplaceAllString(text, "")
	switch n := utf8.RuneCountInString(literal); {
	case strings.ContainsAny(literal, "{}"):
		return fmt.Errorf("%q has a brace that is not part of a placeholder; there are %s", cut(text, titleLength), strings.Join(known, ", "))
	case n > literalLength:
		return fmt.Errorf("it has %d characters beside its placeholders; at most %d are taken", n, literalLength)
	case strings.Count(text, "{") > 2*len(known):
		return fmt.Errorf("it has %d placeholders; at most %d are taken", strings.Count(text, "{"), 2*len(known))
	case !strings.Contains(text, must):
		return fmt.Errorf("%q has no %s", text, must)
	}
	return nil
}
