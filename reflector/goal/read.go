package goal

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// section says what a part of a text is for.
type section int

const (
	tasks      section = iota
	conditions         // of success
	aside              // context, constraints, what is not wanted
)

// block is a paragraph or an item of a list.
type block struct {
	start, end int
	item       bool
	title      bool // a heading
	intro      bool // a list follows
	section    section
}

// blocks cuts a text into blocks. Code between fences is left out, as a quotation.
func blocks(text string) []block {
	s := scanner{text: text}
	for at := 0; at < len(text); {
		end := at + strings.IndexByte(text[at:], '\n') + 1
		if end == at {
			end = len(text)
		}
		s.line(at, end)
		at = end
	}
	s.flush()
	return s.out
}

type scanner struct {
	text    string
	out     []block
	open    *block
	section section
	fenced  bool
	sticky  bool // the section lasts to the next title
}

func (s *scanner) flush() {
	if s.open != nil {
		s.out = append(s.out, *s.open)
		s.open = nil
	}
}

// line takes the next line into account.
func (s *scanner) line(start, end int) {
	body := strings.TrimSpace(s.text[start:end])
	if strings.HasPrefix(body, "```") || strings.HasPrefix(body, "~~~") {
		s.fenced = !s.fenced
		return
	}
	if s.fenced {
		return
	}
	if body == "" {
		s.flush()
		return
	}
	from := start + strings.Index(s.text[start:end], body)
	marked := bullet(body)
	switch {
	case marked > 0:
		if n := len(s.out); s.open != nil && !s.open.item && !s.open.title {
			s.open.intro = true
		} else if s.open == nil && n > 0 && !s.out[n-1].item && strings.HasSuffix(strings.TrimSpace(s.text[s.out[n-1].start:s.out[n-1].end]), ":") {
			s.out[n-1].intro = true
		}
		s.flush()
		s.open = &block{start: from + marked, end: end, item: true, section: s.section}
	case strings.HasPrefix(body, "#") && strings.HasPrefix(strings.TrimLeft(body, "#"), " "):
		s.flush()
		title := strings.TrimLeft(body, "# ")
		s.section, s.sticky = sectionOf(title), true
		s.out = append(s.out, block{start: from + len(body) - len(title), end: end, title: true, section: s.section})
	default:
		s.prose(body, from, end)
	}
}

// prose takes a line that is neither an item nor a title.
func (s *scanner) prose(body string, from, end int) {
	name, ends := strings.CutSuffix(strings.Trim(body, "*_ "), ":")
	if sec := sectionOf(name); ends && sec != tasks {
		s.flush()
		s.section, s.sticky = sec, false
		s.out = append(s.out, block{start: from, end: end, title: true, section: sec})
		return
	}
	if s.open != nil {
		s.open.end = end
		return
	}
	if !s.sticky && len(s.out) > 0 && (s.out[len(s.out)-1].item || ends) {
		s.section = tasks
	}
	s.open = &block{start: from, end: end, section: s.section}
}

// sectionOf knows a section by its title.
func sectionOf(title string) section {
	const longest = 40 // bytes
	if len(title) > longest {
		return tasks
	}
	switch strings.ToLower(strings.Trim(title, "*_: ")) {
	case "success criteria", "acceptance criteria", "acceptance", "criteria", "done when", "it is done when", "definition of done", "success", "success means", "expected outcome", "expected result", "expected results", "exit criteria", "done if":
		return conditions
	case "context", "background", "notes", "note", "constraints", "constraint", "non-goals", "non goals", "nongoals", "out of scope", "not in scope", "do not", "don't", "never", "rules", "hints", "hint", "references", "see also", "assumptions", "resources", "links", "avoid", "restrictions", "limitations":
		return aside
	}
	return tasks
}

// bullet gives the number of bytes that mark an item at the start of a line.
func bullet(s string) int {
	n := 0
	c, size := utf8.DecodeRuneInString(s)
	switch c {
	case '-', '*', '+', '•', '–', '—', '◦', '▪', '·':
		n = size
	default:
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		if digits == 0 || digits > 3 || digits == len(s) || s[digits] != '.' && s[digits] != ')' {
			return 0
		}
		n = digits + 1
	}
	rest := s[n:]
	if !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "\t") {
		return 0
	}
	rest = strings.TrimLeft(rest, " \t")
	for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
		if after, ok := strings.CutPrefix(rest, box); ok {
			rest = strings.TrimLeft(after, " \t")
		}
	}
	return len(s) - len(rest)
}

// inline cuts a paragraph that holds a numbered list, as in "covering: 1. this 2.
// that", into the words before the list and its items.
func inline(ws []word) ([]word, [][]word) {
	var marks []int
	for i, w := range ws {
		if !w.numeral() || w.raw != strconv.Itoa(len(marks)+1) {
			continue
		}
		if len(marks) == 0 && i > 0 && !introduces(ws[i-1]) && w.tail == "." {
			continue
		}
		marks = append(marks, i)
	}
	if len(marks) < 2 {
		return ws, nil
	}
	var items [][]word
	for k, i := range marks {
		end := len(ws)
		if k+1 < len(marks) {
			end = marks[k+1]
		}
		items = append(items, ws[i+1:end])
	}
	return ws[:marks[0]], items
}

func introduces(w word) bool {
	switch w.text {
	case "covering", "including", "following", "as", "are", "steps", "containing", "with":
		return true
	}
	return w.colon()
}
