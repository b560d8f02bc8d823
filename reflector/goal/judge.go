package goal

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// reading is what reading a goal gives.
type reading struct {
	text     string
	clauses  []clause
	terms    []Term
	criteria []Criterion
	files    []string
	found    []place // where the files were found, in order
	known    map[string]bool
	vague    *vagueClause // the first
	concrete bool
	foreign  bool
	broad    int
}

// place is a file in the text.
type place struct {
	at   int // offset of bytes
	path string
}

// vagueClause is a clause that is vague.
type vagueClause struct {
	pattern Pattern
	clause  *clause
}

// read reads a goal that says something.
func read(text string) *reading {
	r := &reading{text: text, terms: []Term{}, criteria: []Criterion{}, files: []string{}, known: map[string]bool{}}
	inner, from := unquote(text)
	ours, theirs := 0, 0 // small words of English and of other languages
	for _, b := range blocks(inner) {
		ws := split(text, from+b.start, from+b.end)
		count(ws, &ours, &theirs)
		r.broad += breadth(ws)
		before, items := inline(ws)
		b.intro = b.intro || items != nil
		r.clauses = append(r.clauses, cut(before, b)...)
		for _, item := range items {
			r.clauses = append(r.clauses, cut(item, block{item: true, section: b.section})...)
		}
	}
	r.foreign = theirs > ours && theirs > 1
	r.judge()
	return r
}

// unquote takes away quotation marks around a whole goal.
func unquote(text string) (inner string, from int) {
	body := strings.TrimSpace(text)
	from = strings.Index(text, body)
	if c, _ := utf8.DecodeRuneInString(body); closers(c) == "" {
		return text, 0
	}
	ws := split(text, from, from+len(body))
	if len(ws) == 1 && ws[0].quoted && strings.ContainsRune(ws[0].raw, ' ') {
		return ws[0].raw, ws[0].start
	}
	return text, 0
}

// judge looks at each clause in turn.
func (r *reading) judge() {
	var named, specific bool // something that a pronoun may stand for was said
	says := false
	for i := range r.clauses {
		c := &r.clauses[i]
		if c.section == aside || c.title && c.section == conditions {
			continue
		}
		files := r.filesOf(i)
		kind, stated := criterionOf(c)
		if c.section == conditions && !stated && !c.negated {
			kind, stated = State, true
		}
		if stated {
			r.addCriterion(Criterion{Text: r.textOf(c), Kind: kind})
		}
		if c.negated {
			r.concrete = r.concrete || stated
			continue
		}
		p := vagueness(c, named, specific)
		switch {
		case p != "":
			r.addTerm(p, c)
			if stated || len(files) > 0 || means(c, p) {
				r.concrete = true
			} else if r.vague == nil {
				r.vague = &vagueClause{p, c}
			}
		case stated, len(files) > 0, c.verb.class == produce, c.verb.class == repair:
			r.concrete = true
		}
		n, s := antecedent(c.object())
		named, specific = named || n, specific || s
		says = says || s || c.verb.class != noVerb && c.verb.class != support
	}
	if !says && r.vague == nil && len(r.clauses) > 0 {
		c := &r.clauses[0]
		r.addTerm(Nothing, c)
		r.vague = &vagueClause{Nothing, c}
	}
}

func (r *reading) ambiguous() bool { return r.vague != nil && !r.concrete && !r.foreign }

// vagueness gives the pattern of a clause without an end; "" when it has none or
// is not known. A pronoun may stand for what was named before.
func vagueness(c *clause, named, specific bool) Pattern {
	object := c.object()
	switch c.verb.class {
	case noVerb:
		if asks(c) {
			return Ask
		}
	case endless:
		if c.verb.soft && anyWord(object, word.identifier) {
			return ""
		}
		if c.verb.pattern == Carry && goesOn(c.verb.text) && anyWord(object, word.specific) {
			return ""
		}
		return c.verb.pattern
	case repair:
		if c.verb.text == "make" && praised(object) {
			return Better
		}
		if anything(object) || !specific && !anyWord(object, word.specific) {
			return NoObject
		}
	case produce:
		if anything(object) || !named && !anyWord(object, word.full) {
			return NoObject
		}
	}
	return ""
}

// goesOn reports verbs that say what to continue with.
func goesOn(s string) bool {
	return slices.Contains([]string{"continue", "resume", "proceed", "carry on", "go on", "move on", "keep on", "help"}, s)
}

func anyWord(ws []word, ok func(word) bool) bool {
	const far = 60 // words
	for _, w := range ws[:min(far, len(ws))] {
		if ok(w) {
			return true
		}
	}
	return false
}

// anything reports an object such as "something cool" or "whatever you like".
func anything(object []word) bool {
	for i, w := range object {
		switch w.text {
		case "something", "anything", "whatever", "stuff", "things":
			return i+1 >= len(object) || object[i+1].text != "that" && object[i+1].text != "which" && !anyWord(object, word.identifier)
		}
		if !function(w.text) && !praise(w.text) {
			return false
		}
	}
	return false
}

// praised reports an object that is to become better in a way nobody can check:
// "the app faster", but not "a faster parser".
func praised(object []word) bool {
	const far = 10 // words
	for i, w := range object[:min(far, len(object))] {
		if i == 0 || !praise(w.text) {
			continue
		}
		switch object[i-1].text {
		case "a", "an", "the", "and":
			continue
		}
		if praise(object[i-1].text) || i+1 < len(object) && object[i].tail == "" && !function(object[i+1].text) {
			continue
		}
		return true
	}
	return false
}

// asks reports a question: one with a mark, or "how to ...".
func asks(c *clause) bool {
	if len(c.words) == 0 {
		return false
	}
	switch c.words[0].text {
	case "how":
		return c.asks || len(c.words) > 1 && c.words[1].text == "to"
	case "what", "why", "which", "who", "where", "when", "is", "are", "does", "do", "did", "can", "could", "should", "what's", "any":
		return c.asks
	}
	return false
}

// means reports whether a clause says by what means, or for what, something gets
// better: that has an end, unlike getting better.
func means(c *clause, p Pattern) bool {
	const far = 40 // words
	object := c.object()
	object = object[:min(far, len(object))]
	for i, w := range object[:max(0, len(object)-1)] {
		rest := object[i+1:]
		switch w.text {
		case "by":
			if made(rest) {
				return true
			}
		case "to":
			if p != Optimize && p != Improve && p != Better {
				continue
			}
			v := verbOf(rest)
			if (v.class == produce || v.class == repair || v.text == "use" || v.text == "run" || v.text == "follow") && anyWord(rest[min(len(rest), v.words):], word.specific) {
				return true
			}
			if p == Optimize && changesFigure(c.verb.text) && rest[0].specific() {
				return true
			}
		case "below", "under", "from":
			if p == Optimize && changesFigure(c.verb.text) && rest[0].specific() {
				return true
			}
		}
	}
	return false
}

// made reports words such as "writing three programs".
func made(rest []word) bool {
	stem, ok := strings.CutSuffix(rest[0].text, "ing")
	if !ok || len(stem) < 2 || len(rest) < 2 {
		return false
	}
	for _, base := range []string{stem, stem + "e", stem[:len(stem)-1]} {
		switch single(base).class {
		case produce, repair:
			return anyWord(rest[1:], word.specific)
		}
	}
	return false
}

func changesFigure(s string) bool {
	return slices.Contains([]string{"reduce", "increase", "decrease", "lower", "raise", "boost", "shrink", "grow", "scale", "minimize", "maximize"}, s)
}

func (r *reading) addTerm(p Pattern, c *clause) {
	if len(r.terms) >= maxTerms {
		return
	}
	first := min(c.head, len(c.words)-1)
	t := Term{Pattern: p, Start: c.words[first].start, Why: why(p)}
	t.End = max(t.Start, c.words[first].end)
	for _, w := range c.words[first:] {
		if w.end-t.Start > maxTerm {
			break
		}
		t.End = max(t.End, w.end)
	}
	t.Text = r.text[t.Start:t.End]
	r.terms = append(r.terms, t)
}

func (r *reading) addCriterion(c Criterion) {
	if len(r.criteria) < maxCriteria && c.Text != "" {
		r.criteria = append(r.criteria, c)
	}
}

// textOf gives the words of a clause as written, from the verb or what stands
// before it, without the conjunction.
func (r *reading) textOf(c *clause) string {
	ws := c.words
	for len(ws) > 1 && joint(ws[0].text) {
		ws = ws[1:]
	}
	return r.span(&ws[0], &ws[len(ws)-1])
}

// span gives the text from one word to another, with the marks of quotations.
func (r *reading) span(first, last *word) string {
	start, end := first.from, last.to
	if strings.HasPrefix(last.tail, ")") && strings.Contains(r.text[start:min(len(r.text), start+4*maxText)], "(") {
		end++
	}
	return oneLine(r.text[start:max(start, end)])
}

// count counts small words that are English and some that are not.
func count(ws []word, ours, theirs *int) {
	for _, w := range ws {
		switch w.text {
		case "der", "die", "das", "und", "ein", "eine", "einen", "mit", "für", "auf", "ist", "nicht", "den", "dem", "des", "zu", "im", "le", "les", "et", "un", "une", "du", "pour", "avec", "dans", "est", "la", "el", "una", "con", "para", "por", "del", "que", "il", "di", "che", "het", "een", "en", "van", "voor", "met", "de", "och", "att", "som", "og", "til", "os", "da", "um", "uma":
			*theirs++
		default:
			if w.text != "" && function(w.text) {
				*ours++
			}
		}
	}
}

// breadth counts words that make a goal broad.
func breadth(ws []word) int {
	n := 0
	for _, w := range ws {
		switch w.text {
		case "all", "every", "each", "whole", "entire", "everything", "everywhere":
			n++
		}
	}
	return n
}
