package mode

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// parseFrontmatter reads the block between two lines of dashes at the start of a STATE.md. It knows the small part of
// YAML that session-orchestrator writes: flat keys with nil, bool, float64, string or a []any of those, and lists of
// flat maps one level deep. Anything else makes the whole block unreadable, as it does for session-orchestrator. The
// last of two equal keys counts.
func parseFrontmatter(text string) (map[string]any, error) {
	rest, ok := strings.CutPrefix(text, "---")
	rest = strings.TrimPrefix(rest, "\r")
	rest, newline := strings.CutPrefix(rest, "\n")
	if !ok || !newline {
		return nil, errors.New("there is no frontmatter at the first byte")
	}
	block, _, ok := strings.Cut(rest, "\n---")
	if !ok {
		return nil, errors.New("the frontmatter does not end")
	}
	p := frontmatter{lines: strings.Split(block, "\n")}
	return p.parse()
}

// frontmatter walks over the lines of a block; next is the index of the line to look at.
type frontmatter struct {
	lines []string
	next  int
}

func (p *frontmatter) parse() (map[string]any, error) {
	out := map[string]any{}
	for p.skipBlank() {
		line := p.line()
		if indented(line) {
			return nil, p.fault("is indented")
		}
		key, raw, err := p.pair(line)
		if err != nil {
			return nil, err
		}
		p.next++
		out[key] = scalar(raw)
		if raw != "" {
			continue
		}
		list, err := p.list()
		if err != nil {
			return nil, err
		}
		if list != nil {
			out[key] = list
		}
	}
	return out, nil
}

// list reads the maps below a key without a value; it is nil when none follow.
func (p *frontmatter) list() ([]any, error) {
	start := p.next
	if !p.skipBlank() {
		return nil, nil
	}
	indent := leadingSpace(p.line())
	bullet := indent + "- "
	if indent == "" || !strings.HasPrefix(p.line(), bullet) {
		p.next = start
		return nil, nil
	}
	var out []any
	for p.skipBlank() && strings.HasPrefix(p.line(), bullet) {
		entry := map[string]any{}
		body := p.line()[len(bullet):]
		for {
			key, raw, err := p.pair(body)
			if err != nil {
				return nil, err
			}
			entry[key] = scalar(raw)
			p.next++
			if !p.skipBlank() || !strings.HasPrefix(p.line(), indent+"  ") {
				break
			}
			if body = p.line()[len(indent)+2:]; indented(body) {
				return nil, p.fault("is indented too far")
			}
		}
		out = append(out, entry)
	}
	return out, nil
}

// skipBlank moves to the next line that is neither empty nor a comment, and reports whether there is one.
func (p *frontmatter) skipBlank() bool {
	for ; p.next < len(p.lines); p.next++ {
		if text := strings.TrimSpace(p.lines[p.next]); text != "" && text[0] != '#' {
			return true
		}
	}
	return false
}

func (p *frontmatter) line() string {
	return strings.TrimRightFunc(p.lines[p.next], unicode.IsSpace)
}

func (p *frontmatter) pair(text string) (key, raw string, err error) {
	key, raw, ok := strings.Cut(text, ":")
	if !ok {
		return "", "", p.fault("has no colon")
	}
	if key = strings.TrimSpace(key); key == "" {
		return "", "", p.fault("has no key")
	}
	return key, strings.TrimSpace(raw), nil
}

// fault names the current line as the file counts it, the dashes being line 1.
func (p *frontmatter) fault(fact string) error {
	return fmt.Errorf("line %d of the frontmatter %s", p.next+2, fact)
}

// scalar reads one value. It cannot fail: what is nothing else is a string, and so is a list inside a list.
func scalar(raw string) any {
	if strings.HasPrefix(raw, "[") && strings.HasSuffix(raw, "]") {
		out := []any{}
		if inner := strings.TrimSpace(raw[1 : len(raw)-1]); inner != "" {
			for _, item := range strings.Split(inner, ",") {
				out = append(out, plain(strings.TrimSpace(item)))
			}
		}
		return out
	}
	return plain(raw)
}

func plain(raw string) any {
	switch raw {
	case "", "null", "~":
		return nil
	case "true":
		return true
	case "false":
		return false
	case `"`, "'":
		return ""
	}
	if isDecimal(raw) {
		// The only possible error is the range, and then the value is infinite, which no caller takes for a number.
		n, _ := strconv.ParseFloat(raw, 64)
		return n
	}
	if len(raw) < 2 || raw[0] != raw[len(raw)-1] || (raw[0] != '"' && raw[0] != '\'') {
		return raw
	}
	var text string
	if raw[0] == '"' && json.Unmarshal([]byte(raw), &text) == nil {
		return text
	}
	return raw[1 : len(raw)-1]
}

// isDecimal reports whether raw is digits with perhaps a sign and a fraction; there are no exponents here.
func isDecimal(raw string) bool {
	before, after, fraction := strings.Cut(strings.TrimPrefix(raw, "-"), ".")
	return isDigits(before) && (!fraction || isDigits(after))
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func indented(line string) bool {
	return leadingSpace(line) != ""
}

func leadingSpace(line string) string {
	return line[:len(line)-len(strings.TrimLeftFunc(line, unicode.IsSpace))]
}
