package story

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// form is a pattern without braces.
type form struct {
	text  string // for doublestar, in which no set matches a slash
	parts []part
}

// part is what stands between two slashes.
type part struct {
	folders bool // any number of them, also none
	exact   bool // it is one name
	tokens  []token
}

// token stands for one character, or for any number of them.
type token struct {
	many bool
	set  set
}

// set is a set of characters, as ranges.
type set struct {
	not    bool // all others, without the slash
	ranges [][2]rune
}

// parseForm reads a pattern without braces. Its errors go on after the pattern.
func parseForm(text string) (form, error) {
	for strings.Contains(text, "//") {
		text = strings.ReplaceAll(text, "//", "/")
	}
	var f form
	for piece := range strings.SplitSeq(text, "/") {
		p, err := parsePart(piece)
		switch name := p.name(); {
		case err != nil:
			return form{}, err
		case piece == "":
			return form{}, errors.New("has a part that may be empty")
		case name == "..":
			return form{}, errors.New("leads out of where it is")
		case name != ".":
			f.parts = append(f.parts, p)
		}
	}
	if n := len(f.parts); n == 0 || f.parts[n-1].exact {
		f.parts = append(f.parts, part{folders: true})
	}
	texts := make([]string, 0, len(f.parts))
	for _, p := range f.parts {
		texts = append(texts, p.text())
	}
	f.text = strings.Join(texts, "/")
	return f, nil
}

func parsePart(text string) (part, error) {
	if text == "**" {
		return part{folders: true}, nil
	}
	p := part{exact: true}
	for i := 0; i < len(text); {
		switch text[i] {
		case '*':
			p.exact = false
			if n := len(p.tokens); n == 0 || !p.tokens[n-1].many {
				p.tokens = append(p.tokens, token{many: true})
			}
			i++
		case '?':
			p.exact = false
			p.tokens = append(p.tokens, token{set: set{not: true}})
			i++
		case '[':
			p.exact = false
			end := setEnd(text, i)
			if end < 0 {
				return part{}, errors.New("has a slash within a set of characters")
			}
			s := parseSet(text[i+1 : end])
			if !s.not && s.has('/') {
				return part{}, errors.New("has a set of characters with the slash")
			}
			p.tokens = append(p.tokens, token{set: s})
			i = end + 1
		case '\\':
			if i++; i == len(text) {
				return part{}, errors.New("has a backslash in front of a slash")
			}
			fallthrough
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			p.tokens = append(p.tokens, token{set: set{ranges: [][2]rune{{r, r}}}})
			i += n
		}
	}
	return p, nil
}

// parseSet reads what stands between the brackets, in the way in which doublestar does.
func parseSet(text string) set {
	var s set
	if text[0] == '^' || text[0] == '!' {
		s.not, text = true, text[1:]
	}
	next := func() (r rune, escaped bool) {
		if escaped = text[0] == '\\'; escaped {
			text = text[1:]
		}
		r, n := utf8.DecodeRuneInString(text)
		text = text[n:]
		return r, escaped
	}
	const none = -1
	for last := rune(none); text != ""; {
		r, escaped := next()
		if last != none && r == '-' && !escaped && text != "" {
			high, _ := next()
			s.ranges = append(s.ranges, [2]rune{last, high})
			last = none
			continue
		}
		s.ranges = append(s.ranges, [2]rune{r, r})
		last = r
	}
	return s
}

// name is the one name that a part stands for, or nothing.
func (p part) name() string {
	if !p.exact {
		return ""
	}
	var b strings.Builder
	for _, t := range p.tokens {
		b.WriteRune(t.set.ranges[0][0])
	}
	return b.String()
}

func (p part) text() string {
	if p.folders {
		return "**"
	}
	var b strings.Builder
	for _, t := range p.tokens {
		switch {
		case t.many:
			b.WriteByte('*')
		case !t.set.not && len(t.set.ranges) == 1 && t.set.ranges[0][0] == t.set.ranges[0][1]:
			b.WriteString(quoted(t.set.ranges[0][0]))
		default:
			b.WriteString(t.set.text())
		}
	}
	return b.String()
}

// text writes a set so that nothing in it can be taken for something else.
func (s set) text() string {
	if s.not && len(s.ranges) == 0 {
		return "?"
	}
	var b strings.Builder
	b.WriteByte('[')
	if s.not {
		b.WriteString("^/")
	}
	for _, r := range s.ranges {
		if r[0] <= r[1] {
			b.WriteString(quoted(r[0]) + "-" + quoted(r[1]))
		}
	}
	b.WriteByte(']')
	return b.String()
}

func quoted(r rune) string {
	if strings.ContainsRune(`*?[]{},\-^!`, r) {
		return `\` + string(r)
	}
	return string(r)
}

// effort is how many steps a comparison may still take. Without any left, things meet.
type effort int

const (
	mostEffort   = 1 << 20
	mostCompared = 1000 // characters of a set; a larger one meets every set that is as large
)

func (e *effort) formsMeet(f, g form) bool {
	return meet(e, f.parts, g.parts, func(p part) bool { return p.folders }, e.partsMeet)
}

func (e *effort) partsMeet(p, q part) bool {
	return meet(e, p.tokens, q.tokens, func(t token) bool { return t.many }, func(a, b token) bool { return e.setsMeet(a.set, b.set) })
}

// meet reports whether two sequences can stand for the same, where some of their elements
// stand for any number of the others' elements. It goes from the front, where paths differ
// early.
func meet[E any](e *effort, a, b []E, many func(E) bool, same func(E, E) bool) bool {
	// How much of b the first elements of a can stand for.
	reached, found := make([]bool, len(b)+1), true
	reached[0] = true
	for i := 0; i <= len(a) && found; i++ {
		next := make([]bool, len(b)+1)
		found = i == len(a)
		for j := range reached {
			if !reached[j] {
				continue
			}
			if *e--; *e < 0 {
				return true
			}
			manyA, manyB := i < len(a) && many(a[i]), j < len(b) && many(b[j])
			if j < len(b) && (manyA || manyB) {
				reached[j+1] = true
			}
			if i < len(a) && (manyA || manyB) {
				next[j], found = true, true
			}
			if i < len(a) && j < len(b) && !manyA && !manyB && same(a[i], b[j]) {
				next[j+1], found = true, true
			}
		}
		if i < len(a) {
			reached = next
		}
	}
	return found && reached[len(b)]
}

// setsMeet does not look at the case of letters.
func (e *effort) setsMeet(s, t set) bool {
	if t.size() < s.size() {
		s, t = t, s
	}
	n := s.size()
	if n > mostCompared {
		return true
	}
	if *e -= effort(n); *e < 0 {
		return true
	}
	return slices.ContainsFunc(s.ranges, func(r [2]rune) bool {
		for c := r[0]; c <= r[1]; c++ {
			if t.hasFolded(c) {
				return true
			}
		}
		return false
	})
}

// size is how many characters a set has at most.
func (s set) size() int {
	if s.not {
		return unicode.MaxRune
	}
	n := 0
	for _, r := range s.ranges {
		n += max(0, int(r[1]-r[0])+1)
	}
	return n
}

func (s set) hasFolded(c rune) bool {
	if s.has(c) {
		return true
	}
	for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
		if s.has(f) {
			return true
		}
	}
	return false
}

func (s set) has(c rune) bool {
	in := slices.ContainsFunc(s.ranges, func(r [2]rune) bool { return r[0] <= c && c <= r[1] })
	return in != s.not
}
