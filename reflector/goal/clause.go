package goal

import (
	"slices"
	"strings"
)

// clause is a verb and what belongs to it.
type clause struct {
	words   []word
	head    int // index of the first word of the verb; 0 when there is none
	verb    verb
	joined  bool // it belongs to the clause before it
	negated bool // it says what is not wanted
	purpose bool // it says for what: so that, until
	asks    bool // it is a question
	item    bool // of a list
	intro   bool // a list follows
	starts  bool // it is the first of its block
	title   bool
	section section
}

// object gives the words after the verb.
func (c *clause) object() []word { return c.words[min(len(c.words), c.head+c.verb.words):] }

// cut cuts the words of a block into clauses.
func cut(ws []word, b block) []clause {
	var out []clause
	open := clause{item: b.item, title: b.title, section: b.section}
	from := 0
	closing := func(end int) {
		if open.words = ws[from:end]; len(open.words) > 0 {
			open.starts = len(out) == 0
			open.settle()
			out = append(out, open)
		}
		open = clause{item: b.item, title: b.title, section: b.section}
		from = end
	}
	for i := 0; i < len(ws); i++ {
		if i > from {
			kind, n := boundary(ws, i, ws[from:i])
			if kind != within {
				closing(i)
				open.joined = kind != another
				open.purpose = kind == aim
				open.negated = kind == negation
			}
			i += n - 1 // the words of a conjunction stay together
		}
		if ws[i].stop() {
			open.asks = strings.ContainsAny(ws[i].tail, "?？")
			closing(i + 1)
		} else if ws[i].colon() {
			closing(i + 1)
			_, v := headOf(ws[i+1:])
			open.joined = i+1 < len(ws) && v.class == noVerb
		}
	}
	closing(len(ws))
	if b.intro && len(out) > 0 {
		out[len(out)-1].intro = true
	}
	return out
}

// border says how a word relates to the clause before it.
type border int

const (
	within   border = iota
	another         // a clause of its own
	aim             // so that, until
	negation        // without, instead of
)

// boundary tells what begins at word i, and how many words the conjunction has.
func boundary(ws []word, i int, open []word) (border, int) {
	w, prev := ws[i], ws[i-1]
	if w.quoted {
		return within, 1
	}
	next := func(k int) string {
		if i+k < len(ws) {
			return ws[i+k].text
		}
		return ""
	}
	switch w.text {
	case "so", "such":
		if next(1) == "that" {
			return aim, 2
		}
	case "until", "till", "whereby":
		return aim, 1
	case "without", "except", "unless", "excluding":
		return negation, 1
	case "instead", "rather":
		if next(1) == "of" || next(1) == "than" {
			return negation, 2
		}
	case "not", "never", "don't", "dont", "no":
		if w.text != "no" && (prev.text == "but" || prev.text == "and" || prev.comma()) || w.text == "no" && prev.text == "but" {
			return negation, 1
		}
	case "do":
		if next(1) == "not" && (prev.text == "but" || prev.text == "and" || prev.comma()) {
			return negation, 2
		}
	case "and", "then", "plus", "&", "but", "or":
		if w.text != "or" && begins(ws, i+1) && !pairs(prev, open) {
			return another, 1
		}
		return within, 1
	}
	before := prev.comma() || w.newline
	conjoined := prev.text == "and" || prev.text == "then" || prev.text == "but" || prev.text == "&" || prev.text == "or"
	if before && !conjoined && begins(ws, i) && (w.newline && !prev.comma() || !pairs(prev, open)) {
		return another, 1
	}
	return within, 1
}

// begins reports whether a verb with an object begins at word i, after words such
// as then and also.
func begins(ws []word, i int) bool {
	const most = 3 // opening words
	for k := 0; k < most && i < len(ws) && ws[i].tail == "" && joint(ws[i].text); k++ {
		i++
	}
	if i >= len(ws) {
		return false
	}
	rest := ws[i:min(len(ws), i+8)]
	v := verbOf(rest)
	if v.class == noVerb {
		return false
	}
	if i+v.words >= len(ws) {
		return v.class == endless || pronounless(ws[i].text)
	}
	last, after := ws[i+v.words-1], ws[i+v.words]
	if last.tail != "" && !last.colon() {
		return last.stop() && pronounless(ws[i].text)
	}
	switch after.text {
	case "and", "or", "of", "is", "are", "was", "were", "&", "operations", "operation", "access", "permissions", "methods":
		return false
	}
	return true
}

// pronounless reports verbs that stand without an object.
func pronounless(s string) bool {
	return slices.Contains([]string{"commit", "push", "deploy", "test", "publish", "refactor", "release", "stop"}, s)
}

func joint(s string) bool {
	return slices.Contains([]string{"and", "then", "also", "finally", "please", "next", "lastly", "afterwards", "to", "just"}, s)
}

// pairs reports whether the word before a conjunction is a verb or an adjective of
// a pair, as in "import and export buttons", so that no clause begins after it. A
// clause that is a verb alone pairs likewise: "design and build".
func pairs(prev word, open []word) bool {
	if prev.quoted || prev.comma() && len(open) > 2 {
		return false
	}
	if len(open) <= 1 {
		return true
	}
	v := single(prev.text)
	return v.class != noVerb && v.class != support && !document(prev.text)
}

// document reports verbs that mostly stand as nouns at the end of an object.
func document(s string) bool {
	return slices.Contains([]string{"code", "test", "work", "design", "release", "report", "list", "research", "review", "build", "cache", "query", "log", "package", "format", "process", "help", "practice", "set", "store", "link", "record"}, s)
}

// settle finds the verb of a clause, behind words such as please and we need to.
func (c *clause) settle() {
	at, v := headOf(c.words)
	c.head, c.verb = at, v
	if prohibits(c.words) {
		c.negated = true
	}
}

// headOf gives the verb that some words begin with, behind opening words, and
// where it stands.
func headOf(ws []word) (int, verb) {
	const most = 12 // opening words
	for i := 0; i < min(most, len(ws)); i++ {
		if v := verbOf(ws[i:min(len(ws), i+8)]); v.class != noVerb {
			if modal(ws, i) {
				continue
			}
			return i, v
		}
		if i > 0 || continues(ws[i].text) {
			if v := gerund(ws[i].text); v.class != noVerb && (i > 0 || ws[i].text != "learning") {
				return i, v
			}
		}
		adverb := strings.HasSuffix(ws[i].text, "ly") && i+1 < len(ws) && verbOf(ws[i+1:min(len(ws), i+8)]).class != noVerb
		if !adverb && !opening(ws[i].text) {
			return wanted(ws)
		}
	}
	return wanted(ws)
}

// continues reports forms in -ing that open a goal as a verb would.
func continues(s string) bool {
	return slices.Contains([]string{"improving", "optimizing", "optimising", "exploring", "researching", "understanding", "refactoring", "fixing", "studying", "enhancing", "investigating"}, s)
}

// modal reports whether the verb at i only leads to another one: start to learn,
// keep improving, focus on tuning.
func modal(ws []word, i int) bool {
	if i+1 >= len(ws) || ws[i].tail != "" || phraseOf(ws[i:min(len(ws), i+8)]).class != noVerb {
		return false
	}
	k := i + 1
	switch ws[k].text {
	case "to", "on", "by", "me", "us":
		k++
	}
	if k >= len(ws) {
		return false
	}
	switch ws[i].text {
	case "help", "let", "go":
		return verbOf(ws[k:min(len(ws), k+8)]).class != noVerb || gerund(ws[k].text).class != noVerb
	case "start", "keep", "begin", "continue", "focus", "try", "work":
		return k > i+1 && verbOf(ws[k:min(len(ws), k+8)]).class != noVerb || gerund(ws[k].text).class != noVerb
	}
	return false
}

// wanted finds a verb after "to" behind words about who wants it: "our aim for
// this year is to learn Rust".
func wanted(ws []word) (int, verb) {
	const far = 10 // words
	wants := false
	for i := 0; i+1 < min(far, len(ws)) && !ws[i].quoted; i++ {
		switch ws[i].text {
		case "i", "we", "is", "want", "like", "need", "task", "goal", "aim", "objective", "wants", "you", "job", "us":
			wants = true
		case "to":
			if v := verbOf(ws[i+1 : min(len(ws), i+9)]); wants && v.class != noVerb {
				return i + 1, v
			}
		}
	}
	return 0, verb{}
}

// prohibits reports whether a clause says what must not be done.
func prohibits(ws []word) bool {
	const far = 5 // words
	for i, w := range ws[:min(far, len(ws))] {
		switch w.text {
		case "don't", "dont", "never", "avoid", "cannot", "mustn't", "shouldn't", "can't", "without", "not":
			return w.text != "not" || i == 0 || ws[i-1].text != "why" && ws[i-1].text != "if"
		}
		if !opening(w.text) && w.text != "do" && w.text != "does" && w.text != "is" {
			return false
		}
	}
	return false
}

// antecedent gives words of an object that a pronoun may stand for.
func antecedent(ws []word) (named, specific bool) {
	const far = 40 // words
	for _, w := range ws[:min(far, len(ws))] {
		named, specific = named || w.full(), specific || w.specific()
	}
	return named, specific
}
