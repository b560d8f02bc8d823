package increment

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	longestFront = 64 << 10 // bytes of the fields of spec.md
	mostDepends  = 64
)

// spec reads spec.md. What metadata.json said about the type and the tests stays.
func (inc *Increment) spec(data []byte) error {
	front, body, err := divide(data)
	if err != nil {
		return err
	}
	fields, err := pairs(front)
	if err != nil {
		return err
	}
	inc.Title = cmp.Or(line(scalar(fields["title"]), longestTitle), heading(body), inc.Title)
	inc.Type = cmp.Or(inc.Type, strings.ToLower(word(scalar(fields["type"]))))
	inc.TestMode = cmp.Or(inc.TestMode, word(scalar(fields["test_mode"])), word(scalar(fields["testMode"])))
	inc.Priority = cmp.Or(priority(scalar(fields["priority"])), inc.Priority)
	inc.CoverageTarget = cmp.Or(inc.CoverageTarget, percent(scalar(fields["coverage_target"])), percent(scalar(fields["coverageTarget"])))
	inc.depends(fields["dependencies"])
	return nil
}

// divide takes the fields between two lines of dashes off a text. A text that does not
// begin with such a line has none.
func divide(data []byte) (front, body []byte, err error) {
	if !utf8.Valid(data) {
		return nil, nil, errors.New("is not UTF-8")
	}
	body = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	first, rest, _ := bytes.Cut(body, []byte("\n"))
	if string(bytes.TrimRight(first, " \t\r")) != "---" {
		return nil, body, nil
	}
	at := 0
	for l := range bytes.Lines(rest) {
		if string(bytes.TrimRight(l, " \t\r\n")) == "---" {
			return rest[:at], rest[at+len(l):], nil
		}
		if at += len(l); at > longestFront {
			return nil, nil, fmt.Errorf("begins with fields that have no end within %d KiB", longestFront>>10)
		}
	}
	return nil, nil, errors.New("begins with fields that have no end: a line of three dashes is missing")
}

// pairs are the fields at the top of a YAML text.
func pairs(front []byte) (map[string]*yaml.Node, error) {
	out := map[string]*yaml.Node{}
	var doc yaml.Node
	if err := yaml.Unmarshal(front, &doc); err != nil {
		return nil, fmt.Errorf("has fields that are no YAML: %w", err)
	}
	if len(doc.Content) == 0 {
		return out, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, errors.New("has fields that are no YAML mapping")
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key := top.Content[i].Value
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("has the field %q twice", word(key))
		}
		out[key] = top.Content[i+1]
	}
	return out, nil
}

// scalar is a value as it is written: an id such as 0007 must not become a number.
func scalar(n *yaml.Node) string {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// depends reads a list of ids, also as one text with commas, and of objects with an id.
func (inc *Increment) depends(n *yaml.Node) {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	var ids []string
	switch {
	case n == nil:
	case n.Kind == yaml.SequenceNode:
		for _, e := range n.Content {
			id := scalar(e)
			for i := 0; e.Kind == yaml.MappingNode && id == "" && i+1 < len(e.Content); i += 2 {
				if k := e.Content[i].Value; k == "id" || k == "increment" {
					id = scalar(e.Content[i+1])
				}
			}
			if id == "" && e.Tag != "!!null" {
				inc.warn("%s: line %d of the fields is no dependency that can be read", spec, e.Line)
			}
			ids = append(ids, id)
		}
	case n.Kind == yaml.ScalarNode:
		ids = strings.Split(scalar(n), ",")
	default:
		inc.warn("%s: the dependencies are no list", spec)
	}
	for _, id := range ids {
		id = strings.TrimSpace(id)
		if id == "" || slices.Contains(inc.DependsOn, id) {
			continue
		}
		if !tidy(id) {
			inc.warn("%s: %q is no dependency on an increment, and left out", spec, word(id))
			continue
		}
		if len(inc.DependsOn) == mostDepends {
			inc.warn("%s: only the first %d dependencies count", spec, mostDepends)
			return
		}
		inc.DependsOn = append(inc.DependsOn, id)
	}
}

// heading is the first title of a Markdown text.
func heading(body []byte) string {
	for l := range bytes.Lines(body) {
		if title, ok := strings.CutPrefix(string(l), "# "); ok {
			return line(title, longestTitle)
		}
	}
	return ""
}

// priority reads P1 or 1, up to 3. More urgent than the first is the first, less urgent
// than the last the last.
func priority(s string) int {
	s = strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(s)), "P")
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 99 {
		return 0
	}
	return min(max(n, 1), 3)
}

// percent reads 80, 80.5 or 80%.
func percent(s string) int {
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "%")), 64)
	if err != nil || !(n > 0) || n > 100 {
		return 0
	}
	return int(n)
}

// criteria counts the check boxes of acceptance criteria, such as
// "- [ ] **AC-US1-01**: text", outside of code.
func criteria(text []byte) Criteria {
	var c Criteria
	fence := ""
	for l := range bytes.Lines(text) {
		s := strings.TrimSpace(string(l))
		if mark := fenceOf(s); mark != "" && (fence == "" || strings.HasPrefix(mark, fence) && mark == s) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			continue
		}
		if fence != "" {
			continue
		}
		switch box(s) {
		case ' ':
			c.Open++
		case 'x':
			c.Done++
		}
	}
	return c
}

// fenceOf is the row of marks with which a line begins or ends a block of code.
func fenceOf(s string) string {
	for _, c := range []string{"`", "~"} {
		if rest := strings.TrimLeft(s, c); len(s)-len(rest) >= 3 {
			return s[:len(s)-len(rest)]
		}
	}
	return ""
}

// box is 'x' or ' ' for the check box of a criterion, else 0.
func box(s string) rune {
	if len(s) < 5 || !strings.Contains("-*+", s[:1]) {
		return 0
	}
	s = strings.TrimLeft(s[1:], " \t")
	if len(s) < 4 || s[0] != '[' || s[2] != ']' {
		return 0
	}
	if !strings.HasPrefix(strings.TrimLeft(s[3:], " \t*_`"), "AC-") {
		return 0
	}
	switch s[1] {
	case 'x', 'X':
		return 'x'
	case ' ':
		return ' '
	}
	return 0
}
